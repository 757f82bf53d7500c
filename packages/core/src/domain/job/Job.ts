/**
 * Jobs (contract.md §4): one accepted send with a recipient per person. A direct message is a job of one
 * recipient and kind `direct`, so that quota, idempotency, dispatch and history have a single path.
 *
 *   queued → processing → completed
 *            processing ⇄ paused, and queued ⇄ paused by its client alone
 *   queued | paused → canceled      processing → canceling → canceled
 *   failed: one cause stopped the whole job before any recipient was accepted
 */
import type { Address } from "../Address.ts"
import type { Purpose } from "../consent/Consent.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Memo from "../Memo.ts"
import type { Template, TemplateContent } from "../template/Template.ts"
import * as ClientTexts from "./ClientTexts.ts"
import type * as Direct from "./Direct.ts"
import type { Priority } from "./Priority.ts"
import * as Recipient from "./Recipient.ts"
import * as StopWhen from "./StopWhen.ts"
import type * as When from "./When.ts"

export type Status = "queued" | "processing" | "paused" | "canceling" | "canceled" | "completed" | "failed"
export const statuses: ReadonlyArray<Status> = [
  "queued",
  "processing",
  "paused",
  "canceling",
  "canceled",
  "completed",
  "failed"
]

export const pauseReasons = [
  "session_disconnected",
  "template_paused",
  "template_changed",
  "provider_blocked",
  "platform_restriction",
  "same_failure",
  "platform_unavailable",
  "client",
  "failing"
] as const
export type PauseReason = (typeof pauseReasons)[number]

/** The content that is sent, frozen at acceptance: a template edited later does not change a running job. */
export type Content =
  | { readonly kind: "template"; readonly templateId: number; readonly template: TemplateContent }
  | Direct.Content

/** The rest of a content whose stored form was damaged: the job itself says so much of it. */
export type UnreadableContent =
  | { readonly kind: "template"; readonly templateId: number; readonly cause: Error }
  | { readonly kind: "direct"; readonly cause: Error }

export const isReadable = (content: Content | UnreadableContent): content is Content => !("cause" in content)

export const kinds: ReadonlyArray<Content["kind"]> = ["template", "direct"]

/**
 * The part of a template that a send freezes. All sends of a template share one object, so that values computed from
 * it are cached.
 */
export const contentOf = Memo.ofObject((template: Template): Content => {
  const { names: _, sessionId: __, templateId, updatedAt: ___, ...content } = template
  const { correctCategory: _____, maxPrice: ______, platformId: ____, why: _______, ...rest } = content
  return { kind: "template", templateId, template: rest }
})

/** The purpose for which the recipient needs consent. */
export const purpose = (content: Content): Purpose =>
  content.kind === "direct" ? "direct" : content.template.category

/** The content that goes to its recipient now, with the values of a template that goes in the place of a text. */
export const outgoing = (
  { replacedAt }: Pick<Job, "replacedAt">,
  content: Content
): { readonly content: Content; readonly values?: ReadonlyArray<string> } => {
  if (content.kind !== "direct" || content.otherwise === undefined) return { content }
  const { otherwise, ...text } = content
  if (replacedAt === null) return { content: text }
  const { template, templateId, values } = otherwise
  return { content: { kind: "template", templateId, template }, values }
}

/** As what a message goes: a direct one may go as a template. */
export const goesAs = ({ content, replacedAt }: Pick<Job, "content" | "replacedAt">): Content["kind"] =>
  replacedAt === null ? content.kind : "template"

/** As what a direct message went or goes, `text` being all that a person writes; null of a template send. */
export const sentAs = ({ content, replacedAt }: Pick<Job, "content" | "replacedAt">): SentAs | null =>
  content.kind === "template" ? null : replacedAt === null ? "text" : "template"

export const allSentAs = ["text", "template"] as const
export type SentAs = (typeof allSentAs)[number]

export interface Job extends ClientTexts.JobTexts {
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  /** The API key that created it. */
  readonly publicKey: string
  /** The id of the request that brought it; null where none did. */
  readonly requestId: string | null
  /** The span that it was accepted in, as W3C's header tells it (`domain/TraceParent`); null where nobody traced it. */
  readonly traceparent: string | null
  readonly idempotencyKey: string | null
  /** A job whose content cannot be read is not sent. It is listed, read, canceled and settled like any other. */
  readonly content: Content | UnreadableContent
  /** The job's priority within its session: a higher one goes first. */
  readonly priority: Priority
  /** The job's own pace (`domain/job/Pace`); null where it has none. */
  readonly perMinute: number | null
  readonly stopWhen: StopWhen.StopWhen | null
  /** When its recipients may be sent; null of one that was asked for without a time. */
  readonly timing: When.Timing | null
  /** Since when a direct message goes as its template, in the place of its text; null of all others. */
  readonly replacedAt: Instant | null
  readonly status: Status
  readonly pauseReason: PauseReason | null
  /** Its first outcomes (`domain/job/StopWhen`); null where nobody asks, or no more. */
  readonly firsts: StopWhen.Firsts | null
  /** The outcomes that count with them, as they were when it was locked; absent where none do. */
  readonly beside?: StopWhen.Beside | undefined
  /** The state of its own pace; null before its first claim. */
  readonly arrival: number | null
  /** How many recipients it has. */
  readonly recipients: number
  /** One number for each recipient status; sums to `recipients`. */
  readonly counts: Recipient.Counts
  readonly currency: string
  /** Decimal; null when nothing could be priced. */
  readonly estimatedCost: string | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
  readonly completedAt: Instant | null
  /** The time at which its recipients' values and its text were forgotten (`domain/Retention`); null while they are kept. */
  readonly contentExpiredAt: Instant | null
}

/** The text of a direct message that is kept no longer. */
export const expiredText: Content = { kind: "direct", text: "", linkPreview: false }

/** The job of a template send. */
export interface TemplateJob extends Job {
  readonly content: Extract<Job["content"], { readonly kind: "template" }>
}

export const isTemplateJob = (job: Job): job is TemplateJob => job.content.kind === "template"

export interface RecipientResult extends ClientTexts.RecipientTexts {
  /** The recipient's place in the job, from 0. */
  readonly index: number
  readonly address: Address
  /** The times and the zone that it has of its own; null without any. */
  readonly timing: When.Own | null
  /** Resolved values, in the order of the template's variables; empty for a direct message, and once they are forgotten. */
  readonly values: ReadonlyArray<string>
  readonly status: Recipient.Status
  readonly failure: Recipient.Failure | null
  /** Raised when claimed, before the attempt is made. */
  readonly attempts: number
  /** The time at which its last attempt ended, once something was reported since; see `Transitions.attemptedAt`. */
  readonly attemptedAt: Instant | null
  /** The time of its first attempt, once a retry is planned; null before that and after an operator's retry. */
  readonly retryingSince: Instant | null
  /** The time of an operator's last retry; null when there was none. */
  readonly requeuedAt: Instant | null
  /** How many workers died in a row during its attempts, without an outcome in between. */
  readonly crashCount: number
  /**
   * True when an earlier attempt had no outcome, so that the platform may have the message, and another attempt is
   * planned.
   */
  readonly maybeSent: boolean
  /** The platform's id of the message. */
  readonly providerId: string | null
  readonly market: string | null
  /** Unit price by the rate card of the acceptance, and of the attempt where that came at another time; null when the market has none. */
  readonly price: string | null
  /** The price as a receipt reported it; null while none did. */
  readonly pricing: Recipient.Pricing | null
  /** Grows with each event of this recipient. */
  readonly sequence: number
  /** When the next attempt is due; null while in flight and after dispatch. */
  readonly nextAt: Instant | null
  readonly updatedAt: Instant
  readonly sentAt: Instant | null
  readonly deliveredAt: Instant | null
  readonly readAt: Instant | null
}

/** True when nothing but receipts can still change it. */
export const hasEnded = (status: Status): boolean =>
  status === "completed" || status === "canceled" || status === "failed"

/** A job that was canceled, or is about to be: nothing opens it again. */
export const isCanceled = (status: Status): boolean => status === "canceled" || status === "canceling"

/** The reason for which none of its recipients is sent again; null when there is none. */
export const retryObstacle = ({
  contentExpiredAt,
  status
}: Pick<Job, "contentExpiredAt" | "status">): "canceled" | "content_expired" | null => {
  if (isCanceled(status)) return "canceled"
  return contentExpiredAt === null ? null : "content_expired"
}

/** True when its recipients may be dispatched. */
export const dispatchable = (status: Status): boolean => status === "queued" || status === "processing"

/**
 * True when a claim may include its recipients. A job that waits for its platform is included, since one of its
 * recipients probes the platform.
 */
export const isClaimable = ({ pauseReason, status }: Pick<Job, "pauseReason" | "status">): boolean =>
  dispatchable(status) || (status === "paused" && pauseReason === "platform_unavailable")

/**
 * A job's status after its counts changed. An ended job stays ended: later receipts change only its counts. One of which all were
 * put off before anything was sent is queued again.
 *
 * @param stopped true when one cause stopped the whole job. It is `failed` then, if the platform accepted no message
 *   of it
 */
export const rollup = (status: Status, counts: Recipient.Counts, stopped = false): Status => {
  if (hasEnded(status)) return status
  const count = (standing: Parameters<typeof Recipient.countOf>[1]) => Recipient.countOf(counts, standing)
  const open = count("open")
  const reached = count("accepted") + count("unknown")
  const ended = reached + count("ended")
  if (open === 0) {
    if (stopped && reached === 0 && status !== "canceling") return "failed"
    return status === "canceling" || ended === 0 ? "canceled" : "completed"
  }
  const isUntouched = open === counts.queued && ended + count("canceled") === 0
  if (status === "queued" || status === "processing") return isUntouched ? "queued" : "processing"
  return status
}

/** The pauses that end when its client lets it go on. */
export const heldFor: ReadonlyArray<PauseReason> = ["client", "failing"]

export const isHeld = ({ pauseReason }: Pick<Job, "pauseReason">): boolean =>
  pauseReason !== null && heldFor.includes(pauseReason)

/** For so long nothing becomes of a job before it counts as stuck. */
export const stuckAfterMs = 10 * Time.minute

/** True when its attempts went on after a time: others of its session wait for it, then. */
export const isMovedSince = (
  { status, updatedAt }: Pick<Job, "status" | "updatedAt">,
  since: Instant
): boolean => status !== "queued" && status !== "paused" && updatedAt > since

/**
 * True when nothing became of the job since a time and it is not its turn or its client that it waits for: it is paused, or
 * nothing of its session was sent either. Probes of a platform that is out change a job and bring it no further.
 */
export const isStuck = (
  {
    counts,
    createdAt,
    pauseReason,
    status,
    updatedAt
  }: Pick<Job, "counts" | "createdAt" | "pauseReason" | "status" | "updatedAt">,
  session: { readonly isMoving: boolean; readonly outSince: Instant | null },
  nextAt: Instant | null,
  since: Instant
): boolean => {
  if (hasEnded(status) || isHeld({ pauseReason }) || createdAt > since) return false
  if (nextAt !== null && nextAt > since && counts.queued > 0) return false
  const isOut = session.outSince !== null && session.outSince <= since
  return isOut || (updatedAt <= since && (status === "paused" || !session.isMoving))
}

/** When a job ends, the time of it. */
export const completedAt = (job: Pick<Job, "completedAt">, status: Status, now: Instant): Instant | null =>
  hasEnded(status) ? (job.completedAt ?? now) : null

/**
 * The first times at which a recipient was reported sent, delivered and read. A later report never changes an earlier
 * time.
 */
export const stamp = (
  recipient: Pick<RecipientResult, "sentAt" | "deliveredAt" | "readAt">,
  reported: Recipient.Status,
  at: Instant
): Pick<RecipientResult, "sentAt" | "deliveredAt" | "readAt"> => ({
  sentAt: recipient.sentAt ?? (reported === "sent" ? at : null),
  deliveredAt: recipient.deliveredAt ?? (reported === "delivered" ? at : null),
  readAt: recipient.readAt ?? (reported === "read" ? at : null)
})

/** A job as it is accepted. */
export const newJob = (
  accepted: Omit<
    Job,
    | "id"
    | "status"
    | "pauseReason"
    | "firsts"
    | "beside"
    | "arrival"
    | "counts"
    | "createdAt"
    | "updatedAt"
    | "completedAt"
    | "contentExpiredAt"
    | "replacedAt"
    | "timing"
    | "traceparent"
  > & {
    readonly jobId: string
    readonly now: Instant
    readonly replacedAt?: Instant | null
    readonly timing?: When.Timing | null
    readonly traceparent?: string | null | undefined
  }
): Job => ({
  id: accepted.jobId,
  accountId: accepted.accountId,
  sessionId: accepted.sessionId,
  publicKey: accepted.publicKey,
  requestId: accepted.requestId,
  traceparent: accepted.traceparent ?? null,
  idempotencyKey: accepted.idempotencyKey,
  content: accepted.content,
  ...ClientTexts.job.of(accepted),
  priority: accepted.priority,
  perMinute: accepted.perMinute,
  stopWhen: accepted.stopWhen,
  timing: accepted.timing ?? null,
  replacedAt: accepted.replacedAt ?? null,
  status: "queued",
  pauseReason: null,
  firsts: accepted.stopWhen === null ? null : StopWhen.noFirsts,
  arrival: null,
  recipients: accepted.recipients,
  counts: { ...Recipient.noCounts, queued: accepted.recipients },
  currency: accepted.currency,
  estimatedCost: accepted.estimatedCost,
  createdAt: accepted.now,
  updatedAt: accepted.now,
  completedAt: null,
  contentExpiredAt: null
})

/** A recipient at its acceptance, due immediately unless it has a time. */
export const newRecipient = (
  recipient: Pick<RecipientResult, "address" | "values" | "market" | "price"> &
    Partial<ClientTexts.RecipientTexts & Pick<RecipientResult, "timing"> & { readonly dueAt: Instant }>,
  index: number,
  now: Instant
): RecipientResult => ({
  index,
  address: recipient.address,
  timing: recipient.timing ?? null,
  ...ClientTexts.recipient.of(recipient),
  values: recipient.values,
  status: "queued",
  failure: null,
  attempts: 0,
  attemptedAt: null,
  retryingSince: null,
  requeuedAt: null,
  crashCount: 0,
  maybeSent: false,
  providerId: null,
  market: recipient.market,
  price: recipient.price,
  pricing: null,
  sequence: 0,
  nextAt: recipient.dueAt ?? now,
  updatedAt: now,
  sentAt: null,
  deliveredAt: null,
  readAt: null
})
