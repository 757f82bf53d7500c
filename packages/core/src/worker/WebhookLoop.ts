/** The loop of webhook deliveries: claims what receivers have room for, posts it, and stores what they answered. */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { constVoid } from "effect/Function"
import * as Runtime from "effect/Runtime"
import * as Time from "../domain/Instant.ts"
import * as EventLoopBudget from "../runtime/EventLoopBudget.ts"
import type { GracePeriod } from "../runtime/GracePeriod.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import type { Kind } from "./Dispatcher.ts"
import type { DispatchLoop, Verbs } from "./DispatchLoop.ts"
import * as Dispatching from "./DispatchLoop.ts"
import type { EndpointLimits, Turn } from "./EndpointLimits.ts"
import { failingAfter } from "./EndpointLimits.ts"
import { Heartbeat } from "./Heartbeat.ts"
import { StoreClock } from "./StoreClock.ts"
import type { WebhookWorker } from "./WebhookWorker.ts"

/**
 * A stop waits for the answers of receivers no longer than this, whatever is left of its grace: the same events come
 * again, and a receiver knows them by their ids.
 */
const stopPatienceMs = 2000

/**
 * Deliveries that could not be begun, or may be another's by now, are left to the rescue with the worker's name: they cannot be
 * given back.
 */
const kind: Kind<DeliverySettlement, ClaimedDelivery> = {
  settleMs: 0,
  idleMs: 1000,
  // The loop is woken by every commit that may have told something, and most tell nobody anything.
  looksFirst: true,
  // Of an attempt, the excerpt is what a receiver wrote.
  plainOf: (settlement) =>
    settlement.attempt.excerpt === ""
      ? null
      : { ...settlement, attempt: { ...settlement.attempt, excerpt: "" } },
  subjectOf: ({ deliveryId }) => deliveryId,
  released: () => null
}

/** The parts of a process that its loops share. */
interface Parts {
  readonly slots: number
  readonly worker: WebhookWorker
  readonly heartbeat: Context.Tag.Service<Heartbeat>
  readonly store: Context.Tag.Service<WebhookStore>
  readonly signals: Context.Tag.Service<Signals>
  readonly fork: (attempt: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  readonly monotonic: () => Moment.Moment
}

/** Neither its address nor what it answered, which may hold a secret. */
const told = (
  { endpoint: { accountId, id: webhookId } }: ClaimedDelivery,
  turn: NonNullable<Turn>
): Effect.Effect<void> =>
  Effect.annotateLogs(
    turn === "failing"
      ? Effect.logWarning(`Webhook ${webhookId} fails: its last ${failingAfter} deliveries did`)
      : Effect.logInfo(`Webhook ${webhookId} takes deliveries again`),
    { webhookId, accountId }
  )

/** The deliveries that were claimed and whose answers are not collected. */
const inFlightOf = (
  { fork, heartbeat, monotonic, worker }: Parts,
  limits: EndpointLimits,
  wake: () => void
) => {
  let answered: Array<DeliverySettlement> = []
  let lapsed = false
  let since: Moment.Moment | null = null
  /** The name under which each is under way, or answered and not collected. */
  const names = new Map<string, string>()
  const underWay = new Set<Fiber.RuntimeFiber<void>>()
  const idle = Effect.unsafeMakeLatch(true)
  const ended = (): void => {
    since ??= monotonic()
    wake()
  }
  const giveUp = ({ deliveryId }: ClaimedDelivery): void => {
    names.delete(deliveryId)
    lapsed = true
    ended()
  }
  const attempt = (delivery: ClaimedDelivery, name: string, claimedAt: Moment.Moment): Effect.Effect<void> =>
    Effect.suspend(() => {
      const { id } = delivery.endpoint
      // Another process may have it, and may have posted it.
      if (!heartbeat.stillOwns(name, claimedAt)) {
        limits.release(id)
        giveUp(delivery)
        return Effect.void
      }
      return Effect.flatMap(worker.attempt(delivery), ({ outcome, settlement }) => {
        answered.push(settlement)
        const turn = limits.end(id, outcome, monotonic())
        ended()
        const isNamed = worker.receiverAt(delivery.endpoint.url) !== undefined
        return turn === null || isNamed ? Effect.void : told(delivery, turn)
      })
    }).pipe(
      // A bug of ours: an attempt has an outcome whatever becomes of it.
      Effect.catchAllDefect((defect) => {
        limits.end(delivery.endpoint.id, { delivered: false, durationMs: 0, pauseMs: null }, monotonic())
        giveUp(delivery)
        return Effect.logError(`The attempt of delivery ${delivery.deliveryId} broke`, defect)
      })
    )
  return {
    begin: (delivery: ClaimedDelivery, name: string, claimedAt: Moment.Moment): void => {
      names.set(delivery.deliveryId, name)
      limits.begin(delivery.endpoint.id)
      idle.unsafeClose()
      const fiber = fork(Effect.zipRight(EventLoopBudget.yieldIfSpent, attempt(delivery, name, claimedAt)))
      underWay.add(fiber)
      fiber.addObserver(() => {
        underWay.delete(fiber)
        if (underWay.size === 0) idle.unsafeOpen()
      })
    },
    collect: () => {
      const collected = { settlements: answered, lapsed }
      for (const { deliveryId } of answered) names.delete(deliveryId)
      answered = []
      lapsed = false
      since = null
      return collected
    },
    since: () => since,
    inUse: () => new Set(names.values()),
    awaitIdle: idle.await,
    interrupt: Effect.suspend(() => Fiber.interruptAll([...underWay]))
  }
}

const verbsOf = (
  parts: Parts,
  limits: EndpointLimits,
  grace: GracePeriod,
  wake: () => void
): Verbs<DeliverySettlement, ClaimedDelivery> => {
  const { heartbeat, monotonic, signals, slots, store, worker } = parts
  const inFlight = inFlightOf(parts, limits, wake)
  let claimedAt: Moment.Moment = 0
  const free = () => slots - limits.inFlight()
  return {
    kind,
    signal: signals.deliveries,
    refresh: constVoid,
    facts: () => ({
      hasRoom: free() > 0,
      mayBring: "withOutcomes",
      since: inFlight.since(),
      isIdle: limits.inFlight() === 0,
      inUse: inFlight.inUse()
    }),
    wakeAt: () => null,
    // A delivery that is held back does not keep the loop awake.
    look: Effect.gen(function* () {
      const now = yield* Time.now
      const moment = monotonic()
      const due = yield* store.nextDue({ now, full: limits.full(moment), reaches: worker.reaches })
      const freed = limits.nextAt(moment)
      const waits = [
        ...(due === null ? [] : [Math.max(0, due - now)]),
        ...(freed === null ? [] : [Math.ceil(freed - moment)])
      ]
      return waits.length === 0 ? null : Math.min(...waits)
    }),
    // Many answers come in one turn of the event loop, and each commit of them looks through what is due.
    collect: Effect.suspend(() =>
      inFlight.since() === null
        ? Effect.sync(inFlight.collect)
        : Effect.map(EventLoopBudget.nextTurn, inFlight.collect)
    ),
    commit: (settlements, name) =>
      Effect.gen(function* () {
        claimedAt = monotonic()
        const now = yield* Time.now
        const full = limits.full(claimedAt)
        const claim =
          name === null
            ? null
            : { worker: name, limit: free(), full, room: limits.room, reaches: worker.reaches }
        const { claimed, disabled } = yield* store.settleAndClaim({ now, settlements, claim })
        for (const { disabledReason, id, url } of disabled) {
          const receiver = worker.receiverAt(url)
          const line =
            receiver === undefined ? `Webhook ${id} was disabled` : `Nothing more goes to ${receiver}`
          yield* Effect.annotateLogs(Effect.logWarning(`${line}: ${disabledReason}`), { webhookId: id })
        }
        return { claimed, postponed: [], isFull: false }
      }),
    begin: (claimed, name) =>
      Effect.sync(() => {
        for (const delivery of claimed) inFlight.begin(delivery, name, claimedAt)
      }),
    end: Effect.suspend(() =>
      limits.inFlight() === 0
        ? grace.begin()
        : Effect.zipRight(
            grace.within(Effect.raceFirst(inFlight.awaitIdle, Effect.sleep(stopPatienceMs))),
            inFlight.interrupt
          )
    ),
    giveBack: (workers) => Effect.forEach(workers, heartbeat.deregister, { discard: true }),
    nameOf: ({ deliveryId }) => `delivery ${deliveryId}`
  }
}

/**
 * Opens the loop over receivers, who say how much each of them gets.
 *
 * @param options.slots deliveries under way at once, over all receivers
 */
export const make = (options: {
  readonly slots: number
  readonly worker: WebhookWorker
}): Effect.Effect<
  (limits: EndpointLimits, grace: GracePeriod) => Effect.Effect<DispatchLoop>,
  never,
  Heartbeat | Signals | StoreClock | WebhookStore
> =>
  Effect.gen(function* () {
    const { within } = yield* StoreClock
    const clock = yield* Effect.clock
    const runFork = Runtime.runFork(yield* within(Effect.runtime<never>()))
    const parts: Parts = {
      ...options,
      heartbeat: yield* Heartbeat,
      store: yield* WebhookStore,
      signals: yield* Signals,
      fork: (attempt) => runFork(Effect.interruptible(attempt), { immediate: false }),
      monotonic: () => Moment.unsafeNow(clock)
    }
    return (limits, grace) =>
      Dispatching.open(parts.heartbeat, grace, (wake) => verbsOf(parts, limits, grace, wake))
  })
