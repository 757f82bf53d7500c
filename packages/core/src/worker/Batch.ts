/**
 * A batch, from what its attempts need to its last outcome. A lane waits for it for a second, so that one slow answer holds
 * up neither the outcomes beside it nor the next claim. Nothing more of the batch begins then, and what is under way is
 * settled when it ends.
 */
import * as Arrays from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { constVoid } from "effect/Function"
import type { Purpose, Refusal } from "../domain/consent/Consent.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Job from "../domain/job/Job.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import type { Deadlines } from "../runtime/Deadlines.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { ConsentSource } from "../storage/ConsentSource.ts"
import * as JobSteps from "../storage/JobSteps.ts"
import type { ClaimedJob, DispatchedJob, Settlement } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Attempt from "./Attempt.ts"
import { Circuits } from "./Circuits.ts"
import type * as FailureActions from "./FailureActions.ts"
import type { Fork, Turns } from "./Turns.ts"
import { Runner } from "./Turns.ts"

/** One job's recipients in a batch. */
export interface JobOfBatch {
  readonly job: ClaimedJob
  readonly attempts: Attempt.Attempts
}

/**
 * In the order in which they are attempted. Jobs that cannot be prepared are released; where none can, it fails: then there
 * is nothing to wait for before the next claim.
 */
export type Prepare = (
  claimed: ReadonlyArray<DispatchedJob>,
  stillOwns: Attempt.StillOwns
) => Effect.Effect<ReadonlyArray<JobOfBatch>, StorageError>

export interface Preparation {
  readonly prepare: Prepare
  /** Nothing of it is attempted: its recipients are due again, at no cost of an attempt. */
  readonly release: (job: ClaimedJob) => JobOfBatch
}

/**
 * What consent a job needs: for the purpose as it was accepted, and as it is now, since the platform may have given the
 * template another category (decisions.md §11).
 */
const purposesOf = ({ category, content }: DispatchedJob): ReadonlyArray<Purpose> => {
  const accepted = Job.purpose(content)
  return category === null || category === accepted ? [accepted] : [accepted, category]
}

/** Looks up what the attempts of a claim need: senders, and who may have nothing any more (decisions.md §4, docs/adr/0034). */
export const preparation: Effect.Effect<Preparation, never, Circuits | ConsentSource | SecretBox | Senders> =
  Effect.gen(function* () {
    const circuits = yield* Circuits
    const consents = yield* ConsentSource
    const resolve = yield* SessionSender.make

    /** Who may have no message for one of these purposes, by their places. */
    const refusals = Effect.fnUntraced(function* (
      accountId: string,
      phones: ReadonlyArray<string>,
      purposes: ReadonlyArray<Purpose>
    ) {
      let found: ReadonlyMap<number, Refusal> = new Map()
      for (const purpose of purposes) {
        const more = yield* consents.refusals(accountId, phones, purpose)
        found = found.size === 0 ? more : new Map([...found, ...more])
      }
      return found
    })

    /** Jobs of one session, account and purposes share the look-ups. */
    const prepareGroup = Effect.fnUntraced(function* (
      jobsOfBatch: ReadonlyArray<DispatchedJob>,
      stillOwns: Attempt.StillOwns
    ) {
      const [first] = jobsOfBatch
      if (first === undefined) return []
      const { accountId, session, sessionId } = first
      const sessionSender = yield* resolve(session)
      const phones = Arrays.flatMap(jobsOfBatch, ({ recipients }) => recipients.map(({ phone }) => phone))
      const purposes = purposesOf(first)
      const clock = yield* Effect.clock
      const askedAt = clock.unsafeCurrentTimeMillis()
      const byPlace = yield* refusals(accountId, phones, purposes)
      const consent: Attempt.Consent = {
        isFresh: () => Attempt.isFresh(askedAt, clock.unsafeCurrentTimeMillis()),
        askAgain: (phone) => Effect.map(refusals(accountId, [phone], purposes), (refused) => refused.get(0))
      }
      const isClosed = ClosedMarkets.closedFor(
        sessionSender?.closedMarkets ?? [],
        first.category ?? Job.purpose(first.content)
      )
      let next = 0
      const together = circuits.of(sessionId, false)
      return jobsOfBatch.map((job): JobOfBatch => {
        const offset = next
        next += job.recipients.length
        const circuit = job.probe ? circuits.of(sessionId, true) : together
        return {
          job,
          attempts: Attempt.prepareAttempts(sessionSender, job, circuit, stillOwns, {
            byPlace,
            offset,
            isClosed,
            consent
          })
        }
      })
    })

    const release = (job: ClaimedJob): JobOfBatch => ({
      job,
      attempts: Attempt.released(job, circuits.of(job.sessionId, job.probe))
    })

    const prepare: Prepare = Effect.fnUntraced(function* (claimed, stillOwns) {
      const kindOf = (job: DispatchedJob) => `${job.sessionId} ${job.accountId} ${purposesOf(job).join(" ")}`
      const batch: Array<JobOfBatch> = []
      const unprepared: Array<JobOfBatch> = []
      let failure: Cause.Cause<StorageError> = Cause.empty
      for (const jobsOfBatch of JobSteps.groupBy(claimed, kindOf).values()) {
        const exit = yield* Effect.exit(prepareGroup(jobsOfBatch, stillOwns))
        if (Exit.isFailure(exit)) {
          failure = exit.cause
          yield* Effect.logError("A batch could not begin", failure)
          for (const job of jobsOfBatch) unprepared.push(release(job))
          continue
        }
        batch.push(...exit.value)
      }
      if (batch.length === 0 && unprepared.length > 0) {
        for (const { job } of unprepared) circuits.of(job.sessionId, job.probe).unused()
        return yield* Effect.failCause(failure)
      }
      return [...batch, ...unprepared]
    })

    return { prepare, release }
  })

/** Milliseconds that a lane waits. */
export const patienceMs = 1000

export interface Batch {
  /** Returns when all is answered, or when the lane's patience is over. */
  readonly awaitAnswers: Effect.Effect<void>
  /** Returns when there is an outcome to collect. */
  readonly awaitOutcome: Effect.Effect<void>
  /**
   * The outcomes since the last time, once what the failures ask of the engine is done. Nothing more of the batch begins
   * after it, unless it is a suspect's, which waits for its session.
   */
  readonly collect: Effect.Effect<ReadonlyArray<Settlement>>
  /** Recipients without a collected outcome. */
  readonly remaining: () => number
  /** Nothing more of it begins. What is under way has the rest of the grace period, and is interrupted then. */
  readonly stop: Effect.Effect<void>
}

/** Does what the failures since the last time ask of the engine. */
const applyAll = (
  jobs: ReadonlyArray<JobOfBatch>,
  since: Instant,
  applyActions: FailureActions.Apply
): Effect.Effect<void> => {
  const failed = jobs
    .map(({ attempts, job }) => ({ job, attempts, failures: attempts.actionableFailures() }))
    .filter(({ failures }) => failures.length > 0)
  return Effect.forEach(
    failed,
    ({ attempts, failures, job }) =>
      Effect.catchAllCause(applyActions(job, failures, { connection: attempts.connection, since }), (cause) =>
        Effect.logError(`What failures of job ${job.jobId} ask for could not be done`, cause)
      ),
    { discard: true }
  )
}

/** Its attempts wait for their turns from here on; the bulkhead has counted them. */
export const start = (
  jobs: ReadonlyArray<JobOfBatch>,
  options: {
    readonly turns: Turns
    /** True of a suspect: it goes before others of its session, and waits until that has nothing else under way. */
    readonly isSuspect: boolean
    readonly since: Instant
    readonly fork: Fork
    readonly deadlines: Deadlines
    readonly applyActions: FailureActions.Apply
    readonly grace: GracePeriod
  }
): Batch => {
  const { applyActions, deadlines, fork, grace, isSuspect, since, turns } = options
  /** True when somebody was answered whose outcome is not collected. */
  let hasOutcome = false
  let notify = constVoid

  const runner = new Runner(turns, fork, () => {
    hasOutcome = true
    notify()
  })
  for (const { attempts, job } of jobs) turns.enter(job.sessionId, runner, attempts, isSuspect)
  runner.wake()

  return {
    awaitAnswers: Effect.async((resume) => {
      if (runner.hasEnded()) return resume(Effect.void)
      const end = (): void => {
        cancel()
        forget()
        resume(Effect.void)
      }
      const cancel = deadlines(patienceMs, end)
      const forget = runner.onEnd(end)
      return Effect.sync(() => {
        cancel()
        forget()
      })
    }),
    awaitOutcome: Effect.async((resume) => {
      if (hasOutcome || runner.hasEnded()) return resume(Effect.void)
      const forget = (): void => {
        notify = constVoid
        forgetEnd()
      }
      const resumeOnce = (): void => {
        forget()
        resume(Effect.void)
      }
      notify = resumeOnce
      const forgetEnd = runner.onEnd(resumeOnce)
      return Effect.sync(forget)
    }),
    collect: Effect.suspend(() => {
      if (isSuspect && !runner.hasEnded() && !runner.hasBegun) return Effect.succeed([])
      turns.withdraw(runner)
      hasOutcome = false
      // Whatever ended it: nothing of it is under way any more.
      if (runner.hasEnded()) for (const { attempts } of jobs) attempts.interruptPending()
      const settlements = Arrays.flatMap(jobs, ({ attempts }) => attempts.settlements())
      // Before the outcomes are stored: a recipient that waits for a pause must not be due before the pause is there.
      return Effect.as(applyAll(jobs, since, applyActions), settlements)
    }),
    remaining: () => jobs.reduce((sum, { attempts }) => sum + attempts.remaining(), 0),
    stop: Effect.suspend(() => {
      turns.withdraw(runner)
      return Effect.zipRight(grace.within(runner.end), runner.interrupt)
    })
  }
}
