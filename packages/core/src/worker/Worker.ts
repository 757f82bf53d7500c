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
import type { Instant } from "../domain/Instant.ts"
import * as Retry from "../domain/Retry.ts"
import * as Moment from "../loop/Moment.ts"
import * as Turn from "../loop/Turn.ts"
import { MasterKeys } from "../secret/MasterKeys.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Senders } from "../sender/Sender.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { Stores } from "../storage/Stores.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../storage/WebhookStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import type { HeaderNames } from "../webhook/Signature.ts"
import { defaultHeaderNames } from "../webhook/Signature.ts"
import type { WebhookTransport } from "../webhook/WebhookTransport.ts"
import * as Grace from "./Grace.ts"
import * as Hands from "./Hands.ts"
import * as Inbound from "./Inbound.ts"
import * as Loops from "./Loops.ts"
import * as Outside from "./Outside.ts"
import { defaultLeaseMs, Presence, paceOf } from "./Presence.ts"
import * as Receivers from "./Receivers.ts"
import * as Rescue from "./Rescue.ts"
import * as SendLoop from "./SendLoop.ts"
import { StoreClock } from "./StoreClock.ts"
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
  /** How long a worker that does not say that it lives is believed to live (docs/adr/0007). */
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

/** Batches that are attempted side by side, so that one slow send does not hold up the rest. */
const lanes = 4

/** The longest sleep of an idle loop, and the shortest: what is due may be another's to take. */
const idleMs = 1000
const pauseMs = 20

export class Worker extends Context.Tag("@sendwright/core/worker/Worker")<
  Worker,
  {
    readonly inbound: Inbound.Inbound
    /** Says which loops fail or have ended; null while all are well, and while they were not started. */
    readonly fault: Effect.Effect<string | null>
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

const make = (options: Options) =>
  Effect.gen(function* () {
    const webhookStore = yield* WebhookStore
    const wake = yield* Wake
    const keys = yield* MasterKeys
    const loops = Loops.make()
    const inbound = yield* Inbound.make
    const outside = yield* Outside.make
    const presence = yield* Presence
    const rescue = yield* Rescue.make
    const { within } = yield* StoreClock
    const concurrency = Math.max(1, Math.ceil(options.concurrency / lanes))
    const grace = Grace.make(options.graceMs)
    const sends = yield* SendLoop.make({ lanes, concurrency, grace })
    const { deliveryJitter: jitter, headerNames } = options
    const webhooks = yield* WebhookWorker.make({ headerNames, jitter })

    /** Sleeps until notified, until the next thing is due, or until it is time to look anyway. */
    const rest = (signal: Signal, nextDue: Effect.Effect<Instant | null, StorageError>) =>
      Effect.gen(function* () {
        const next = yield* nextDue
        const now = yield* Clock.currentTimeMillis
        const ms = next === null ? idleMs : Math.min(idleMs, Math.max(pauseMs, next - now))
        yield* signal.wait(ms)
      })

    /** One lane: what it could not store is stored with its next step. */
    const lane = Effect.flatMap(sends.open, ({ leave, step }) => {
      const next = Effect.gen(function* () {
        const { claimed, settled } = yield* step
        if (settled > 0) yield* wake.deliveries.notify
        if (claimed > 0) yield* wake.attempts.notify
        if (claimed === 0) yield* rest(wake.sends, sends.nextDue)
      })
      return Effect.onInterrupt(loops.run("Dispatch", Effect.zipRight(keys.complete, next)), () => leave)
    })

    const deliveries = Effect.scoped(
      Effect.gen(function* () {
        const clock = yield* Effect.clock
        const receivers = Receivers.make(options.deliveries)
        const answered: Array<DeliverySettlement> = []
        let worker = yield* presence.enter
        /** Names that are given up, and are left once nothing is in hand under them. */
        let former: ReadonlyArray<string> = []
        /** Under which name each delivery is in hand. */
        const inHand = new Map<string, string>()

        // The commit may have been made though its answer was lost: what it took is left to the rescue.
        const renew = Effect.gen(function* () {
          former = [...former, worker]
          worker = yield* presence.enter
        })
        const leaveFormer = Effect.suspend(() => {
          const held = new Set(inHand.values())
          const over = former.filter((name) => !held.has(name))
          former = former.filter((name) => held.has(name))
          return Effect.forEach(over, presence.leave, { discard: true })
        })

        const exchange = (claim: Omit<DeliveryClaim, "worker"> | null) =>
          Effect.gen(function* () {
            const settlements = answered.splice(0)
            // Handed in again if need be: each counts once.
            const keep = Effect.sync(() => answered.unshift(...settlements))
            const claimed = yield* Effect.onError(
              webhooks.exchange(settlements, claim === null ? null : { ...claim, worker }),
              () => (claim === null ? keep : Effect.zipRight(keep, renew))
            )
            for (const { deliveryId } of settlements) inHand.delete(deliveryId)
            for (const { deliveryId } of claimed) inHand.set(deliveryId, worker)
            if (former.length > 0) yield* leaveFormer
            return claimed
          })

        const end = ({ endpoint }: ClaimedDelivery, outcome: Receivers.Outcome): Effect.Effect<void> => {
          receivers.end(endpoint.id, outcome, Moment.unsafeNow(clock))
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
          const moment = yield* Moment.now
          const due = yield* webhookStore.nextDue({ now, full: receivers.full(moment) })
          const next = receivers.nextAt(moment)
          const freed = next === null ? null : now + Math.ceil(next - moment)
          return due === null ? freed : Math.min(due, freed ?? due)
        })

        const step = Effect.gen(function* () {
          // Woken by every window, and most of them tell nobody anything: to look costs less than to claim.
          const due = answered.length > 0 ? 0 : yield* nextDue
          const now = yield* Clock.currentTimeMillis
          if (due === null || due > now) return yield* rest(wake.deliveries, Effect.succeed(due))
          const limit = grace.hasBegun() ? 0 : options.deliveries - receivers.inHand()
          const claim = { limit, full: receivers.full(yield* Moment.now), room: receivers.room }
          const claimed = limit > 0 || answered.length > 0 ? yield* exchange(claim) : []
          for (const delivery of claimed) {
            receivers.begin(delivery.endpoint.id)
            hands.take(delivery)
          }
          if (claimed.length === 0 && answered.length === 0) yield* rest(wake.deliveries, nextDue)
        })
        const stop = Effect.gen(function* () {
          yield* grace.within(hands.awaitIdle)
          if (answered.length > 0) yield* Effect.ignoreLogged(exchange(null))
          for (const name of [...former, worker]) yield* presence.leave(name)
        })
        return yield* Effect.onInterrupt(
          loops.run("Webhook delivery", Effect.zipRight(keys.complete, step)),
          () => stop
        )
      })
    )

    const listen = Effect.gen(function* () {
      const { count, nextAt } = yield* inbound.poll
      if (count > 0) yield* wake.deliveries.notify
      yield* rest(wake.attempts, Effect.succeed(nextAt))
    })

    const repair = Effect.gen(function* () {
      if ((yield* rescue) > 0) yield* Effect.zipRight(wake.sends.notify, wake.deliveries.notify)
      if ((yield* inbound.unpark) > 0) yield* wake.deliveries.notify
    })

    const start = Effect.gen(function* () {
      yield* presence.dispatch
      const paced = Effect.zipRight(repair, Effect.sleep(paceOf(options.leaseMs)))
      const all = [
        ...Array.from({ length: lanes }, () => lane),
        deliveries,
        loops.run("Receipts", listen),
        loops.run("Rescue", paced)
      ]
      // One fiber, so that they all end at the same time and share the grace.
      yield* Effect.forkScoped(Effect.all(all, { concurrency: "unbounded", discard: true }))
    })

    const drainSends = Effect.acquireUseRelease(
      sends.open,
      ({ awaitOutcome, isLoaded, step }) =>
        Effect.gen(function* () {
          const round = Effect.gen(function* () {
            let count = 0
            do {
              yield* awaitOutcome
              for (let next = yield* step; next.claimed > 0; next = yield* step) count += next.claimed
            } while (isLoaded())
            return count
          })
          const count = yield* round
          // The claim after `hasDue` begins with a session that is ready. When it brings nothing either, another process has
          // in hand what is due.
          return count === 0 && (yield* sends.hasDue) ? yield* round : count
        }),
      ({ leave }) => leave
    )

    const drainDeliveries = Effect.acquireUseRelease(
      presence.enter,
      (worker) =>
        Effect.gen(function* () {
          const everything = { worker, limit: options.deliveries, full: [], room: () => options.deliveries }
          const claimed = yield* webhooks.exchange([], everything)
          const attempted = yield* Effect.forEach(claimed, webhooks.attempt, { concurrency: "unbounded" })
          yield* webhooks.exchange(
            attempted.map(({ settlement }) => settlement),
            null
          )
          return claimed.length
        }),
      presence.leave
    )

    const drain = Effect.gen(function* () {
      const rescued = yield* rescue
      const sent = yield* drainSends
      const { count } = yield* inbound.poll
      const unparked = yield* inbound.unpark
      const delivered = yield* drainDeliveries
      return rescued + sent + count + unparked + delivered
    }).pipe(Effect.repeat({ until: (done) => done === 0 }), Effect.asVoid)

    return {
      inbound,
      fault: loops.fault,
      start: outside("Worker.start")(within(start)),
      stop: grace.begin,
      drain: outside("engine.drain")(within(drain))
    }
  })

export const layer = (
  options: Partial<Options> = {}
): Layer.Layer<
  Worker,
  never,
  Stores | StoreClock | Senders | SecretBox | MasterKeys | WebhookTransport | Presence | Wake
> => Layer.scoped(Worker, make({ ...defaults, ...options }))

/** Runs the loops for as long as the layer lives. */
export const layerLoops: Layer.Layer<never, InsideTransaction, Worker> = Layer.scopedDiscard(
  Effect.flatMap(Worker, ({ start }) => start)
)
