/** The send loop: performs what `LaneState.next` decides, for the lanes of one process. */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { Instant } from "../domain/Instant.ts"
import type { Provider } from "../domain/session/Session.ts"
import * as Deadlines from "../runtime/Deadlines.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { ConsentSource } from "../storage/ConsentSource.ts"
import type { Settlement, UnreadableJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import type { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Batch from "./Batch.ts"
import type { Order } from "./Circuits.ts"
import { Circuits } from "./Circuits.ts"
import * as FailureActions from "./FailureActions.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as Isolate from "./Isolate.ts"
import type { LaneEvent, LaneNotice, LaneRequest } from "./LaneState.ts"
import * as LaneState from "./LaneState.ts"
import * as Settling from "./Settling.ts"
import * as Slots from "./Slots.ts"
import * as SlowSessions from "./SlowSessions.ts"
import * as SuspectSessions from "./SuspectSessions.ts"

/** The recipients that a step had to do with. */
export interface LaneProgress {
  readonly settled: number
  readonly claimed: number
}

export interface Lane {
  /**
   * Goes on until a batch was waited for or there is nothing to claim. A commit that fails fails the step; the next one
   * goes on from there.
   */
  readonly step: Effect.Effect<LaneProgress, StorageError>
  /** Returns when an outcome of what is under way can be collected, and when nothing is. */
  readonly awaitOutcome: Effect.Effect<void>
  /** True while something is under way or not stored yet. */
  readonly isLoaded: () => boolean
  /** Gives what is under way the rest of the grace period to end, stores what is left, and deregisters the names. */
  readonly close: Effect.Effect<void>
}

export interface SendLoop {
  /**
   * Opens a lane.
   *
   * @param grace once it has begun the lane claims nothing, and what is under way has so much time
   */
  readonly open: (grace: GracePeriod) => Effect.Effect<Lane>
  /** When there is something to claim for who may have it now. */
  readonly nextDue: Effect.Effect<Instant | null, StorageError>
  /**
   * True when a claim may find something though the last found nothing: a claim looks at some sessions only.
   */
  readonly hasDue: Effect.Effect<boolean, StorageError>
}

/**
 * A slow session is given so many recipients for each slot that the claim may use: a lane waits for a second, and gives back
 * what it could not begin.
 */
const slowShare = 2

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
type Requested<Tag> = Extract<LaneRequest, { readonly _tag: Tag }>

const ready: LaneEvent = { _tag: "Ready" }
const collectedNothing: LaneEvent = { _tag: "Collected", settlements: [], batches: [] }

/** The parts of the loop that its lanes share. */
interface Parts {
  readonly jobs: Context.Tag.Service<JobStore>
  readonly heartbeat: Context.Tag.Service<Heartbeat>
  readonly signals: Context.Tag.Service<Signals>
  readonly circuits: Context.Tag.Service<Circuits>
  readonly applyActions: Effect.Effect.Success<typeof FailureActions.make>
  readonly deadlines: Effect.Effect.Success<typeof Deadlines.make>
  readonly prepare: Preparation["prepare"]
  readonly release: Preparation["release"]
  /** Platforms that can be asked about an attempt without an outcome. */
  readonly recoverable: ReadonlyArray<Provider>
  readonly slots: ReturnType<typeof Slots.make>
  readonly slowSessions: ReturnType<typeof SlowSessions.make>
  readonly suspectSessions: ReturnType<typeof SuspectSessions.make>
  /** Sessions for which nothing is claimed now, and for which nobody looks when the next recipient is due. */
  readonly excluded: () => ReadonlyArray<string>
}

type Preparation = Effect.Effect.Success<typeof Batch.preparation>

/** Starts a claim: each suspect by itself, and all others together. Synchronous, so that no other lane comes between. */
const startBatches = (
  { applyActions, circuits, deadlines, release, slowSessions, suspectSessions }: Parts,
  prepared: ReadonlyArray<Batch.JobOfBatch>,
  count: number,
  asked: Order,
  fork: Batch.Fork,
  grace: GracePeriod
): { readonly together: Batch.Batch | null; readonly apart: ReadonlyArray<Batch.Batch> } => {
  const suspects: Array<Batch.JobOfBatch> = []
  const others: Array<Batch.JobOfBatch> = []
  const ofSession = new Map<string, number>()
  for (const { attempts, job } of prepared)
    ofSession.set(job.sessionId, (ofSession.get(job.sessionId) ?? 0) + attempts.remaining())
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
  const shared = { fork, circuits, deadlines, applyActions, grace, slowSessions }
  const apart = suspects.map((suspect) =>
    Batch.start([suspect], {
      slots: 1,
      permitted: (attempt) => suspectSessions.alone(suspect.job.sessionId, attempt),
      ...shared
    })
  )
  if (others.length === 0) return { together: null, apart }
  const left = Math.max(1, count - suspects.length)
  return {
    together: Batch.start(others, { slots: left, permitted: (attempts) => attempts, ...shared }),
    apart
  }
}

const reportNotice = (
  { heartbeat, signals }: Parts,
  notice: Exclude<LaneNotice, { readonly _tag: "ReportStored" }>
): Effect.Effect<void> => {
  switch (notice._tag) {
    case "Deregister":
      return Effect.forEach(notice.workers, heartbeat.deregister, { discard: true })
    case "GiveBack":
      return Effect.flatMap(Effect.forEach(notice.workers, heartbeat.giveBack), (counts) =>
        counts.some((count) => count > 0) ? signals.sends.notify : Effect.void
      )
    case "WakeNextLane":
      return signals.sends.notify
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

const reportUnreadable = (jobs: ReadonlyArray<UnreadableJob>): Effect.Effect<void> =>
  Effect.forEach(
    jobs,
    ({ cause, jobId }) =>
      Effect.logError(`Job ${jobId} is put off: its content cannot be read from the store`, cause),
    { discard: true }
  )

/** After a commit that failed. A bug, too, may have come after the commit was made. */
const notStored = (cause: Cause.Cause<StorageError>): LaneEvent => ({
  _tag: "NotStored",
  cause,
  refused: Isolate.isRefusal(cause),
  doubtful: !Isolate.isContentRefused(cause)
})

/** The interpreter of one lane: it performs the requests of `LaneState.next`, and answers each with an event. */
class OpenLane implements Lane {
  private readonly parts: Parts
  private readonly grace: GracePeriod
  private readonly clock: Clock.Clock
  private readonly fork: Batch.Fork
  /** The lane's name among those that share the slots. */
  private readonly key = Symbol()
  private readonly live = new Map<number, { readonly worker: string; readonly batch: Batch.Batch }>()
  private state: LaneState.LaneState
  /** The answer to the last request, for the next step. */
  private pending: LaneEvent = ready
  private lastId = 0
  /** When the last claim was asked for, in the order of the circuits and by the monotonic clock. */
  private asked: Order = 0
  private claimedAt: Moment.Moment = 0
  private reserved = 0

  constructor(
    parts: Parts,
    grace: GracePeriod,
    clock: Clock.Clock,
    fork: Batch.Fork,
    state: LaneState.LaneState
  ) {
    this.parts = parts
    this.grace = grace
    this.clock = clock
    this.fork = fork
    this.state = state
  }

  readonly step = Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() =>
      this.drive(this.pending, ({ _tag }) => _tag === "AwaitBatch" || _tag === "Rest", restore)
    )
  )

  readonly awaitOutcome = Effect.suspend(() =>
    this.live.size === 0 ? Effect.void : Effect.raceAll(this.outcomes())
  )

  readonly isLoaded = (): boolean => this.live.size > 0 || Settling.isLoaded(this.state)

  readonly close = Effect.uninterruptibleMask((restore) =>
    this.drive({ _tag: "Interrupted" }, ({ _tag }) => _tag === "Leave", restore)
  ).pipe(
    Effect.catchAllCause((cause) => Effect.logError("A lane could not end in order", cause)),
    Effect.zipRight(Effect.sync(() => this.parts.slots.close(this.key)))
  )

  /** One transition after the other, as far as the last request of a step. */
  private drive(
    first: LaneEvent,
    isLast: (request: LaneRequest) => boolean,
    restore: Restore
  ): Effect.Effect<LaneProgress, StorageError> {
    return Effect.gen(this, function* () {
      let [settled, claimed] = [0, 0]
      for (let event = first; ; event = this.pending) {
        const [, notices, request] = this.advance(event, Moment.unsafeNow(this.clock))
        for (const notice of notices) {
          if (notice._tag === "ReportStored") {
            settled += notice.settled
            claimed += notice.claimed
          } else yield* reportNotice(this.parts, notice)
        }
        // For whoever goes on after an interruption or a failure.
        this.pending = ready
        this.pending = yield* this.perform(request, restore)
        if (isLast(request)) return { settled, claimed }
      }
    })
  }

  /** One transition, synchronous: what it decides on stays as it is until the slots of a claim are reserved. */
  private advance(event: LaneEvent, now: Moment.Moment): LaneState.Transition {
    const { grace, parts } = this
    // A collection has freed slots.
    if (event._tag === "Collected") this.reportUse()
    const stopping = { stopping: grace.hasBegun(), graceIsOver: grace.remainingAt(now) === 0 }
    const facts = { now, ...stopping, ...parts.slots.free(this.key) }
    const transition = LaneState.next(this.state, event, facts)
    this.state = transition[0]
    this.reportUse()
    return transition
  }

  private reportUse(): void {
    const { slots, slowSessions } = this.parts
    const reserved = LaneState.reserved(this.state)
    slowSessions.reserve(reserved.slots - this.reserved)
    this.reserved = reserved.slots
    let { claimed, slots: used } = reserved
    for (const { batch } of this.live.values()) {
      const remaining = batch.remaining()
      used += Math.min(batch.slots, remaining)
      claimed += remaining
    }
    slots.use(this.key, { slots: used, claimed, rests: this.state.phase._tag === "Resting" })
  }

  /** Performs what answers with an event; only waiting can be interrupted. */
  private perform(request: LaneRequest, restore: Restore): Effect.Effect<LaneEvent, StorageError> {
    const { heartbeat, slots } = this.parts
    switch (request._tag) {
      case "Collect":
        return this.collect
      case "AwaitSlot": {
        const { forMs } = request
        const time = forMs === null ? [] : [Effect.sleep(forMs)]
        return Effect.as(restore(Effect.raceAll([slots.awaitFreed, ...time, ...this.outcomes()])), ready)
      }
      case "SettleAndClaim":
        return this.settleAndClaim(request)
      case "Prove":
        return Effect.map(heartbeat.prove, (works) => ({ _tag: "Proved", works }))
      case "Register":
        return Effect.map(heartbeat.register, (worker) => ({ _tag: "Registered", worker }))
      case "Attempt":
        return this.attempt(request)
      case "AwaitBatch": {
        const answers = this.live.get(request.batch)?.batch.awaitAnswers ?? Effect.void
        return Effect.as(restore(answers), { _tag: "Waited" })
      }
      case "StopBatches":
        return Effect.zipRight(
          Effect.forEach([...this.live.values()], ({ batch }) => batch.stop, { discard: true }),
          this.collect
        )
      case "Pause":
        return Effect.delay(Effect.succeed(ready), Settling.pauseMs)
      case "BackOff":
        return Effect.failCause(request.cause)
      case "Rest":
        // The next step may have nothing to collect, and so tell the store of no outage.
        return Effect.as(this.parts.circuits.store, ready)
      case "Leave":
        return Effect.as(Effect.forEach(request.workers, heartbeat.deregister, { discard: true }), ready)
    }
  }

  private readonly collect: Effect.Effect<LaneEvent> = Effect.suspend(() =>
    // Batches tell the store of outages themselves. What it could not be told then is told without any.
    this.live.size === 0 ? Effect.as(this.parts.circuits.store, collectedNothing) : this.collectBatches
  )

  private readonly collectBatches: Effect.Effect<LaneEvent> = Effect.gen(this, function* () {
    const settlements: Array<Settlement> = []
    for (const [id, { batch }] of this.live) {
      settlements.push(...(yield* batch.collect))
      if (batch.remaining() === 0) this.live.delete(id)
    }
    return { _tag: "Collected", settlements, batches: this.views() }
  })

  /** What others may take back is not sent, so nothing is claimed before the store has heard that this process lives. */
  private settleAndClaim(request: Requested<"SettleAndClaim">): Effect.Effect<LaneEvent> {
    const { heartbeat } = this.parts
    const { limit, settlements, worker } = request
    if (limit === null || heartbeat.stillOwns(worker, Moment.unsafeNow(this.clock)))
      return this.commit(request)
    return Effect.flatMap(heartbeat.prove, (works) => {
      if (works) return this.commit(request)
      return settlements.length > 0
        ? this.commit({ ...request, limit: null })
        : Effect.succeed(Settling.unheard)
    })
  }

  private commit(request: Requested<"SettleAndClaim">): Effect.Effect<LaneEvent> {
    const { circuits, excluded, jobs, recoverable, slowSessions } = this.parts
    const { limit, settlements, slots, worker } = request
    const commit = Effect.suspend(() => {
      const atRisk = { limit: slots, recoverable }
      const slow = { limit: slowShare * slots, sessions: slowSessions.slow() }
      const claim = limit === null ? null : { worker, limit, without: excluded(), slow, atRisk }
      this.asked = circuits.asking()
      this.claimedAt = Moment.unsafeNow(this.clock)
      return jobs.settleAndClaim({ now: this.clock.unsafeCurrentTimeMillis(), settlements, claim })
    })
    return Effect.matchCauseEffect(commit, {
      onSuccess: ({ claimed, unreadable }): Effect.Effect<LaneEvent> => {
        const stored = { _tag: "Stored", claimed } as const
        // A turn of the event loop, which is not the batch's time: its size is judged by that.
        const next =
          claimed.length === 0
            ? Effect.succeed(stored)
            : Effect.as(EventLoopBudget.yieldIfSpentByWork, stored)
        return unreadable.length === 0 ? next : Effect.zipRight(reportUnreadable(unreadable), next)
      },
      onFailure: (cause) => Effect.succeed(notStored(cause))
    })
  }

  private attempt({ claimed, slots, worker }: Requested<"Attempt">): Effect.Effect<LaneEvent> {
    const { parts } = this
    const since = this.claimedAt
    return parts
      .prepare(claimed, () => parts.heartbeat.stillOwns(worker, since))
      .pipe(
        Effect.map((prepared): LaneEvent => {
          const { apart, together } = startBatches(parts, prepared, slots, this.asked, this.fork, this.grace)
          const awaited = together === null ? null : this.add(worker, together)
          for (const batch of apart) this.add(worker, batch)
          return { _tag: "Started", batches: this.views(), awaited }
        }),
        Effect.catchAllCause((cause) => Effect.succeed({ _tag: "NotStarted", cause } as const))
      )
  }

  private add(worker: string, batch: Batch.Batch): number {
    this.lastId += 1
    this.live.set(this.lastId, { worker, batch })
    return this.lastId
  }

  private views(): ReadonlyArray<LaneState.BatchView> {
    return [...this.live].map(([id, { worker }]) => ({ id, worker }))
  }

  private outcomes(): ReadonlyArray<Effect.Effect<void>> {
    return [...this.live.values()].map(({ batch }) => batch.awaitOutcome)
  }
}

export const make = (options: {
  /** Batches that are attempted side by side. */
  readonly lanes: number
  /** Recipients of a batch that are attempted side by side, while no others are borrowed. */
  readonly concurrency: number
}): Effect.Effect<
  SendLoop,
  never,
  | Circuits
  | ConsentSource
  | JobStore
  | Heartbeat
  | Scope.Scope
  | SecretBox
  | Senders
  | SessionStore
  | TemplateStore
  | Signals
> =>
  Effect.gen(function* () {
    const { concurrency, lanes } = options
    const jobs = yield* JobStore
    const heartbeat = yield* Heartbeat
    const senders = yield* Senders
    const signals = yield* Signals
    const applyActions = yield* FailureActions.make
    const circuits = yield* Circuits
    const { prepare, release } = yield* Batch.preparation
    const deadlines = yield* Deadlines.make
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)
    const slots = Slots.make(lanes, concurrency)
    const slowSessions = SlowSessions.make(lanes * concurrency, concurrency)
    const suspectSessions = SuspectSessions.make(slowSessions)
    const excluded = (): ReadonlyArray<string> => [
      ...new Set([...slowSessions.excluded(), ...suspectSessions.excluded(), ...circuits.excluded()])
    ]

    const parts: Parts = {
      jobs,
      heartbeat,
      signals,
      circuits,
      applyActions,
      deadlines,
      prepare,
      release,
      recoverable,
      slots,
      slowSessions,
      suspectSessions,
      excluded
    }
    const open = (grace: GracePeriod): Effect.Effect<Lane> =>
      Effect.gen(function* () {
        // With the clock of whoever opened the lane, which may be the store's.
        const runFork = Runtime.runFork(yield* Effect.runtime<never>())
        const fork: Batch.Fork = (attempts) => runFork(Effect.interruptible(attempts), { immediate: false })
        const state = LaneState.make(yield* heartbeat.register, concurrency)
        return new OpenLane(parts, grace, yield* Effect.clock, fork, state)
      })

    const nextDue = Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.nextDue(now, excluded()))
    const hasDue = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const next = yield* nextDue
      return next !== null && next <= now
    })

    return { open, nextDue, hasDue }
  })
