/** The webhook loop with stores and receivers that do what its rules are there for. */
import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Engine from "../../src/engine/Engine.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import type { DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import * as Worker from "../../src/worker/Worker.ts"
import { deliveries, platform, running, secretBox } from "./Support.ts"

type Webhooks = Effect.Effect.Success<typeof WebhookStore>

const quiet = platform({}).sender
const ok = { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" } as const
const down = new StorageError({ operation: "WebhookStore.settleAndClaim", cause: "The connection broke." })

/** The test's store with some verbs changed. */
const changed = (change: (store: Webhooks) => Partial<Webhooks>) =>
  Layer.effect(
    WebhookStore,
    Effect.map(WebhookStore, (store) => ({ ...store, ...change(store) }))
  )

type Time = `${number} seconds`

/** Receivers that answer the first request after the first time and so on, the rest as the first, and what they were told. */
const receivers = (...times: readonly [Time, ...ReadonlyArray<Time>]) => {
  const told: Array<string> = []
  const transport = Layer.succeed(WebhookTransport, {
    post: ({ headers }) =>
      Effect.suspend(() => {
        told.push(headers["webhook-id"] ?? "")
        return Effect.as(Effect.sleep(times[told.length - 1] ?? times[0]), ok)
      })
  })
  return { told, transport }
}

describe("the webhook loop", { concurrent: true }, () => {
  it.effect("gives up one name for an outage, however long, and tells nobody twice", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(3)
      const { told, transport } = receivers("0 seconds")
      const names = new Set<string>()
      let failures = 0
      const failing = changed(({ settleAndClaim }) => ({
        settleAndClaim: (command) => {
          if (command.claim !== null) names.add(command.claim.worker)
          if (failures === 8) return settleAndClaim(command)
          failures += 1
          return down
        }
      }))
      const loops = Layer.provide(running(quiet, transport), failing)
      yield* Effect.provide(TestClock.adjust("12 seconds"), loops)
      expect([failures, names.size]).toEqual([8, 2])
      expect(told).toHaveLength(3)
      expect(yield* statuses).toEqual(["delivered", "delivered", "delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  for (const [how, refusal] of [
    ["says so", Effect.fail(new StorageError({ operation: "exchange", cause: "22P05", fault: "content" }))],
    ["breaks over it", Effect.die(new TypeError("Do not know how to serialize a BigInt"))],
    ["does not say why", Effect.fail(down)]
  ] as const) {
    it.effect(`stores all answers but one that a store refuses in every form and ${how}`, () =>
      Effect.gen(function* () {
        const { statuses } = yield* deliveries(2)
        const { told, transport } = receivers("0 seconds")
        let poison = ""
        let refused = 0
        const refuses = (settlements: ReadonlyArray<DeliverySettlement>) => {
          poison ||= settlements[0]?.deliveryId ?? ""
          const isRefused = settlements.some(({ deliveryId }) => deliveryId === poison)
          if (isRefused) refused += 1
          return isRefused
        }
        const refusing = changed(({ settleAndClaim }) => ({
          settleAndClaim: (command) =>
            command.settlements.length > 0 && refused < 60 && refuses(command.settlements)
              ? refusal
              : settleAndClaim(command)
        }))
        const loops = Layer.provide(running(quiet, transport), refusing)
        yield* Effect.gen(function* () {
          yield* TestClock.adjust("10 seconds")
          expect([...(yield* statuses)].sort()).toEqual(["delivered", "pending"])
          // It comes again when its name was given up and rescued: at least once, and no loop that spins.
          expect(refused).toBeLessThan(20)
          yield* TestClock.adjust("50 seconds")
          expect(told.length).toBeGreaterThan(2)
          expect(refused).toBeLessThan(60)
        }).pipe(Effect.provide(loops))
      }).pipe(Effect.provide(Memory.layer))
    )
  }

  it.effect("says that it lives before it claims, when the store has not heard so for a while", () =>
    Effect.gen(function* () {
      const { told, transport } = receivers("0 seconds")
      let isDeaf = true
      const mute = Layer.effect(
        JobStore,
        Effect.map(JobStore, (store) => ({
          ...store,
          heartbeat: (command) => Effect.suspend(() => (isDeaf ? down : store.heartbeat(command)))
        }))
      )
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("20 seconds")
        const { statuses } = yield* deliveries(2)
        yield* TestClock.adjust("2 seconds")
        expect(told).toEqual([])
        isDeaf = false
        yield* TestClock.adjust("2 seconds")
        expect(yield* statuses).toEqual(["delivered", "delivered"])
      }).pipe(Effect.provide(Layer.provide(running(quiet, transport), mute)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("does not post what may be another's by now, and gives it up", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(3)
      const { told, transport } = receivers("0 seconds")
      let isDeaf = true
      const held: Array<string> = []
      const thaws = changed(({ settleAndClaim }) => ({
        settleAndClaim: (command) =>
          Effect.tap(settleAndClaim(command), ({ claimed }) => {
            if (held.length > 0) return Effect.void
            held.push(...claimed.map(({ eventId }) => eventId))
            return held.length === 0 ? Effect.void : Effect.sleep("40 seconds")
          })
      }))
      const mute = Layer.effect(
        JobStore,
        Effect.map(JobStore, (store) => ({
          ...store,
          heartbeat: (command) => Effect.suspend(() => (isDeaf ? down : store.heartbeat(command)))
        }))
      )
      const loops = Layer.provide(running(quiet, transport), [thaws, mute])
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("45 seconds")
        expect(held.length).toBeGreaterThan(1)
        expect(told.filter((eventId) => held.includes(eventId))).toEqual([])
        isDeaf = false
        yield* TestClock.adjust("60 seconds")
        expect(told).toHaveLength(3)
        expect(yield* statuses).toEqual(["delivered", "delivered", "delivered"])
      }).pipe(Effect.provide(loops))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that is stopped has the answers that come within two seconds, and waits for no others", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(2)
      const { told, transport } = receivers("2 seconds", "9 seconds")
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(running(quiet, transport), scope)
      yield* TestClock.adjust("1 second")
      const stop = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(stop)
      expect(told).toHaveLength(2)
      expect([...(yield* statuses)].sort()).toEqual(["delivered", "pending"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("asks the store for nothing while all its slots are in use", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(3)
      const { told, transport } = receivers("10 seconds")
      let looks = 0
      const counting = changed(({ nextDue }) => ({
        nextDue: (query) => {
          looks += 1
          return nextDue(query)
        }
      }))
      const loops = Worker.layerLoops.pipe(
        Layer.provideMerge(Engine.layer({ deliveries: 1 })),
        Layer.provide(transport),
        Layer.provide(Sender.layer(quiet)),
        Layer.provide(secretBox),
        Layer.provide(AddressPolicy.layer([])),
        Layer.provide(counting)
      )
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("9 seconds")
        expect([told.length, looks]).toEqual([1, 1])
        yield* TestClock.adjust("25 seconds")
      }).pipe(Effect.provide(loops))
      expect(told).toHaveLength(3)
      expect(yield* statuses).toEqual(["delivered", "delivered", "delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("drains again after a drain that was interrupted amid its deliveries", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(1)
      const { told, transport } = receivers("30 seconds")
      const engine = Engine.layer({ graceMs: 1000 }).pipe(
        Layer.provide(transport),
        Layer.provide(Sender.layer(quiet)),
        Layer.provide(secretBox),
        Layer.provide(AddressPolicy.layer([]))
      )
      yield* Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        const first = yield* Effect.fork(drain)
        const passing = Effect.zipRight(TestClock.adjust("1 second"), Effect.yieldNow())
        yield* Effect.repeat(passing, { until: () => told.length === 1 })
        const stop = yield* Effect.fork(Fiber.interrupt(first))
        yield* TestClock.adjust("2 seconds")
        yield* Fiber.join(stop)
        expect(yield* statuses).toEqual(["pending"])
        // The rescue of its name is a matter of a lease.
        const drained = Effect.repeat(Effect.zipRight(TestClock.adjust("5 seconds"), Effect.fork(drain)), {
          until: () => told.length === 2
        })
        yield* drained
        yield* TestClock.adjust("1 minute")
      }).pipe(Effect.provide(engine))
      expect(yield* statuses).toEqual(["delivered"])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("drains what is due for every receiver, beside one that takes its time", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(40)
      const { transport } = receivers("3 seconds")
      const engine = Engine.layer().pipe(
        Layer.provide(transport),
        Layer.provide(Sender.layer(quiet)),
        Layer.provide(secretBox),
        Layer.provide(AddressPolicy.layer([]))
      )
      yield* Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        const draining = yield* Effect.fork(drain)
        const passing = Effect.zipRight(TestClock.adjust("1 second"), Fiber.poll(draining))
        yield* Effect.repeat(passing, { until: Option.isSome })
        // The process goes on: what comes later is drained as well.
        yield* Fiber.join(draining)
      }).pipe(Effect.provide(engine))
      expect(new Set(yield* statuses)).toEqual(new Set(["delivered"]))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.live("stores the answers of one turn of the event loop in one commit, where turns are full", () =>
    Effect.gen(function* () {
      const { statuses } = yield* deliveries(160)
      let nanos = 0n
      const live = Clock.make()
      const clock: Clock.Clock = Object.create(live, { unsafeCurrentTimeNanos: { value: () => nanos } })
      const transport = Layer.succeed(WebhookTransport, {
        post: () =>
          Effect.sync(() => {
            nanos += 1_000_000n
            return ok
          })
      })
      let commits = 0
      const counting = changed(({ settleAndClaim }) => ({
        settleAndClaim: (command) => {
          commits += command.settlements.length > 0 ? 1 : 0
          return settleAndClaim(command)
        }
      }))
      const engine = Engine.layer().pipe(
        Layer.provide(transport),
        Layer.provide(Sender.layer(quiet)),
        Layer.provide(secretBox),
        Layer.provide(AddressPolicy.layer([])),
        Layer.provide(counting)
      )
      yield* Effect.flatMap(Engine.Engine, ({ drain }) => drain).pipe(
        Effect.provide(engine),
        Effect.withClock(clock)
      )
      expect(new Set(yield* statuses)).toEqual(new Set(["delivered"]))
      expect(commits).toBeLessThan(160 / 4)
    }).pipe(Effect.provide(Memory.layer))
  )
})
