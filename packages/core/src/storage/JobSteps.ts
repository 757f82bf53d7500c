/**
 * What a verb of the {@link JobStore} makes of a job: the pure part that every adapter runs inside its commit
 * between reading rows and writing them. Here is the rule of the fence: a recipient awaits an outcome under the
 * fence of the claim that took it, and whatever ends the wait (outcome, rescue, retry) clears it, so that a worker
 * that comes late changes nothing.
 */
import type { Draft } from "../domain/Event.ts"
import * as Event from "../domain/Event.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Job, RecipientResult } from "../domain/Job.ts"
import * as Jobs from "../domain/Job.ts"
import type { Change } from "../domain/Progress.ts"
import * as Progress from "../domain/Progress.ts"
import type { Failure } from "../domain/Recipient.ts"
import * as RetrySelection from "../domain/RetrySelection.ts"
import type { Session, Standing } from "../domain/Session.ts"
import * as Sessions from "../domain/Session.ts"
import type { Inbound } from "./InboundStore.ts"
import type { ClaimedJob, Report, Settlement } from "./JobStore.ts"
import { CancelResult, RetryResult } from "./JobStore.ts"

/** A job with what dispatch keeps of it. */
export interface Held {
  readonly job: Job
  /** Who has recipients of it in hand; null when nobody has. */
  readonly worker: string | null
  /** Raised by each claim. */
  readonly fence: number
  /** How many of its recipients await an outcome. */
  readonly inFlight: number
}

/** A recipient, and the fence under which its outcome is awaited; null when none is. */
export interface Tracked {
  readonly recipient: RecipientResult
  readonly fence: number | null
}

/** A step of a recipient, and the fence under which its outcome is awaited afterwards. */
export interface Move extends Change {
  readonly fence: number | null
}

/** What is to be written. */
export interface Step<H extends Held> {
  readonly held: H
  readonly moves: ReadonlyArray<Move>
  /** The recipients' events first, the job's last. */
  readonly drafts: ReadonlyArray<Draft>
}

/** In the order of their first item. */
export const groupBy = <A, Key>(
  items: ReadonlyArray<A>,
  key: (item: A) => Key
): ReadonlyMap<Key, ReadonlyArray<A>> => {
  const groups = new Map<Key, Array<A>>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group === undefined) groups.set(key(item), [item])
    else group.push(item)
  }
  return groups
}

const step = <H extends Held>(
  held: H,
  job: Job,
  moves: ReadonlyArray<Move>,
  ended: number,
  now: Instant,
  stopped = false
): Step<H> => {
  const applied = Progress.apply(job, moves, now, stopped)
  const inFlight = held.inFlight - ended
  return {
    held: { ...held, job: applied.job, inFlight, worker: inFlight > 0 ? held.worker : null },
    moves,
    drafts: applied.drafts
  }
}

/** A job that changed alone, with the event that tells; none when it is the same. */
export const become = <H extends Held>(held: H, job: Job): ReadonlyArray<Step<H>> => {
  if (job === held.job) return []
  const draft = Event.jobChanged(job, held.job.status)
  return [{ held: { ...held, job }, moves: [], drafts: draft === undefined ? [] : [draft] }]
}

/**
 * Gives recipients to a worker under a fresh fence. A job of which a recipient probes the session's platform pauses with
 * the others, and one that was left paused goes on.
 *
 * @param session the session as the claim read it; null for a message that is sent while its session is not looked at
 */
export const claim = <H extends Held>(
  held: H,
  recipients: ReadonlyArray<RecipientResult>,
  worker: string,
  now: Instant,
  session: (Standing & Pick<Session, "lastOutage">) | null
): Step<H> & { readonly claimed: ClaimedJob } => {
  const fence = held.fence + 1
  const silence = session === null ? null : Sessions.silence(session, now)
  const moves = recipients.map(
    (before): Move => ({ before, after: Progress.claim(before, now, silence), fence })
  )
  const probe = session !== null && session.outage !== null
  const applied = Progress.apply(held.job, moves, now)
  const follows = session !== null && (probe || held.job.status === "paused")
  const job = follows ? Progress.followSession(applied.job, session, now) : applied.job
  // A claim has no events but the job's.
  const draft = Event.jobChanged(job, held.job.status)
  const drafts = draft === undefined ? [] : [draft]
  const { accountId, content, id: jobId, sessionId } = job
  return {
    held: { ...held, job, worker, fence, inFlight: moves.length },
    moves,
    drafts,
    claimed: {
      jobId,
      accountId,
      sessionId,
      content,
      fence,
      probe,
      recipients: moves.map(({ after }) => ({
        index: after.index,
        phone: after.phone,
        values: after.values,
        attempts: after.attempts,
        firstAttemptAt: Progress.firstAttemptAt(after),
        uncertain: after.uncertain,
        suspect: Progress.isSuspect(after)
      }))
    }
  }
}

/** True when an outcome is of a cause that stops the whole job: then {@link settle} is given all of its recipients. */
export const stopsJob = ({ outcome }: Settlement): boolean =>
  outcome._tag === "Failed" && outcome.stopsJob === true

/** The inbound items of settlements: one batch for each session, in one order for all commits. */
export const inbound = (settlements: ReadonlyArray<Settlement>): ReadonlyArray<Inbound> => {
  const brought: Array<Inbound> = []
  for (const { inbound } of settlements) if (inbound !== undefined) brought.push(inbound)
  if (brought.length === 0) return brought
  const groups = groupBy(brought, ({ accountId, sessionId }) => `${accountId} ${sessionId}`)
  return [...groups.keys()].sort().flatMap((name) => {
    const group = groups.get(name) ?? []
    return group.slice(0, 1).map((first) => ({ ...first, items: group.flatMap(({ items }) => items) }))
  })
}

/**
 * The outcomes that are still awaited; the answer is the last that one of them brings. What one cause stops fails with
 * it.
 *
 * @param all of the job's recipients, when an outcome stops the job
 */
export const settle = <H extends Held>(
  held: H,
  find: (index: number) => Tracked | undefined,
  settlements: ReadonlyArray<Settlement>,
  now: Instant,
  all: ReadonlyArray<Tracked> = []
): Step<H> & { readonly settled: number; readonly answer: string | undefined } => {
  const moves = new Map<number, Move>()
  let answer: string | undefined
  let cause: Failure | undefined
  for (const settlement of settlements) {
    const { fence, index, outcome } = settlement
    if (fence !== held.fence || moves.has(index)) continue
    const tracked = find(index)
    if (tracked === undefined || tracked.fence !== fence) continue
    const before = tracked.recipient
    moves.set(index, { before, after: Progress.settle(held.job, before, outcome, now), fence: null })
    answer = settlement.answer ?? answer
    if (outcome._tag === "Failed" && outcome.stopsJob === true) cause ??= outcome.failure
  }
  const settled = moves.size
  if (cause !== undefined) {
    for (const { fence, recipient: before } of all) {
      const after = moves.has(before.index) ? before : Progress.abandon(before, cause, now)
      if (after !== before) moves.set(before.index, { before, after, fence })
    }
  }
  return {
    ...step(held, held.job, [...moves.values()], settled, now, cause !== undefined),
    settled,
    answer
  }
}

/** Takes back all that awaits an outcome. What a report has settled needs no rescue. */
export const rescue = <H extends Held>(
  held: H,
  awaited: ReadonlyArray<RecipientResult>,
  recoverable: boolean,
  now: Instant,
  spared: ReturnType<typeof Progress.spared>
): Step<H> & { readonly count: number } => {
  const moves = awaited.map((before): Move => {
    const options = { recoverable, now, sparedUntil: spared.get(before) }
    const after = Progress.inFlight(before) ? Progress.rescue(held.job, before, options) : before
    return { before, after, fence: null }
  })
  const count = moves.filter(({ after, before }) => after !== before).length
  return { ...step(held, held.job, moves, moves.length, now), count }
}

/** Reports of this job's recipients; those of none are answered back. */
export const receive = <H extends Held>(
  held: H,
  find: (index: number) => Tracked | undefined,
  told: ReadonlyArray<{ readonly index: number; readonly report: Report }>,
  now: Instant
): Step<H> & { readonly unmatched: ReadonlyArray<Report> } => {
  const current = new Map<number, Tracked>()
  const moves: Array<Move> = []
  const unmatched: Array<Report> = []
  for (const { index, report } of told) {
    const tracked = current.get(index) ?? find(index)
    if (tracked === undefined) {
      unmatched.push(report)
      continue
    }
    const { fence, recipient: before } = tracked
    const after = Progress.report(before, report, now)
    current.set(index, { recipient: after, fence })
    if (after !== before) moves.push({ before, after, fence })
  }
  return { ...step(held, held.job, moves, 0, now), unmatched }
}

/** The answer of a verb, and the step to be written for it; null when nothing is. */
interface Decided<H extends Held, Result> {
  readonly result: Result
  readonly step: Step<H> | null
}

/** Cancels what is not in flight. A job that is being canceled stays so. */
export const cancel = <H extends Held>(
  held: H,
  recipients: ReadonlyArray<Tracked>,
  now: Instant
): Decided<H, CancelResult> => {
  if (Jobs.hasEnded(held.job.status)) return { result: CancelResult.Ended({ job: held.job }), step: null }
  const job = Progress.canceling(held.job, now)
  if (job === held.job) return { result: CancelResult.Canceled({ job }), step: null }
  const moves = recipients.flatMap(({ fence, recipient: before }): ReadonlyArray<Move> => {
    const after = Progress.cancel(before, now)
    return after === before ? [] : [{ before, after, fence }]
  })
  const canceled = step(held, job, moves, 0, now)
  return { result: CancelResult.Canceled({ job: canceled.held.job }), step: canceled }
}

/**
 * Queues the chosen recipients again. An attempt that a report of failure overtook is over: its late outcome must not
 * settle the new one.
 */
export const retry = <H extends Held>(
  held: H,
  recipients: ReadonlyArray<Tracked>,
  command: {
    readonly now: Instant
    readonly selection: RetrySelection.RetrySelection
    readonly dryRun?: boolean
  }
): Decided<H, RetryResult> => {
  const { dryRun = false, now, selection } = command
  if (Jobs.isCanceled(held.job.status)) return { result: RetryResult.Ended({ job: held.job }), step: null }
  const choose = RetrySelection.chooser(selection)
  const counts = { failed: 0, unknown: 0 }
  let ended = 0
  const moves: Array<Move> = []
  for (const { fence, recipient: before } of recipients) {
    const chosen = choose(before)
    if (chosen === null) continue
    counts[chosen] += 1
    if (fence !== null) ended += 1
    moves.push({ before, after: Progress.requeue(before, now), fence: null })
  }
  if (dryRun || moves.length === 0) {
    return { result: RetryResult.Retried({ job: held.job, counts }), step: null }
  }
  const retried = step(held, Progress.reopened(held.job, now), moves, ended, now)
  return { result: RetryResult.Retried({ job: retried.held.job, counts }), step: retried }
}
