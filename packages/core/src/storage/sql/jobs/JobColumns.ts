/**
 * The columns of `sendwright_job` and `sendwright_progress`, and how a job is read from both. A job comes as one JSON text:
 * the driver's own rows of so many columns take several times as long.
 */

import type { Instant } from "../../../domain/Instant.ts"
import type { JobTexts } from "../../../domain/job/ClientTexts.ts"
import * as Job from "../../../domain/job/Job.ts"
import * as Priority from "../../../domain/job/Priority.ts"
import type { Counts } from "../../../domain/job/Recipient.ts"
import * as Recipient from "../../../domain/job/Recipient.ts"
import type { Firsts, StopWhen } from "../../../domain/job/StopWhen.ts"
import * as Transitions from "../../../domain/job/Transitions.ts"
import type * as When from "../../../domain/job/When.ts"
import type { OpenClaim, StoredJob } from "../../policy/JobRows.ts"
import type { Column } from "../Columns.ts"
import {
  exact,
  exactOrNull,
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  json,
  layout,
  noted,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import type { Dialect } from "../Database.ts"
import { impersonal, mention, mentionInJson, mentionInKey, opaque } from "../Personal.ts"
import { inSql } from "../RecipientKeys.ts"
import * as RowReader from "../RowReader.ts"

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

/** The fields of a job that stay as they were accepted, but for the content, which lies apart. */
type Accepted = Pick<
  Job.Job,
  | "accountId"
  | "createdAt"
  | "currency"
  | "estimatedCost"
  | "id"
  | "idempotencyKey"
  | "perMinute"
  | "priority"
  | "publicKey"
  | "recipients"
  | "requestId"
  | "sessionId"
  | "stopWhen"
  | "traceparent"
>

interface JobRow extends Accepted, JobTexts {
  readonly seq: number
  readonly kind: Kind
  readonly template: number | null
  /** The number of its content. */
  readonly snapshot: number
  readonly fingerprint: string | null
  /** The answer to a direct message; null while the message is under way, and for template sends. */
  readonly answer: string | null
  /** The units that its account sent that day, with its own; null of an embedded send. */
  readonly dayTotal: number | null
  /** When it is due first, if it has a place in its session's order. */
  readonly dueAt: Instant | null
}

export const jobs = table("sendwright_job", {
  kept: { walk: "jobs", by: "seq", of: "jobs" },
  part: "jobs"
})<JobRow>({
  seq: integer("seq", impersonal, "key"),
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  accountId: exact("account", impersonal),
  sessionId: exact("session", impersonal),
  publicKey: exact("public_key", impersonal),
  kind: word("kind", impersonal, [...Job.kinds, embedded]),
  template: integerOrNull("template", impersonal),
  snapshot: integer("snapshot", impersonal),
  currency: text("currency", impersonal),
  estimatedCost: textOrNull("estimated_cost", impersonal),
  idempotencyKey: exactOrNull("idempotency_key", mentionInKey),
  fingerprint: textOrNull("fingerprint", opaque),
  answer: textOrNull("answer", mentionInJson),
  recipients: integer("recipients", impersonal, "INTEGER NOT NULL"),
  createdAt: instant("created_at", impersonal),
  reference: noted(
    "The client's own name for it. Indexed only where there is one, so that a send without costs nothing.",
    exactOrNull("reference", mention)
  ),
  requestId: noted("Of the request that brought it.", exactOrNull("request_id", mention)),
  traceparent: noted(
    "The span that it was accepted in, by W3C's header: its attempts and webhooks are told below that.",
    textOrNull("traceparent", impersonal)
  ),
  dayTotal: noted(
    "The units that the account has sent of the job's kind of content on the UTC day of its acceptance, its own among them.\nThe newest job tells, and when its API key's last send was accepted: no row is written by every accept.",
    integerOrNull("day_total", impersonal)
  ),
  dueAt: noted(
    "A job has a row in sendwright_progress once something became of it.\ndue_at: when it is due first, in the order of seq within its session and priority; null where it has no place in that order.",
    instantOrNull("due_at", impersonal)
  ),
  priority: noted(
    "What goes first in its session: an order each.",
    word("priority", impersonal, Priority.all, "exact NOT NULL")
  ),
  perMinute: noted("Its own pace.", integerOrNull("per_minute", impersonal)),
  stopWhen: noted("The failures that pause it.", nullable(json<StopWhen>("stop_when", impersonal)))
})

/** The columns of a new job; it has its number from the database. */
export const newJob = jobs.without("seq", "answer")

const ofCounts = json<Partial<Counts>>("counts", impersonal)

const countsOf = (stored: Partial<Counts>): Counts => ({ ...Recipient.noCounts, ...stored })

/** The statuses that some of a job's recipients have: jobs that are alike then are written together. */
const counts: Column<Counts, null> = {
  ...ofCounts,
  read: (row) => countsOf(ofCounts.read(row)),
  write: (all) => {
    let text = ""
    for (const status of Recipient.statuses)
      if (all[status] > 0) text += `${text === "" ? "" : ","}"${status}":${all[status]}`
    return `{${text}}`
  }
}

interface ProgressRow
  extends Pick<
    Job.Job,
    | "arrival"
    | "completedAt"
    | "contentExpiredAt"
    | "counts"
    | "firsts"
    | "pauseReason"
    | "priority"
    | "replacedAt"
    | "sessionId"
    | "status"
    | "timing"
    | "updatedAt"
  > {
  readonly seq: number
  /** When it is looked for those who expired; null where nobody of it can expire any more. */
  readonly expiresAt: Instant | null
  readonly nextAt: Instant | null
  /** How many of its recipients are failed or unknown: an index has the jobs with some. */
  readonly failures: number
}

export const progress = table("sendwright_progress", {
  kept: { walk: "jobs", by: "seq", of: "jobs" },
  key: ["seq"]
})<ProgressRow>({
  seq: integer("seq", impersonal, "long PRIMARY KEY"),
  sessionId: exact("session", impersonal),
  status: word("status", impersonal, Job.statuses),
  pauseReason: nullable(word("pause_reason", impersonal, Job.pauseReasons)),
  counts,
  updatedAt: instant("updated_at", impersonal),
  completedAt: instantOrNull("completed_at", impersonal),
  nextAt: instantOrNull("next_at", impersonal),
  contentExpiredAt: noted(
    "When its recipients' variables and its text were forgotten.",
    instantOrNull("content_expired_at", impersonal)
  ),
  failures: noted(
    "How many of its recipients are failed or unknown.",
    integer("failures", impersonal, "INTEGER NOT NULL DEFAULT 0")
  ),
  priority: noted("The job's.", word("priority", impersonal, Priority.all, "exact NOT NULL")),
  firsts: noted(
    "Of a job that failures pause, in JSON: how many of its first outcomes failed for good, and when the first had come.",
    nullable(json<Firsts>("firsts", impersonal))
  ),
  arrival: noted(
    "Of a job with a pace of its own, as in sendwright_pace, but in whole milliseconds.",
    integerOrNull("arrival", impersonal)
  ),
  timing: noted(
    "When its recipients may be sent, in JSON; null of a job that was asked for without a time.",
    nullable(json<When.Timing>("timing", impersonal))
  ),
  replacedAt: noted(
    "Since when a direct message goes as its template.",
    instantOrNull("replaced_at", impersonal)
  ),
  expiresAt: noted(
    "The next time at which some of its recipients may expire.",
    instantOrNull("expires_at", impersonal)
  )
})

/** As it is written: those come first that are the same for all jobs of most commits, and the row's number last. */
export const writtenProgress = progress.only(
  "sessionId",
  "priority",
  "status",
  "pauseReason",
  "counts",
  "updatedAt",
  "completedAt",
  "contentExpiredAt",
  "timing",
  "replacedAt",
  "expiresAt",
  "nextAt",
  "failures",
  "firsts",
  "arrival",
  "seq"
)

const noClaims: ReadonlyMap<number, OpenClaim> = new Map()

/** @param nextAt when its recipients are due next */
export const progressOf = ({ job, seq }: StoredJob, nextAt: Instant | null): ProgressRow => ({
  seq,
  sessionId: job.sessionId,
  priority: job.priority,
  status: job.status,
  pauseReason: job.pauseReason,
  counts: job.counts,
  updatedAt: job.updatedAt,
  completedAt: job.completedAt,
  contentExpiredAt: job.contentExpiredAt,
  timing: job.timing,
  replacedAt: job.replacedAt,
  expiresAt: Job.hasEnded(job.status) ? null : (job.timing?.expiring ?? null),
  nextAt,
  failures: job.counts.failed + job.counts.unknown,
  firsts: job.firsts,
  arrival: job.arrival
})

/** A job of which there is nothing but itself, and of which nothing is claimed. */
export const untouched = (
  seq: number,
  job: Job.Job,
  nextAt: Instant | null,
  behind?: number | null
): StoredJob => whole(seq, job, nextAt, null, noClaims, behind)

/** A job without a row, which waits as a whole, or which a claim has as a whole. */
const whole = (
  seq: number,
  job: Job.Job,
  nextAt: Instant | null,
  claimedTo: number | null,
  claims: StoredJob["claims"],
  behind: number | null | undefined
): StoredJob => ({
  seq,
  job,
  hasRow: false,
  nextAt,
  wasClaimable: true,
  writtenAt: job.updatedAt,
  isApart: false,
  claimedTo,
  claims,
  behind
})

/** A new job without a place in its session's order, before it has its row. */
export const apart = (seq: number, job: Job.Job): StoredJob => ({
  ...untouched(seq, job, job.createdAt),
  isApart: true
})

export const changedOf = layout<ProgressRow>()(
  "status",
  "pauseReason",
  "counts",
  "updatedAt",
  "completedAt",
  "contentExpiredAt",
  "timing",
  "replacedAt",
  "nextAt",
  "firsts",
  "arrival"
)

interface ClaimedRow {
  readonly last: number
  readonly at: Instant
}

const claimed = layout<ClaimedRow>()("last", "at")

interface AnsweredRow extends JobRow {
  readonly changed: ReturnType<typeof changedOf.parse> | null
  /** What open claims have of it by their ranges. */
  readonly claimed: ReturnType<typeof claimed.parse> | null
  readonly digest: string
}

const answered = layout<AnsweredRow>()(
  "seq",
  "id",
  "accountId",
  "sessionId",
  "publicKey",
  "reference",
  "requestId",
  "traceparent",
  "idempotencyKey",
  "currency",
  "estimatedCost",
  "recipients",
  "createdAt",
  "dueAt",
  "priority",
  "perMinute",
  "stopWhen",
  "snapshot",
  "digest",
  "changed",
  "claimed"
)

/**
 * The columns of a job that change, of its row `progress`; {@link ofChanged} reads them.
 *
 * @param as makes a JSON array of expressions
 */
export const changedColumns = (
  { json }: Pick<Dialect, "json">,
  as: (expressions: string) => string
): string =>
  as(
    changedOf.select(
      progress.expressions(({ isJson, name }) => (isJson ? json(`progress.${name}`) : `progress.${name}`))
    )
  )

/** Selects of the open claims that have some of a `job` by their ranges. */
export const claimedColumns = (columns: string): string => `(
    SELECT ${columns} FROM sendwright_claim AS claim
    WHERE claim.session = job.session AND claim.worker IS NOT NULL
      AND claim.first <= ${inSql.last("job.seq")} AND claim.last >= ${inSql.first("job.seq")}
    HAVING count(*) > 0
  )`

/** The columns that {@link readJob} reads of a `job`, of its `progress` if it has one, and of its content's `digest`. */
export const jobColumns = (dialect: Dialect): string =>
  answered.select({
    ...jobs.expressions(({ isJson, name }) => (isJson ? dialect.json(`job.${name}`) : `job.${name}`)),
    digest: "digest",
    changed: `CASE WHEN progress.seq IS NULL THEN NULL ELSE ${changedColumns(dialect, dialect.jsonValue)} END`,
    claimed: dialect.json(claimedColumns(dialect.jsonValue("max(claim.last), max(claim.at)")))
  })

const statusOf = RowReader.wordOf(Job.statuses)
const pauseReasonOf = RowReader.wordOf(Job.pauseReasons)
const priorityOf = RowReader.wordOf(Priority.all)
const { at } = answered
const { at: now } = changedOf
const { at: claimAt } = claimed

/** A job as it was accepted, which never changes. */
export interface AcceptedJob {
  readonly seq: number
  readonly job: Job.Job
  /** When it is due first in its session's order; null when it has no place there. */
  readonly dueAt: Instant | null
}

/** A job that has a row, as it was accepted and as that tells. */
export const ofChanged = (
  seq: number,
  accepted: Job.Job,
  changed: ReturnType<typeof changedOf.parse>,
  isApart: boolean,
  claimedTo: number | null,
  claims: StoredJob["claims"] = noClaims
): StoredJob => {
  const pauseReason = changed[now.pauseReason]
  const job: Job.Job = {
    ...accepted,
    status: statusOf("status", changed[now.status]),
    pauseReason: pauseReason === null ? null : pauseReasonOf("pause_reason", pauseReason),
    counts: countsOf(changed[now.counts]),
    updatedAt: changed[now.updatedAt],
    completedAt: changed[now.completedAt],
    contentExpiredAt: changed[now.contentExpiredAt],
    firsts: changed[now.firsts],
    arrival: changed[now.arrival],
    timing: changed[now.timing],
    replacedAt: changed[now.replacedAt]
  }
  return {
    seq,
    job,
    hasRow: true,
    nextAt: changed[now.nextAt],
    wasClaimable: Job.isClaimable(job),
    writtenAt: job.updatedAt,
    isApart,
    claimedTo,
    claims,
    behind: undefined
  }
}

/**
 * A job as it is.
 *
 * @param changed of its row; null when it has none
 * @param claim the last key that open claims have of it by their ranges; null when they have none
 * @param claims the open claims of its session
 */
export const storedJob = (
  { dueAt, job, seq }: AcceptedJob,
  changed: ReturnType<typeof changedOf.parse> | null,
  claim: { readonly last: number; readonly at: Instant } | null,
  claims: StoredJob["claims"] = noClaims
): StoredJob => {
  if (changed !== null)
    return ofChanged(seq, job, changed, dueAt === null, claim === null ? null : claim.last, claims)
  return claim === null
    ? whole(seq, job, dueAt, null, claims, undefined)
    : whole(seq, Transitions.claimedWhole(job, claim.at), null, claim.last, claims, undefined)
}

export const readJob = (
  text: string
): {
  readonly seq: number
  /** Of its content, which lies apart. */
  readonly digest: string
  readonly snapshot: number
  readonly of: (content: Job.Job["content"]) => { readonly accepted: AcceptedJob; readonly stored: StoredJob }
} => {
  const array = answered.parse(text)
  const seq = array[at.seq]
  const changed = array[at.changed]
  const held = array[at.claimed]
  const of = (content: Job.Job["content"]) => {
    const job = Job.newJob({
      jobId: array[at.id],
      accountId: array[at.accountId],
      sessionId: array[at.sessionId],
      publicKey: array[at.publicKey],
      content,
      reference: array[at.reference],
      requestId: array[at.requestId],
      traceparent: array[at.traceparent],
      idempotencyKey: array[at.idempotencyKey],
      recipients: array[at.recipients],
      currency: array[at.currency],
      estimatedCost: array[at.estimatedCost],
      priority: priorityOf("priority", array[at.priority]),
      perMinute: array[at.perMinute],
      stopWhen: array[at.stopWhen],
      now: array[at.createdAt]
    })
    const accepted: AcceptedJob = { seq, job, dueAt: array[at.dueAt] }
    const claim = held === null ? null : { last: held[claimAt.last], at: held[claimAt.at] }
    return { accepted, stored: storedJob(accepted, changed, claim) }
  }
  return { seq, snapshot: array[at.snapshot], digest: array[at.digest], of }
}
