/**
 * The verbs that change what a session may send: its state, blocks, outages. Written once for all stores: the decisions
 * are `domain/session/Session` and `domain/session/Circuit`, the reads and writes {@link SessionRows}.
 */

import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import { groupBy } from "../../domain/GroupBy.ts"
import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import * as Circuit from "../../domain/session/Circuit.ts"
import type { Session } from "../../domain/session/Session.ts"
import * as Sessions from "../../domain/session/Session.ts"
import * as Event from "../../domain/webhook/Event.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { ProbeAnswer, SessionStore } from "../SessionStore.ts"
import type { SessionRows } from "./SessionRows.ts"

/** The jobs that go on or pause with the session. */
const followers = (rows: SessionRows, after: Session): Program<ReadonlyArray<string>> =>
  rows.jobsToFollow(after.id, Sessions.obstacle(after) !== null)

/** Writes the changed session with its events; its running jobs pause or go on with it. */
function* saveChanged(rows: SessionRows, before: Session, after: Session, now: Instant): Program<Session> {
  if (after === before) return before
  yield* rows.saveSession(after)
  yield* rows.note(Happening.ofSession(before, after, now))
  yield* rows.appendEvents(after.accountId, Event.sessionChanged(before, after), now)
  const ids = yield* followers(rows, after)
  const jobs = ids.length === 0 ? [] : yield* rows.lockJobs(ids)
  const steps = jobs.flatMap((state) =>
    JobSteps.withJob(state, Transitions.followSession(state.job, after, now))
  )
  yield* rows.saveJobs(steps, now)
  return after
}

/** Changes a session by a pure step; null when there is none. */
function* change(
  rows: SessionRows,
  id: string,
  now: Instant,
  step: (session: Session) => Session
): Program<{ readonly before: Session; readonly after: Session } | null> {
  const before = yield* rows.lockSession(id)
  return before === null ? null : { before, after: yield* saveChanged(rows, before, step(before), now) }
}

interface Of {
  readonly id: string
  readonly now: Instant
}

/** A change that a platform's answer asks for is made only while the answer is about the session. */
interface OfAttempt {
  readonly attempted?: Sessions.Attempted | undefined
}

/** `SessionStore.transition`. */
export function* transition(
  rows: SessionRows,
  { attempted, id, now, ...to }: Of & OfAttempt & Pick<Session, "reason" | "state">
): Program<Session | null> {
  const changed = yield* change(rows, id, now, (session) =>
    Sessions.isAbout(session, attempted) ? Sessions.transition(session, to, now) : session
  )
  return changed === null ? null : changed.after
}

/** `SessionStore.change`. */
export function* set(
  rows: SessionRows,
  {
    basedOn,
    change: fields,
    id,
    now,
    releases = false
  }: Parameters<Context.Tag.Service<SessionStore>["change"]>[0]
): Program<Session | "stale" | null> {
  const before = yield* rows.lockSession(id)
  if (before === null) return null
  if (basedOn !== undefined && basedOn !== before.config) return "stale"
  const mended = fields.config === undefined ? {} : { mendedAt: now, failing: null }
  const changed: Session = { ...before, ...fields, ...mended, updatedAt: now }
  yield* rows.saveSettings(changed)
  return releases ? yield* saveChanged(rows, changed, Sessions.released(changed, now), now) : changed
}

/** `SessionStore.announce`. */
export function* announce(
  rows: SessionRows,
  { id, kind, news, now, ...announced }: Parameters<Context.Tag.Service<SessionStore>["announce"]>[0]
): Program<Effect.Effect.Success<ReturnType<Context.Tag.Service<SessionStore>["announce"]>>> {
  const before = yield* rows.lockSession(id)
  if (before === null) return null
  yield* rows.appendEvents(before.accountId, [Event.sessionUpdated(before, kind, news)], now)
  const { isOlder, session } = Sessions.announced(before, announced, now)
  return { before, after: yield* saveChanged(rows, before, session, now), isOlder }
}

/** `SessionStore.block`. */
export function* block(
  rows: SessionRows,
  { attempted, id, now, until }: Of & OfAttempt & { readonly until: Instant }
): Program<Session | null> {
  const changed = yield* change(rows, id, now, (session) =>
    Sessions.isAbout(session, attempted) ? Sessions.block(session, until, now) : session
  )
  return changed === null ? null : changed.after
}

/** `SessionStore.noteEnds`. A streak alone changes nothing for the session's jobs. */
export function* noteEnds(
  rows: SessionRows,
  { ends, id, now, way }: Parameters<Context.Tag.Service<SessionStore>["noteEnds"]>[0]
): Program<Effect.Effect.Success<ReturnType<Context.Tag.Service<SessionStore>["noteEnds"]>>> {
  const before = yield* rows.lockSession(id)
  if (before === null) return null
  const after = Sessions.afterEnds(before, way, ends, now)
  if (after.blockedUntil !== before.blockedUntil) yield* saveChanged(rows, before, after, now)
  else if (after !== before) yield* rows.saveSession(after)
  return { before, after }
}

/** `SessionStore.unblock`. One whose jobs another commit keeps locked holds up no other: the next call finds it. */
export function* unblock(rows: SessionRows, now: Instant): Program<ReadonlyArray<string>> {
  const unblocked: Array<string> = []
  for (const session of yield* rows.lockUnblockable(now)) {
    const after = Sessions.unblock(session, now)
    const { busy } = yield* rows.lockJobsInTime(yield* followers(rows, after))
    if (busy.length > 0) continue
    yield* saveChanged(rows, session, after, now)
    unblocked.push(session.id)
  }
  return unblocked
}

export interface Heard {
  /** The sessions whose outage began or ended. */
  readonly turned: ReadonlyArray<string>
  /** Sessions of which nothing was stored, since another commit keeps their jobs locked. */
  readonly unheard: ReadonlyArray<string>
}

/**
 * What processes tell of platforms, in the commit of the outcomes that show it.
 *
 * @param jobIds the jobs that the commit locks later: all are locked together, in the order of all commits
 */
export function* hear(
  rows: SessionRows,
  news: ReadonlyArray<Circuit.News>,
  jobIds: ReadonlyArray<string>,
  now: Instant
): Program<Heard> {
  const turning: Array<readonly [before: Session, after: Session, jobs: ReadonlyArray<string>]> = []
  const toLock = new Set(jobIds)
  for (const [sessionId, told] of [...groupBy(news, (each) => each.sessionId)].sort(byKey)) {
    const before = yield* rows.lockSession(sessionId)
    if (before === null) continue
    const after = told.reduce((session, { what }) => Sessions.heard(session, what, now), before)
    if ((before.outage === null) === (after.outage === null)) {
      if (after !== before) yield* rows.saveSession(after)
      continue
    }
    const jobs = yield* followers(rows, after)
    turning.push([before, after, jobs])
    for (const id of jobs) toLock.add(id)
  }
  const busy: ReadonlyArray<string> =
    turning.length === 0 ? [] : (yield* rows.lockJobsInTime([...toLock])).busy
  const turned: Array<string> = []
  const unheard: Array<string> = []
  for (const [before, after, jobs] of turning) {
    const isBusy = jobs.some((id) => busy.includes(id))
    if (!isBusy) yield* saveChanged(rows, before, after, now)
    const group = isBusy ? unheard : turned
    group.push(before.id)
  }
  return { turned, unheard }
}

const byKey = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1)

/** `SessionStore.acquireProbe`. */
export function* acquireProbe(rows: SessionRows, { id, now }: Of): Program<ProbeAnswer> {
  const session = yield* rows.lockSession(id)
  if (session === null || session.outage === null) return "available"
  if (!Circuit.mayProbeDirectly(session.outage, now)) return "refused"
  yield* rows.saveSession({ ...session, outage: Circuit.probing(session.outage, now) })
  return "granted"
}
