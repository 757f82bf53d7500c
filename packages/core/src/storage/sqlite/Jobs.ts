/** Job rows and what follows from a step: recipients, counts, lease and events, for the stores that move jobs. */
import { createHash } from "node:crypto"
import type { Draft } from "../../domain/Event.ts"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Content } from "../../domain/Job.ts"
import * as Jobs from "../../domain/Job.ts"
import type { Change } from "../../domain/Progress.ts"
import type { Row, Statements } from "./Database.ts"
import * as Events from "./Events.ts"
import type { Held } from "./Rows.ts"
import {
  insertInto,
  integer,
  integerOrNull,
  jobColumns,
  json,
  lastPlace,
  recipientKey,
  toHeld
} from "./Rows.ts"

/** A step of a recipient, and the claim whose outcome it awaits afterwards. */
export interface Move extends Change {
  readonly fence: number | null
}

/** How many contents are kept read. */
const kept = 256

// By digest, never by row: a row that is rolled back leaves its number to another content.
const contents = new Map<string, Content>()

const contentOf = (sql: Statements, digest: string, snapshot: number): Content => {
  const known = contents.get(digest)
  if (known !== undefined) return known
  const found = sql.get("SELECT body FROM sendwright_snapshot WHERE seq = ?", snapshot)
  const content = json<Content>(found ?? {}, "body")
  const [oldest] = contents.keys()
  if (contents.size >= kept && oldest !== undefined) contents.delete(oldest)
  contents.set(digest, content)
  return content
}

interface Snapshot {
  readonly digest: string
  readonly body: string
}

// Contents are immutable, so one object is digested once.
const snapshots = new WeakMap<Content, Snapshot>()

const snapshotOf = (content: Content): Snapshot => {
  const known = snapshots.get(content)
  if (known !== undefined) return known
  const body = JSON.stringify(content)
  const snapshot = { digest: createHash("sha256").update(body).digest("base64url"), body }
  snapshots.set(content, snapshot)
  return snapshot
}

const insertSnapshot = `${insertInto("sendwright_snapshot", ["digest", "body"])} RETURNING seq`

/** The number of the content, which is written when it is new. */
export const freeze = (sql: Statements, content: Content): number => {
  const { body, digest } = snapshotOf(content)
  const row =
    sql.get("SELECT seq FROM sendwright_snapshot WHERE digest = ?", digest) ??
    sql.get(insertSnapshot, digest, body)
  return integer(row ?? {}, "seq")
}

/** To be followed by `WHERE`, with the job's columns under `job`. */
export const select = `SELECT job.seq, ${jobColumns}
  FROM sendwright_job AS job CROSS JOIN sendwright_snapshot AS snapshot ON snapshot.seq = job.snapshot`

export const heldOf = (sql: Statements, row: Row): Held =>
  toHeld(row, (digest, snapshot) => contentOf(sql, digest, snapshot))

const byId = `${select} WHERE job.id = ?`

export const find = (sql: Statements, id: string): Held | undefined => {
  const row = sql.get(byId, id)
  return row === undefined ? undefined : heldOf(sql, row)
}

/** When its recipients are due next, while nobody has it and it may be dispatched. */
export const nextAt = (
  sql: Statements,
  { inFlight, job, seq }: Pick<Held, "seq" | "job" | "inFlight">
): Instant | null => {
  const open = job.counts.queued + job.counts.sending
  if (inFlight > 0 || open === 0 || !Jobs.dispatchable(job.status)) return null
  const row = sql.get(
    "SELECT min(next_at) AS next_at FROM sendwright_recipient WHERE seq BETWEEN ? AND ? AND next_at IS NOT NULL",
    recipientKey(seq, 0),
    recipientKey(seq, lastPlace)
  )
  return integerOrNull(row ?? {}, "next_at")
}

const step = `status = ?, attempts = ?, sequence = ?, next_at = ?, fence = ?, updated_at = ?, failure = ?, sent_at = ?,
    delivered_at = ?, read_at = ?`

const updateAlike = `UPDATE sendwright_recipient SET ${step}, provider_id = ? WHERE seq BETWEEN ? AND ?`

const updateEach = `UPDATE sendwright_recipient SET ${step}, provider_id = told.atom
  FROM json_each(?) AS told WHERE seq = ? + told.key`

/** Whether they lie side by side and became alike, but for the platform's id. */
const areAlike = (a: Move, b: Move): boolean =>
  b.after.index === a.after.index + 1 &&
  a.fence === b.fence &&
  a.after.status === b.after.status &&
  a.after.attempts === b.after.attempts &&
  a.after.sequence === b.after.sequence &&
  a.after.nextAt === b.after.nextAt &&
  a.after.updatedAt === b.after.updatedAt &&
  a.after.failure === b.after.failure &&
  a.after.sentAt === b.after.sentAt &&
  a.after.deliveredAt === b.after.deliveredAt &&
  a.after.readAt === b.after.readAt

const saveRun = (sql: Statements, job: number, run: ReadonlyArray<Move>): void => {
  const [first] = run
  if (first === undefined) return
  const { after, fence } = first
  const key = recipientKey(job, after.index)
  const common = [
    after.status,
    after.attempts,
    after.sequence,
    after.nextAt,
    fence,
    after.updatedAt,
    after.failure === null ? null : JSON.stringify(after.failure),
    after.sentAt,
    after.deliveredAt,
    after.readAt
  ]
  if (run.every((move) => move.after.providerId === after.providerId)) {
    sql.run(updateAlike, ...common, after.providerId, key, key + run.length - 1)
  } else {
    const providerIds = run.map((move) => move.after.providerId)
    sql.run(updateEach, ...common, JSON.stringify(providerIds), key)
  }
}

/** Neighbours that became alike are written by one statement: windows are taken and settled as one range mostly. */
const saveRecipients = (sql: Statements, job: number, moves: ReadonlyArray<Move>): void => {
  // Outcomes come in the order in which they were had. The sort is stable: of two steps of one recipient the last stays.
  const sorted = [...moves].sort((a, b) => a.after.index - b.after.index)
  let run: Array<Move> = []
  for (const move of sorted) {
    const last = run.at(-1)
    if (last !== undefined && !areAlike(last, move)) {
      saveRun(sql, job, run)
      run = []
    }
    run.push(move)
  }
  saveRun(sql, job, run)
}

const updateJob = `UPDATE sendwright_job
  SET status = ?, pause_reason = ?, queued = ?, sending = ?, accepted = ?, sent = ?, delivered = ?, read = ?,
    failed = ?, skipped = ?, canceled = ?, unknown = ?, in_flight = ?, next_at = ?, lease_worker = ?,
    lease_until = ?, fence = ?, updated_at = ?, completed_at = ?
  WHERE seq = ?`

/** Writes what a step made of a job: its recipients, its row, its events. A job with nothing in flight has no lease. */
export const save = (
  sql: Statements,
  ids: Ids,
  held: Held,
  moves: ReadonlyArray<Move>,
  drafts: ReadonlyArray<Draft>,
  now: Instant
): void => {
  const { fence, inFlight, job, seq } = held
  const { counts } = job
  const lease = inFlight > 0 ? held.lease : null
  saveRecipients(sql, seq, moves)
  sql.run(
    updateJob,
    job.status,
    job.pauseReason,
    counts.queued,
    counts.sending,
    counts.accepted,
    counts.sent,
    counts.delivered,
    counts.read,
    counts.failed,
    counts.skipped,
    counts.canceled,
    counts.unknown,
    inFlight,
    nextAt(sql, held),
    lease === null ? null : lease.worker,
    lease === null ? null : lease.until,
    fence,
    job.updatedAt,
    job.completedAt,
    seq
  )
  Events.append(sql, ids, job.accountId, drafts, now)
}
