/** Sessions, a row each, and the jobs that pause and resume with them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import * as Progress from "../../domain/Progress.ts"
import type { Session } from "../../domain/Session.ts"
import * as Sessions from "../../domain/Session.ts"
import * as JobSteps from "../JobSteps.ts"
import { SessionStore } from "../SessionStore.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertInto } from "./Insert.ts"
import type { JobRows } from "./Jobs.ts"
import * as Jobs from "./Jobs.ts"
import type { Program } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import {
  fromKeywords,
  fromSession,
  limited,
  newestFirst,
  seq,
  sessionColumns,
  text,
  toSession
} from "./Rows.ts"

const insert = insertInto("sendwright_session", sessionColumns)

const update =
  "UPDATE sendwright_session SET state = ?, reason = ?, connected_since = ?, updated_at = ? WHERE id = ?"

// A processing job has recipients due, now or later, or in hand.
const processingJobs = ({ progress: { as, jobs } }: Dialect): string => `SELECT id FROM (
    SELECT job.id FROM ${jobs("sendwright_job_due")}
    WHERE ${as}.session = ? AND ${as}.next_at IS NOT NULL AND ${as}.status = 'processing'
    UNION ALL
    SELECT job.id FROM ${jobs("sendwright_job_worker")}
    WHERE ${as}.worker IS NOT NULL AND ${as}.session = ? AND ${as}.status = 'processing'
  ) AS job ORDER BY id`

const change =
  "UPDATE sendwright_session SET name = ?, pacing = ?, keywords = ?, config = ?, updated_at = ? WHERE id = ?"

const block = "UPDATE sendwright_session SET blocked_until = ?, updated_at = ? WHERE id = ?"

// By `Session.blockIsOver`.
const unblockable = `SELECT * FROM sendwright_session
  WHERE blocked_until IS NOT NULL AND (blocked_until <= ? OR updated_at > ?) ORDER BY id`

const pausedJobs = ({ progress: { as, jobs } }: Dialect): string =>
  `SELECT job.id FROM ${jobs()} WHERE ${as}.session = ? AND ${as}.status = 'paused' ORDER BY job.id`

const byId = "SELECT * FROM sendwright_session WHERE id = ?"

export function* findSession(id: string, statement = byId): Program<Session | null> {
  const row = yield* get(statement, id)
  return row === undefined ? null : toSession(row)
}

/** Running jobs pause with their session, and go on with it. */
function* followSession(rows: JobRows, session: Session, now: Instant): Program<void> {
  const { id } = session
  const stopped = yield* all(pausedJobs(rows.dialect), id)
  const running = Sessions.obstacle(session) === null ? [] : yield* all(processingJobs(rows.dialect), id, id)
  const affected = yield* rows.lockAll([...stopped, ...running].map((row) => text(row, "id")))
  const steps = affected.flatMap((held) =>
    JobSteps.become(held, Progress.followSession(held.job, session, now))
  )
  yield* rows.save(steps, now)
}

export const layer: Layer.Layer<SessionStore, never, Database> = Layer.effect(
  SessionStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const rows = Jobs.make(db.dialect, ids)
    const toChange = byId + db.dialect.forUpdate("sendwright_session")
    return {
      create: (session) =>
        db.write("SessionStore.create", function* () {
          yield* run(insert, ...fromSession(session))
        }),
      find: (id) => db.read("SessionStore.find", () => findSession(id)),
      list: ({ accountId, page }) =>
        db.read("SessionStore.list", function* () {
          const rows = yield* all(
            `SELECT * FROM sendwright_session WHERE account = ? AND seq < ? ORDER BY seq DESC ${limited}`,
            accountId,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), toSession)
        }),
      change: ({ change: fields, id, now }) =>
        db.write("SessionStore.change", function* () {
          const found = yield* findSession(id, toChange)
          if (found === null) return null
          const session: Session = { ...found, ...fields, updatedAt: now }
          const { config, keywords, name, pacing } = session
          yield* run(change, name, JSON.stringify(pacing), fromKeywords(keywords), config, now, id)
          return session
        }),
      transition: ({ id, now, reason, state }) =>
        db.write("SessionStore.transition", function* () {
          const found = yield* findSession(id, toChange)
          if (found === null || (found.state === state && found.reason === reason)) return found
          const connected = state === "connected"
          const session: Session = {
            ...found,
            state,
            reason: connected ? null : reason,
            connectedSince: connected ? (found.connectedSince ?? now) : null,
            updatedAt: now
          }
          yield* run(update, state, session.reason, session.connectedSince, now, id)
          const draft = found.state === state ? undefined : Event.sessionChanged(session)
          yield* Events.append(ids, session.accountId, draft === undefined ? [] : [draft], now)
          yield* followSession(rows, session, now)
          return session
        }),
      block: ({ id, now, until }) =>
        db.write("SessionStore.block", function* () {
          const found = yield* findSession(id, toChange)
          if (found === null) return null
          const blockedUntil = Math.max(found.blockedUntil ?? 0, until)
          yield* run(block, blockedUntil, now, id)
          const session = { ...found, blockedUntil, updatedAt: now }
          yield* followSession(rows, session, now)
          return session
        }),
      unblock: ({ now }) =>
        db.write("SessionStore.unblock", function* () {
          const over = yield* all(
            unblockable + db.dialect.forUpdate("sendwright_session"),
            now,
            Time.latestWritten(now)
          )
          for (const row of over) {
            const session = { ...toSession(row), blockedUntil: null, updatedAt: now }
            yield* run(block, null, now, session.id)
            yield* followSession(rows, session, now)
          }
          return over.length
        })
    }
  })
)
