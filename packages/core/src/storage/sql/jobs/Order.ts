/**
 * The order of a session's jobs that nobody has touched. An account's accepts go one after the other, so within a session the
 * numbers of jobs are in the order of their commits and of their due times (`due_at`). A job waits in the order while it lies
 * behind the cursor, the greatest `place` of the session's claims, and has no row in `sendwright_progress`.
 */

import type { Instant } from "../../../domain/Instant.ts"
import type { Dialect } from "../Database.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { inSql } from "../RecipientKeys.ts"
import { integer, integerOrNull, limited, seq, text, textOrNull } from "../RowReader.ts"
import * as Claims from "./Claims.ts"

/** The name by which the jobs of a session are locked. */
export const locked = (sessionId: string): string => `jobs ${sessionId}`

/** A job's place in its session's order: an expression, so that no plan takes the index of all sessions' jobs for it. */
const place = "(job.seq + 0)"

/** Written so that PostgreSQL expects nearly all jobs to pass: expecting few, it reads the whole backlog and sorts it. */
const hasNoRow = `coalesce((
        SELECT progress.seq FROM sendwright_progress AS progress WHERE progress.seq = job.seq
      ), 0) <> job.seq`

const cursorOf = (session: string): string => `coalesce((
      SELECT claim.place FROM sendwright_claim AS claim WHERE claim.session = ${session} AND claim.place IS NOT NULL
      ORDER BY claim.place DESC LIMIT 1
    ), 0)`

/** A condition on `job`: it waits in the session's order. @param session as SQL */
const waitsOf = (session: string): string => `job.session = ${session} AND job.due_at IS NOT NULL
      AND ${place} > ${cursorOf(session)} AND ${hasNoRow}`

/** The first jobs of a session's order. Its parameters are the session, twice, and their number. */
export const first = (
  columns: string,
  condition: string
): string => `SELECT ${columns} FROM sendwright_job AS job
  WHERE ${condition} AND ${waitsOf("?")} ORDER BY ${place} ${limited}`

/** When the first job of a session's order is due. @param session as SQL */
export const dueOf = (session: string): string =>
  `SELECT job.due_at FROM sendwright_job AS job WHERE ${waitsOf(session)} ORDER BY ${place} LIMIT 1`

/** The jobs that wait in the orders of all sessions. Its parameter is how many. */
export const waiting = `SELECT job.session, job.recipients, job.created_at
  FROM sendwright_busy AS busy CROSS JOIN sendwright_job AS job WHERE ${waitsOf("busy.session")} ${limited}`

/** When the oldest job that waits in any session's order was accepted. Its parameter is how many sessions are looked at. */
export const oldest = `SELECT min(first.created_at) AS at FROM (
    SELECT (
      SELECT job.created_at FROM sendwright_job AS job WHERE ${waitsOf("busy.session")} ORDER BY ${place} LIMIT 1
    ) AS created_at FROM (SELECT session FROM sendwright_busy ORDER BY session ${limited}) AS busy
  ) AS first`

/** The status of `job`, of each alone: as a join that many rows share, its tables might be read as a whole. */
export const status = `coalesce(
      (SELECT progress.status FROM sendwright_progress AS progress WHERE progress.seq = job.seq),
      CASE WHEN EXISTS (
        SELECT 1 FROM sendwright_claim AS claim WHERE ${Claims.has("job.session", inSql.first("job.seq"))}
      ) THEN 'processing' ELSE 'queued' END
    )`

/** A condition on `job`: a `claim` has it as a part of the order. */
export const isInRange = `job.session = claim.session AND job.due_at IS NOT NULL
  AND ${place} BETWEEN claim.first / 4096 AND claim.last / 4096`

const lastDueOf = (session: string): string => `SELECT job.due_at FROM sendwright_job AS job
  WHERE job.session = ${session} AND job.due_at IS NOT NULL ORDER BY ${place} DESC LIMIT 1`

/** Selects when the newest job of a session's order is due first. */
export const lastDue = lastDueOf("?")

// Whether it is noted that a session may have jobs in its order, and noting it.
export const isBusy = "SELECT 1 FROM sendwright_busy WHERE session = ?"
export const noteBusy = "INSERT INTO sendwright_busy (session) VALUES (?) ON CONFLICT (session) DO NOTHING"

/** How long a session is idle before it counts as such: to note it anew costs more than to look once more. */
const idleMs = 10_000

/** Sessions that one commit tidies up: the accepts of some of their accounts wait for it. */
const tidiedAtOnce = 200

const forgetBusy = `DELETE FROM sendwright_busy WHERE session = ? AND (${dueOf("sendwright_busy.session")}) IS NULL`

/** Selects of the first job behind a session's cursor. @param session as SQL */
const nextOf = (what: string, session: string): string => `SELECT ${what} FROM sendwright_job AS job
  WHERE job.session = ${session} AND job.due_at IS NOT NULL AND ${place} > ${cursorOf(session)}
  ORDER BY ${place} LIMIT 1`

// Jobs that were cancelled while they waited, say, keep a cursor before them: whoever looks for the next one reads them all.
const untidied = `SELECT busy.session, session.account,
    (${nextOf(`CASE WHEN ${hasNoRow} THEN 0 ELSE 1 END`, "busy.session")}) AS passes,
    coalesce((
      SELECT claim.at FROM sendwright_claim AS claim WHERE claim.session = busy.session AND claim.place IS NOT NULL
      ORDER BY claim.place DESC LIMIT 1
    ), 0) AS at
  FROM (SELECT session FROM sendwright_busy WHERE session > ? ORDER BY session ${limited}) AS busy
    LEFT JOIN sendwright_session AS session ON session.id = busy.session ORDER BY busy.session`

const lastPassed = `SELECT job.seq FROM sendwright_job AS job
  WHERE job.session = ? AND job.due_at IS NOT NULL AND ${place} < coalesce((
      SELECT job.seq FROM sendwright_job AS job WHERE ${waitsOf("?")} ORDER BY ${place} LIMIT 1
    ), ?) ORDER BY ${place} DESC LIMIT 1`

/** Sets the session's cursor behind the jobs that have rows already. Its jobs are locked. */
function* passOver(session: string, drawFence: () => number, now: Instant): Program<void> {
  const last = yield* get(lastPassed, session, session, session, Number.MAX_SAFE_INTEGER)
  if (last === undefined) return
  const none = { first: 0, last: -1, open: 0, jobs: null, isHeld: false }
  yield* Claims.insert(session, "", [{ ...none, fence: drawFence(), place: seq(last) }], seq(last), now)
}

/**
 * Lets claims walk over no more than what waits: sets the cursors of some sessions behind jobs that no claim took, and
 * forgets those that have nothing in their order any more. Answers the last of them; null after the last of all.
 *
 * An accept that found its session noted has committed before, since the account's accepts are serialized; it is seen by the
 * second look.
 *
 * @param serializedAccept the name that an account's accepts are serialized by
 */
export function* tidy(
  { trySerialize }: Dialect,
  serializedAccept: (accountId: string) => string,
  drawFence: () => number,
  now: Instant,
  after: string
): Program<string | null> {
  const found = yield* all(untidied, after, tidiedAtOnce)
  for (const row of found) {
    const session = text(row, "session")
    const passes = integerOrNull(row, "passes")
    if (passes === 1 && (yield* trySerialize(locked(session)))) yield* passOver(session, drawFence, now)
    if (passes !== null || integer(row, "at") >= now - idleMs) continue
    const account = textOrNull(row, "account")
    if (account === null || (yield* trySerialize(serializedAccept(account)))) yield* run(forgetBusy, session)
  }
  const last = found.at(-1)
  return last === undefined || found.length < tidiedAtOnce ? null : text(last, "session")
}

// The last is due last: no order is read for this.
const sessionsAhead = `SELECT busy.session FROM sendwright_busy AS busy
  WHERE (${lastDueOf("busy.session")}) > ? ORDER BY busy.session`

/** The sessions with jobs in their order that are due later than now. */
export function* ahead(now: Instant): Program<ReadonlyArray<string>> {
  return (yield* all(sessionsAhead, now)).map((row) => text(row, "session"))
}

/**
 * The jobs that a session's order has ahead, from its end. Its parameters are the session, twice, the time when they are not
 * due yet, behind which they were accepted, the session and the first time again, and a number.
 */
export const lastAhead = `SELECT job.id FROM sendwright_job AS job
  WHERE ${waitsOf("?")} AND job.due_at > ? AND job.created_at > ? AND ${place} > coalesce((
      SELECT job.seq FROM sendwright_job AS job
      WHERE job.session = ? AND job.due_at IS NOT NULL AND job.due_at <= ? ORDER BY ${place} DESC LIMIT 1
    ), 0)
  ORDER BY ${place} DESC ${limited}`
