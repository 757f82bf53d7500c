/**
 * The loops of a process that sends: dispatch, receipts, webhook deliveries, rescue. `drain` runs the very same
 * steps until nothing is due, for tests, examples and cron.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { InsideTransaction } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Retry from "../domain/Retry.ts"
import * as Turn from "../loop/Turn.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Senders } from "../sender/Sender.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../storage/WebhookStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import type { HeaderNames } from "../webhook/Signature.ts"
import { defaultHeaderNames } from "../webhook/Signature.ts"
import type { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Grace from "./Grace.ts"
import * as Hands from "./Hands.ts"
import * as Inbound from "./Inbound.ts"
import * as Outside from "./Outside.ts"
import { defaultLeaseMs, type Presence, paceOf } from "./Presence.ts"
import * as Receivers from "./Receivers.ts"
import * as SendWorker from "./SendWorker.ts"
import type { Signal } from "./Wake.ts"
import { Wake } from "./Wake.ts"
import * as WebhookWorker from "./WebhookWorker.ts"

export interface Options {
  /** Sends in flight at once. */
  readonly concurrency: number
  /** Webhook deliveries in flight at once, over all receivers. */
  readonly deliveries: number
  readonly headerNames: HeaderNames
  /** By which part a delivery's next attempt is sooner or later than the schedule says, at most: 0.2 = ±20 %. */
  readonly deliveryJitter: number
  /** How long a worker that does not say that it lives is believed to live; see {@link Presence}. */
  readonly leaseMs: number
  /** How long what is in flight may still take when the loops end. */
  readonly graceMs: number
}

export const defaults: Options = {
  concurrency: 64,
  deliveries: 512,
  headerNames: defaultHeaderNames,
  deliveryJitter: Retry.deliveryJitter,
  leaseMs: defaultLeaseMs,
  graceMs: 25_000
}

/** Windows that are dispatched side by side, so that one slow send does not hold up the rest. */
const lanes = 4

/** The longest sleep of an idle loop, and the shortest: what is due may be another's to take. */
const idleMs = 1000
const pauseMs = 20

export class Worker extends Context.Tag("@sendwright/core/worker/Worker")<
  Worker,
  {
    readonly inbound: Inbound.Inbound
    /**
     * Starts the loops. They end with the scope, after what is in flight or the grace. Refused inside a transaction, which
     * every verb of theirs would fall into.
     */
    readonly start: Effect.Effect<void, InsideTransaction, Scope.Scope>
    /** From here on the loops take nothing new, and the grace runs: for a process that has more to close. */
    readonly stop: Effect.Effect<void>
    readonly drain: Effect.Effect<void, InsideTransaction | StorageError>
  }
>() {}

/** A loop that outlives the failures and bugs of its steps: it tells them, waits and goes on. */
const supervised = (name: string, step: Effect.Effect<void, StorageError>): Effect.Effect<never> =>
  step.pipe(
    Effect.catchAllCause((cause) =>
      Effect.zipRight(Effect.logError(`${name} failed`, cause), Effect.sleep(idleMs))
    ),
    Effect.forever
  )

const make = (options: Options) =>
  Effect.gen(function* () {
    const webhookStore = yield* WebhookStore
    const wake = yield* Wake
    const inbound = yield* Inbound.make
    const outside = yield* Outside.make
    const ids = Ids.make(yield* Ids.RandomBytes)
    const worker = ids.uuid(yield* Clock.currentTimeMillis)
    const concurrency = Math.max(1, Math.ceil(options.concurrency / lanes))
    const grace = Grace.make(options.graceMs)
    const sends = yield* SendWorker.make({ lanes, concurrency, grace })
    const { deliveryJitter: jitter, headerNames } = options
    const webhooks = yield* WebhookWorker.make({ worker, headerNames, jitter })

    /** Sleeps until notified, until the next thing is due, or until it is time to look anyway. */
    const rest = (signal: Signal, nextDue: Effect.Effect<Instant | null, StorageError>) =>
      Effect.gen(function* () {
        const next = yield* nextDue
        const now = yield* Clock.currentTimeMillis
        const ms = next === null ? idleMs : Math.min(idleMs, Math.max(pauseMs, next - now))
        yield* signal.wait(ms)
      })

    /** One lane: what it could not hand in is handed in with its next step. */
    const lane = Effect.flatMap(sends.open, ({ leave, step }) => {
      const next = Effect.gen(function* () {
        const { handedIn, taken } = yield* step
        if (handedIn > 0) yield* wake.deliveries.notify
        if (taken > 0) yield* wake.attempts.notify
        if (taken === 0) yield* rest(wake.sends, sends.nextDue)
      })
      return Effect.onInterrupt(supervised("Dispatch", next), () => leave)
    })

    const deliveries = Effect.scoped(
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const receivers = Receivers.make(options.deliveries)
        const answered: Array<DeliverySettlement> = []

        const exchange = (claim: Parameters<typeof webhooks.exchange>[1]) =>
          Effect.suspend(() => {
            const settlements = answered.splice(0)
            // Handed in again if need be: each counts once.
            const keep = Effect.sync(() => answered.unshift(...settlements))
            return Effect.onError(webhooks.exchange(settlements, claim), () => keep)
          })

        const end = ({ endpoint }: ClaimedDelivery, outcome: Receivers.Outcome): Effect.Effect<void> => {
          receivers.end(endpoint.id, outcome, clock.unsafeCurrentTimeMillis())
          return wake.deliveries.notify
        }
        const hands = yield* Hands.make<ClaimedDelivery>(
          (delivery) =>
            Effect.flatMap(
              Effect.zipRight(Turn.takenByWork, webhooks.attempt(delivery)),
              ({ outcome, settlement }) => {
                answered.push(settlement)
                return end(delivery, outcome)
              }
            ),
          (delivery, cause) =>
            Effect.zipRight(
              Effect.logError("A webhook delivery failed", cause),
              Effect.suspend(() => end(delivery, { delivered: false, durationMs: 0, holdMs: null }))
            )
        )

        /** What is held back until later does not keep the loop awake. */
        const nextDue = Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const due = yield* webhookStore.nextDue({ now, full: receivers.full(now) })
          const freed = receivers.nextAt(now)
          return due === null ? freed : Math.min(due, freed ?? due)
        })

        const step = Effect.gen(function* () {
          // Woken by every window, and most of them tell nobody anything: to look costs less than to claim.
          const due = answered.length > 0 ? 0 : yield* nextDue
          const now = yield* Clock.currentTimeMillis
          if (due === null || due > now) return yield* rest(wake.deliveries, Effect.succeed(due))
          const limit = grace.hasBegun() ? 0 : options.deliveries - receivers.inHand()
          const claim = { limit, full: receivers.full(now), room: receivers.room }
          const claimed = limit > 0 || answered.length > 0 ? yield* exchange(claim) : []
          for (const delivery of claimed) {
            receivers.begin(delivery.endpoint.id)
            hands.take(delivery)
          }
          if (claimed.length === 0 && answered.length === 0) yield* rest(wake.deliveries, nextDue)
        })
        const stop = Effect.zipRight(
          grace.within(hands.awaitIdle),
          Effect.ignoreLogged(Effect.suspend(() => (answered.length > 0 ? exchange(null) : Effect.void)))
        )
        return yield* Effect.onInterrupt(supervised("Webhook delivery", step), () => stop)
      })
    )

    const listen = Effect.gen(function* () {
      const { count, nextAt } = yield* inbound.poll
      if (count > 0) yield* wake.deliveries.notify
      yield* rest(wake.attempts, Effect.succeed(nextAt))
    })

    const rescue = Effect.gen(function* () {
      const count = yield* sends.rescue
      if (count > 0) yield* Effect.logWarning(`Took back ${count} recipient(s) of a worker that stopped`)
      if ((yield* inbound.unpark) > 0) yield* wake.deliveries.notify
    })

    const start = Effect.gen(function* () {
      const paced = Effect.zipRight(rescue, Effect.sleep(paceOf(options.leaseMs)))
      const loops = [
        ...Array.from({ length: lanes }, () => lane),
        deliveries,
        supervised("Receipts", listen),
        supervised("Rescue", paced)
      ]
      // One fiber, so that they all end at the same time and share the grace.
      yield* Effect.forkScoped(Effect.all(loops, { concurrency: "unbounded", discard: true }))
    })

    const drainSends = Effect.acquireUseRelease(
      sends.open,
      ({ awaitIdle, isLoaded, step }) =>
        Effect.gen(function* () {
          let count = 0
          do {
            yield* awaitIdle
            for (let next = yield* step; next.taken > 0; next = yield* step) count += next.taken
          } while (isLoaded())
          return count
        }),
      ({ leave }) => leave
    )

    const drainDeliveries = Effect.gen(function* () {
      const everything = { limit: options.deliveries, full: [], room: () => options.deliveries }
      const claimed = yield* webhooks.exchange([], everything)
      const attempted = yield* Effect.forEach(claimed, webhooks.attempt, { concurrency: "unbounded" })
      yield* webhooks.exchange(
        attempted.map(({ settlement }) => settlement),
        null
      )
      return claimed.length
    })

    const drain = Effect.gen(function* () {
      const rescued = yield* sends.rescue
      const sent = yield* drainSends
      const { count } = yield* inbound.poll
      const unparked = yield* inbound.unpark
      const delivered = yield* drainDeliveries
      return rescued + sent + count + unparked + delivered
    }).pipe(Effect.repeat({ until: (done) => done === 0 }), Effect.asVoid)

    return {
      inbound,
      start: outside("Worker.start")(start),
      stop: grace.begin,
      drain: outside("engine.drain")(drain)
    }
  })

export const layer = (
  options: Partial<Options> = {}
): Layer.Layer<Worker, never, Stores | Senders | SecretBox | WebhookTransport | Presence | Wake> =>
  Layer.scoped(Worker, make({ ...defaults, ...options }))

/** Runs the loops for as long as the layer lives. */
export const layerLoops: Layer.Layer<never, InsideTransaction, Worker> = Layer.scopedDiscard(
  Effect.flatMap(Worker, ({ start }) => start)
)
