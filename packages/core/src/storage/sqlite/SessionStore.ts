/** Sessions, a row each, and the jobs that pause and resume with them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import * as Progress from "../../domain/Progress.ts"
import type { Session } from "../../domain/Session.ts"
import { SessionStore } from "../SessionStore.ts"
import type { Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import * as Jobs from "./Jobs.ts"
import { fromSession, insertInto, limited, newestFirst, seq, sessionColumns, toSession } from "./Rows.ts"

const insert = insertInto("sendwright_session", sessionColumns)

const update =
  "UPDATE sendwright_session SET state = ?, reason = ?, connected_since = ?, updated_at = ? WHERE id = ?"

// A processing job has recipients due, now or later, or in flight.
const processing = `SELECT seq FROM (
    SELECT seq FROM sendwright_job INDEXED BY sendwright_job_due
    WHERE session = ? AND next_at IS NOT NULL AND status = 'processing'
    UNION ALL
    SELECT seq FROM sendwright_job INDEXED BY sendwright_job_lease
    WHERE lease_until IS NOT NULL AND session = ? AND status = 'processing'
  ) ORDER BY seq`

const paused = "SELECT seq FROM sendwright_job WHERE session = ? AND status = 'paused' ORDER BY seq"

const bySeq = `${Jobs.select} WHERE job.seq = ?`

export const findSession = (sql: Statements, id: string): Session | null => {
  const row = sql.get("SELECT * FROM sendwright_session WHERE id = ?", id)
  return row === undefined ? null : toSession(row)
}

const followSession = (sql: Statements, ids: Ids.Ids, { id, state }: Session, now: Instant): void => {
  const affected = state === "connected" ? sql.all(paused, id) : sql.all(processing, id, id)
  for (const found of affected) {
    const row = sql.get(bySeq, seq(found))
    if (row === undefined) continue
    const held = Jobs.heldOf(sql, row)
    const job = Progress.followSession(held.job, state, now)
    if (job === held.job) continue
    const draft = Event.jobChanged(job, held.job.status)
    Jobs.save(sql, ids, { ...held, job }, [], draft === undefined ? [] : [draft], now)
  }
}

export const layer: Layer.Layer<SessionStore, never, Database> = Layer.effect(
  SessionStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    return {
      create: (session) =>
        db.write("SessionStore.create", (sql) => {
          sql.run(insert, ...fromSession(session))
        }),
      find: (id) => db.read("SessionStore.find", (sql) => findSession(sql, id)),
      list: ({ accountId, page }) =>
        db.read("SessionStore.list", (sql) => {
          const rows = sql.all(
            `SELECT * FROM sendwright_session WHERE account = ? AND seq < ? ORDER BY seq DESC ${limited}`,
            accountId,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), toSession)
        }),
      transition: ({ id, now, reason, state }) =>
        db.write("SessionStore.transition", (sql) => {
          const found = findSession(sql, id)
          if (found === null || found.state === state) return found
          const connected = state === "connected"
          const session: Session = {
            ...found,
            state,
            reason: connected ? null : reason,
            connectedSince: connected ? now : null,
            updatedAt: now
          }
          sql.run(update, state, session.reason, session.connectedSince, now, id)
          const draft = Event.sessionChanged(session)
          Events.append(sql, ids, session.accountId, draft === undefined ? [] : [draft], now)
          followSession(sql, ids, session, now)
          return session
        })
    }
  })
)
