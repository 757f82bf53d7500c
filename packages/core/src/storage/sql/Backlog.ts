/**
 * Jobs that wait untouched, and the batches that take them.
 *
 * A job has a row in `sendwright_progress` once something became of it. Until then it is as it was accepted, or claimed
 * by a worker as its batch says. A session's backlog is its jobs that have a `backlog_at`, in the order of their `seq`:
 * their times are in that order too, and so are their commits, since an account's accepts go one after the other. So the
 * last job of the session's newest batch is a cursor: what lies behind it and has no row waits.
 *
 * A batch's row is what is locked of its jobs, and what has a version, for as long as they have no rows.
 */
import type { Instant } from "../../domain/Instant.ts"
import { batches } from "./codec/Job.ts"
import type { Dialect } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import type { Program } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import { integer, integerOrNull, limited, seq, text, textOrNull } from "./RowReader.ts"

/** The name that serializes claims from the session's backlog. */
export const serialized = (sessionId: string): string => `backlog ${sessionId}`

/** A job's place in its session's backlog: an expression, so that no plan takes the index of all sessions' jobs for it. */
export const place = "(job.seq + 0)"

/** Written so that PostgreSQL expects nearly all jobs to pass: expecting few, it reads the whole backlog and sorts it. */
const hasNoRow = `coalesce((
        SELECT progress.seq FROM sendwright_progress AS progress WHERE progress.seq = job.seq
      ), 0) <> job.seq`

/** The last job that was claimed of a session's backlog. @param session as SQL */
export const cursorOf = (session: string): string => `coalesce((
      SELECT batch.last FROM sendwright_batch AS batch WHERE batch.session = ${session}
      ORDER BY batch.first DESC LIMIT 1
    ), 0)`

/** A condition on `job`, which waits in the session's backlog then. @param session as SQL */
export const waitsOf = (session: string): string => `job.session = ${session} AND job.backlog_at IS NOT NULL
      AND ${place} > ${cursorOf(session)} AND ${hasNoRow}`

/** The order of the backlog. */
export const inOrder = `ORDER BY ${place}`

/** When the first job of a session's backlog is due. @param session as SQL */
export const dueOf = (session: string): string =>
  `SELECT job.backlog_at FROM sendwright_job AS job WHERE ${waitsOf(session)} ${inOrder} LIMIT 1`

/** A condition on `job`, which its `batch` alone tells of then. */
export const isInBatch = `job.session = batch.session AND job.backlog_at IS NOT NULL
      AND ${place} BETWEEN batch.first AND batch.last AND ${hasNoRow}`

/** Joins to `job` and its `progress` the batch that tells of it, if one does. */
export const joinBatch = `LEFT JOIN sendwright_batch AS batch ON batch.session = job.session
      AND batch.first = CASE WHEN progress.seq IS NULL AND job.backlog_at IS NOT NULL THEN (
        SELECT max(started.first) FROM sendwright_batch AS started
        WHERE started.session = job.session AND started.first <= job.seq
      ) END AND batch.last >= job.seq`

/** The status of `job`, of each alone: as a join that many rows share, its tables might be read as a whole. */
export const status = `coalesce(
      (SELECT progress.status FROM sendwright_progress AS progress WHERE progress.seq = job.seq),
      CASE WHEN job.backlog_at IS NOT NULL AND job.seq <= (
        SELECT batch.last FROM sendwright_batch AS batch WHERE batch.session = job.session AND batch.first <= job.seq
        ORDER BY batch.first DESC LIMIT 1
      ) THEN 'processing' ELSE 'queued' END
    )`

/** A batch is known by its session and its first job. */
export interface BatchKey {
  readonly session: string
  readonly first: number
}

export interface Batch extends BatchKey {
  readonly last: number
  /** Null when none of its jobs is claimed any more: then it is a cursor only. */
  readonly worker: string | null
  /** How many of its jobs have no row. */
  readonly open: number
}

const insertBatch = insertInto("sendwright_batch", batches.names)

/**
 * Takes what waits up to the batch's last job. The session's backlog is serialized. Who does so has locked jobs, and waits
 * for no ended batch that another still has locked: the next one forgets that.
 */
export const claiming = ({ skipLocked }: Dialect) => {
  const forgetEnded = `DELETE FROM sendwright_batch WHERE session = ? AND first IN (
      SELECT ended.first FROM sendwright_batch AS ended
      WHERE ended.session = ? AND ended.first < ? AND ended.worker IS NULL${skipLocked("ended")}
    )`
  return function* (
    { first, last, open, session, worker }: Batch,
    version: string,
    now: Instant
  ): Program<void> {
    yield* run(forgetEnded, session, session, first)
    yield* run(insertBatch, ...batches.write({ session, first, last, worker, open, at: now, version }))
  }
}

const wrote = `UPDATE sendwright_batch
  SET open = open - ?, worker = CASE WHEN open > ? THEN worker END, version = ? WHERE session = ? AND first = ?`

/** Jobs of the batch have rows now. It is locked. */
export function* release({ first, session }: BatchKey, jobs: number, version: string): Program<void> {
  yield* run(wrote, jobs, jobs, version, session, first)
}

/** Locks batches in the order of their first jobs; answers their versions by these. */
export const locking = ({ entries, forUpdate }: Dialect) => {
  const lock = `SELECT batch.first, batch.version FROM ${entries.from} CROSS JOIN sendwright_batch AS batch
    WHERE batch.session = ${entries.value} AND batch.first = ${entries.key} ORDER BY batch.first${forUpdate("batch")}`
  return function* (keys: Iterable<BatchKey>): Program<ReadonlyMap<number, string>> {
    const sessions = Object.fromEntries([...keys].map(({ first, session }) => [first, session]))
    const found = yield* all(lock, JSON.stringify(sessions))
    return new Map(found.map((row) => [Number(row["first"]), text(row, "version")]))
  }
}

// Whether it is noted that the session has a backlog, and noting it.
export const isBusy = "SELECT 1 FROM sendwright_busy WHERE session = ?"
export const noteBusy = "INSERT INTO sendwright_busy (session) VALUES (?) ON CONFLICT (session) DO NOTHING"

/** How long a session is idle before it counts as such: to note it anew costs more than to look once more. */
const idleMs = 10_000

/** Sessions that one commit tidies up: the accepts of some of their accounts wait for it. */
const tidiedAtOnce = 200

const forgetBusy = `DELETE FROM sendwright_busy WHERE session = ? AND (${dueOf("sendwright_busy.session")}) IS NULL`

/** Selects of the first job behind a session's cursor. @param session as SQL */
const nextOf = (what: string, session: string): string => `SELECT ${what} FROM sendwright_job AS job
  WHERE job.session = ${session} AND job.backlog_at IS NOT NULL AND ${place} > ${cursorOf(session)} ${inOrder} LIMIT 1`

// Jobs that were cancelled while they waited, say, keep a cursor before them: whoever looks for the next one reads them all.
const untidied = `SELECT busy.session, session.account,
    (${nextOf(`CASE WHEN ${hasNoRow} THEN 0 ELSE 1 END`, "busy.session")}) AS passes,
    coalesce((
      SELECT batch.at FROM sendwright_batch AS batch WHERE batch.session = busy.session
      ORDER BY batch.first DESC LIMIT 1
    ), 0) AS at
  FROM (SELECT session FROM sendwright_busy WHERE session > ? ORDER BY session ${limited}) AS busy
    LEFT JOIN sendwright_session AS session ON session.id = busy.session ORDER BY busy.session`

const firstPassed = nextOf("job.seq", "?")
const lastPassed = `SELECT job.seq FROM sendwright_job AS job
  WHERE job.session = ? AND job.backlog_at IS NOT NULL AND ${place} < coalesce((
      SELECT job.seq FROM sendwright_job AS job WHERE ${waitsOf("?")} ${inOrder} LIMIT 1
    ), ?) ORDER BY ${place} DESC LIMIT 1`

/** Sets the session's cursor behind the jobs that have rows already. The session's backlog is serialized. */
function* passOver(claimBatch: ReturnType<typeof claiming>, session: string, now: Instant): Program<void> {
  const first = yield* get(firstPassed, session, session)
  const last = yield* get(lastPassed, session, session, session, Number.MAX_SAFE_INTEGER)
  if (first === undefined || last === undefined || seq(last) < seq(first)) return
  yield* claimBatch({ session, first: seq(first), last: seq(last), worker: null, open: 0 }, "", now)
}

/**
 * Lets claims walk over no more than what waits: sets the cursors of some sessions behind jobs that no claim took, and
 * forgets those that have no backlog any more. Answers the last of them; null after the last of all.
 *
 * An accept that found its session noted has committed before, since the account's accepts are serialized; it is seen by the
 * second look.
 *
 * @param serializedAccept the name that an account's accepts are serialized by
 */
export function* tidy(
  dialect: Dialect,
  serializedAccept: (accountId: string) => string,
  now: Instant,
  after: string
): Program<string | null> {
  const { trySerialize } = dialect
  const claimBatch = claiming(dialect)
  const found = yield* all(untidied, after, tidiedAtOnce)
  for (const row of found) {
    const session = text(row, "session")
    const passes = integerOrNull(row, "passes")
    if (passes === 1 && (yield* trySerialize(serialized(session)))) yield* passOver(claimBatch, session, now)
    if (passes !== null || integer(row, "at") >= now - idleMs) continue
    const account = textOrNull(row, "account")
    if (account === null || (yield* trySerialize(serializedAccept(account)))) yield* run(forgetBusy, session)
  }
  const last = found.at(-1)
  return last === undefined || found.length < tidiedAtOnce ? null : text(last, "session")
}

/** Selects when the newest job of a session's backlog is due first. @param session as SQL */
const lastDueOf = (session: string): string => `SELECT job.backlog_at FROM sendwright_job AS job
  WHERE job.session = ${session} AND job.backlog_at IS NOT NULL ORDER BY ${place} DESC LIMIT 1`

export const lastDue = lastDueOf("?")

// The last is due last: no backlog is read for this.
const sessionsAhead = `SELECT busy.session FROM sendwright_busy AS busy
  WHERE (${lastDueOf("busy.session")}) > ? ORDER BY busy.session`

/** The sessions with jobs in their backlogs that are due later than now. */
export function* ahead(now: Instant): Program<ReadonlyArray<string>> {
  return (yield* all(sessionsAhead, now)).map((row) => text(row, "session"))
}
