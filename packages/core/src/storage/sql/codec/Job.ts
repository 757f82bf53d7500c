/**
 * The columns of `sendwright_job`, of what changes of a job (`sendwright_progress`), and of the batch that tells of jobs
 * which have nothing there (`sendwright_batch`). A job comes as one JSON text and is read by a literal, like a recipient.
 */
import * as Arrays from "effect/Array"
import type { Instant } from "../../../domain/Instant.ts"
import * as Job from "../../../domain/job/Job.ts"
import type { Counts } from "../../../domain/job/Recipient.ts"
import * as Transitions from "../../../domain/job/Transitions.ts"
import type { Outbound } from "../../../domain/session/Session.ts"
import type { JobState } from "../../JobSteps.ts"
import {
  elementOf,
  integer,
  integerOrNull,
  layout,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import type { Dialect } from "../Database.ts"
import type { Row, SqlValue } from "../Program.ts"
import * as RowReader from "../RowReader.ts"
import { outbound } from "./Session.ts"
import { statusNow, templateNow } from "./Template.ts"

/**
 * The kind of a template send that was accepted inside an embedder's transaction. Its number is not in the order of commits
 * and its units were not counted at its acceptance, so it is not among the jobs of which the newest carries the day's total.
 */
export const embedded = "embedded"

type Kind = Job.Content["kind"] | typeof embedded

export const contentKindOf = (kind: Kind): Job.Content["kind"] => (kind === embedded ? "template" : kind)

/** The kinds by which jobs with such a content are listed. */
export const storedKindsOf = (kind: Job.Content["kind"]): ReadonlyArray<Kind> =>
  kind === "template" ? [kind, embedded] : [kind]

/** What of a job stays as it was accepted, but its content, which lies apart. */
type Accepted = Pick<
  Job.Job,
  | "accountId"
  | "createdAt"
  | "currency"
  | "estimatedCost"
  | "id"
  | "publicKey"
  | "recipients"
  | "reference"
  | "sessionId"
>

interface JobRow extends Accepted {
  readonly seq: number
  readonly kind: Kind
  readonly template: number | null
  /** The number of its content. */
  readonly snapshot: number
  readonly idempotencyKey: string | null
  readonly fingerprint: string | null
  /** What was answered to a direct message; null while it is under way, and of template sends. */
  readonly answer: string | null
  /** The units that its account sent that day, with its own; null of an embedded send. */
  readonly dayTotal: number | null
  /** When it is due, if it waits in its session's backlog. */
  readonly backlogAt: Instant | null
}

export const jobs = table<JobRow>({
  seq: integer("seq"),
  id: text("id"),
  accountId: text("account"),
  sessionId: text("session"),
  publicKey: text("public_key"),
  kind: word("kind", [...Job.kinds, embedded]),
  template: integerOrNull("template"),
  snapshot: integer("snapshot"),
  reference: textOrNull("reference"),
  currency: text("currency"),
  estimatedCost: textOrNull("estimated_cost"),
  idempotencyKey: textOrNull("idempotency_key"),
  fingerprint: textOrNull("fingerprint"),
  answer: textOrNull("answer"),
  recipients: integer("recipients"),
  createdAt: integer("created_at"),
  dayTotal: integerOrNull("day_total"),
  backlogAt: integerOrNull("backlog_at")
})

/** The columns of a new job; it has its number from the database. */
export const newJob = jobs.without("seq", "answer")

interface ProgressRow
  extends Pick<Job.Job, "completedAt" | "pauseReason" | "sessionId" | "status" | "updatedAt">,
    Pick<JobState, "fence" | "inFlight" | "worker">,
    Counts {
  readonly seq: number
  readonly nextAt: Instant | null
  readonly claimedFirst: number | null
  readonly claimedLast: number | null
  readonly claimedAt: Instant | null
}

const progressColumns = table<ProgressRow>({
  sessionId: text("session"),
  status: word("status", Job.statuses),
  pauseReason: nullable(word("pause_reason", Job.pauseReasons)),
  queued: integer("queued"),
  sending: integer("sending"),
  accepted: integer("accepted"),
  sent: integer("sent"),
  delivered: integer("delivered"),
  read: integer("read"),
  failed: integer("failed"),
  skipped: integer("skipped"),
  canceled: integer("canceled"),
  unknown: integer("unknown"),
  inFlight: integer("in_flight"),
  nextAt: integerOrNull("next_at"),
  worker: textOrNull("worker"),
  fence: integer("fence"),
  updatedAt: integer("updated_at"),
  completedAt: integerOrNull("completed_at"),
  claimedFirst: integerOrNull("taken_first"),
  claimedLast: integerOrNull("taken_last"),
  claimedAt: integerOrNull("taken_at"),
  seq: integer("seq")
})

/** What a worker changes of a job. */
const state = [
  "status",
  "pauseReason",
  "queued",
  "sending",
  "accepted",
  "sent",
  "delivered",
  "read",
  "failed",
  "skipped",
  "canceled",
  "unknown",
  "inFlight",
  "worker",
  "fence",
  "updatedAt",
  "completedAt",
  "claimedFirst",
  "claimedLast",
  "claimedAt"
] as const

/** Those come first that are the same for all jobs of most commits. */
export const progress = progressColumns.only("sessionId", ...state, "nextAt", "seq")

interface BatchRow {
  readonly session: string
  readonly first: number
  readonly last: number
  readonly worker: string | null
  readonly open: number
  readonly at: Instant
  readonly version: string
}

export const batches = table<BatchRow>({
  session: text("session"),
  first: integer("first"),
  last: integer("last"),
  worker: textOrNull("worker"),
  open: integer("open"),
  at: integer("at"),
  version: text("version")
})

/** Recipients that were claimed by their job's row alone: the first and the last place, and when. */
export interface ClaimedRange {
  readonly first: number
  readonly last: number
  readonly at: Instant
}

/** A job, its number, and where its state is written. */
export interface StoredJob extends JobState {
  readonly seq: number
  readonly claimedRange: ClaimedRange | null
  /** True when it has a row in `sendwright_progress`. */
  readonly hasRow: boolean
  /** The first job of the batch that tells of it; null where it has a row, and while it waits untouched. */
  readonly batch: number | null
  /**
   * Of a job that was read from the backlog: the job before it there, null of the first. Undefined of others.
   */
  readonly behind: number | null | undefined
  /** Of its row (`Dialect.version`), or of its batch's, as it was read; empty while it has neither. */
  readonly version: string
}

/** @param nextAt when its recipients are due next */
export const writeProgress = (
  { claimedRange, fence, inFlight, job, seq, worker }: StoredJob,
  nextAt: Instant | null
): ReadonlyArray<SqlValue> => {
  const { at } = progress
  const { counts } = job
  const values = progress.blank()
  values[at.sessionId] = job.sessionId
  values[at.status] = job.status
  values[at.pauseReason] = job.pauseReason
  values[at.queued] = counts.queued
  values[at.sending] = counts.sending
  values[at.accepted] = counts.accepted
  values[at.sent] = counts.sent
  values[at.delivered] = counts.delivered
  values[at.read] = counts.read
  values[at.failed] = counts.failed
  values[at.skipped] = counts.skipped
  values[at.canceled] = counts.canceled
  values[at.unknown] = counts.unknown
  values[at.inFlight] = inFlight
  values[at.nextAt] = nextAt
  values[at.worker] = worker
  values[at.fence] = fence
  values[at.updatedAt] = job.updatedAt
  values[at.completedAt] = job.completedAt
  if (claimedRange !== null && inFlight > 0) {
    values[at.claimedFirst] = claimedRange.first
    values[at.claimedLast] = claimedRange.last
    values[at.claimedAt] = claimedRange.at
  }
  values[at.seq] = seq
  return values
}

interface ChangedRow extends ProgressRow {
  readonly id: string
  readonly version: string
}

const changed = layout<ChangedRow>()("seq", "id", ...state, "version")

type Changed = ReturnType<typeof changed.parse>

/**
 * What changes of a job, after what it is known by, and the row's version; {@link readRenewed} reads it.
 *
 * @param as what it is called by that has what changes
 */
export const changingColumns = (as: string, version: string): string =>
  changed.select({
    ...progress.expressions(({ name }) => `${as}.${name}`),
    seq: "job.seq",
    id: "job.id",
    version
  })

const batch = layout<BatchRow>()("first", "worker", "at", "version")

export type BatchOfJob = Pick<BatchRow, "at" | "first" | "version" | "worker">

interface AnsweredRow extends JobRow {
  readonly changed: Changed | null
  readonly batch: ReturnType<typeof batch.parse> | null
  readonly digest: string
}

const answered = layout<AnsweredRow>()(
  "changed",
  "batch",
  "seq",
  "id",
  "accountId",
  "sessionId",
  "publicKey",
  "snapshot",
  "digest",
  "currency",
  "estimatedCost",
  "recipients",
  "createdAt",
  "reference"
)

const ofJob = jobs.expressions(({ name }) => `job.${name}`)
const ofBatch = batches.expressions(({ name }) => `batch.${name}`)

const selectJob = (changed: string, batch: string): string =>
  answered.select({ ...ofJob, digest: "snapshot.digest", changed, batch })

const rowOf = ({ jsonValue, version }: Dialect): string =>
  jsonValue(changingColumns("progress", version("progress")))

/** What {@link readJob} reads of a job, of its row in `sendwright_progress` and of the batch that has it. */
export const jobColumns = (dialect: Dialect): string =>
  selectJob(
    `CASE WHEN progress.seq IS NULL THEN NULL ELSE ${rowOf(dialect)} END`,
    `CASE WHEN batch.first IS NULL THEN NULL ELSE ${dialect.jsonValue(batch.select(ofBatch))} END`
  )

/** The same of a job that has such a row. */
export const rowColumns = (dialect: Dialect): string => selectJob(rowOf(dialect), "NULL")

type Fixed = Omit<Accepted, "id"> & Pick<Job.Job, "content">

const statusOf = RowReader.wordOf(Job.statuses)
const pauseReasonOf = RowReader.wordOf(Job.pauseReasons)
const { at } = answered
const { at: now } = changed
const { at: inBatchAt } = batch

const rangeOf = (first: number | null, last: number | null, at: number | null): ClaimedRange | null =>
  first === null || last === null || at === null ? null : { first, last, at }

const ofRow = (array: Changed, fixed: Fixed): StoredJob => {
  const pauseReason = array[now.pauseReason]
  return {
    seq: array[now.seq],
    job: {
      id: array[now.id],
      accountId: fixed.accountId,
      sessionId: fixed.sessionId,
      publicKey: fixed.publicKey,
      content: fixed.content,
      reference: fixed.reference,
      status: statusOf("status", array[now.status]),
      pauseReason: pauseReason === null ? null : pauseReasonOf("pause_reason", pauseReason),
      recipients: fixed.recipients,
      counts: {
        queued: array[now.queued],
        sending: array[now.sending],
        accepted: array[now.accepted],
        sent: array[now.sent],
        delivered: array[now.delivered],
        read: array[now.read],
        failed: array[now.failed],
        skipped: array[now.skipped],
        canceled: array[now.canceled],
        unknown: array[now.unknown]
      },
      currency: fixed.currency,
      estimatedCost: fixed.estimatedCost,
      createdAt: fixed.createdAt,
      updatedAt: array[now.updatedAt],
      completedAt: array[now.completedAt]
    },
    inFlight: array[now.inFlight],
    worker: array[now.worker],
    fence: array[now.fence],
    claimedRange: rangeOf(array[now.claimedFirst], array[now.claimedLast], array[now.claimedAt]),
    hasRow: true,
    batch: null,
    behind: undefined,
    version: array[now.version]
  }
}

/** A job as it was accepted: nothing but itself tells of it. */
export const untouched = (seq: number, job: Job.Job, behind?: number | null): StoredJob => ({
  seq,
  job,
  inFlight: 0,
  worker: null,
  fence: 0,
  claimedRange: null,
  hasRow: false,
  batch: null,
  behind,
  version: ""
})

/** A job that a batch has claimed whole. */
export const inBatch = (
  seq: number,
  job: Job.Job,
  { at, first, version, worker }: BatchOfJob
): StoredJob => ({
  seq,
  job,
  inFlight: job.recipients,
  worker,
  fence: 1,
  claimedRange: { first: 0, last: job.recipients - 1, at },
  hasRow: false,
  batch: first,
  behind: undefined,
  version
})

export const readJob = (
  text: string
): {
  readonly seq: number
  /** Of its content, which lies apart. */
  readonly digest: string
  readonly snapshot: number
  readonly of: (content: Job.Job["content"]) => StoredJob
} => {
  const array = answered.parse(text)
  const of = (content: Job.Job["content"]): StoredJob => {
    const fixed: Fixed = {
      accountId: array[at.accountId],
      sessionId: array[at.sessionId],
      publicKey: array[at.publicKey],
      content,
      reference: array[at.reference],
      recipients: array[at.recipients],
      currency: array[at.currency],
      estimatedCost: array[at.estimatedCost],
      createdAt: array[at.createdAt]
    }
    const changed = array[at.changed]
    if (changed !== null) return ofRow(changed, fixed)
    const seq = array[at.seq]
    const job = Job.newJob({
      accountId: fixed.accountId,
      sessionId: fixed.sessionId,
      publicKey: fixed.publicKey,
      currency: fixed.currency,
      estimatedCost: fixed.estimatedCost,
      reference: fixed.reference,
      jobId: array[at.id],
      content,
      recipients: fixed.recipients,
      now: fixed.createdAt
    })
    const batch = array[at.batch]
    if (batch === null) return untouched(seq, job)
    const batchClaimedAt = batch[inBatchAt.at]
    return inBatch(seq, Transitions.claimedWhole(job, batchClaimedAt), {
      first: batch[inBatchAt.first],
      worker: batch[inBatchAt.worker],
      at: batchClaimedAt,
      version: batch[inBatchAt.version]
    })
  }
  return { seq: array[at.seq], snapshot: array[at.snapshot], digest: array[at.digest], of }
}

const group = jobs.only("accountId", "sessionId", "publicKey", "snapshot", "currency")

interface WaitingRow extends JobRow {
  readonly backlogAt: Instant
}

const waiting = layout<WaitingRow>()(
  "seq",
  "id",
  "estimatedCost",
  "recipients",
  "createdAt",
  "reference",
  "backlogAt"
)

/**
 * Selects jobs of which there is nothing but themselves, grouped by what most of a session have in common; each group with
 * what its session sends by, its content's digest and its template as it is now.
 *
 * @param jobs selects them, each with all columns
 */
export const selectWaiting = (dialect: Pick<Dialect, "jsonColumns">, jobs: string): string => {
  const columns = dialect.jsonColumns(waiting.expressions(ofJob))
  return `SELECT ${group.of("jobs")}, jobs.jobs, ${outbound.of("session")}, snapshot.digest, ${statusNow} AS template, template.category
    FROM (SELECT ${group.list}, template, ${columns} AS jobs FROM (${jobs}) AS job GROUP BY ${group.list}, template) AS jobs
      CROSS JOIN sendwright_session AS session CROSS JOIN sendwright_snapshot AS snapshot
      LEFT JOIN sendwright_template AS template ON template.id = jobs.template
    WHERE session.id = jobs.session AND snapshot.seq = jobs.snapshot`
}

/** Reads a group of {@link selectWaiting}: what its jobs have in common, and each job by its place in the group. */
export const readWaiting = (row: Row) => {
  const { at } = waiting
  const columns = waiting.parseColumns(RowReader.text(row, "jobs"))
  const { accountId, currency, publicKey, sessionId, snapshot } = group.read(row)
  const session: Outbound = outbound.read(row)
  return {
    snapshot,
    digest: RowReader.text(row, "digest"),
    template: templateNow(row),
    session,
    seqs: columns[at.seq],
    dueAt: (place: number): Instant => elementOf(columns[at.backlogAt], place),
    /** @param behind as `StoredJob.behind` */
    job: (place: number, content: Job.Job["content"], behind: number | null): StoredJob => {
      const job = Job.newJob({
        accountId,
        sessionId,
        publicKey,
        currency,
        estimatedCost: elementOf(columns[at.estimatedCost], place),
        reference: elementOf(columns[at.reference], place),
        jobId: elementOf(columns[at.id], place),
        content,
        recipients: elementOf(columns[at.recipients], place),
        now: elementOf(columns[at.createdAt], place)
      })
      return untouched(elementOf(columns[at.seq], place), job, behind)
    }
  }
}

interface RenewedRow {
  readonly seq: number
  readonly id: string
  /** Null of one that is as it was left. */
  readonly changed: Changed | null
}

const renewed = layout<RenewedRow>()("seq", "id", "changed")

/** @param changed as {@link changingColumns}, or null. Both are of `job`. */
export const renewedColumns = (changed: string): string =>
  renewed.select({ seq: "job.seq", id: "job.id", changed })

/** Those of the jobs that there still are, as they are now; of one that is as it was left there is nothing to read. */
export const readRenewed = (
  text: string,
  known: ReadonlyMap<number, StoredJob>
): ReadonlyArray<StoredJob> => {
  const { at } = renewed
  return Arrays.flatMap(renewed.parseAll(text), (array) => {
    const stored = known.get(array[at.seq])
    if (stored === undefined || stored.job.id !== array[at.id]) return []
    const changed = array[at.changed]
    return [changed === null ? stored : ofRow(changed, stored.job)]
  })
}
