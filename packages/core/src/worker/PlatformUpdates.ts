/** Applies what platforms tell of templates and of sessions' accounts (contract.md §11). */

import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Session } from "../domain/session/Session.ts"
import * as Sessions from "../domain/session/Session.ts"
import * as Template from "../domain/template/Template.ts"
import type * as Sanitize from "../sender/Sanitize.ts"
import type { SessionNews } from "../sender/Sender.ts"
import type * as SessionSender from "../sender/SessionSender.ts"
import type { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import * as FailureActions from "./FailureActions.ts"
import * as TemplateTurns from "./TemplateTurns.ts"
import type { UnreadHooks } from "./UnreadHooks.ts"

export interface PlatformUpdates {
  /** News of a template that the session lacks, and of a category that we do not know, are unread. */
  readonly templates: (
    session: Session,
    all: ReadonlyArray<Sanitize.TemplateNewsOf>
  ) => Effect.Effect<void, StorageError>
  readonly session: (session: Session, all: ReadonlyArray<SessionNews>) => Effect.Effect<void, StorageError>
}

/** Undefined where it has a category that we do not know. */
const reportOf = ({ news }: Sanitize.TemplateNewsOf): Template.StatusReport | undefined => {
  const { at = null, category, correctCategory, isChanged, quality, status, why } = news
  const known = Template.Category.literals.find((each) => each === category)
  if (category !== undefined && known === undefined) return undefined
  return {
    refusedSince: null,
    at,
    ...(isChanged === undefined ? {} : { isChanged }),
    ...(why === undefined ? {} : { why }),
    ...(status === undefined ? {} : { status }),
    ...(quality === undefined ? {} : { quality }),
    ...(known === undefined ? {} : { category: known }),
    ...(correctCategory === undefined ? {} : { correctCategory })
  }
}

/** The line that says what became of a session; undefined where the session is as it was. */
const lineOf = (before: Session, after: Session): string | undefined => {
  if (before.state !== after.state)
    return after.state === "connected" ? "is connected again" : `was disconnected: ${after.reason}`
  if (before.blockedUntil !== after.blockedUntil)
    return after.blockedUntil === null
      ? "is no longer restricted by its platform"
      : `may send no templates ${untilOf(after.blockedUntil)}: its platform restricts it`
  if (before.repliesBlockedUntil !== after.repliesBlockedUntil)
    return after.repliesBlockedUntil === null
      ? "may answer people again"
      : `may answer nobody ${untilOf(after.repliesBlockedUntil)}: its platform restricts it`
  return undefined
}

const untilOf = (until: Instant): string => {
  const end = Sessions.endOf(until)
  return end === null ? "until its platform says so" : `until ${Time.format(end)}`
}

export const make = (
  unreadHooks: UnreadHooks,
  resolve: SessionSender.Resolve
): Effect.Effect<PlatformUpdates, never, JobStore | SessionStore | TemplateStore> =>
  Effect.gen(function* () {
    const applyActions = yield* FailureActions.make
    const sessions = yield* SessionStore
    const templates = yield* TemplateStore

    const apply = Effect.fnUntraced(function* (session: Session, each: Sanitize.TemplateNewsOf) {
      const { accountId, id: sessionId } = session
      const { language, name, platformId = null } = each.news
      const found = yield* templates.findNamed({ sessionId, name, language, platformId })
      if (found === null) return yield* unreadHooks.retain(session, [each.origin])
      const report = reportOf(each)
      if (report === undefined)
        return yield* unreadHooks.retain(session, [
          { ...each.origin, reason: "a category that is not known" }
        ])
      const { templateId } = found
      const now = yield* Time.now
      const heard = yield* templates.report({ accountId, sessionId, templateId, report, now })
      if (heard?.isOlder)
        yield* unreadHooks.retain(session, [
          { ...each.origin, reason: "older than what the platform said last" }
        ])
      yield* TemplateTurns.told(heard)
    })

    /** True where the news are of another number than the session's, which only hears of them. */
    const isOfOther = Effect.fnUntraced(function* (session: Session, number: string | undefined) {
      const sessionSender = number === undefined ? undefined : yield* resolve(session)
      const hasNumber = sessionSender?.sender.hasNumber
      return number === undefined || hasNumber === undefined
        ? false
        : // Where it cannot be told now it counts as meant: what waits without need can be let go by hand.
          (yield* hasNumber(sessionSender?.config, number)) === false
    })

    const announce = Effect.fnUntraced(function* (
      session: Session,
      { failures = [], number, ...each }: SessionNews
    ) {
      const { accountId, id } = session
      const { at, kind, news } = each
      const isOther = yield* isOfOther(session, number)
      const now = yield* Time.now
      const announced = isOther ? { at, kind, news, disconnects: null } : each
      const found = yield* sessions.announce({ id, ...announced, now })
      if (found === null) return
      if (!isOther && failures.length > 0) {
        // Platforms tell whole seconds.
        const since = at === null ? now : Time.min(now, Time.after(at, Time.second - 1))
        yield* applyActions({ accountId, sessionId: id, content: null, jobId: null }, failures, { since })
      }
      const { after, before, isOlder } = found
      const line = isOlder
        ? `had news (${kind}) that are older than what its platform said last, and changed nothing`
        : lineOf(before, after)
      if (line === undefined) return
      const log =
        after.state === "connected" && after.blockedUntil === null ? Effect.logInfo : Effect.logWarning
      yield* Effect.annotateLogs(log(`Session ${id} ${line}`), { sessionId: id })
    })

    return {
      templates: (session, all) => Effect.forEach(all, (each) => apply(session, each), { discard: true }),
      session: (session, all) => Effect.forEach(all, (each) => announce(session, each), { discard: true })
    }
  })
