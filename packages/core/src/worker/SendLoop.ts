/** The send loop: performs what `LaneState.next` decides, for the lanes of one process. */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { Instant } from "../domain/Instant.ts"
import * as Transitions from "../domain/job/Transitions.ts"
import type { Provider } from "../domain/session/Session.ts"
import * as Deadlines from "../runtime/Deadlines.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { ConsentSource } from "../storage/ConsentSource.ts"
import type { Claim, ClaimedJob, Settlement, UnreadableJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { TemplateStore } from "../storage/TemplateStore.ts"
import * as Batch from "./Batch.ts"
import type { Asking } from "./Bulkhead.ts"
import { Bulkhead } from "./Bulkhead.ts"
import { Circuits } from "./Circuits.ts"
import * as FailureActions from "./FailureActions.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as Isolate from "./Isolate.ts"
import type { LaneEvent, LaneNotice, LaneRequest } from "./LaneState.ts"
import * as LaneState from "./LaneState.ts"
import * as Settling from "./Settling.ts"
import type { Fork } from "./Turns.ts"
import { Turns } from "./Turns.ts"

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
  /** Looks which session may have all slots, being the only one, and forgets what is known of those that are idle. */
  readonly look: Effect.Effect<void, StorageError>
}

/** A claim that is under way: when it was asked for by the monotonic clock, and whose outages the store knew then. */
interface Claiming {
  readonly asking: Asking
  known: ReadonlySet<string>
  at: Moment.Moment
}

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
type Requested<Tag> = Extract<LaneRequest, { readonly _tag: Tag }>

const noSession: ReadonlySet<string> = new Set()
const ready: LaneEvent = { _tag: "Ready" }
const collectedNothing: LaneEvent = { _tag: "Collected", settlements: [], batches: [] }

/** The parts of the loop that its lanes share. */
interface Parts {
  readonly heartbeat: Context.Tag.Service<Heartbeat>
  readonly signals: Context.Tag.Service<Signals>
  readonly circuits: Context.Tag.Service<Circuits>
  readonly applyActions: Effect.Effect.Success<typeof FailureActions.make>
  readonly deadlines: Effect.Effect.Success<typeof Deadlines.make>
  readonly prepare: Preparation["prepare"]
  readonly release: Preparation["release"]
  /** Platforms that can be asked about an attempt without an outcome. */
  readonly recoverable: ReadonlyArray<Provider>
  readonly bulkhead: Bulkhead
  readonly turns: Turns
  /** Called when what lanes wait for may be there: a slot, room, or the end of a claim. */
  readonly freed: () => void
  readonly awaitFreed: Effect.Effect<void>
}

type Preparation = Effect.Effect.Success<typeof Batch.preparation>

const hasSuspect = ({ recipients }: ClaimedJob): boolean => recipients.some(Transitions.isSuspect)

/**
 * Starts what a claim brought: each suspect by itself, and all others together. Synchronous, so that the claim ends in the
 * same moment in which the bulkhead counts what is in hand.
 */
const startBatches = (
  { applyActions, bulkhead, circuits, deadlines, freed, release, turns }: Parts,
  prepared: ReadonlyArray<Batch.JobOfBatch>,
  claim: Claiming,
  since: Instant,
  fork: Fork,
  grace: GracePeriod
): { readonly together: Batch.Batch | null; readonly apart: ReadonlyArray<Batch.Batch> } => {
  const suspects: Array<Batch.JobOfBatch> = []
  const others: Array<Batch.JobOfBatch> = []
  for (const each of prepared) {
    const { attempts, job } = each
    if (!circuits.admit(job, claim.known)) {
      others.push(release(job))
      continue
    }
    bulkhead.claimed(
      claim.asking,
      job.sessionId,
      attempts.queue.map(({ recipient }) => recipient)
    )
    if (hasSuspect(job)) suspects.push(each)
    else others.push(each)
  }
  bulkhead.over(claim.asking)
  const shared = { turns, since, fork, deadlines, applyActions, grace }
  const apart = suspects.map((suspect) => Batch.start([suspect], { isSuspect: true, ...shared }))
  const together = others.length === 0 ? null : Batch.start(others, { isSuspect: false, ...shared })
  freed()
  return { together, apart }
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
  private readonly fork: Fork
  private readonly live = new Map<number, { readonly worker: string; readonly batch: Batch.Batch }>()
  private state: LaneState.LaneState
  /** The answer to the last request, for the next step. */
  private pending: LaneEvent = ready
  private lastId = 0
  private claiming: Claiming | null = null

  constructor(parts: Parts, grace: GracePeriod, clock: Clock.Clock, fork: Fork, state: LaneState.LaneState) {
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
  ).pipe(Effect.catchAllCause((cause) => Effect.logError("A lane could not end in order", cause)))

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

  /** One transition, synchronous: what it decides on stays as it is until the bulkhead knows of the claim. */
  private advance(event: LaneEvent, now: Moment.Moment): LaneState.Transition {
    const { grace } = this
    const { bulkhead } = this.parts
    // What a claim brought stays counted as being claimed until its attempts wait for their turns.
    if (event._tag !== "Stored" || event.claimed.length === 0) this.endClaim()
    const stopping = { stopping: grace.hasBegun(), graceIsOver: grace.remainingAt(now) === 0 }
    const { free, room, spare } = bulkhead
    const facts = { now, free, room, spare, young: bulkhead.isYoung(now), ...stopping }
    const transition = LaneState.next(this.state, event, facts)
    this.state = transition[0]
    const [, , request] = transition
    if (request._tag === "SettleAndClaim" && request.limit !== null)
      this.claiming = { asking: bulkhead.ask(request.limit, now), known: noSession, at: now }
    else if (request._tag !== "Attempt") this.endClaim()
    return transition
  }

  private endClaim(): void {
    if (this.claiming === null) return
    this.parts.bulkhead.over(this.claiming.asking)
    this.claiming = null
    this.parts.freed()
  }

  /** Performs what answers with an event; only waiting can be interrupted. */
  private perform(request: LaneRequest, restore: Restore): Effect.Effect<LaneEvent, StorageError> {
    const { awaitFreed, heartbeat } = this.parts
    switch (request._tag) {
      case "Collect":
        return this.collect
      case "AwaitSlot": {
        const { forMs } = request
        const time = forMs === null ? [] : [Effect.sleep(forMs)]
        return Effect.as(restore(Effect.raceAll([awaitFreed, ...time, ...this.outcomes()])), ready)
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
        return Effect.succeed(ready)
      case "Leave":
        return Effect.as(Effect.forEach(request.workers, heartbeat.deregister, { discard: true }), ready)
    }
  }

  private readonly collect: Effect.Effect<LaneEvent> = Effect.suspend(() =>
    this.live.size === 0 ? Effect.succeed(collectedNothing) : this.collectBatches
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
    const { circuits } = this.parts
    const { limit, settlements, worker } = request
    const commit = Effect.suspend(() => {
      const { claiming } = this
      const claim = limit === null || claiming === null ? null : this.claimOf(worker, limit, claiming)
      if (claiming !== null) claiming.at = Moment.unsafeNow(this.clock)
      return circuits.settleAndClaim({ now: this.clock.unsafeCurrentTimeMillis(), settlements, claim })
    })
    return Effect.matchCauseEffect(commit, {
      onSuccess: ({ claimed, known, unreadable }): Effect.Effect<LaneEvent> => {
        if (this.claiming !== null) this.claiming.known = known
        const stored = { _tag: "Stored", claimed } as const
        // A turn of the event loop, which is not the batch's time: its size is judged by that.
        const next =
          claimed.length === 0 ? Effect.succeed(stored) : Effect.as(EventLoopBudget.yieldIfSpent, stored)
        return unreadable.length === 0 ? next : Effect.zipRight(reportUnreadable(unreadable), next)
      },
      onFailure: (cause) => Effect.succeed(notStored(cause))
    })
  }

  /** A session gets what the bulkhead lets it, and nothing while the store does not know of its outage. */
  private claimOf(worker: string, limit: number, { asking }: Claiming): Claim {
    const { bulkhead, circuits, recoverable } = this.parts
    return {
      worker,
      limit,
      care: asking.care,
      room: ({ id, provider }, before) => {
        const atRisk = !recoverable.includes(provider)
        const room = bulkhead.grant(asking, id, atRisk, before, Moment.unsafeNow(this.clock))
        return circuits.isUntold(id) ? 0 : room
      }
    }
  }

  private attempt({ claimed, worker }: Requested<"Attempt">): Effect.Effect<LaneEvent> {
    const { fork, grace, parts } = this
    const { claiming } = this
    if (claiming === null) return Effect.dieMessage("A lane attempts what it has not claimed.")
    return parts
      .prepare(claimed, () => parts.heartbeat.stillOwns(worker, claiming.at))
      .pipe(
        Effect.map((prepared): LaneEvent => {
          const since = this.clock.unsafeCurrentTimeMillis()
          const { apart, together } = startBatches(parts, prepared, claiming, since, fork, grace)
          this.claiming = null
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
  /** Recipients that are attempted side by side. */
  readonly slots: number
  /** A process that has lived for less claims no more than it can begin, and no suspect (decisions.md §11). */
  readonly youthMs: number
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
    const { lanes, slots, youthMs } = options
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
    const sessions = yield* SessionStore
    const clock = yield* Effect.clock
    const monotonic = (): Moment.Moment => Moment.unsafeNow(clock)
    const bulkhead = new Bulkhead({ slots, oldAt: monotonic() + youthMs })
    const wake = Runtime.runFork(yield* Effect.runtime<never>())
    const waiting = new Set<() => void>()
    const freed = (): void => {
      for (const resume of [...waiting]) resume()
      if (bulkhead.hasRoomAgain(monotonic())) wake(signals.sends.notify)
    }
    const turns = new Turns(bulkhead, monotonic, freed)
    const awaitFreed = Effect.async<void>((resume) => {
      const resumeOnce = (): void => {
        waiting.delete(resumeOnce)
        resume(Effect.void)
      }
      waiting.add(resumeOnce)
      return Effect.sync(() => waiting.delete(resumeOnce))
    })
    const excluded = (): ReadonlyArray<string> => [
      ...new Set([...bulkhead.excluded(monotonic()), ...circuits.untold()])
    ]

    const parts: Parts = {
      heartbeat,
      signals,
      circuits,
      applyActions,
      deadlines,
      prepare,
      release,
      recoverable,
      bulkhead,
      turns,
      freed,
      awaitFreed
    }
    const open = (grace: GracePeriod): Effect.Effect<Lane> =>
      Effect.gen(function* () {
        // With the clock of whoever opened the lane, which may be the store's.
        const runFork = Runtime.runFork(yield* Effect.runtime<never>())
        const fork: Fork = (attempts) => runFork(Effect.interruptible(attempts), { immediate: false })
        const state = LaneState.make(yield* heartbeat.register, Math.max(1, Math.ceil(slots / lanes)))
        return new OpenLane(parts, grace, yield* Effect.clock, fork, state)
      })

    const nextDue = Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.nextDue(now, excluded()))
    const hasDue = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const next = yield* nextDue
      return next !== null && next <= now
    })

    const look = Effect.map(sessions.onlyConnected, (only) => {
      bulkhead.only(only)
      bulkhead.forget(monotonic())
    })

    return { open, nextDue, hasDue, look }
  })
