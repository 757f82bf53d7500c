/** Performs what `Dispatcher.next` decides: the loop of messages and the one of webhook deliveries. */

import type * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import type { Signal } from "../runtime/Signals.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Event, Exchanged, Facts, Kind, Notice, Request, State } from "./Dispatcher.ts"
import * as Dispatcher from "./Dispatcher.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import * as Isolate from "./Isolate.ts"
import * as Settling from "./Settling.ts"

/** What is dispatched, and how. */
export interface Verbs<S, C> {
  readonly kind: Kind<S, C>
  /** Tells that there may be something to claim. */
  readonly signal: Signal
  /** Called before the facts are asked for: gives back what has waited for too long. */
  readonly refresh: () => void
  /** The rest of the facts. Synchronous; what is asked for then is decided on by them. */
  readonly facts: (now: Moment.Moment) => Omit<Facts, "graceIsOver" | "now" | "stopping">
  /** When something has to be looked at whatever is waited for; null when nothing has. */
  readonly wakeAt: () => Moment.Moment | null
  /** In how long something is due for who may have it now, in milliseconds. */
  readonly look: Effect.Effect<number | null, StorageError>
  /** The outcomes since the last time, once what they ask of the engine is done. */
  readonly collect: Effect.Effect<{ readonly settlements: ReadonlyArray<S>; readonly lapsed: boolean }>
  /** @param worker null where nothing is claimed */
  readonly commit: (
    settlements: ReadonlyArray<S>,
    worker: string | null
  ) => Effect.Effect<Exchanged<S, C>, StorageError>
  readonly begin: (claimed: ReadonlyArray<C>, worker: string) => Effect.Effect<void, StorageError>
  /** Nothing begins any more, and what is under way has the rest of the grace period. */
  readonly end: Effect.Effect<void>
  readonly giveBack: (workers: ReadonlyArray<string>) => Effect.Effect<void>
  readonly nameOf: (settlement: S) => string
}

export interface DispatchLoop {
  /** Goes on to the end of one commit, or of one wait. What fails is made again by the next step. */
  readonly step: Effect.Effect<void, StorageError>
  /** Goes on until nothing is due, in hand or to be stored; answers how many were claimed. */
  readonly drain: Effect.Effect<number, StorageError>
  /** True when nothing is in hand, under way or to be stored. */
  readonly isDone: () => boolean
  /** Gives what is under way the rest of the grace period to end, stores what is left, and deregisters the names. */
  readonly close: Effect.Effect<void>
}

type Restore = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>

/** The longest wait, in milliseconds, whatever was forgotten. */
const longestMs = 1000

/**
 * Tasks that are queued already go first, such as an attempt that is to begin. The yield is a microtask: an idle
 * dispatcher's claim must be asked for before the group commit, which is a macrotask (docs/adr/0016).
 */
const afterQueued = Effect.yieldNow()

/** After a commit that failed. */
const notStored = (cause: Cause.Cause<StorageError>): Settling.NotStored => ({
  _tag: "NotStored",
  cause,
  refused: Isolate.isRefusal(cause),
  doubtful: !Isolate.isNotMade(cause)
})

class OpenLoop<S, C> implements DispatchLoop {
  readonly #verbs: Verbs<S, C>
  readonly #heartbeat: Context.Tag.Service<Heartbeat>
  readonly #grace: GracePeriod
  readonly #clock: Clock.Clock
  #isWoken = false
  /** True when a notice came since the last wait. */
  #isNoticed = false
  #resume: () => void = constVoid
  #alarm: { readonly at: Moment.Moment; readonly fiber: Fiber.Fiber<void> } | null = null
  #state: State<S, C>
  /** The answer to the last request, for the next step. */
  #pending: Event<S, C> = { _tag: "Woken", noticed: true }
  #claimed = 0

  constructor(
    verbs: Verbs<S, C>,
    heartbeat: Context.Tag.Service<Heartbeat>,
    grace: GracePeriod,
    clock: Clock.Clock,
    worker: string
  ) {
    this.#verbs = verbs
    this.#heartbeat = heartbeat
    this.#grace = grace
    this.#clock = clock
    this.#state = Dispatcher.make(worker)
  }

  readonly step = Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => this.#drive((request) => this.#endsStep(request), restore))
  )

  readonly drain = Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      this.#claimed = 0
      return this.#drive(
        () => false,
        restore,
        ({ _tag }) => _tag === "Wait" && this.isDone()
      )
    })
  ).pipe(Effect.map(() => this.#claimed))

  readonly close = Effect.uninterruptibleMask((restore) =>
    Effect.gen(this, function* () {
      // The answer to a commit, or to a begin, is heard: what was begun must not be given back. What it leads to is not done any more.
      if (this.#pending._tag !== "Woken") for (const notice of this.#advance()[0]) yield* this.#report(notice)
      this.#pending = { _tag: "Interrupted" }
      yield* this.#drive(({ _tag }) => _tag === "Leave", restore)
      if (this.#alarm !== null) yield* Fiber.interruptFork(this.#alarm.fiber)
    })
  ).pipe(Effect.catchAllCause((cause) => Effect.logError("A loop could not end in order", cause)))

  /**
   * Items that were claimed are begun in the same step, and a failure fails the step. An empty commit, by which it is found whether
   * the one that failed before was made, ends none: the store would seem to work between two claims that fail.
   */
  #endsStep(request: Request<S, C>): boolean {
    const pending = this.#pending
    if (request._tag === "Commit")
      return (
        (request.claims || request.settlements.length > 0) &&
        pending._tag === "Stored" &&
        pending.claimed.length === 0
      )
    return request._tag === "Begin" || request._tag === "Wait"
  }

  readonly notice = (): void => {
    this.#isNoticed = true
    this.wake()
  }

  readonly wake = (): void => {
    this.#isWoken = true
    this.#resume()
  }

  readonly isDone = (): boolean => {
    const { isIdle, since } = this.#verbs.facts(this.#now())
    return isIdle && since === null && !Settling.isLoaded(this.#state)
  }

  #now(): Moment.Moment {
    return Moment.unsafeNow(this.#clock)
  }

  /**
   * One transition after the other.
   *
   * @param isLast the last request that is performed
   * @param isOver the first that is not
   */
  #drive(
    isLast: (request: Request<S, C>) => boolean,
    restore: Restore,
    isOver: (request: Request<S, C>) => boolean = () => false
  ): Effect.Effect<void, StorageError> {
    return Effect.gen(this, function* () {
      for (;;) {
        const [notices, request] = this.#advance()
        for (const notice of notices) yield* this.#report(notice)
        // For whoever goes on after an interruption or a failure.
        this.#pending = { _tag: "Woken", noticed: false }
        if (isOver(request)) return
        this.#pending = yield* this.#perform(request, restore)
        if (isLast(request)) return
      }
    })
  }

  /** One transition, synchronous: what it decides on stays as it is until it is asked for. */
  #advance(): readonly [notices: ReadonlyArray<Notice<S>>, request: Request<S, C>] {
    const { facts, kind, refresh } = this.#verbs
    // Whatever wakes it from here on is not in the facts.
    this.#isWoken = false
    refresh()
    const now = this.#now()
    const stopping = this.#grace.hasBegun()
    const graceIsOver = this.#grace.remainingAt(now) === 0
    const [state, notices, request] = Dispatcher.next(
      this.#state,
      this.#pending,
      { ...facts(now), now, stopping, graceIsOver },
      kind
    )
    this.#state = state
    return [notices, request]
  }

  #report(notice: Notice<S>): Effect.Effect<void> {
    const { giveBack, nameOf } = this.#verbs
    switch (notice._tag) {
      case "Deregister":
        return Effect.forEach(notice.workers, this.#heartbeat.deregister, { discard: true })
      case "GiveBack":
        return giveBack(notice.workers)
      case "ReportRefused": {
        const what = `An outcome of ${nameOf(notice.settlement)} cannot be stored`
        const message = notice.toRescue ? `${what} in any form: the rescue takes it back` : what
        return Effect.logError(message, notice.cause)
      }
      case "ReportUnsettled":
        return Effect.logError(
          `${notice.settlements.length} outcome(s) could not be stored at a stop; the rescue takes them back`,
          notice.cause
        )
    }
  }

  /** Performs what answers with an event; only waiting can be interrupted. */
  #perform(request: Request<S, C>, restore: Restore): Effect.Effect<Event<S, C>, StorageError> {
    const { begin, collect, end, look } = this.#verbs
    const collected = Effect.map(collect, (some): Event<S, C> => ({ _tag: "Collected", ...some }))
    switch (request._tag) {
      case "Wait":
        return restore(this.#wait(request.until))
      case "Look":
        return restore(Effect.map(look, (inMs) => ({ _tag: "Looked", inMs })))
      case "Collect":
        return collected
      case "Commit":
        return this.#commit(request)
      case "Begin":
        return Effect.matchCause(begin(request.claimed, request.worker), {
          onSuccess: (): Event<S, C> => ({ _tag: "Begun" }),
          onFailure: (cause) => ({ _tag: "NotBegun", cause })
        })
      case "Prove":
        return Effect.map(this.#heartbeat.prove, (works) => ({ _tag: "Proved", works }))
      case "Register":
        return Effect.map(this.#heartbeat.register, (worker) => ({ _tag: "Registered", worker }))
      case "Pause":
        return Effect.delay(Effect.succeed({ _tag: "Woken", noticed: false }), Settling.pauseMs)
      case "BackOff":
        return Effect.failCause(request.cause)
      case "End":
        return Effect.zipRight(end, collected)
      case "Leave":
        return Effect.as(Effect.forEach(request.workers, this.#heartbeat.deregister, { discard: true }), {
          _tag: "Woken",
          noticed: false
        })
    }
  }

  /** Returns when it is time, or when something wakes it. */
  #wait(until: Moment.Moment | null): Effect.Effect<Event<S, C>> {
    const { wakeAt } = this.#verbs
    const now = this.#now()
    const times = [until, wakeAt(), now + longestMs].filter((at) => at !== null)
    const awaited = Effect.async<void>((resume) => {
      if (this.#isWoken || this.#isNoticed) return resume(Effect.void)
      this.#resume = () => {
        this.#resume = constVoid
        resume(afterQueued)
      }
      return Effect.sync(() => {
        this.#resume = constVoid
      })
    })
    return Effect.zipRight(this.#setAlarm(Math.min(...times), now), awaited).pipe(
      Effect.map(() => {
        const noticed = this.#isNoticed
        this.#isNoticed = false
        return { _tag: "Woken", noticed }
      })
    )
  }

  /** One alarm outlives many waits, and may ring in vain: a fiber for each wait would cost more than the wait. */
  #setAlarm(at: Moment.Moment, now: Moment.Moment): Effect.Effect<void> {
    const alarm = this.#alarm
    if (alarm !== null && alarm.at <= at) return Effect.void
    // Whole milliseconds: what is left of one may be less than a clock tells apart, and would be waited for again and again.
    const ring = Effect.sync(() => {
      this.#alarm = null
      this.wake()
    })
    return Effect.gen(this, function* () {
      if (alarm !== null) yield* Fiber.interruptFork(alarm.fiber)
      const sleep = Effect.interruptible(Effect.sleep(Math.max(0, Math.ceil(at - now))))
      this.#alarm = { at, fiber: yield* Effect.forkDaemon(Effect.zipRight(sleep, ring)) }
    })
  }

  /**
   * Items that others may take back are not attempted, so nothing is claimed before the store has heard that this process
   * lives.
   */
  #commit({
    claims,
    settlements,
    worker
  }: Extract<Request<S, C>, { _tag: "Commit" }>): Effect.Effect<Event<S, C>> {
    // A commit that claims nothing although it was to leaves the claim to be made, and cannot have claimed.
    const commit = (isClaiming: boolean) =>
      Effect.matchCause(this.#verbs.commit(settlements, isClaiming ? worker : null), {
        onSuccess: (exchanged): Event<S, C> => {
          this.#claimed += exchanged.claimed.length
          return { _tag: "Stored", ...exchanged, isFull: exchanged.isFull || isClaiming !== claims }
        },
        onFailure: (cause): Event<S, C> => {
          const failed = notStored(cause)
          return { ...failed, doubtful: isClaiming && failed.doubtful }
        }
      })
    if (!claims || this.#heartbeat.stillOwns(worker, this.#now())) return commit(claims)
    return Effect.flatMap(this.#heartbeat.prove, (works) =>
      works || settlements.length > 0 ? commit(works) : Effect.succeed(Settling.unheard)
    )
  }
}

/** @param verbs made with what wakes the loop */
export const open = <S, C>(
  heartbeat: Context.Tag.Service<Heartbeat>,
  grace: GracePeriod,
  verbsOf: (wake: () => void) => Verbs<S, C>
): Effect.Effect<DispatchLoop> =>
  Effect.gen(function* () {
    let wake = constVoid
    const verbs = verbsOf(() => wake())
    const worker = yield* heartbeat.register
    const loop = new OpenLoop(verbs, heartbeat, grace, yield* Effect.clock, worker)
    wake = loop.wake
    const unlisten = verbs.signal.listen(loop.notice)
    return {
      step: loop.step,
      drain: loop.drain,
      isDone: loop.isDone,
      close: Effect.ensuring(loop.close, Effect.sync(unlisten))
    }
  })
