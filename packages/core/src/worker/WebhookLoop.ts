/** The webhook loop: performs what `WebhookState.next` decides, for one process. */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import * as FiberPool from "../runtime/FiberPool.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import type { EndpointLimits } from "./EndpointLimits.ts"
import { Heartbeat } from "./Heartbeat.ts"
import * as Isolate from "./Isolate.ts"
import * as Settling from "./Settling.ts"
import type { WebhookEvent, WebhookNotice, WebhookRequest } from "./WebhookState.ts"
import * as WebhookState from "./WebhookState.ts"
import type { WebhookWorker } from "./WebhookWorker.ts"

/** The result of a step. */
export interface LoopProgress {
  readonly claimed: number
  /** The loop has nothing to do for this long, or until it is notified; null when it goes on at once. */
  readonly rest: { readonly inMs: number | null } | null
}

export interface WebhookLoop {
  /**
   * Goes on until attempts were begun or there is nothing to do. A commit that fails fails the step; the next one goes
   * on from there.
   */
  readonly step: Effect.Effect<LoopProgress, StorageError>
  /** Returns when an answer can be collected, and when nothing is under way. */
  readonly awaitAnswer: Effect.Effect<void>
  /** True while something is under way or not stored yet. */
  readonly isLoaded: () => boolean
  /** Gives what is under way a little of the grace period to end, stores what is left, and deregisters the names. */
  readonly close: Effect.Effect<void>
}

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * A stop waits for the answers of receivers no longer than this, whatever is left of its grace: the same events come
 * again, and a receiver knows them by their ids.
 */
const stopPatienceMs = 2000

const ready: WebhookEvent = { _tag: "Ready" }

/**
 * Opens the loop over receivers, who say how much each of them gets. It ends with `deregister`, and before its scope.
 *
 * @param options.slots deliveries under way at once, over all receivers
 */
export const make = (options: {
  readonly slots: number
  readonly worker: WebhookWorker
}): Effect.Effect<
  (endpointLimits: EndpointLimits, grace: GracePeriod) => Effect.Effect<WebhookLoop, never, Scope.Scope>,
  never,
  Heartbeat | Signals | WebhookStore
> =>
  Effect.map(
    Effect.all([Heartbeat, WebhookStore, Signals]),
    ([heartbeat, store, signals]) =>
      (endpointLimits, grace) =>
        open({ ...options, heartbeat, store, signals, endpointLimits, grace })
  )

interface Options {
  readonly slots: number
  readonly worker: WebhookWorker
  readonly grace: GracePeriod
  readonly heartbeat: Context.Tag.Service<Heartbeat>
  readonly store: Context.Tag.Service<WebhookStore>
  readonly signals: Context.Tag.Service<Signals>
  readonly endpointLimits: EndpointLimits
}

const open = (options: Options): Effect.Effect<WebhookLoop, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const deliveries = yield* deliveriesInFlight(options, clock)
    return new OpenLoop(options, clock, deliveries, WebhookState.make(yield* options.heartbeat.register))
  })

/** A delivery, the name under which it was claimed, and when. */
interface Claimed {
  readonly delivery: ClaimedDelivery
  readonly name: string
  readonly claimedAt: Moment.Moment
}

/** The deliveries that were claimed and whose settlements are not collected. */
const deliveriesInFlight = ({ endpointLimits, heartbeat, signals, worker }: Options, clock: Clock.Clock) =>
  Effect.gen(function* () {
    const answered: Array<DeliverySettlement> = []
    /** The name under which each delivery is under way, or answered and not collected. */
    const inFlight = new Map<string, string>()
    let someLeft = false
    const someAnswer = yield* Effect.makeLatch()
    const giveUp = ({ deliveryId }: ClaimedDelivery): void => {
      inFlight.delete(deliveryId)
      someLeft = true
      someAnswer.unsafeOpen()
    }
    const attempt = ({ claimedAt, delivery, name }: Claimed): Effect.Effect<void> =>
      Effect.suspend(() => {
        // Another process may have it, and may have posted it.
        if (!heartbeat.stillOwns(name, claimedAt)) {
          endpointLimits.release(delivery.endpoint.id)
          giveUp(delivery)
          return signals.deliveries.notify
        }
        return Effect.flatMap(worker.attempt(delivery), ({ outcome, settlement }) => {
          answered.push(settlement)
          endpointLimits.end(delivery.endpoint.id, outcome, Moment.unsafeNow(clock))
          someAnswer.unsafeOpen()
          return signals.deliveries.notify
        })
      })
    const pool = yield* FiberPool.make<Claimed>(
      (claimed) => Effect.zipRight(EventLoopBudget.yieldIfSpent, attempt(claimed)),
      // A bug of ours: an attempt has an outcome whatever becomes of it.
      ({ delivery }, cause) =>
        Effect.suspend(() => {
          const failed = { delivered: false, durationMs: 0, pauseMs: null }
          endpointLimits.end(delivery.endpoint.id, failed, Moment.unsafeNow(clock))
          giveUp(delivery)
          return Effect.logError(`The attempt of delivery ${delivery.deliveryId} broke`, cause)
        })
    )
    return {
      begin: (claimed: Claimed): void => {
        inFlight.set(claimed.delivery.deliveryId, claimed.name)
        endpointLimits.begin(claimed.delivery.endpoint.id)
        pool.submit(claimed)
      },
      collect: (): WebhookEvent => {
        someAnswer.unsafeClose()
        const settlements = answered.splice(0)
        for (const { deliveryId } of settlements) inFlight.delete(deliveryId)
        const left = someLeft
        someLeft = false
        return { _tag: "Collected", settlements, inUse: new Set(inFlight.values()), left }
      },
      hasAnswers: () => answered.length > 0,
      awaitAnswer: someAnswer.await,
      awaitIdle: pool.awaitIdle
    }
  })

type Deliveries = Effect.Effect.Success<ReturnType<typeof deliveriesInFlight>>

/** The time until something is due or a receiver is free. A delivery that is held back does not keep the loop awake. */
const look = ({ endpointLimits, store, worker }: Options): Effect.Effect<WebhookEvent, StorageError> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const moment = yield* Moment.now
    const due = yield* store.nextDue({ now, full: endpointLimits.full(moment), reaches: worker.reaches })
    const freed = endpointLimits.nextAt(moment)
    const waits = [
      ...(due === null ? [] : [Math.max(0, due - now)]),
      ...(freed === null ? [] : [Math.ceil(freed - moment)])
    ]
    return { _tag: "Looked", inMs: waits.length === 0 ? null : Math.min(...waits) }
  })

type Requested<Tag> = Extract<WebhookRequest, { readonly _tag: Tag }>

const settleAndClaim = (
  { endpointLimits, store, worker: { reaches } }: Options,
  { limit, settlements, worker }: Requested<"SettleAndClaim">
): Effect.Effect<WebhookEvent> => {
  const commit = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const full = endpointLimits.full(yield* Moment.now)
    const claim = limit === null ? null : { worker, limit, full, room: endpointLimits.room, reaches }
    const { claimed, disabled } = yield* store.settleAndClaim({ now, settlements, claim })
    for (const { disabledReason, id } of disabled)
      yield* Effect.logWarning(`Webhook ${id} was disabled: ${disabledReason}`)
    return claimed
  })
  return Effect.matchCause(commit, {
    onSuccess: (claimed): WebhookEvent => ({ _tag: "Stored", claimed }),
    // A bug, too, may have come after the commit was made.
    onFailure: (cause): WebhookEvent => ({
      _tag: "NotStored",
      cause,
      refused: Isolate.isRefusal(cause),
      doubtful: !Isolate.isContentRefused(cause)
    })
  })
}

const reportNotice = ({ heartbeat }: Options, notice: WebhookNotice): Effect.Effect<void> => {
  switch (notice._tag) {
    case "Deregister":
      return Effect.forEach(notice.workers, heartbeat.deregister, { discard: true })
    case "ReportRefused": {
      const { cause, left, settlement } = notice
      const what = `An attempt of delivery ${settlement.deliveryId} cannot be stored`
      return Effect.logError(left ? `${what} in any form: the rescue takes it back` : `${what} whole`, cause)
    }
    case "ReportUnsettled":
      return Effect.logError(
        `${notice.settlements.length} answer(s) could not be stored when the webhook loop ended; their deliveries come again`,
        notice.cause
      )
  }
}

/** The interpreter of the loop: it performs the requests of `WebhookState.next`, and answers each with an event. */
class OpenLoop implements WebhookLoop {
  private readonly options: Options
  private readonly clock: Clock.Clock
  private readonly deliveries: Deliveries
  private state: WebhookState.WebhookState
  /** When the last claim was asked for. */
  private claimedAt: Moment.Moment = 0
  /** The answer to the last request, for the next step. */
  private pending: WebhookEvent = ready

  constructor(
    options: Options,
    clock: Clock.Clock,
    deliveries: Deliveries,
    state: WebhookState.WebhookState
  ) {
    this.options = options
    this.clock = clock
    this.deliveries = deliveries
    this.state = state
  }

  readonly step = Effect.map(
    Effect.uninterruptibleMask((restore) =>
      Effect.suspend(() =>
        this.drive(this.pending, ({ _tag }) => _tag === "Attempt" || _tag === "Rest", restore)
      )
    ),
    (request) => ({
      claimed: request._tag === "Attempt" ? request.claimed.length : 0,
      rest: request._tag === "Rest" ? { inMs: request.inMs } : null
    })
  )

  readonly awaitAnswer = Effect.suspend(() =>
    this.options.endpointLimits.inFlight() === 0 ? Effect.void : this.deliveries.awaitAnswer
  )

  readonly isLoaded = (): boolean =>
    this.options.endpointLimits.inFlight() > 0 ||
    this.deliveries.hasAnswers() ||
    Settling.isLoaded(this.state)

  readonly close = Effect.uninterruptibleMask((restore) =>
    this.drive({ _tag: "Interrupted" }, ({ _tag }) => _tag === "Leave", restore)
  ).pipe(
    Effect.catchAllCause((cause) => Effect.logError("The webhook loop could not end in order", cause)),
    Effect.asVoid
  )

  /** One transition after the other, as far as the last request of a step. */
  private drive(
    first: WebhookEvent,
    isLast: (request: WebhookRequest) => boolean,
    restore: Restore
  ): Effect.Effect<WebhookRequest, StorageError> {
    const { endpointLimits, grace, slots } = this.options
    return Effect.gen(this, function* () {
      for (let event = first; ; event = this.pending) {
        const now = Moment.unsafeNow(this.clock)
        const facts = {
          now,
          slots: slots - endpointLimits.inFlight(),
          stopping: grace.hasBegun(),
          graceIsOver: grace.remainingAt(now) === 0
        }
        const [after, notices, request] = WebhookState.next(this.state, event, facts)
        this.state = after
        for (const notice of notices) yield* reportNotice(this.options, notice)
        // For whoever goes on after an interruption or a failure.
        this.pending = ready
        this.pending = yield* this.perform(request, restore)
        if (isLast(request)) return request
      }
    })
  }

  /** Performs what answers with an event; only a look can be interrupted. */
  private perform(request: WebhookRequest, restore: Restore): Effect.Effect<WebhookEvent, StorageError> {
    const { deliveries, options } = this
    const { endpointLimits, grace, heartbeat } = options
    switch (request._tag) {
      case "Collect":
        // Many answers come in one turn of the event loop, and each commit of them looks through what is due.
        return deliveries.hasAnswers()
          ? Effect.map(EventLoopBudget.nextTurn, deliveries.collect)
          : Effect.sync(deliveries.collect)
      case "Look":
        return restore(look(options))
      case "SettleAndClaim":
        return this.settleAndClaim(request)
      case "Attempt":
        return Effect.catchAllCause(
          Effect.sync((): WebhookEvent => {
            const { claimedAt } = this
            for (const delivery of request.claimed)
              deliveries.begin({ delivery, name: request.worker, claimedAt })
            return { _tag: "Started" }
          }),
          (cause) => Effect.as(Effect.logError("Webhook deliveries could not begin", cause), ready)
        )
      case "Prove":
        return Effect.map(heartbeat.prove, (works) => ({ _tag: "Proved", works }))
      case "Register":
        return Effect.map(heartbeat.register, (worker) => ({ _tag: "Registered", worker }))
      case "Rest":
        return Effect.succeed(ready)
      case "Pause":
        return Effect.delay(Effect.succeed(ready), Settling.pauseMs)
      case "BackOff":
        return Effect.failCause(request.cause)
      case "StopDeliveries": {
        const idle = Effect.raceFirst(deliveries.awaitIdle, Effect.sleep(stopPatienceMs))
        const ended = endpointLimits.inFlight() === 0 ? grace.begin() : grace.within(idle)
        return Effect.map(ended, deliveries.collect)
      }
      case "Leave":
        return Effect.as(Effect.forEach(request.workers, heartbeat.deregister, { discard: true }), ready)
    }
  }

  /** What others may take back is not posted, so nothing is claimed before the store has heard that this process lives. */
  private settleAndClaim(request: Requested<"SettleAndClaim">): Effect.Effect<WebhookEvent> {
    const { heartbeat } = this.options
    const commit = (limit: number | null) => {
      this.claimedAt = Moment.unsafeNow(this.clock)
      return settleAndClaim(this.options, { ...request, limit })
    }
    return Effect.suspend(() => {
      const { limit, settlements, worker } = request
      if (limit === null || heartbeat.stillOwns(worker, Moment.unsafeNow(this.clock))) return commit(limit)
      return Effect.flatMap(heartbeat.prove, (works) => {
        if (works || settlements.length > 0) return commit(works ? limit : null)
        return Effect.succeed(Settling.unheard)
      })
    })
  }
}
