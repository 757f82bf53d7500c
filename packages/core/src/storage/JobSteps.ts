/**
 * The pure part of the {@link JobStore}'s verbs, which every adapter runs inside its commit between reading the rows of a job
 * and writing them. Here is the rule of the fence: a recipient awaits an outcome under the fence of the claim that took it, and
 * whatever ends the wait (outcome, rescue, retry) clears it, so that a worker that comes late changes nothing.
 */

import * as Address from "../domain/Address.ts"
import * as Erasure from "../domain/Erasure.ts"
import { groupBy } from "../domain/GroupBy.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { EarlierAttempt } from "../domain/job/Attempts.ts"
import * as Attempts from "../domain/job/Attempts.ts"
import type { Content, Job, RecipientResult } from "../domain/job/Job.ts"
import * as Jobs from "../domain/job/Job.ts"
import * as Pace from "../domain/job/Pace.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Recipient from "../domain/job/Recipient.ts"
import * as RetryPlan from "../domain/job/RetryPlan.ts"
import * as RetrySelection from "../domain/job/RetrySelection.ts"
import type { Change } from "../domain/job/Transitions.ts"
import * as Transitions from "../domain/job/Transitions.ts"
import * as When from "../domain/job/When.ts"
import * as Restore from "../domain/Restore.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Session, Standing } from "../domain/session/Session.ts"
import * as Sessions from "../domain/session/Session.ts"
import type { TemplateContent } from "../domain/template/Template.ts"
import * as TemplateCheck from "../domain/template/TemplateCheck.ts"
import type { Draft } from "../domain/webhook/Event.ts"
import * as Event from "../domain/webhook/Event.ts"
import * as Either from "../effect/Either.ts"
import type { Inbound } from "./InboundStore.ts"
import type {
  ClaimedJob,
  Met,
  Refused,
  Report,
  ReportedEnd,
  ReportsApplied,
  RetimeResult,
  Retiming,
  Settlement
} from "./JobStore.ts"
import { CancelResult, HoldResult, RetryResult } from "./JobStore.ts"

/** A job, and what a store keeps with it. */
export interface JobState {
  readonly job: Job
}

/** A recipient, and the fence under which its outcome is awaited; null when none is. */
export interface FencedRecipient {
  readonly recipient: RecipientResult
  readonly fence: number | null
}

/** A step of a recipient, and the fences under which its outcome was awaited before, and is afterwards. */
export interface RecipientChange extends Change {
  readonly fenceBefore: number | null
  readonly fence: number | null
  /** Attempts that get rows; absent where there are none. */
  readonly earlier?: ReadonlyArray<EarlierAttempt>
}

/** The changes of a job that are to be written. */
export interface JobChange<H extends JobState, C extends Change = RecipientChange> {
  readonly state: H
  readonly changes: ReadonlyArray<C>
  /** The recipients' events first, the job's last. */
  readonly drafts: ReadonlyArray<Draft>
}

const step = <H extends JobState>(
  state: H,
  job: Job,
  changes: ReadonlyArray<RecipientChange>,
  now: Instant,
  stopped = false
): JobChange<H> => {
  const replaced = changes.map((change) => withTemplate(job, change, now))
  const goesOtherwise = replaced.some((change, place) => change !== changes[place])
  const next = goesOtherwise ? Transitions.withTemplate(job, now) : job
  const applied = Transitions.apply(next, replaced, now, stopped)
  return { state: { ...state, job: applied.job }, changes: replaced, drafts: applied.drafts }
}

/** A change that ends a text in whose place a template goes, with the attempt that it ends. */
const withTemplate = (job: Job, change: RecipientChange, now: Instant): RecipientChange => {
  const { after, earlier, fence } = change
  const replaced = fence === null ? Transitions.replaced(job, after, now) : undefined
  return replaced === undefined
    ? change
    : { ...change, after: replaced, earlier: earlier ?? Attempts.repeated(after) }
}

/** A job that changed alone, with the event that tells; none when it is the same. */
export const withJob = <H extends JobState>(state: H, job: Job): ReadonlyArray<JobChange<H>> => {
  if (job === state.job) return []
  const draft = Event.jobChanged(job, state.job.status)
  return [{ state: { ...state, job }, changes: [], drafts: draft === undefined ? [] : [draft] }]
}

/**
 * Gives recipients to a worker; the store draws the fence. A job of which a recipient probes the session's platform pauses with
 * the others, and one that was left paused goes on.
 *
 * @param content the job's, which can be read
 * @param session the session as the claim read it; null for a message that is sent while its session is not looked at
 */
export const claim = <H extends JobState>(
  state: H,
  content: Content,
  recipients: ReadonlyArray<RecipientResult>,
  now: Instant,
  session: (Standing & Pick<Session, "lastOutage">) | null
): JobChange<H, Change> & { readonly claimed: Omit<ClaimedJob, "fence"> } => {
  const silence = session === null ? null : Sessions.silence(session, now)
  const changes = recipients.map(
    (before): Change => ({ before, after: Transitions.claim(before, now, silence) })
  )
  const probe = session !== null && session.outage !== null
  const applied = Transitions.apply(state.job, changes, now)
  const follows = session !== null && (probe || state.job.status === "paused")
  const goes = Jobs.outgoing(state.job, content)
  const followed = follows ? Transitions.followSession(applied.job, session, now) : applied.job
  const arrival = Pace.taken(followed, recipients.length, now)
  const job = arrival === followed.arrival ? followed : { ...followed, arrival }
  // A claim has no events but the job's.
  const draft = Event.jobChanged(job, state.job.status)
  const drafts = draft === undefined ? [] : [draft]
  const { accountId, id: jobId, sessionId } = job
  return {
    state: { ...state, job },
    changes,
    drafts,
    claimed: {
      jobId,
      accountId,
      sessionId,
      content: goes.content,
      traceparent: job.traceparent,
      timing: job.timing,
      replacesText: goes.values !== undefined,
      probe,
      recipients: changes.map(({ after, before }) => ({
        index: after.index,
        address: after.address,
        timing: after.timing,
        values: goes.values ?? after.values,
        attempts: after.attempts,
        dueAt: before.nextAt ?? now,
        firstAttemptAt: Transitions.firstAttemptAt(after),
        maybeSent: after.maybeSent,
        crashCount: after.crashCount
      }))
    }
  }
}

interface EndOfAttempt {
  readonly made: Attempts.Outcome
  readonly failure: Failure | null
}

/** The end of an attempt by its outcome; null where nothing was attempted that is told. */
const endOfAttempt = (outcome: Settlement["outcome"], isRepeated: boolean): EndOfAttempt | null => {
  switch (outcome._tag) {
    case "Accepted":
      return { made: "accepted", failure: null }
    case "Failed":
      return { made: "failed", failure: outcome.failure }
    case "Unknown":
      return { made: "unknown", failure: outcome.failure }
    case "Retry": {
      const made = isRepeated ? "retried" : outcome.maybeSent ? "unknown" : "failed"
      return { made, failure: outcome.failure }
    }
    case "Released":
      return outcome.failure === undefined ? null : { made: "released", failure: outcome.failure }
    case "Skipped":
      return null
  }
}

/** The attempts of a settlement that get rows: its own, where the recipient will not tell it or has a job for itself, and those before it. */
const earlierOf = (
  { earlier = [], outcome, tried }: Settlement,
  { attempts, status }: RecipientResult,
  { nextAt }: RecipientResult,
  now: Instant,
  isAlone: boolean
): ReadonlyArray<EarlierAttempt> => {
  // A report came before the outcome: the recipient tells only that.
  const isOvertaken = Recipient.leftDispatch(status)
  const end = endOfAttempt(outcome, !isOvertaken && nextAt !== null)
  if (end === null) return earlier
  const { failure, made } = end
  const isUntold = made === "retried" || made === "released" || (isOvertaken && made !== "accepted")
  const isMeasured = isAlone && tried !== undefined
  return isUntold || isMeasured
    ? [...earlier, Attempts.earlier(attempts, now, made, failure, tried)]
    : earlier
}

/** True when an outcome is of a cause that stops the whole job: then {@link settle} is given all of its recipients. */
export const stopsJob = ({ outcome }: Settlement): boolean =>
  outcome._tag === "Failed" && outcome.stopsJob === true

/** The inbound items of settlements: one batch for each session and portfolio, in one order for all commits. */
export const inbound = (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Inbound> => {
  const brought: Array<Inbound> = []
  for (const { inbound } of settlements) if (inbound !== undefined) brought.push(inbound)
  if (brought.length === 0) return brought
  const groups = groupBy(brought, ({ accountId, portfolio, sessionId }) =>
    JSON.stringify([accountId, sessionId, portfolio])
  )
  return [...groups.keys()].sort().flatMap((name) => {
    const group = groups.get(name) ?? []
    return group.slice(0, 1).map((first) => ({ ...first, items: group.flatMap(({ items }) => items) }))
  })
}

/**
 * The outcomes that are still awaited; the answer is the last that one of them brings. What one cause stops fails with
 * it, and so does what was settled beside it to be attempted again.
 *
 * @param all of the job's recipients, when an outcome stops the job
 */
export const settle = <H extends JobState>(
  state: H,
  find: (index: number) => FencedRecipient | undefined,
  settlements: ReadonlyArray<Settlement>,
  now: Instant,
  all: ReadonlyArray<FencedRecipient> = []
): JobChange<H> & { readonly settled: number; readonly answer: string | undefined } => {
  const changes = new Map<number, RecipientChange>()
  let answer: string | undefined
  let cause: Failure | undefined
  for (const settlement of settlements) {
    const { fence, index, outcome } = settlement
    if (changes.has(index)) continue
    const fenced = find(index)
    if (fenced === undefined || fenced.fence !== fence) continue
    const before = fenced.recipient
    const after = Transitions.settle(state.job, before, outcome, now)
    const change = { before, after, fenceBefore: fence, fence: null }
    const earlier = earlierOf(settlement, before, after, now, state.job.recipients === 1)
    changes.set(index, earlier.length === 0 ? change : { ...change, earlier })
    answer = settlement.answer ?? answer
    if (outcome._tag === "Failed" && outcome.stopsJob === true) cause ??= outcome.failure
  }
  const settled = changes.size
  if (cause !== undefined) {
    for (const { fence, recipient } of all) {
      // A recipient that was settled in the same commit may be due again.
      const current = changes.get(recipient.index) ?? {
        before: recipient,
        after: recipient,
        fenceBefore: fence,
        fence
      }
      const after = Transitions.abandon(current.after, cause, now)
      if (after !== current.after) changes.set(recipient.index, { ...current, after })
    }
  }
  const made = step(state, state.job, [...changes.values()], now, cause !== undefined)
  return { ...made, settled, answer }
}

/** True when what the job sends is still of the template's form; a content that cannot be read is not sent at all. */
export const fitsTemplate = ({ content }: Job, template: TemplateContent): boolean =>
  content.kind !== "template" || !Jobs.isReadable(content) || TemplateCheck.fits(content.template, template)

/** Ends what is not in flight: one cause stops the whole job. Null where it has ended. */
export const abandon = <H extends JobState>(
  state: H,
  recipients: ReadonlyArray<FencedRecipient>,
  failure: Failure,
  now: Instant
): JobChange<H> | null => {
  if (Jobs.hasEnded(state.job.status)) return null
  const changes = recipients.flatMap(({ fence, recipient: before }): ReadonlyArray<RecipientChange> => {
    const after = Transitions.abandon(before, failure, now)
    return after === before ? [] : [{ before, after, fenceBefore: fence, fence }]
  })
  return step(state, state.job, changes, now, true)
}

/** A recipient in flight at its expiry is looked at again after so long: its attempt may end with a retry. */
const expiringMs = Time.minute

/** For so long after its expiry a recipient whom the platform may have is left to the attempt that asks for it. */
const askingMs = Time.hour

/**
 * Ends those who expired, whatever keeps the job, and tells when the next ones do. The platform is asked first for one that it may
 * have, unless the client holds the job. Where nobody is left open that expires, the time stays: a retry of them finds it.
 */
export const expire = <H extends JobState>(
  state: H,
  open: ReadonlyArray<FencedRecipient>,
  now: Instant
): JobChange<H> => {
  const { timing } = state.job
  const changes: Array<RecipientChange> = []
  let expiring: Instant | null = null
  for (const { fence, recipient: before } of open) {
    const { address, timing: own } = before
    const at = When.expiry({ timing, own, address })
    if (at === null) continue
    const isAsked = before.maybeSent && !Jobs.isHeld(state.job) && now < Time.after(at, askingMs)
    const after = at <= now && !isAsked ? Transitions.expire(before, now) : before
    if (after !== before) changes.push({ before, after, fenceBefore: fence, fence })
    else expiring = Time.firstOf([expiring, at <= now ? Time.after(now, expiringMs) : at])
  }
  const isLeft = timing !== null && (changes.length === 0 || open.length > changes.length)
  const job = isLeft ? { ...state.job, timing: { ...timing, expiring } } : state.job
  return step(state, job, changes, now)
}

/** Takes back all that awaits an outcome. What a report has settled needs no rescue. */
export const rescue = <H extends JobState>(
  state: H,
  awaited: ReadonlyArray<FencedRecipient>,
  now: Instant,
  options: Omit<Parameters<typeof Transitions.rescue>[2], "now">
): JobChange<H> & { readonly count: number } => {
  const changes = awaited.map(({ fence: fenceBefore, recipient: before }): RecipientChange => {
    const after = Transitions.inFlight(before)
      ? Transitions.rescue(state.job, before, { ...options, now })
      : before
    const change = { before, after, fenceBefore, fence: null }
    // The attempt had no outcome, and is made again.
    return after === before || after.nextAt === null
      ? change
      : { ...change, earlier: [Attempts.earlier(before.attempts, now, "lost", null)] }
  })
  const count = changes.filter(({ after, before }) => after !== before).length
  return { ...step(state, state.job, changes, now), count }
}

/** Gives back all that awaits an outcome and was not attempted, at no cost of an attempt. */
export const giveBack = <H extends JobState>(
  state: H,
  awaited: ReadonlyArray<FencedRecipient>,
  now: Instant
): JobChange<H> & { readonly count: number } => {
  const changes = awaited.map(({ fence: fenceBefore, recipient: before }): RecipientChange => {
    const after = Transitions.settle(state.job, before, { _tag: "Released", maybeSent: false }, now)
    return { before, after, fenceBefore, fence: null }
  })
  const count = changes.filter(({ after, before }) => after !== before).length
  return { ...step(state, state.job, changes, now), count }
}

/** True where the platform names the recipient by another number, or by a user id alone; never of one that was erased. */
const isNamedOtherwise = ({ named }: Report, { address }: RecipientResult): boolean => {
  if (named === undefined || Erasure.isErased(address)) return false
  const { phone, userId } = Address.personOf(address)
  return named.phone === null ? named.userId !== null && named.userId !== userId : named.phone !== phone
}

/** True of the refusal of a text in whose place a template goes already: no template is refused for a window. */
const isOfText = ({ replacedAt }: Job, { failure }: Report): boolean =>
  replacedAt !== null && FailureCatalogue.isOfWindow(failure)

/** Reports of this job's recipients; those of none are answered back. */
export const receive = <H extends JobState>(
  state: H,
  find: (index: number) => FencedRecipient | undefined,
  reported: ReadonlyArray<{ readonly index: number; readonly report: Report }>,
  now: Instant
): JobChange<H> & Pick<ReportsApplied, "ended" | "met" | "refused" | "unmatched"> => {
  const met: Array<Met> = []
  const refused: Array<Refused> = []
  const ended: Array<ReportedEnd> = []
  const { sessionId } = state.job
  const current = new Map<number, FencedRecipient>()
  const changes: Array<RecipientChange> = []
  const unmatched: Array<Report> = []
  for (const { index, report } of reported) {
    const fenced = current.get(index) ?? find(index)
    if (fenced === undefined) {
      unmatched.push(report)
      continue
    }
    const { fence, recipient: before } = fenced
    if (isNamedOtherwise(report, before)) met.push({ sessionId, asked: before.address, report })
    const after = isOfText(state.job, report) ? before : Transitions.report(before, report, now)
    current.set(index, { recipient: after, fence })
    if (after !== before) {
      const earlier = Attempts.overtaken(before, after)
      const change = { before, after, fenceBefore: fence, fence }
      changes.push(earlier.length === 0 ? change : { ...change, earlier })
    }
    refused.push(...refusedBy(state.job, report, after))
    if (after !== before && report.status !== "sent") ended.push(endOf(sessionId, report, after))
  }
  return { unmatched, met, refused, ended, ...step(state, state.job, changes, now) }
}

const endOf = (
  sessionId: string,
  { at }: Report,
  { address, attemptedAt, failure, status }: RecipientResult
): ReportedEnd => ({
  sessionId,
  address,
  failure: status === "failed" ? failure : null,
  attemptedAt: attemptedAt ?? at
})

/** A refusal of the recipient's last attempt, where it concerns others, and its job can be read. */
const refusedBy = (
  { accountId, content, id: jobId, sessionId }: Job,
  { at, status }: Report,
  { attemptedAt, failure, status: stands }: RecipientResult
): ReadonlyArray<Refused> =>
  status === "failed" &&
  stands === "failed" &&
  failure !== null &&
  FailureCatalogue.concernsOthers(failure) &&
  Jobs.isReadable(content)
    ? [{ accountId, content, jobId, sessionId, failure, attemptedAt: attemptedAt ?? at }]
    : []

/** The answer of a verb, and the step to be written for it; null when nothing is. */
interface Decided<H extends JobState, Result> {
  readonly result: Result
  readonly step: JobChange<H> | null
}

/** Holds a job for its client, or lets it go on; what is in flight finishes. */
export const hold = <H extends JobState>(
  state: H,
  isHeld: boolean,
  now: Instant
): { readonly result: HoldResult; readonly steps: ReadonlyArray<JobChange<H>> } => {
  const { status } = state.job
  if (Jobs.hasEnded(status) || status === "canceling")
    return { result: HoldResult.Ended({ job: state.job }), steps: [] }
  const job = isHeld
    ? Transitions.pauseForClient(state.job, now)
    : Transitions.resumeForClient(state.job, now)
  return { result: HoldResult.Done({ job }), steps: withJob(state, job) }
}

/** Changes when a job's recipients may be sent. */
export const retime = <H extends JobState>(
  state: H,
  open: ReadonlyArray<FencedRecipient>,
  change: Retiming,
  now: Instant
): { readonly result: RetimeResult; readonly steps: ReadonlyArray<JobChange<H>> } => {
  const { status } = state.job
  if (Jobs.hasEnded(status) || status === "canceling")
    return { result: HoldResult.Ended({ job: state.job }), steps: [] }
  const decided = change(
    state.job,
    open.map(({ recipient }) => recipient)
  )
  if (Either.isLeft(decided)) return { result: { _tag: "Refused", faults: decided.left }, steps: [] }
  const { dueAt, timing } = decided.right
  const changes = open.flatMap(({ fence, recipient: before }): ReadonlyArray<RecipientChange> => {
    const at = dueAt.get(before.index)
    return at === undefined
      ? []
      : [{ before, after: Transitions.defer(before, at, now), fenceBefore: fence, fence }]
  })
  const changed = step(state, { ...state.job, timing, updatedAt: now }, changes, now)
  return { result: HoldResult.Done({ job: changed.state.job }), steps: [changed] }
}

/** Cancels what is not in flight. A job that is being canceled stays so. */
export const cancel = <H extends JobState>(
  state: H,
  recipients: ReadonlyArray<FencedRecipient>,
  now: Instant
): Decided<H, CancelResult> => {
  if (Jobs.hasEnded(state.job.status)) return { result: CancelResult.Ended({ job: state.job }), step: null }
  const job = Transitions.canceling(state.job, now)
  if (job === state.job) return { result: CancelResult.Canceled({ job }), step: null }
  const changes = recipients.flatMap(({ fence, recipient: before }): ReadonlyArray<RecipientChange> => {
    const after = Transitions.cancel(before, now)
    return after === before ? [] : [{ before, after, fenceBefore: fence, fence }]
  })
  const canceled = step(state, job, changes, now)
  return { result: CancelResult.Canceled({ job: canceled.state.job }), step: canceled }
}

/**
 * What becomes of a person's recipients who are erased: those that wait are canceled. One whose outcome is awaited stays as it
 * is until that is there, since the process that has it in hand knows it by its name.
 */
export const erase = <H extends JobState>(
  state: H,
  recipients: ReadonlyArray<FencedRecipient>,
  now: Instant
): JobChange<H> & {
  /** The recipients that lose what is personal. */
  readonly erased: ReadonlyArray<RecipientResult>
  readonly canceled: number
  readonly inFlight: number
} => {
  const erased: Array<RecipientResult> = []
  const changes: Array<RecipientChange> = []
  for (const { fence, recipient: before } of recipients) {
    if (fence !== null || Transitions.inFlight(before)) continue
    const after = Transitions.cancel(before, now)
    erased.push(after)
    if (after !== before) changes.push({ before, after, fenceBefore: fence, fence })
  }
  const canceled = changes.filter(({ after }) => after.status === "canceled").length
  const inFlight = recipients.length - erased.length
  return { ...step(state, state.job, changes, now), erased, canceled, inFlight }
}

/**
 * What becomes of the recipients that were open before the store was restored. Those that are sent stay as they are; what a
 * process had in flight when the backup was made is no longer awaited where it ends here.
 *
 * @param since when the store was held
 */
export const restore = <H extends JobState>(
  state: H,
  recipients: ReadonlyArray<FencedRecipient>,
  way: Restore.Way,
  since: Instant,
  now: Instant
): JobChange<H> & { readonly counts: Restore.Counts } => {
  const open = recipients.filter(({ recipient }) => Transitions.wasOpen(recipient, since))
  const jobs = open.length > 0 ? 1 : 0
  if (way === "send")
    return { state, changes: [], drafts: [], counts: { ...Restore.noCounts, jobs, sent: open.length } }
  const changes = open.map(({ fence: fenceBefore, recipient: before }): RecipientChange => {
    return { before, after: Transitions.restore(before, way, now), fenceBefore, fence: null }
  })
  const canceled = changes.filter(({ after }) => after.status === "canceled").length
  const counts = { jobs, unknown: changes.length - canceled, canceled, sent: 0 }
  return { ...step(state, state.job, changes, now), counts }
}

/**
 * Queues the chosen recipients again. An attempt that a report of failure overtook is over: its late outcome must not
 * settle the new one.
 */
export const retry = <H extends JobState>(
  state: H,
  recipients: ReadonlyArray<FencedRecipient>,
  command: {
    readonly now: Instant
    readonly selection: RetrySelection.RetrySelection
    readonly dryRun?: boolean
    /** When the retry of many jobs began of which this is a part; absent of a retry of its own. */
    readonly since?: Instant
  }
): Decided<H, RetryResult> & { readonly sums: RetryPlan.Sums } => {
  const { dryRun = false, now, selection, since = null } = command
  const judge = RetrySelection.judge(selection, since)
  const judged = recipients.map((each) => ({ ...each, verdict: judge(each.recipient) }))
  const sums = RetryPlan.sumsOf(state.job, judged)
  const reason = RetryPlan.refusalOf(state.job)
  if (reason === "job_ended") return { result: RetryResult.Ended({ job: state.job }), step: null, sums }
  if (reason === "content_expired")
    return { result: RetryResult.Expired({ job: state.job }), step: null, sums }
  const { counts } = sums
  const changes: Array<RecipientChange> = []
  for (const { fence: fenceBefore, recipient: before, verdict } of judged) {
    if (verdict !== "chosen") continue
    const change = { before, after: Transitions.requeue(before, now), fenceBefore, fence: null }
    const earlier = Attempts.repeated(before)
    changes.push(earlier.length === 0 ? change : { ...change, earlier })
  }
  if (dryRun || changes.length === 0) {
    return { result: RetryResult.Retried({ job: state.job, counts, sums }), step: null, sums }
  }
  const retried = step(state, Transitions.reopened(state.job, now), changes, now)
  return { result: RetryResult.Retried({ job: retried.state.job, counts, sums }), step: retried, sums }
}
