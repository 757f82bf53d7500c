/** The send loop: performs what `LaneState.next` decides, for the lanes of one process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { Instant } from "../domain/Instant.ts"
import type { Provider } from "../domain/Session.ts"
import * as Deadlines from "../loop/Deadlines.ts"
import * as Moment from "../loop/Moment.ts"
import * as Turn from "../loop/Turn.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { ConsentStore } from "../storage/ConsentStore.ts"
import type { Settlement } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Batch from "./Batch.ts"
import type { Order } from "./Circuits.ts"
import { Circuits } from "./Circuits.ts"
import * as Consequences from "./Consequences.ts"
import type { Grace } from "./Grace.ts"
import * as Isolate from "./Isolate.ts"
import type { LaneEvent, LaneNotice, LaneRequest } from "./LaneState.ts"
import * as LaneState from "./LaneState.ts"
import * as Limits from "./Limits.ts"
import { Presence } from "./Presence.ts"
import * as Settling from "./Settling.ts"
import * as Slots from "./Slots.ts"
import * as SlowSessions from "./SlowSessions.ts"
import * as SuspectSessions from "./SuspectSessions.ts"
import { Wake } from "./Wake.ts"

/** The recipients that a step had to do with. */
export interface Progress {
  readonly settled: number
  readonly claimed: number
}

export interface Lane {
  /**
   * Goes on until a batch was waited for or there is nothing to claim. A commit that fails fails the step; the next one
   * goes on from there.
   */
  readonly step: Effect.Effect<Progress, StorageError>
  /** Returns when an outcome of what is under way can be collected, and when nothing is. */
  readonly awaitOutcome: Effect.Effect<void>
  /** True while something is under way or not stored yet. */
  readonly isLoaded: () => boolean
  /** Gives what is under way the rest of the grace period to end, stores what is left, and deregisters the names. */
  readonly leave: Effect.Effect<void>
}

export interface SendLoop {
  /**
   * Opens a lane.
   *
   * @param grace once it has begun the lane claims nothing, and what is under way has so much time
   */
  readonly open: (grace: Grace) => Effect.Effect<Lane>
  /** When there is something to claim for who may have it now. */
  readonly nextDue: Effect.Effect<Instant | null, StorageError>
  /**
   * True when a claim may find something though the last found nothing: a claim looks at some sessions only.
   */
  readonly hasDue: Effect.Effect<boolean, StorageError>
  /** Takes the limits of the jobs that claims have told of. Answers how many may be claimed. */
  readonly takeLimits: Effect.Effect<number>
}

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
type Requested<Tag> = Extract<LaneRequest, { readonly _tag: Tag }>

const ready: LaneEvent = { _tag: "Ready" }

export const make = (options: {
  /** Batches that are attempted side by side. */
  readonly lanes: number
  /** Recipients of a batch that are attempted side by side, while no others are borrowed. */
  readonly concurrency: number
}): Effect.Effect<
  SendLoop,
  never,
  | Circuits
  | ConsentStore
  | JobStore
  | Presence
  | Scope.Scope
  | SecretBox
  | Senders
  | SessionStore
  | TemplateStore
  | Wake
> =>
  Effect.gen(function* () {
    const { concurrency, lanes } = options
    const jobs = yield* JobStore
    const presence = yield* Presence
    const senders = yield* Senders
    const wake = yield* Wake
    const draw = yield* Consequences.make
    const circuits = yield* Circuits
    const { prepare, release } = yield* Batch.preparation
    const deadlines = yield* Deadlines.make
    const limits = yield* Limits.make
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)
    const slots = Slots.make(lanes, concurrency)
    const slowSessions = SlowSessions.make(lanes * concurrency, concurrency)
    const suspectSessions = SuspectSessions.make(slowSessions)
    /** Sessions for which nothing is claimed now, and for which nobody looks when the next recipient is due. */
    const excluded = (): ReadonlyArray<string> => [
      ...new Set([...slowSessions.excluded(), ...suspectSessions.excluded(), ...circuits.excluded()])
    ]

    /** Starts a claim: each suspect by itself, and all others together. Synchronous, so that no other lane comes between. */
    const startBatches = (
      prepared: ReadonlyArray<Batch.JobOfBatch>,
      count: number,
      asked: Order,
      fork: Batch.Fork,
      grace: Grace
    ): { readonly together: Batch.Batch | null; readonly apart: ReadonlyArray<Batch.Batch> } => {
      const suspects: Array<Batch.JobOfBatch> = []
      const others: Array<Batch.JobOfBatch> = []
      const ofSession = new Map<string, number>()
      for (const { attempts, job } of prepared)
        ofSession.set(job.sessionId, (ofSession.get(job.sessionId) ?? 0) + attempts.left())
      for (const each of prepared) {
        const { sessionId } = each.job
        const mayBegin =
          slowSessions.admits(sessionId, Math.min(count, ofSession.get(sessionId) ?? 0)) &&
          circuits.admit(each.job, asked) &&
          suspectSessions.admit(each.job)
        if (!mayBegin) others.push(release(each.job))
        else if (SuspectSessions.isSuspect(each.job)) suspects.push(each)
        else others.push(each)
      }
      const shared = { fork, circuits, deadlines, draw, grace, slowSessions }
      const apart = suspects.map((suspect) =>
        Batch.start([suspect], {
          ...shared,
          slots: 1,
          permitted: (attempt) => suspectSessions.alone(suspect.job.sessionId, attempt)
        })
      )
      if (others.length === 0) return { together: null, apart }
      const left = Math.max(1, count - suspects.length)
      return {
        together: Batch.start(others, { ...shared, slots: left, permitted: (attempts) => attempts }),
        apart
      }
    }

    const open = (grace: Grace): Effect.Effect<Lane> =>
      Effect.zipWith(presence.enter, Effect.runtime<never>(), (worker, runtime) => {
        // With the clock of whoever opened the lane, which may be the store's.
        const runFork = Runtime.runFork(runtime)
        const fork: Batch.Fork = (attempts) => runFork(Effect.interruptible(attempts), { immediate: false })
        const lane = Symbol()
        let state = LaneState.make(worker, concurrency)
        /** The answer to the last request, for the next step. */
        let pending: LaneEvent = ready
        let lastId = 0
        /** When the last claim was asked for, in the order of the circuits and by the monotonic clock. */
        let asked: Order = 0
        let claimedAt: Moment.Moment = 0
        const live = new Map<number, { readonly worker: string; readonly batch: Batch.Batch }>()

        const views = (): ReadonlyArray<LaneState.BatchView> =>
          [...live].map(([id, { worker }]) => ({ id, worker }))
        let reserved = 0
        const reportUse = (): void => {
          slowSessions.reserve(LaneState.reserved(state) - reserved)
          reserved = LaneState.reserved(state)
          let used = reserved
          for (const { batch } of live.values()) used += Math.min(batch.slots, batch.remaining())
          slots.use(lane, used, state.phase._tag === "Resting")
        }
        /** One transition, synchronous: what it decides on stays as it is until the slots of a claim are reserved. */
        const advance = (event: LaneEvent, now: Moment.Moment): LaneState.Transition => {
          // A collection has freed slots.
          if (event._tag === "Collected") reportUse()
          const stopping = { stopping: grace.hasBegun(), graceIsOver: grace.leftAt(now) === 0 }
          const facts = { now, ...stopping, ...slots.free(lane) }
          const transition = LaneState.next(state, event, facts)
          state = transition[0]
          reportUse()
          return transition
        }

        const collect: Effect.Effect<LaneEvent> = Effect.gen(function* () {
          const settlements: Array<Settlement> = []
          // Batches tell the store of outages themselves. What it could not be told then is told without any.
          if (live.size === 0) yield* circuits.store
          for (const [id, { batch }] of live) {
            settlements.push(...(yield* batch.collect))
            if (batch.remaining() === 0) live.delete(id)
          }
          return { _tag: "Collected", settlements, batches: views() }
        })
        const outcomes = (): ReadonlyArray<Effect.Effect<void>> =>
          [...live.values()].map(({ batch }) => batch.awaitOutcome)

        const settleAndClaim = (request: Requested<"SettleAndClaim">): Effect.Effect<LaneEvent> => {
          const { limit, settlements, worker } = request
          const commit = Effect.clockWith((clock) => {
            const atRisk = { limit: request.slots, recoverable }
            const claim = limit === null ? null : { worker, limit, without: excluded(), atRisk }
            asked = circuits.asking()
            claimedAt = Moment.unsafeNow(clock)
            return jobs.exchange({ now: clock.unsafeCurrentTimeMillis(), settlements, claim })
          })
          return Effect.matchCauseEffect(commit, {
            onSuccess: ({ claimed, limits: due }): Effect.Effect<LaneEvent> => {
              const stored = { _tag: "Stored", claimed } as const
              // A turn of the event loop, which is not the batch's time: its size is judged by that.
              const next = claimed.length === 0 ? Effect.succeed(stored) : Effect.as(Turn.takenByWork, stored)
              return due.length === 0 ? next : Effect.zipRight(limits.add(due), next)
            },
            // A bug, too, may have come after the commit was made.
            onFailure: (cause): Effect.Effect<LaneEvent> =>
              Effect.succeed({
                _tag: "NotStored",
                cause,
                refused: Isolate.isRefusal(cause),
                doubtful: !Isolate.isContentRefused(cause)
              })
          })
        }

        const attempt = ({ claimed, slots, worker }: Requested<"Attempt">): Effect.Effect<LaneEvent> => {
          const since = claimedAt
          return prepare(claimed, () => presence.keeps(since)).pipe(
            Effect.map((prepared): LaneEvent => {
              const { apart, together } = startBatches(prepared, slots, asked, fork, grace)
              const add = (batch: Batch.Batch): number => {
                lastId += 1
                live.set(lastId, { worker, batch })
                return lastId
              }
              const awaited = together === null ? null : add(together)
              for (const batch of apart) add(batch)
              return { _tag: "Started", batches: views(), awaited }
            }),
            Effect.catchAllCause((cause) => Effect.succeed({ _tag: "NotStarted", cause } as const))
          )
        }

        /** Performs what answers with an event; only waiting can be interrupted. */
        const perform = (request: LaneRequest, restore: Restore): Effect.Effect<LaneEvent, StorageError> => {
          switch (request._tag) {
            case "Collect":
              return collect
            case "AwaitSlot":
              return Effect.as(restore(Effect.raceAll([slots.awaitFreed, ...outcomes()])), ready)
            case "SettleAndClaim":
              return settleAndClaim(request)
            case "Prove":
              return Effect.map(presence.prove, (works) => ({ _tag: "Proved", works }))
            case "Register":
              return Effect.map(presence.enter, (worker) => ({ _tag: "Registered", worker }))
            case "Attempt":
              return attempt(request)
            case "AwaitBatch": {
              const answers = live.get(request.batch)?.batch.awaitAnswers ?? Effect.void
              return Effect.as(restore(answers), { _tag: "Waited" })
            }
            case "StopBatches":
              return Effect.zipRight(
                Effect.forEach([...live.values()], ({ batch }) => batch.stop, { discard: true }),
                collect
              )
            case "Pause":
              return Effect.delay(Effect.succeed(ready), Settling.pauseMs)
            case "BackOff":
              return Effect.failCause(request.cause)
            case "Rest":
              return Effect.succeed(ready)
            case "Leave":
              return Effect.as(Effect.forEach(request.workers, presence.leave, { discard: true }), ready)
          }
        }

        const announce = (notice: LaneNotice): Effect.Effect<void> => {
          switch (notice._tag) {
            case "Deregister":
              return Effect.forEach(notice.workers, presence.leave, { discard: true })
            case "WakeNextLane":
              return wake.sends.notify
            case "ReportStored":
              return Effect.void
            case "ReportRefused": {
              const { cause, left, settlement } = notice
              const { index, jobId } = settlement
              const what = `An outcome of job ${jobId} (recipient ${index}) cannot be stored`
              return Effect.logError(left ? `${what} in any form: the rescue takes it back` : what, cause)
            }
            case "ReportUnsettled":
              return Effect.logError(
                `${notice.settlements.length} outcome(s) could not be stored when a lane ended; the rescue takes them back`,
                notice.cause
              )
          }
        }

        /** The interpreter: one transition after the other, as far as the last request of a step. */
        const drive = (
          first: LaneEvent,
          isLast: (request: LaneRequest) => boolean,
          restore: Restore
        ): Effect.Effect<Progress, StorageError> =>
          Effect.gen(function* () {
            let [settled, claimed] = [0, 0]
            for (let event = first; ; event = pending) {
              const [, notices, request] = advance(event, yield* Moment.now)
              for (const notice of notices) {
                yield* announce(notice)
                if (notice._tag !== "ReportStored") continue
                settled += notice.settled
                claimed += notice.claimed
              }
              // For whoever goes on after an interruption or a failure.
              pending = ready
              pending = yield* perform(request, restore)
              if (isLast(request)) return { settled, claimed }
            }
          })

        return {
          step: Effect.uninterruptibleMask((restore) =>
            Effect.suspend(() =>
              drive(pending, ({ _tag }) => _tag === "AwaitBatch" || _tag === "Rest", restore)
            )
          ),
          awaitOutcome: Effect.suspend(() => (live.size === 0 ? Effect.void : Effect.raceAll(outcomes()))),
          isLoaded: () => live.size > 0 || state.settlements.length > 0,
          leave: Effect.uninterruptibleMask((restore) =>
            drive({ _tag: "Interrupted" }, ({ _tag }) => _tag === "Leave", restore)
          ).pipe(
            Effect.catchAllCause((cause) => Effect.logError("A lane could not end in order", cause)),
            Effect.zipRight(Effect.sync(() => slots.close(lane)))
          )
        }
      })

    const nextDue = Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.nextDue(now, excluded()))
    const hasDue = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const next = yield* nextDue
      return next !== null && next <= now
    })

    return { open, takeLimits: limits.take, nextDue, hasDue }
  })
