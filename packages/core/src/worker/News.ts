/** Applies what platforms tell of templates and of sessions' accounts (decisions.md §11). */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Session } from "../domain/session/Session.ts"
import * as Template from "../domain/template/Template.ts"
import type * as Sanitize from "../sender/Sanitize.ts"
import type { SessionNews } from "../sender/Sender.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import * as TemplateTurns from "./TemplateTurns.ts"
import type { UnreadHooks } from "./UnreadHooks.ts"

export interface News {
  /** News of a template that the session lacks, and of a category that we do not know, are unread. */
  readonly templates: (
    session: Session,
    all: ReadonlyArray<Sanitize.TemplateNewsOf>
  ) => Effect.Effect<void, StorageError>
  readonly session: (session: Session, all: ReadonlyArray<SessionNews>) => Effect.Effect<void, StorageError>
}

type Reported = Parameters<typeof Template.reported>[1]

/** Undefined where it has a category that we do not know. */
const reportOf = ({ news }: Sanitize.TemplateNewsOf): Reported | undefined => {
  const { category, correctCategory, quality, status } = news
  const known = Template.Category.literals.find((each) => each === category)
  if (category !== undefined && known === undefined) return undefined
  return {
    refusedSince: null,
    ...(status === undefined ? {} : { status }),
    ...(quality === undefined ? {} : { quality }),
    ...(known === undefined ? {} : { category: known }),
    ...(correctCategory === undefined ? {} : { correctCategory })
  }
}

export const make = (unreadHooks: UnreadHooks): Effect.Effect<News, never, SessionStore | TemplateStore> =>
  Effect.gen(function* () {
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
      const now = yield* Clock.currentTimeMillis
      if (each.news.isChanged === true)
        yield* templates.askAgain({ sessionId, templateId, refusedSince: null, now })
      yield* TemplateTurns.told(
        found,
        yield* templates.report({ accountId, sessionId, templateId, report, now })
      )
    })

    const announce = Effect.fnUntraced(function* ({ id }: Session, each: SessionNews) {
      const now = yield* Clock.currentTimeMillis
      const after = yield* sessions.announce({ id, ...each, now })
      if (after?.updatedAt === now && after.state === "disconnected")
        yield* Effect.annotateLogs(Effect.logWarning(`Session ${id} was disconnected: ${after.reason}`), {
          sessionId: id
        })
    })

    return {
      templates: (session, all) => Effect.forEach(all, (each) => apply(session, each), { discard: true }),
      session: (session, all) => Effect.forEach(all, (each) => announce(session, each), { discard: true })
    }
  })
