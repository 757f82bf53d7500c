/**
 * How a recipient and its job move on: the pure steps that every store runs inside its commit. Each answers the
 * recipient as it is then; {@link apply} draws the sum: the job's counts and status, and the events that tell.
 */
import type * as Circuit from "./Circuit.ts"
import * as Event from "./Event.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import * as Job from "./Job.ts"
import * as Recipient from "./Recipient.ts"
import * as Retry from "./Retry.ts"
import * as Session from "./Session.ts"

/** A recipient before and after a step; the same object when nothing changed. */
export interface Change {
  readonly before: Job.RecipientResult
  readonly after: Job.RecipientResult
}

/** The fields that a step may change beside the status. */
type Move = Partial<
  Pick<
    Job.RecipientResult,
    | "attempts"
    | "deliveredAt"
    | "failure"
    | "lost"
    | "nextAt"
    | "pricing"
    | "providerId"
    | "readAt"
    | "retryingSince"
    | "sentAt"
    | "uncertain"
  >
>

/** Written out, since V8 takes many times as long for a literal of two spreads, and every step of every one is made here. */
const moved = (
  recipient: Job.RecipientResult,
  status: Recipient.Status,
  change: Move,
  now: Instant
): Job.RecipientResult => {
  const {
    attempts = recipient.attempts,
    deliveredAt = recipient.deliveredAt,
    failure = recipient.failure,
    lost = recipient.lost,
    nextAt = recipient.nextAt,
    pricing = recipient.pricing,
    providerId = recipient.providerId,
    readAt = recipient.readAt,
    retryingSince = recipient.retryingSince,
    sentAt = recipient.sentAt,
    uncertain = recipient.uncertain
  } = change
  return {
    index: recipient.index,
    phone: recipient.phone,
    externalId: recipient.externalId,
    values: recipient.values,
    status,
    failure,
    attempts,
    retryingSince,
    lost,
    uncertain,
    providerId,
    market: recipient.market,
    price: recipient.price,
    pricing,
    sequence: recipient.sequence + (status === recipient.status ? 0 : 1),
    nextAt,
    updatedAt: now,
    sentAt,
    deliveredAt,
    readAt
  }
}

/** When it may be attempted; null when it may not. What was written by a clock that was ahead is due. */
export const dueAt = ({ nextAt, status, updatedAt }: Job.RecipientResult, now: Instant): Instant | null => {
  if (nextAt === null || Recipient.leftDispatch(status)) return null
  return Time.isAhead(updatedAt, now) ? now : nextAt
}

/** True when it waits for a worker that comes at `now` or later. */
export const isDue = (recipient: Job.RecipientResult, now: Instant): boolean => {
  const at = dueAt(recipient, now)
  return at !== null && at <= now
}

/** Not to be attempted before a time. */
export const defer = (recipient: Job.RecipientResult, at: Instant, now: Instant): Job.RecipientResult => ({
  ...recipient,
  nextAt: at,
  updatedAt: now
})

/** True when an attempt of it is under way (or was, when its worker died). */
export const inFlight = (recipient: Job.RecipientResult): boolean =>
  recipient.status === "sending" && recipient.nextAt === null

/**
 * True when so many workers died over it that its next attempt is its last. It is made alone, so that those who were
 * merely in flight beside it are not parked with it.
 */
export const isSuspect = (recipient: Job.RecipientResult): boolean => recipient.lost >= Retry.poisonClaims - 1

/** How many of the due recipients, in their order, may be taken together. */
export const together = (due: ReadonlyArray<Job.RecipientResult>): number => {
  const suspect = due.findIndex(isSuspect)
  return suspect < 0 ? due.length : Math.max(1, suspect)
}

/** The time from which it is tried again, moved on by a time that does not count. */
const retryingLater = (
  { retryingSince }: Job.RecipientResult,
  from: Instant,
  until: Instant
): Instant | null => (retryingSince === null ? null : retryingSince + Math.max(0, until - from))

/**
 * A worker takes it: the attempt counts from here, so that one that kills the process is counted too. The time for which
 * it is tried again stands still while its platform does not answer.
 */
export const claim = (
  recipient: Job.RecipientResult,
  now: Instant,
  silence: Circuit.Silence | null = null
): Job.RecipientResult =>
  moved(
    recipient,
    "sending",
    {
      attempts: recipient.attempts + 1,
      nextAt: null,
      retryingSince:
        silence === null
          ? recipient.retryingSince
          : retryingLater(recipient, Math.max(silence.since, recipient.updatedAt), silence.until)
    },
    now
  )

/** The time of the first attempt of a recipient that was claimed. A claim is the last that happened to it. */
export const firstAttemptAt = ({ retryingSince, updatedAt }: Job.RecipientResult): Instant =>
  retryingSince ?? updatedAt

/** The part of an outcome that {@link settle} reads; `storage/JobStore.Outcome` is one. */
export type Settled =
  | {
      readonly _tag: "Accepted"
      readonly providerId: string | null
      readonly status: "accepted" | "sent"
      readonly held?: Recipient.Failure
    }
  | { readonly _tag: "Failed"; readonly failure: Recipient.Failure; readonly stopsJob?: boolean }
  | { readonly _tag: "Unknown" | "Skipped"; readonly failure: Recipient.Failure }
  | {
      readonly _tag: "Retry"
      readonly at: Instant
      readonly failure: Recipient.Failure
      readonly uncertain: boolean
    }
  | { readonly _tag: "Released"; readonly uncertain: boolean }

const settledFlags = { lost: 0, uncertain: false }

const over = (failure: Recipient.Failure | null): Move => ({
  failure,
  nextAt: null,
  ...settledFlags
})

type SettledAs<Tag> = Extract<Settled, { readonly _tag: Tag }>

const settleAccepted = (
  recipient: Job.RecipientResult,
  outcome: SettledAs<"Accepted">,
  now: Instant
): Job.RecipientResult => {
  const status = Recipient.advance(recipient.status, outcome.status)
  const { deliveredAt, readAt, sentAt } = Job.stamp(recipient, outcome.status, now)
  const failure =
    status === "failed" ? recipient.failure : status === "accepted" ? (outcome.held ?? null) : null
  const providerId = outcome.providerId ?? recipient.providerId
  return moved(
    recipient,
    status,
    { failure, providerId, nextAt: null, lost: 0, uncertain: false, sentAt, deliveredAt, readAt },
    now
  )
}

const endedAs = { Failed: "failed", Unknown: "unknown", Skipped: "skipped" } as const

const settleEnded = (
  recipient: Job.RecipientResult,
  outcome: SettledAs<"Failed"> | SettledAs<"Unknown" | "Skipped">,
  now: Instant
): Job.RecipientResult => {
  const status = Recipient.advance(recipient.status, endedAs[outcome._tag])
  return status === recipient.status
    ? moved(recipient, status, { nextAt: null, ...settledFlags }, now)
    : moved(recipient, status, { failure: outcome.failure, nextAt: null, ...settledFlags }, now)
}

const isCanceled = ({ status }: Pick<Job.Job, "status">): boolean =>
  status === "canceling" || status === "canceled"

/** The end of a recipient that a canceled job gives no further attempt. */
const settleCanceled = (
  recipient: Job.RecipientResult,
  uncertain: boolean,
  failure: Recipient.Failure | null,
  now: Instant
): Job.RecipientResult => moved(recipient, uncertain ? "unknown" : "canceled", over(failure), now)

const settleRetry = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  { at, failure, uncertain }: SettledAs<"Retry">,
  now: Instant
): Job.RecipientResult => {
  if (Recipient.leftDispatch(recipient.status)) return recipient
  if (isCanceled(job)) return settleCanceled(recipient, uncertain, failure, now)
  const retryingSince = firstAttemptAt(recipient)
  return moved(recipient, recipient.status, { failure, nextAt: at, retryingSince, lost: 0, uncertain }, now)
}

const settleReleased = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  outcome: SettledAs<"Released">,
  now: Instant
): Job.RecipientResult => {
  if (Recipient.leftDispatch(recipient.status)) return recipient
  const uncertain = recipient.uncertain || outcome.uncertain
  if (isCanceled(job)) return settleCanceled(recipient, uncertain, recipient.failure, now)
  const attempts = recipient.attempts - 1
  // An attempt that costs none takes no time, either. A claim is the last that happened to it.
  const retryingSince = retryingLater(recipient, recipient.updatedAt, now)
  return moved(recipient, recipient.status, { attempts, uncertain, nextAt: now, retryingSince }, now)
}

/**
 * The outcome of an attempt. A report may have overtaken it, and then it does not pull the status down. A
 * canceling job gives its recipients no further attempt.
 */
export const settle = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  outcome: Settled,
  now: Instant
): Job.RecipientResult => {
  switch (outcome._tag) {
    case "Accepted":
      return settleAccepted(recipient, outcome, now)
    case "Failed":
    case "Unknown":
    case "Skipped":
      return settleEnded(recipient, outcome, now)
    case "Retry":
      return settleRetry(job, recipient, outcome, now)
    case "Released":
      return settleReleased(job, recipient, outcome, now)
  }
}

/**
 * Applies a report of the platform; the same object when it tells nothing new. A message of which it reports was attempted, also
 * where the attempt was given back because its worker stopped.
 */
export const report = (
  recipient: Job.RecipientResult,
  told: {
    readonly status: Recipient.Reported
    readonly at: Instant
    readonly failure: Recipient.Failure | null
    readonly providerId: string | null
    readonly pricing?: Recipient.Pricing
  },
  now: Instant
): Job.RecipientResult => {
  const status = Recipient.advance(recipient.status, told.status)
  const pricing = recipient.pricing ?? told.pricing ?? null
  const stamps = Job.stamp(recipient, told.status, told.at)
  const news =
    status !== recipient.status ||
    pricing !== recipient.pricing ||
    stamps.sentAt !== recipient.sentAt ||
    stamps.deliveredAt !== recipient.deliveredAt ||
    stamps.readAt !== recipient.readAt
  if (!news) return recipient
  return moved(
    recipient,
    status,
    {
      ...stamps,
      attempts: Math.max(1, recipient.attempts),
      pricing,
      failure: status === "failed" ? (status === recipient.status ? recipient.failure : told.failure) : null,
      providerId: recipient.providerId ?? told.providerId,
      nextAt: Recipient.leftDispatch(status) ? null : recipient.nextAt
    },
    now
  )
}

/**
 * Suspects that ended with one process, and when each is due again: nobody knows which of them ended it. None is counted,
 * and the next time each is attempted at a time of its own, so that the one that kills is alone. Empty for a single one.
 */
export const spared = (
  awaited: ReadonlyArray<Job.RecipientResult>,
  now: Instant
): ReadonlyMap<Job.RecipientResult, Instant> => {
  const suspects = awaited.filter((recipient) => inFlight(recipient) && isSuspect(recipient))
  return new Map(
    suspects.length < 2 ? [] : suspects.map((each, turn) => [each, now + turn * Retry.suspectsApartMs])
  )
}

/**
 * What becomes of an in-flight recipient whose worker died: the platform may have the message. Where a repetition
 * does no harm, or the platform can be asked, it is due again at once; else it is `unknown`. So it is too, with the
 * code `poisoned`, when too many workers in a row died over it: an attempt was under way each time (decisions.md §10).
 * A canceling job gives no further attempt.
 *
 * @param recoverable whether the session's sender deduplicates or looks up
 * @param sparedUntil when it is due again if this death is not counted ({@link spared})
 */
export const rescue = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  options: {
    readonly recoverable: boolean
    readonly now: Instant
    readonly sparedUntil?: Instant | undefined
  }
): Job.RecipientResult => {
  const { now, recoverable, sparedUntil } = options
  if (!recoverable || job.status === "canceling") return moved(recipient, "unknown", over(interrupted), now)
  if (sparedUntil !== undefined)
    return moved(recipient, "sending", { uncertain: true, nextAt: sparedUntil }, now)
  const lost = recipient.lost + 1
  return lost >= Retry.poisonClaims
    ? moved(recipient, "unknown", over(poisoned), now)
    : moved(recipient, "sending", { lost, uncertain: true, nextAt: now }, now)
}

const interrupted: Recipient.Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The worker stopped during the attempt; the platform may or may not have the message.",
  permanent: false
}

const poisoned: Recipient.Failure = {
  code: "poisoned",
  provider_code: null,
  message: `${Retry.poisonClaims} workers in a row ended during its attempt; it is not tried again, and the platform may have it.`,
  permanent: false
}

/**
 * Canceled unless an attempt is under way or dispatch is over. One whose last attempt had no outcome is `unknown`:
 * the platform may have it.
 */
export const cancel = (recipient: Job.RecipientResult, now: Instant): Job.RecipientResult =>
  Recipient.leftDispatch(recipient.status) || inFlight(recipient)
    ? recipient
    : moved(recipient, recipient.uncertain ? "unknown" : "canceled", over(recipient.failure), now)

/**
 * Failed with the job's cause, before any attempt or between two; one that is under way has an outcome of its own, and
 * one whose last attempt had none is `unknown`.
 */
export const abandon = (
  recipient: Job.RecipientResult,
  failure: Recipient.Failure,
  now: Instant
): Job.RecipientResult =>
  Recipient.leftDispatch(recipient.status) || inFlight(recipient)
    ? recipient
    : moved(recipient, recipient.uncertain ? "unknown" : "failed", over(failure), now)

/** Queued afresh, at an operator's word: the one step that goes back. */
export const requeue = (recipient: Job.RecipientResult, now: Instant): Job.RecipientResult =>
  moved(
    recipient,
    "queued",
    { failure: null, attempts: 0, retryingSince: null, nextAt: now, ...settledFlags },
    now
  )

/**
 * The job after its recipients changed, and the events: the recipients' first, the job's last.
 *
 * @param stopped whether one cause stops the whole job
 */
export const apply = (
  job: Job.Job,
  changes: ReadonlyArray<Change>,
  now: Instant,
  stopped = false
): { readonly job: Job.Job; readonly drafts: ReadonlyArray<Event.Draft> } => {
  const counts = { ...job.counts }
  const drafts: Array<Event.Draft> = []
  let changed = false
  for (const { before, after } of changes) {
    if (before === after) continue
    changed = true
    if (before.status === after.status) continue
    counts[before.status] -= 1
    counts[after.status] += 1
    const draft = Event.recipientChanged(job, after)
    if (draft !== undefined) drafts.push(draft)
  }
  if (!changed) return { job, drafts }
  const next = withStatus({ ...job, counts, updatedAt: now }, Job.rollup(job.status, counts, stopped), now)
  const draft = Event.jobChanged(next, job.status)
  if (draft !== undefined) drafts.push(draft)
  return { job: next, drafts }
}

/** The job in a status, with the time of its end and without a pause reason that no longer holds. */
export const withStatus = (job: Job.Job, status: Job.Status, now: Instant): Job.Job => ({
  ...job,
  status,
  pauseReason: status === "paused" ? job.pauseReason : null,
  completedAt: Job.completedAt(job, status, now),
  updatedAt: now
})

/** When the job has work next: the earliest due recipient while it may be claimed and none is in flight. */
export const nextDue = (
  job: Pick<Job.Job, "pauseReason" | "status">,
  recipients: Iterable<Job.RecipientResult>,
  now: Instant
): Instant | null => {
  if (!Job.isClaimable(job)) return null
  let next: Instant | null = null
  for (const recipient of recipients) {
    const at = dueAt(recipient, now)
    if (at !== null && (next === null || at < next)) next = at
  }
  return next
}

/**
 * A running job pauses when nothing may be sent over its session, and goes on when something may; the same job when
 * nothing changes for it.
 */
export const followSession = (job: Job.Job, session: Session.Standing, now: Instant): Job.Job => {
  const pauseReason = Session.obstacle(session)
  if (pauseReason !== null && job.status === "processing") {
    return { ...withStatus(job, "paused", now), pauseReason }
  }
  if (job.status !== "paused" || job.pauseReason === "template_paused" || job.pauseReason === pauseReason)
    return job
  return pauseReason === null ? withStatus(job, "processing", now) : { ...job, pauseReason, updatedAt: now }
}

/** A job whose template may not be sent for now. */
export const pauseForTemplate = (job: Job.Job, now: Instant): Job.Job => ({
  ...withStatus(job, "paused", now),
  pauseReason: "template_paused"
})

/** What was paused for its template goes on, unless the session is gone meanwhile; the same job when it was not. */
export const resumeForTemplate = (job: Job.Job, session: Session.Standing, now: Instant): Job.Job => {
  if (job.status !== "paused" || job.pauseReason !== "template_paused") return job
  const pauseReason = Session.obstacle(session)
  return pauseReason === null ? withStatus(job, "processing", now) : { ...job, pauseReason, updatedAt: now }
}

/** A job of which nobody was attempted yet, once all of its recipients are claimed. */
export const underWay = (job: Job.Job, now: Instant): Job.Job => {
  const counts = { ...job.counts, queued: 0, sending: job.counts.queued }
  return withStatus({ ...job, counts }, Job.rollup(job.status, counts), now)
}

/** The job on its way to `canceled`; the same one when it has ended. Its recipients follow by {@link cancel}. */
export const canceling = (job: Job.Job, now: Instant): Job.Job =>
  Job.hasEnded(job.status) || job.status === "canceling" ? job : withStatus(job, "canceling", now)

/** The job open again for recipients that were queued afresh. */
export const reopened = (job: Job.Job, now: Instant): Job.Job =>
  Job.hasEnded(job.status) ? { ...job, status: "queued", completedAt: null, updatedAt: now } : job
