/**
 * The orders of a session's jobs that nobody has touched, one of each priority. An account's accepts go one after the other, so
 * within a session the numbers of jobs are in the order of their commits and of their due times (`due_at`). A job waits in its
 * order while it lies behind the cursor, the greatest `place` of the order's claims, and has no row in `sendwright_progress`.
 */

import type { Instant } from "../../../domain/Instant.ts"
import * as Priority from "../../../domain/job/Priority.ts"
import type { Program, Row } from "../../Program.ts"
import { all, get, run } from "../../Program.ts"
import type { Dialect } from "../Database.ts"
import { inSql } from "../RecipientKeys.ts"
import { integer, integerOrNull, limited, oneOf, seq, text, textOrNull } from "../RowReader.ts"
import * as Claims from "./Claims.ts"

/** An order by its names. */
export interface Named {
  readonly session: string
  readonly priority: Priority.Priority
}

const priorityOf = oneOf(Priority.all)

const named = (row: Row): Named => ({
  session: text(row, "session"),
  priority: priorityOf(row, "priority")
})

/** The name by which the jobs of a session are locked. */
export const locked = (sessionId: string): string => `jobs ${sessionId}`

/** A job's place in its session's order: an expression, so that no plan takes the index of all sessions' jobs for it. */
const place = "(job.seq + 0)"

/** Written so that PostgreSQL expects nearly all jobs to pass: expecting few, it reads the whole backlog and sorts it. */
const hasNoRow = `coalesce((
        SELECT progress.seq FROM sendwright_progress AS progress WHERE progress.seq = job.seq
      ), 0) <> job.seq`

/** A session's order of one priority, as SQL: of a row with both, or parameters. */
interface Queue {
  readonly session: string
  readonly priority: string
}

/** The order that the row names. */
export const queueOf = (row: string): Queue => ({ session: `${row}.session`, priority: `${row}.priority` })

const asked: Queue = { session: "?", priority: "?" }

const newestPlace = ({ priority, session }: Queue): string => `FROM sendwright_claim AS claim
      WHERE claim.session = ${session} AND claim.priority = ${priority} AND claim.place IS NOT NULL
      ORDER BY claim.place DESC LIMIT 1`

const cursorOf = (queue: Queue): string => `coalesce((SELECT claim.place ${newestPlace(queue)}), 0)`

const isOf = ({ priority, session }: Queue): string =>
  `job.session = ${session} AND job.priority = ${priority} AND job.due_at IS NOT NULL`

/** A condition on `job`: it waits in that order. */
const waitsOf = (queue: Queue): string => `${isOf(queue)} AND ${place} > ${cursorOf(queue)} AND ${hasNoRow}`

/** The first jobs of an order. Its parameters are the session and the priority, twice, and their number. */
export const first = (
  columns: string,
  condition: string
): string => `SELECT ${columns} FROM sendwright_job AS job
  WHERE ${condition} AND ${waitsOf(asked)} ORDER BY ${place} ${limited}`

/** When the first job of an order is due. */
export const dueOf = (queue: Queue): string =>
  `SELECT job.due_at FROM sendwright_job AS job WHERE ${waitsOf(queue)} ORDER BY ${place} LIMIT 1`

/** The jobs that wait in the orders of all sessions. Its parameter is how many. */
export const waiting = `SELECT job.session, job.priority, job.recipients, job.per_minute, job.created_at
  FROM sendwright_busy AS busy CROSS JOIN sendwright_job AS job WHERE ${waitsOf(queueOf("busy"))} ${limited}`

/** When the oldest job that waits in any order was accepted. Its parameter is how many orders are looked at. */
export const oldest = `SELECT min(first.created_at) AS at FROM (
    SELECT (
      SELECT job.created_at FROM sendwright_job AS job WHERE ${waitsOf(queueOf("busy"))} ORDER BY ${place} LIMIT 1
    ) AS created_at FROM (SELECT session, priority FROM sendwright_busy ORDER BY session, priority ${limited}) AS busy
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

const lastDueOf = (queue: Queue): string => `SELECT job.due_at FROM sendwright_job AS job
  WHERE ${isOf(queue)} ORDER BY ${place} DESC LIMIT 1`

/** Selects when the newest job of an order is due first. Its parameters are the session and the priority. */
export const lastDue = lastDueOf(asked)

// Whether it is noted that an order may have jobs, and noting it.
export const isBusy = "SELECT 1 FROM sendwright_busy WHERE session = ? AND priority = ?"
export const noteBusy =
  "INSERT INTO sendwright_busy (session, priority) VALUES (?, ?) ON CONFLICT (session, priority) DO NOTHING"

/** How long an order is idle before it counts as such: to note it anew costs more than to look once more. */
const idleMs = 10_000

/** Orders that one commit tidies up: the accepts of some of their accounts wait for it. */
const tidiedAtOnce = 200

const forgetBusy = `DELETE FROM sendwright_busy
  WHERE session = ? AND priority = ? AND (${dueOf(queueOf("sendwright_busy"))}) IS NULL`

/** Selects of the first job behind an order's cursor. */
const nextOf = (what: string, queue: Queue): string => `SELECT ${what} FROM sendwright_job AS job
  WHERE ${isOf(queue)} AND ${place} > ${cursorOf(queue)} ORDER BY ${place} LIMIT 1`

// Jobs that were cancelled while they waited, say, keep a cursor before them: whoever looks for the next one reads them all.
const untidied = `SELECT busy.session, busy.priority, session.account,
    (${nextOf(`CASE WHEN ${hasNoRow} THEN 0 ELSE 1 END`, queueOf("busy"))}) AS passes,
    coalesce((SELECT claim.at ${newestPlace(queueOf("busy"))}), 0) AS at
  FROM (
    SELECT session, priority FROM sendwright_busy WHERE (session, priority) > (?, ?) ORDER BY session, priority ${limited}
  ) AS busy LEFT JOIN sendwright_session AS session ON session.id = busy.session ORDER BY busy.session, busy.priority`

/** Selects whether an order has to be tidied up. */
export const isUntidy = `SELECT 1 FROM (${untidied}) AS found
  WHERE found.passes = 1 OR (found.passes IS NULL AND found.at < ?) LIMIT 1`

const lastPassed = `SELECT job.seq FROM sendwright_job AS job
  WHERE ${isOf(asked)} AND ${place} < coalesce((
      SELECT job.seq FROM sendwright_job AS job WHERE ${waitsOf(asked)} ORDER BY ${place} LIMIT 1
    ), ?) ORDER BY ${place} DESC LIMIT 1`

/** Sets the order's cursor behind the jobs that have rows already. The session's jobs are locked. */
function* passOver(of: Named, drawFence: () => number, now: Instant): Program<void> {
  const queue = [of.session, of.priority]
  const last = yield* get(lastPassed, ...queue, ...queue, ...queue, Number.MAX_SAFE_INTEGER)
  if (last === undefined) return
  const none = { first: 0, last: -1, open: 0, jobs: null, isHeld: false }
  yield* Claims.insert(of, "", [{ ...none, fence: drawFence(), place: seq(last) }], seq(last), now)
}

/** Sorts before the orders of all sessions. */
export const beforeAll: Named = { session: "", priority: "high" }

/** The parameters of {@link isUntidy}. */
export const isUntidyAt = (now: Instant): ReadonlyArray<string | number> => [
  beforeAll.session,
  beforeAll.priority,
  1_000_000,
  now - idleMs
]

/**
 * Lets claims walk over no more than what waits: sets the cursors of some orders behind jobs that no claim took, and
 * forgets those that have nothing any more. Answers the last of them; null after the last of all.
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
  after: Named
): Program<Named | null> {
  const found = yield* all(untidied, after.session, after.priority, tidiedAtOnce)
  for (const row of found) {
    const of = named(row)
    const passes = integerOrNull(row, "passes")
    if (passes === 1 && (yield* trySerialize(locked(of.session)))) yield* passOver(of, drawFence, now)
    if (passes !== null || integer(row, "at") >= now - idleMs) continue
    const account = textOrNull(row, "account")
    if (account === null || (yield* trySerialize(serializedAccept(account))))
      yield* run(forgetBusy, of.session, of.priority)
  }
  const last = found.at(-1)
  return last === undefined || found.length < tidiedAtOnce ? null : named(last)
}

// The last is due last: no order is read for this.
const busyAhead = `SELECT busy.session, busy.priority FROM sendwright_busy AS busy
  WHERE (${lastDueOf(queueOf("busy"))}) > ? ORDER BY busy.session, busy.priority`

const lastAhead = `SELECT job.id FROM sendwright_job AS job
  WHERE ${waitsOf(asked)} AND job.due_at > ? AND job.created_at > ? AND ${place} > coalesce((
      SELECT job.seq FROM sendwright_job AS job
      WHERE ${isOf(asked)} AND job.due_at <= ? ORDER BY ${place} DESC LIMIT 1
    ), 0)
  ORDER BY ${place} DESC ${limited}`

/** The orders with jobs that are due later than now. */
export function* ahead(now: Instant): Program<ReadonlyArray<Named>> {
  return (yield* all(busyAhead, now)).map(named)
}

/** The ids of the jobs that an order has ahead, from its end: those that were accepted behind `latest`, `most` at most. */
export function* jobsAhead(
  { priority, session }: Named,
  { latest, most, now }: { readonly now: Instant; readonly latest: Instant; readonly most: number }
): Program<ReadonlyArray<string>> {
  const queue = [session, priority]
  const rows = yield* all(lastAhead, ...queue, ...queue, now, latest, ...queue, now, most)
  return rows.map((row) => text(row, "id"))
}
