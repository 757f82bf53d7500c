/**
 * How a recipient and its job change: the pure steps that every store runs inside its commit. Each step returns the
 * changed recipient. {@link apply} adds the changes up: the job's counts and status, and the events that report them.
 */

import type { Rate } from "../billing/RateCard.ts"
import * as Erasure from "../Erasure.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Occurrence from "../Occurrence.ts"
import * as Phone from "../Phone.ts"
import * as Retry from "../Retry.ts"
import type * as Circuit from "../session/Circuit.ts"
import * as FailureCatalogue from "../session/FailureCatalogue.ts"
import * as Session from "../session/Session.ts"
import * as TemplateCheck from "../template/TemplateCheck.ts"
import * as Event from "../webhook/Event.ts"
import type * as Direct from "./Direct.ts"
import * as Job from "./Job.ts"
import * as Pace from "./Pace.ts"
import * as Recipient from "./Recipient.ts"
import * as StopWhen from "./StopWhen.ts"
import * as When from "./When.ts"

/** A recipient before and after a step; the same object when nothing changed. */
export interface Change {
  readonly before: Job.RecipientResult
  readonly after: Job.RecipientResult
}

/** The fields besides the status that a step may change. */
type FieldChanges = Partial<
  Pick<
    Job.RecipientResult,
    | "attemptedAt"
    | "attempts"
    | "deliveredAt"
    | "failure"
    | "crashCount"
    | "nextAt"
    | "market"
    | "price"
    | "pricing"
    | "providerId"
    | "readAt"
    | "requeuedAt"
    | "retryingSince"
    | "sentAt"
    | "maybeSent"
  >
>

const changedTo = (
  recipient: Job.RecipientResult,
  status: Recipient.Status,
  change: FieldChanges,
  now: Instant
): Job.RecipientResult => ({
  ...recipient,
  ...change,
  status,
  sequence: recipient.sequence + (status === recipient.status ? 0 : 1),
  updatedAt: now
})

/**
 * When the recipient may be attempted; null when it may not. A recipient that a clock ahead of ours wrote is due now.
 */
export const dueAt = ({ nextAt, status, updatedAt }: Job.RecipientResult, now: Instant): Instant | null => {
  if (nextAt === null || Recipient.leftDispatch(status)) return null
  return Time.isAhead(updatedAt, now) ? now : nextAt
}

/** True when a worker may claim it at `now`. */
export const isDue = (recipient: Job.RecipientResult, now: Instant): boolean => {
  const at = dueAt(recipient, now)
  return at !== null && at <= now
}

/** The recipient, not to be attempted before a time. */
export const defer = (recipient: Job.RecipientResult, at: Instant, now: Instant): Job.RecipientResult => ({
  ...recipient,
  nextAt: at,
  updatedAt: now
})

/** True from the claim until the outcome is stored. An attempt may be in progress, or was when the worker died. */
export const inFlight = (recipient: Job.RecipientResult): boolean =>
  recipient.status === "sending" && recipient.nextAt === null

/**
 * True when so many workers died during its attempts that it may be the cause. It is attempted alone in its session, and
 * one at a time in a process, so that nobody is parked with it who was merely in flight beside it.
 */
export const isSuspect = ({ crashCount }: Pick<Job.RecipientResult, "crashCount">): boolean =>
  crashCount >= Retry.suspectDeaths

/** True when a worker died during its attempt, and one more would make it a suspect. */
export const isSurvivor = ({ crashCount }: Pick<Job.RecipientResult, "crashCount">): boolean =>
  crashCount > 0 && crashCount < Retry.suspectDeaths

/** The start of the retries, moved on by a time that does not count against them. */
const retryingLater = (
  { retryingSince }: Job.RecipientResult,
  from: Instant,
  until: Instant
): Instant | null => (retryingSince === null ? null : Time.after(retryingSince, Math.max(0, until - from)))

/**
 * The recipient after a worker claimed it. The attempt counts from here, so that an attempt that kills the process is
 * counted, too. An outage of the platform does not count against the time for retries.
 */
export const claim = (
  recipient: Job.RecipientResult,
  now: Instant,
  silence: Circuit.Silence | null = null
): Job.RecipientResult =>
  changedTo(
    recipient,
    "sending",
    {
      attempts: recipient.attempts + 1,
      nextAt: null,
      retryingSince:
        silence === null
          ? recipient.retryingSince
          : retryingLater(recipient, Time.max(silence.since, recipient.updatedAt), silence.until)
    },
    now
  )

/** The first attempt of a claimed recipient. Its claim was its last change, so `updatedAt` is the claim's time. */
export const firstAttemptAt = ({ retryingSince, updatedAt }: Job.RecipientResult): Instant =>
  retryingSince ?? updatedAt

/** The part of an outcome that {@link settle} reads; `storage/JobStore.Outcome` is one. */
export type Settled =
  | {
      readonly _tag: "Accepted"
      readonly providerId: string | null
      readonly status: "accepted" | "sent"
      readonly held?: Recipient.Failure
      readonly rate?: Rate | null
    }
  | { readonly _tag: "Failed"; readonly failure: Recipient.Failure; readonly stopsJob?: boolean }
  | { readonly _tag: "Unknown" | "Skipped"; readonly failure: Recipient.Failure }
  | {
      readonly _tag: "Retry"
      readonly at: Instant
      readonly failure: Recipient.Failure
      readonly maybeSent: boolean
    }
  | { readonly _tag: "Released"; readonly maybeSent: boolean; readonly at?: Instant }

const settledFlags = { crashCount: 0, maybeSent: false }

const endFields = (failure: Recipient.Failure | null): FieldChanges => ({
  failure,
  nextAt: null,
  ...settledFlags
})

type SettledAs<Tag> = Extract<Settled, { readonly _tag: Tag }>

/**
 * The platform's id of the message that was accepted, if a report named it already. After an operator's retry the row
 * still has the id of an earlier attempt, which must not be used for the new one.
 */
const idOfAttempt = ({ providerId, requeuedAt, status }: Job.RecipientResult): string | null =>
  requeuedAt === null || Recipient.wasAccepted(status) ? providerId : null

const settleAccepted = (
  recipient: Job.RecipientResult,
  outcome: SettledAs<"Accepted">,
  now: Instant
): Job.RecipientResult => {
  const status = Recipient.advance(recipient.status, outcome.status)
  const { deliveredAt, readAt, sentAt } = Job.stamp(recipient, outcome.status, now)
  const failure =
    status === "failed" ? recipient.failure : status === "accepted" ? (outcome.held ?? null) : null
  const providerId = outcome.providerId ?? idOfAttempt(recipient)
  return changedTo(
    recipient,
    status,
    {
      failure,
      providerId,
      nextAt: null,
      crashCount: 0,
      maybeSent: false,
      sentAt,
      deliveredAt,
      readAt,
      ...(outcome.rate === undefined
        ? {}
        : { market: outcome.rate?.market ?? null, price: outcome.rate?.unitPrice ?? null })
    },
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
  const ended = { nextAt: null, ...settledFlags }
  return status === recipient.status
    ? changedTo(recipient, status, ended, now)
    : changedTo(recipient, status, { failure: outcome.failure, ...ended }, now)
}

const isCanceled = ({ status }: Pick<Job.Job, "status">): boolean =>
  status === "canceling" || status === "canceled"

const unanswered: Recipient.Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message:
    "The job was canceled after an attempt without an outcome; the platform may or may not have the message.",
  permanent: false
}

/** The end of a recipient that a canceled job gives no further attempt. */
const settleCanceled = (
  recipient: Job.RecipientResult,
  maybeSent: boolean,
  failure: Recipient.Failure | null,
  now: Instant
): Job.RecipientResult =>
  maybeSent
    ? changedTo(recipient, "unknown", endFields(failure ?? unanswered), now)
    : changedTo(recipient, "canceled", endFields(failure), now)

const settleRetry = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  { at, failure, maybeSent }: SettledAs<"Retry">,
  now: Instant
): Job.RecipientResult => {
  if (Recipient.leftDispatch(recipient.status)) return recipient
  if (isCanceled(job)) return settleCanceled(recipient, maybeSent, failure, now)
  const retryingSince = firstAttemptAt(recipient)
  return changedTo(
    recipient,
    recipient.status,
    { failure, nextAt: at, retryingSince, crashCount: 0, maybeSent },
    now
  )
}

/**
 * A released attempt is not counted, and so its time is not either. Where nothing was ever sent the recipient waits again
 * as before its claim, and is `queued`: it would otherwise count as under way while nobody has it.
 */
const settleReleased = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  outcome: SettledAs<"Released">,
  now: Instant
): Job.RecipientResult => {
  if (Recipient.leftDispatch(recipient.status)) return recipient
  const maybeSent = recipient.maybeSent || outcome.maybeSent
  if (isCanceled(job)) return settleCanceled(recipient, maybeSent, recipient.failure, now)
  const attempts = recipient.attempts - 1
  const nextAt = outcome.at ?? now
  // The claim was the recipient's last change.
  const retryingSince = retryingLater(recipient, recipient.updatedAt, nextAt)
  // Where a retry was planned, something was sent; a template in a text's place has none of its own yet.
  const status = recipient.retryingSince === null && !maybeSent ? "queued" : recipient.status
  return changedTo(recipient, status, { attempts, maybeSent, nextAt, retryingSince }, now)
}

/**
 * The recipient after an attempt's outcome. A report may have come before the outcome, which then does not lower the
 * status. A canceling job gives its recipients no further attempt.
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
 * When the attempt ended that counts; null while none has. Until something is reported that was its last change, and the row says
 * no more: one that grew with each outcome would cost a drain a quarter more on SQLite, whose pages are full.
 */
export const attemptedAt = ({
  attemptedAt,
  attempts,
  status,
  updatedAt
}: Job.RecipientResult): Instant | null =>
  attemptedAt ??
  (attempts > 0 && (Recipient.wasAccepted(status) || Recipient.isRetryable(status)) ? updatedAt : null)

/** The part of a platform's report that {@link report} reads; `storage/JobStore.Report` is one. */
interface PlatformReport {
  readonly status: Recipient.Reported
  readonly at: Instant
  readonly reportedAt?: Instant
  readonly failure: Recipient.Failure | null
  readonly providerId: string | null
  readonly pricing?: Recipient.Pricing
}

/**
 * True when a report is about an attempt before the operator's retry: nothing was attempted since, or the report
 * names another message than the one accepted since. Where the ids do not decide, the report's own time does, however
 * old it is, because platforms repeat reports, late ones too.
 */
const isBeforeRetry = (recipient: Job.RecipientResult, reported: PlatformReport, now: Instant): boolean => {
  const { providerId, requeuedAt, status } = recipient
  if (requeuedAt === null) return false
  if (status === "queued") return true
  const areNamed = providerId !== null && reported.providerId !== null
  if (areNamed && Recipient.wasAccepted(status)) return reported.providerId !== providerId
  return Occurrence.latest(reported.reportedAt ?? reported.at, now) < requeuedAt
}

/** The platform's id after a report; none of one who was erased, for it may have the number in it. The attempts before and after an operator's retry have different ids. */
const idAfter = (
  recipient: Job.RecipientResult,
  reported: PlatformReport,
  isBefore: boolean
): string | null => {
  if (Erasure.isErased(recipient.address)) return null
  return recipient.requeuedAt === null || isBefore
    ? (recipient.providerId ?? reported.providerId)
    : (reported.providerId ?? recipient.providerId)
}

/** Why it failed; of one who was erased without the number, which platforms write into their words. */
const failureOf = (
  { address }: Job.RecipientResult,
  { failure }: PlatformReport
): Recipient.Failure | null =>
  failure !== null && Erasure.isErased(address)
    ? { ...failure, message: Phone.shorten(failure.message) }
    : failure

/**
 * The recipient after a platform's report; the same object when the report says nothing new. A message that the
 * platform reports was attempted, even if its worker released the attempt on stopping. A report on an attempt before
 * an operator's retry counts only if the message was delivered or read: the retry supersedes that attempt's failure.
 * A report without a plausible time (`Occurrence`) occurred when it came.
 */
export const report = (
  recipient: Job.RecipientResult,
  reported: PlatformReport,
  now: Instant
): Job.RecipientResult => {
  const arrived = reported.status === "delivered" || reported.status === "read"
  const before = isBeforeRetry(recipient, reported, now)
  if (before && !arrived) return recipient
  const status = Recipient.advance(recipient.status, reported.status)
  const pricing = recipient.pricing ?? reported.pricing ?? null
  const stamps = Job.stamp(recipient, reported.status, reported.at)
  const news =
    status !== recipient.status ||
    pricing !== recipient.pricing ||
    stamps.sentAt !== recipient.sentAt ||
    stamps.deliveredAt !== recipient.deliveredAt ||
    stamps.readAt !== recipient.readAt
  if (!news) return recipient
  return changedTo(
    recipient,
    status,
    {
      attempts: Math.max(1, recipient.attempts),
      pricing,
      attemptedAt: attemptedAt(recipient),
      failure:
        status === "failed"
          ? status === recipient.status
            ? recipient.failure
            : failureOf(recipient, reported)
          : null,
      providerId: idAfter(recipient, reported, before),
      nextAt: Recipient.leftDispatch(status) ? null : recipient.nextAt,
      ...stamps
    },
    now
  )
}

/**
 * The in-flight recipient of a dead worker. The platform may have the message. If the sender can avoid a second
 * message or ask for the first, the recipient is due again: immediately after the first death, after a wait that grows
 * once it is a suspect, and `unknown` with the code `poisoned` when it has had all of them (contract.md §11). Otherwise
 * it is `unknown`. A canceling job gives no further attempt.
 *
 * @param recoverable whether the session's sender deduplicates or looks up
 * @param suspectWaits how long a suspect waits after each death
 */
export const rescue = (
  job: Pick<Job.Job, "status">,
  recipient: Job.RecipientResult,
  options: {
    readonly recoverable: boolean
    readonly now: Instant
    readonly suspectWaits?: ReadonlyArray<number>
  }
): Job.RecipientResult => {
  const { now, recoverable, suspectWaits = Retry.suspectWaits } = options
  if (!recoverable || job.status === "canceling")
    return changedTo(recipient, "unknown", endFields(interrupted), now)
  const crashCount = recipient.crashCount + 1
  const waitMs = isSuspect({ crashCount }) ? suspectWaits[crashCount - Retry.suspectDeaths] : 0
  return waitMs === undefined
    ? changedTo(recipient, "unknown", endFields(poisoned(crashCount)), now)
    : changedTo(recipient, "sending", { crashCount, maybeSent: true, nextAt: Time.after(now, waitMs) }, now)
}

const interrupted: Recipient.Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The worker stopped during the attempt; the platform may or may not have the message.",
  permanent: false
}

const poisoned = (deaths: number): Recipient.Failure => ({
  code: "poisoned",
  provider_code: null,
  message: `${deaths} workers in a row ended during its attempt; it is not tried again, and the platform may have it.`,
  permanent: false
})

/**
 * The recipient of a canceled job: canceled unless it is in flight or has left dispatch; `unknown` if its last
 * attempt had no outcome, since the platform may have the message.
 */
export const cancel = (recipient: Job.RecipientResult, now: Instant): Job.RecipientResult =>
  Recipient.leftDispatch(recipient.status) || inFlight(recipient)
    ? recipient
    : settleCanceled(recipient, recipient.maybeSent, recipient.failure, now)

const restored: Recipient.Failure = {
  code: "restored",
  provider_code: null,
  message:
    "The store was restored from a backup while it waited; the platform may or may not have the message.",
  permanent: false
}

/**
 * True when the recipient was open before its store was restored. One that an operator queued again since then was not.
 *
 * @param since when the store was held
 */
export const wasOpen = ({ requeuedAt, status }: Job.RecipientResult, since: Instant): boolean =>
  !Recipient.leftDispatch(status) && (requeuedAt === null || requeuedAt < since)

/**
 * A recipient that was open before its store was restored, where it is not sent: `unknown`, since the backup cannot tell what
 * was sent after it; or canceled, unless an attempt had begun by then.
 */
export const restore = (
  recipient: Job.RecipientResult,
  way: "unknown" | "cancel",
  now: Instant
): Job.RecipientResult =>
  way === "cancel" && !recipient.maybeSent && !inFlight(recipient)
    ? changedTo(recipient, "canceled", endFields(recipient.failure), now)
    : changedTo(recipient, "unknown", endFields(restored), now)

/**
 * The recipient of a job that one cause stopped: failed with that cause, or `unknown` if its last attempt had no
 * outcome. A recipient in flight is unchanged, since its attempt has an outcome of its own.
 */
export const abandon = (
  recipient: Job.RecipientResult,
  failure: Recipient.Failure,
  now: Instant
): Job.RecipientResult =>
  Recipient.leftDispatch(recipient.status) || inFlight(recipient)
    ? recipient
    : changedTo(recipient, recipient.maybeSent ? "unknown" : "failed", endFields(failure), now)

/**
 * The recipient whose expiry has come, as the question before an attempt ends it; `unknown` if its last attempt had no outcome.
 * A recipient in flight is unchanged, since its attempt has an outcome of its own.
 */
export const expire = (recipient: Job.RecipientResult, now: Instant): Job.RecipientResult =>
  Recipient.leftDispatch(recipient.status) || inFlight(recipient)
    ? recipient
    : changedTo(
        recipient,
        recipient.maybeSent ? "unknown" : "skipped",
        endFields(When.failureOf("Expired")),
        now
      )

/** The recipient queued again by an operator. Besides a release before any attempt, no step lowers a status. */
export const requeue = (recipient: Job.RecipientResult, now: Instant): Job.RecipientResult =>
  changedTo(
    recipient,
    "queued",
    {
      failure: null,
      attempts: 0,
      attemptedAt: null,
      retryingSince: null,
      requeuedAt: now,
      nextAt: now,
      ...settledFlags
    },
    now
  )

/**
 * True where the platform refused a text for a closed window, no outcome is awaited any more, and a template stands in its place:
 * then and only then nothing of it was delivered, and the template goes.
 */
const isReplaced = (job: Job.Job, { address, failure, status }: Job.RecipientResult): boolean =>
  job.replacedAt === null &&
  !Job.isCanceled(job.status) &&
  status === "failed" &&
  FailureCatalogue.isOfWindow(failure) &&
  !Erasure.isErased(address)

const otherwiseOf = ({ content }: Job.Job): Direct.Otherwise | undefined =>
  Job.isReadable(content) && content.kind === "direct" ? content.otherwise : undefined

/**
 * The recipient of a text that was refused, due as its template and with its price; undefined where nothing goes in its place. The
 * refusal belongs to the attempt before.
 */
export const replaced = (
  job: Job.Job,
  recipient: Job.RecipientResult,
  now: Instant
): Job.RecipientResult | undefined => {
  const otherwise = otherwiseOf(job)
  if (otherwise === undefined || !isReplaced(job, recipient)) return undefined
  const { market, price } = otherwise
  return { ...requeue(recipient, now), attempts: recipient.attempts, market, price }
}

/** The job whose template goes from now on. */
export const withTemplate = (job: Job.Job, now: Instant): Job.Job => ({
  ...reopened(job, now),
  estimatedCost: otherwiseOf(job)?.price ?? null,
  replacedAt: now,
  updatedAt: now
})

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
  const firsts = StopWhen.firsts(job, counts, changes, now)
  const rolled = progressed({ ...job, firsts }, counts, Job.rollup(job.status, counts, stopped), now)
  const next = StopWhen.isReached(job, firsts) ? pauseForFailures(rolled, now) : rolled
  const draft = Event.jobChanged(next, job.status)
  return { job: next, drafts: draft === undefined ? drafts : [...drafts, draft] }
}

/**
 * The job with new counts and a new status. An end gets its time, and a pause reason is dropped unless the job is
 * paused.
 */
const progressed = (job: Job.Job, counts: Recipient.Counts, status: Job.Status, now: Instant): Job.Job => ({
  ...job,
  status,
  pauseReason: status === "paused" ? job.pauseReason : null,
  counts,
  updatedAt: now,
  completedAt: Job.completedAt(job, status, now)
})

const withStatus = (job: Job.Job, status: Job.Status, now: Instant): Job.Job =>
  progressed(job, job.counts, status, now)

/**
 * When the job has work next: the earliest due time of its recipients while the job may be claimed. Recipients in
 * flight have none.
 */
export const nextDue = (
  job: Pick<Job.Job, "arrival" | "pauseReason" | "perMinute" | "status">,
  recipients: Iterable<Job.RecipientResult>,
  now: Instant
): Instant | null => {
  if (!Job.isClaimable(job)) return null
  let next: Instant | null = null
  for (const recipient of recipients) {
    const at = dueAt(recipient, now)
    if (at !== null && (next === null || at < next)) next = at
  }
  return Pace.dueAt(job, next, now)
}

/**
 * The job after its session changed: a running job pauses when the session may not send, and resumes when it may; the
 * same object when nothing changes.
 */
export const followSession = (job: Job.Job, session: Session.Standing, now: Instant): Job.Job => {
  const pauseReason = Session.obstacleOf(session, Job.goesAs(job))
  if (pauseReason !== null && job.status === "processing") {
    return { ...withStatus(job, "paused", now), pauseReason }
  }
  if (job.status !== "paused" || isPausedApart(job) || job.pauseReason === pauseReason) return job
  return pauseReason === null ? withStatus(job, "processing", now) : { ...job, pauseReason, updatedAt: now }
}

/** For its template, for its failures, or by its client: nothing of its session ends that. */
const isPausedApart = (job: Job.Job): boolean =>
  job.pauseReason === "template_paused" || job.pauseReason === "template_changed" || Job.isHeld(job)

/** A job that its client holds, whatever else it is paused for; the same one when it is held. */
export const pauseForClient = (job: Job.Job, now: Instant): Job.Job =>
  Job.isHeld(job) ? job : { ...withStatus(job, "paused", now), pauseReason: "client" }

/** A job of which too many failed, whatever else it is paused for; one that ends is not paused. */
const pauseForFailures = (job: Job.Job, now: Instant): Job.Job =>
  Job.hasEnded(job.status) || job.status === "canceling"
    ? job
    : { ...withStatus(job, "paused", now), pauseReason: "failing" }

/** A job that failures of other sends of its reference stop, too; the same one when they do not, or when it is held. */
export const stopTogether = (job: Job.Job, now: Instant): Job.Job =>
  StopWhen.isStopped(job) && !Job.isHeld(job) ? pauseForFailures(job, now) : job

/**
 * A job that its client lets go on; the same one when nothing held it for that. Claims find out what else keeps it: they pass over
 * a session that may not send, and pause it for its template.
 */
export const resumeForClient = (job: Job.Job, now: Instant): Job.Job => {
  if (!Job.isHeld(job)) return job
  const next = withStatus(job, Job.rollup("queued", job.counts), now)
  return job.pauseReason === "failing" ? { ...next, firsts: null } : next
}

/** A job whose template may not be sent for now: its platform is asked for it, or it has another status. */
export const pauseForTemplate = (job: Job.Job, status: string, now: Instant): Job.Job => ({
  ...withStatus(job, "paused", now),
  pauseReason: status === TemplateCheck.changedStatus ? "template_changed" : "template_paused"
})

/** A job of a session whose platform restricts templates. */
export const pauseForRestriction = (job: Job.Job, now: Instant): Job.Job => ({
  ...withStatus(job, "paused", now),
  pauseReason: "platform_restriction"
})

/**
 * The job after its template was approved again: it resumes, unless its session may not send now; the same object
 * when it was not paused for its template.
 */
export const resumeForTemplate = (job: Job.Job, session: Session.Standing, now: Instant): Job.Job => {
  return job.pauseReason === "template_paused" ? resumed(job, session, now) : job
}

const resumed = (job: Job.Job, session: Session.Standing, now: Instant): Job.Job => {
  if (job.status !== "paused") return job
  const pauseReason = Session.obstacleOf(session, Job.goesAs(job))
  return pauseReason === null ? withStatus(job, "processing", now) : { ...job, pauseReason, updatedAt: now }
}

/** The job once its template is known as it is at its platform; the same object when it did not wait for that. */
export const resumeChecked = (
  job: Job.Job,
  isApproved: boolean,
  session: Session.Standing,
  now: Instant
): Job.Job => {
  if (job.status !== "paused" || job.pauseReason !== "template_changed") return job
  return isApproved ? resumed(job, session, now) : { ...job, pauseReason: "template_paused", updatedAt: now }
}

/** A job once all of its recipients are claimed for their first attempt. */
export const claimedWhole = (job: Job.Job, now: Instant): Job.Job => {
  const counts = { ...job.counts, queued: 0, sending: job.counts.queued }
  return progressed(job, counts, Job.rollup(job.status, counts), now)
}

/** The job on its way to `canceled`; the same one when it has ended. Its recipients follow by {@link cancel}. */
export const canceling = (job: Job.Job, now: Instant): Job.Job =>
  Job.hasEnded(job.status) || job.status === "canceling" ? job : withStatus(job, "canceling", now)

/** The job open again for recipients that were queued afresh. */
export const reopened = (job: Job.Job, now: Instant): Job.Job =>
  Job.hasEnded(job.status) ? { ...job, status: "queued", completedAt: null, updatedAt: now } : job
