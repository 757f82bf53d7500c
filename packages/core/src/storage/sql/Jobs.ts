/** Job rows and what a step makes of them: recipients, counts, who has it in hand, events. */
import { createHash } from "node:crypto"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Content } from "../../domain/Job.ts"
import * as Jobs from "../../domain/Job.ts"
import type { Move, Step, Tracked } from "../JobSteps.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import type { Program, Row, SqlParameter } from "./Program.ts"
import { get, run } from "./Program.ts"
import type { StoredJob } from "./Rows.ts"
import {
  insertInto,
  integer,
  integerOrNull,
  jobColumns,
  json,
  lastPlace,
  recipientColumns,
  recipientKey,
  toRecipients,
  toStoredJob
} from "./Rows.ts"

/** How many contents are kept read. */
const kept = 256

// By digest, never by row: a row that is rolled back leaves its number to another content.
const contents = new Map<string, Content>()

function* contentOf(digest: string, snapshot: number): Program<Content> {
  const known = contents.get(digest)
  if (known !== undefined) return known
  const found = yield* get("SELECT body FROM sendwright_snapshot WHERE seq = ?", snapshot)
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

const findSnapshot = "SELECT seq FROM sendwright_snapshot WHERE digest = ?"
const insertSnapshot = `${insertInto("sendwright_snapshot", ["digest", "body"])} ON CONFLICT (digest) DO NOTHING RETURNING seq`

/** The number of the content, which is written when it is new. */
export function* freeze(content: Content): Program<number> {
  const { body, digest } = snapshotOf(content)
  const row =
    (yield* get(findSnapshot, digest)) ??
    (yield* get(insertSnapshot, digest, body)) ??
    // Another writes the same at this moment, and its commit was waited for.
    (yield* get(findSnapshot, digest))
  return integer(row ?? {}, "seq")
}

const updateJob = `UPDATE sendwright_job
  SET status = ?, pause_reason = ?, queued = ?, sending = ?, accepted = ?, sent = ?, delivered = ?, read = ?,
    failed = ?, skipped = ?, canceled = ?, unknown = ?, in_flight = ?, next_at = ?, worker = ?, fence = ?,
    updated_at = ?, completed_at = ?
  WHERE seq = ?`

const earliest =
  "SELECT min(next_at) AS next_at FROM sendwright_recipient WHERE seq BETWEEN ? AND ? AND next_at IS NOT NULL"

/** When its recipients are due next, while nobody has any in hand and it may be dispatched. */
function* nextAt({ inFlight, job, seq }: StoredJob): Program<Instant | null> {
  const open = job.counts.queued + job.counts.sending
  if (inFlight > 0 || open === 0 || !Jobs.dispatchable(job.status)) return null
  const row = yield* get(earliest, recipientKey(seq, 0), recipientKey(seq, lastPlace))
  return integerOrNull(row ?? {}, "next_at")
}

const step = `status = ?, attempts = ?, lost = ?, uncertain = ?, sequence = ?, next_at = ?, fence = ?, updated_at = ?,
    failure = ?, sent_at = ?, delivered_at = ?, read_at = ?, pricing = ?`

/** Whether they lie side by side and became alike, but for the platform's id. */
const areAlike = (a: Move, b: Move): boolean =>
  b.after.index === a.after.index + 1 &&
  a.fence === b.fence &&
  a.after.status === b.after.status &&
  a.after.attempts === b.after.attempts &&
  a.after.lost === b.after.lost &&
  a.after.uncertain === b.after.uncertain &&
  a.after.sequence === b.after.sequence &&
  a.after.nextAt === b.after.nextAt &&
  a.after.updatedAt === b.after.updatedAt &&
  a.after.failure === b.after.failure &&
  a.after.sentAt === b.after.sentAt &&
  a.after.deliveredAt === b.after.deliveredAt &&
  a.after.readAt === b.after.readAt &&
  a.after.pricing?.category === b.after.pricing?.category &&
  a.after.pricing?.free === b.after.pricing?.free

/** Runs of neighbours that became alike: windows are taken and settled as one range mostly. */
const runsOf = (moves: ReadonlyArray<Move>): ReadonlyArray<ReadonlyArray<Move>> => {
  // Outcomes come in the order in which they were had. The sort is stable: of two steps of one recipient the last stays.
  const sorted = [...moves].sort((a, b) => a.after.index - b.after.index)
  const runs: Array<Array<Move>> = []
  for (const move of sorted) {
    const current = runs.at(-1)
    const last = current?.at(-1)
    if (current !== undefined && last !== undefined && areAlike(last, move)) current.push(move)
    else runs.push([move])
  }
  return runs
}

/** The job rows of one database. */
export interface JobRows {
  readonly dialect: Dialect
  readonly ids: Ids
  /** To be followed by joins and `WHERE`, with the job's columns under `job`. */
  readonly select: (more?: string) => string
  readonly toJob: (row: Row) => Program<StoredJob>
  readonly find: (jobId: string) => Program<StoredJob | undefined>
  /** To be written: nobody else writes it until the commit. */
  readonly take: (jobId: string) => Program<StoredJob | undefined>
  /** A statement for the recipients that a condition on their rows selects, with its order. */
  readonly recipientsOf: (condition: string) => string
  readonly recipients: (
    statement: string,
    ...parameters: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<Tracked>>
  /** Writes what a step made of a job: its recipients, its row, its events. */
  readonly save: (step: Step<StoredJob>, now: Instant) => Program<void>
}

export const make = (dialect: Dialect, ids: Ids): JobRows => {
  const select = (more = "") => `SELECT ${dialect.jsonArray(jobColumns)} AS job${more}
    FROM sendwright_job AS job CROSS JOIN sendwright_snapshot AS snapshot`
  const ofSnapshot = "job.snapshot = snapshot.seq"
  const byId = `${select()} WHERE ${ofSnapshot} AND job.id = ?`
  const byIdToWrite = byId + dialect.forUpdate("job")

  const updateAlike = `UPDATE sendwright_recipient SET ${step}, provider_id = ? WHERE seq BETWEEN ? AND ?`
  const updateEach = `UPDATE sendwright_recipient SET ${step}, provider_id = ${dialect.elements.value}
    FROM ${dialect.elements.from} WHERE seq = ? + ${dialect.elements.place}`

  function* toJob(row: Row): Program<StoredJob> {
    const { digest, of, snapshot } = toStoredJob(row)
    return of(yield* contentOf(digest, snapshot))
  }

  const findBy = (statement: string) =>
    function* (jobId: string): Program<StoredJob | undefined> {
      const row = yield* get(statement, jobId)
      return row === undefined ? undefined : yield* toJob(row)
    }

  function* saveAlike(job: number, moves: ReadonlyArray<Move>): Program<void> {
    const [first] = moves
    if (first === undefined) return
    const { after, fence } = first
    const key = recipientKey(job, after.index)
    const common = [
      after.status,
      after.attempts,
      after.lost,
      after.uncertain ? 1 : 0,
      after.sequence,
      after.nextAt,
      fence,
      after.updatedAt,
      after.failure === null ? null : JSON.stringify(after.failure),
      after.sentAt,
      after.deliveredAt,
      after.readAt,
      after.pricing === null ? null : JSON.stringify(after.pricing)
    ]
    if (moves.every((move) => move.after.providerId === after.providerId)) {
      yield* run(updateAlike, ...common, after.providerId, key, key + moves.length - 1)
    } else {
      const providerIds = moves.map((move) => move.after.providerId)
      yield* run(updateEach, ...common, JSON.stringify(providerIds), key)
    }
  }

  return {
    dialect,
    ids,
    select,
    toJob,
    find: findBy(byId),
    take: findBy(byIdToWrite),
    recipientsOf: (condition) => `SELECT ${dialect.jsonArrays(recipientColumns(dialect.json))} AS recipients
      FROM (SELECT * FROM sendwright_recipient WHERE ${condition}) AS recipient`,
    recipients: function* (statement, ...parameters) {
      return toRecipients(yield* get(statement, ...parameters))
    },
    save: function* ({ drafts, held, moves }, now) {
      const { fence, inFlight, job, seq, worker } = held
      const { counts } = job
      for (const alike of runsOf(moves)) yield* saveAlike(seq, alike)
      yield* run(
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
        yield* nextAt(held),
        worker,
        fence,
        job.updatedAt,
        job.completedAt,
        seq
      )
      yield* Events.append(ids, job.accountId, drafts, now)
    }
  }
}
