/** Reading and canceling jobs: a caller's own, and any for the operator. */
import * as Effect from "effect/Effect"
import * as Money from "../domain/billing/Money.ts"
import * as RateCard from "../domain/billing/RateCard.ts"
import { InvalidRequest, JobEnded, NotFound } from "../domain/Errors.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as End from "../domain/job/End.ts"
import type { Job, RecipientResult, TemplateJob } from "../domain/job/Job.ts"
import { dispatchable, isReadable, isTemplateJob, purpose } from "../domain/job/Job.ts"
import * as Pace from "../domain/job/Pace.ts"
import type { Status as RecipientStatus } from "../domain/job/Recipient.ts"
import * as Waiting from "../domain/job/Waiting.ts"
import * as When from "../domain/job/When.ts"
import type { Page } from "../domain/Page.ts"
import * as Circuit from "../domain/session/Circuit.ts"
import { emptyAt, unpaced } from "../domain/session/Pacing.ts"
import * as QuietHours from "../domain/session/QuietHours.ts"
import type { Session } from "../domain/session/Session.ts"
import * as Sessions from "../domain/session/Session.ts"
import { Signals } from "../runtime/Signals.ts"
import type { TimesChange } from "../schema/Requests.ts"
import type { CancelResult, HoldResult } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RateCardStore } from "../storage/RateCardStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { Heartbeat } from "../worker/Heartbeat.ts"
import { QuarantineWatch } from "../worker/QuarantineWatch.ts"
import type { Caller, JobDetail, JobQuery } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"
import * as Timings from "./Timings.ts"

export interface DetailQuery {
  readonly recipientStatus?: RecipientStatus | undefined
  readonly page: Page
}

/**
 * The obstacle that a job waits for, with the end of the wait where that is known: the next probe of a platform, or the end of
 * a block.
 */
const waitOfHindered = (job: Job, session: Session | null, now: Instant): JobDetail["waitingFor"] => {
  const limiter = Waiting.hindrance(job, session)
  if (limiter === null) return null
  if (limiter === "platform" && session?.outage)
    return { limiter, until: Circuit.nextProbe(session.outage, now) }
  const isBlocked = session?.state === "connected" && limiter === "session"
  return { limiter, until: isBlocked ? Sessions.endOf(session.blockedUntil) : null }
}

/** False of what is in flight: it has its content already. */
const waitsForContent = ({ content, counts }: Job, nextAt: Instant | null): boolean =>
  !isReadable(content) && (counts.queued > 0 || nextAt !== null)

/** The hours of its session that hold for a job. */
const quietOf = ({ content }: Job, session: Session | null): When.Hours | null =>
  session === null || !isReadable(content) ? null : QuietHours.of(session.quietHours, purpose(content))

/**
 * The wait of the recipient whose time comes first; null where that time has come, and for another attempt that no hours put
 * off.
 */
export const waitOfTurn = (
  job: Job,
  session: Session | null,
  recipients: ReadonlyArray<RecipientResult>,
  now: Instant
): JobDetail["waitingFor"] => {
  const waiting = recipients.filter(({ nextAt }) => nextAt !== null)
  const queued = waiting.filter(({ status }) => status === "queued")
  const [first] = (queued.length > 0 ? queued : waiting).sort((a, b) => (a.nextAt ?? now) - (b.nextAt ?? now))
  if (first === undefined || first.nextAt === null || first.nextAt <= now) return null
  const { address, attempts, nextAt: until, timing: own } = first
  const rules = { timing: job.timing, own, address, quiet: quietOf(job, session) }
  if (attempts > 0) return When.beginsAt(rules, until) ? { limiter: "hours", until } : null
  if (When.askedFor(rules, now) > now) return { limiter: "schedule", until }
  return When.turn(rules, now)._tag === "Later" ? { limiter: "hours", until } : null
}

/** @param isDispatched true while any worker is alive that sends due messages */
const waitingFor = (
  job: Job,
  nextAt: Instant | null,
  session: Session | null,
  isDispatched: boolean,
  turn: JobDetail["waitingFor"],
  now: Instant
): JobDetail["waitingFor"] => {
  const pacing = session?.pacing ?? unpaced
  const hindered = waitOfHindered(job, session, now)
  if (job.status === "paused") return hindered
  if (!isOpen(job)) return null
  if (waitsForContent(job, nextAt)) return { limiter: "content", until: null }
  // Nothing else keeps it before its time.
  if (turn !== null) return turn
  if (!isDispatched) return { limiter: "worker", until: null }
  if (hindered !== null) return hindered
  if (job.counts.queued > 0) {
    const perSecond = Pace.slower(pacing.messagesPerSecond, job.perMinute)
    return perSecond === null ? null : { limiter: "pace", until: emptyAt(job.counts.queued, perSecond, now) }
  }
  return nextAt === null ? null : { limiter: "retry", until: nextAt }
}

/** Of every job that has something left, while the store is held after a restore. */
const forRestore: JobDetail["waitingFor"] = { limiter: "restore", until: null }

const isUnended = ({ counts }: Job): boolean => counts.queued + counts.sending > 0

/** True while a worker has something to do for the job, now or later. */
const isOpen = (job: Job): boolean => dispatchable(job.status) && isUnended(job)

/** @param open its recipients that are to be attempted; those that are left out are due */
const endOf = (
  job: Job,
  session: Session | null,
  open: ReadonlyArray<RecipientResult>,
  now: Instant
): End.End => {
  if (!dispatchable(job.status) || !isReadable(job.content)) return End.open
  const quiet = quietOf(job, session)
  const isTimed = job.timing !== null || quiet !== null
  const waiting = open.map(({ address, attempts, nextAt, timing: own }): End.Waiting => {
    const rules = { timing: job.timing, own, address, quiet }
    return { dueAt: nextAt ?? now, rules: isTimed ? rules : null, isFirst: attempts === 0 }
  })
  const others = job.counts.queued + job.counts.sending - open.length
  for (let count = 0; count < others; count += 1) waiting.push({ dueAt: now, rules: null, isFirst: true })
  return End.endOf(waiting, Pace.slower((session?.pacing ?? unpaced).messagesPerSecond, job.perMinute), now)
}

const templateOf = Effect.fnUntraced(function* (
  { content, sessionId }: TemplateJob,
  templates: typeof TemplateStore.Service
) {
  if (isReadable(content)) return content.template
  const { cause, templateId } = content
  const found = yield* templates.find({ sessionId, templateId })
  return found ?? (yield* new StorageError({ operation: "JobStore.find", cause }))
})

/** Tells what stands against what is left of a job, all reasons considered. */
export const waiting = Effect.gen(function* () {
  const heartbeat = yield* Heartbeat
  const quarantineWatch = yield* QuarantineWatch
  return Effect.fnUntraced(function* (
    job: Job,
    nextAt: Instant | null,
    session: Session | null,
    queued: ReadonlyArray<RecipientResult>
  ) {
    const now = yield* Time.now
    if (isUnended(job) && (yield* quarantineWatch.look) !== null) return forRestore
    const isDispatched = !isOpen(job) || (yield* heartbeat.isDispatched)
    return waitingFor(job, nextAt, session, isDispatched, waitOfTurn(job, session, queued, now), now)
  })
})

/** Cancels, holds and lets go on a job that was found. Its owner need not be checked again, since it never changes. */
const changing = Effect.gen(function* () {
  const jobs = yield* JobStore
  const signals = yield* Signals
  const told = Effect.fnUntraced(function* <E>(changed: Effect.Effect<CancelResult | HoldResult | null, E>) {
    const result = yield* changed
    if (result === null) return yield* new NotFound({ what: "job" })
    if (result._tag === "Ended") return yield* new JobEnded({ status: result.job.status })
    yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
    return result.job
  })
  const sessions = yield* SessionStore
  const held =
    (isHeld: boolean) =>
    ({ id: jobId }: Job) =>
      Effect.flatMap(Time.now, (now) => told(jobs.hold({ jobId, isHeld, now })))
  const retimed = Effect.fnUntraced(function* (job: Job, given: TimesChange, now: Instant) {
    const quiet = quietOf(job, yield* sessions.find(job.sessionId))
    const result = yield* jobs.retime({ jobId: job.id, change: Timings.change(given, quiet, now), now })
    return result?._tag === "Refused" ? yield* new InvalidRequest({ faults: result.faults }) : result
  })
  return {
    changeFound: (given: TimesChange) => (job: Job) =>
      Effect.flatMap(Time.now, (now) => told(retimed(job, given, now))),
    cancelFound: ({ id: jobId }: Job) => Effect.flatMap(Time.now, (now) => told(jobs.cancel({ jobId, now }))),
    pauseFound: held(true),
    resumeFound: held(false)
  }
})

const whole: Page = { limit: 250, after: null }

export const make = Effect.gen(function* () {
  const cards = yield* RateCardStore
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore
  const waitsFor = yield* waiting

  /** Priced by the rate card of the send, since receipts name a category and never an amount. */
  const actualCostOf = Effect.fnUntraced(function* ({
    content,
    createdAt,
    currency,
    estimatedCost,
    id
  }: TemplateJob) {
    if (estimatedCost === null) return null
    const category = isReadable(content) ? content.template.category : null
    const delivered = yield* jobs.delivered(id)
    const otherwise = delivered.some(({ pricing }) => pricing !== null && pricing.category !== category)
    const card = otherwise ? yield* cards.inForce({ currency, now: createdAt }) : null
    return Money.total(delivered.flatMap((each) => RateCard.cost(each, category, card) ?? []))
  })

  /** A job with a page of its results and what it cost. */
  const detail = Effect.fnUntraced(function* (job: TemplateJob, query: DetailQuery) {
    const { page, recipientStatus } = query
    const template = yield* templateOf(job, templates)
    const results = yield* jobs.results({ jobId: job.id, status: recipientStatus, page })
    const actualCost = yield* actualCostOf(job)
    const openOf = (status: "queued" | "sending") =>
      job.counts[status] === 0
        ? Effect.succeed([])
        : Effect.map(jobs.results({ jobId: job.id, status, page: whole }), ({ items }) => items)
    const sending = yield* openOf("sending")
    const session = yield* sessions.find(job.sessionId)
    const isTimed = job.timing !== null || quietOf(job, session) !== null
    const queued = isTimed ? yield* openOf("queued") : []
    const due = sending.flatMap(({ nextAt }) => (nextAt === null ? [] : [nextAt]))
    const now = yield* Time.now
    const nextAt = due.length === 0 ? null : Time.min(...due)
    const found: JobDetail = {
      job,
      template,
      results,
      actualCost,
      waitingFor: yield* waitsFor(job, nextAt, session, isTimed ? [...queued, ...sending] : []),
      ...endOf(job, session, [...queued, ...sending], now)
    }
    return found
  })

  /**
   * A job of any account. Direct messages are not found here, so that they cannot be read, canceled or retried as
   * jobs.
   */
  const any = Effect.fnUntraced(function* (jobId: string) {
    const job = yield* jobs.find(jobId)
    return job !== null && isTemplateJob(job) ? job : yield* new NotFound({ what: "job" })
  })

  /** A job of the caller's key. Another key's job is refused like one that does not exist. */
  const own = (caller: Caller, jobId: string) =>
    Effect.filterOrFail(
      any(jobId),
      ({ publicKey }) => publicKey === caller.key.publicKey,
      () => new NotFound({ what: "job" })
    )

  const find = Effect.fnUntraced(function* (caller: Caller, jobId: string, query: DetailQuery) {
    return yield* detail(yield* own(caller, jobId), query)
  })

  const { cancelFound, changeFound, pauseFound, resumeFound } = yield* changing

  const pause = (caller: Caller, jobId: string) => Effect.flatMap(own(caller, jobId), pauseFound)
  const resume = (caller: Caller, jobId: string) => Effect.flatMap(own(caller, jobId), resumeFound)
  const change = (caller: Caller, jobId: string, given: TimesChange) =>
    Effect.flatMap(own(caller, jobId), changeFound(given))
  const cancel = (caller: Caller, jobId: string) => Effect.flatMap(own(caller, jobId), cancelFound)

  const list = (caller: Caller, query: JobQuery) =>
    jobs.list({ ...query, by: { publicKey: caller.key.publicKey }, kind: "template" })

  return {
    any,
    detail,
    cancelFound,
    changeFound,
    pauseFound,
    resumeFound,
    find: spanIfTraced("Engine.job", find),
    list: spanIfTraced("Engine.jobs", list),
    cancel: spanIfTraced("Engine.cancel", cancel),
    change: spanIfTraced("Engine.change", change),
    pause: spanIfTraced("Engine.pause", pause),
    resume: spanIfTraced("Engine.resume", resume)
  }
})
