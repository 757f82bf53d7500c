/** What a process keeps of the circuits of its sessions, and what it tells the store of them. */

import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Circuits from "../../src/worker/Circuits.ts"
import { StoreClock } from "../../src/worker/StoreClock.ts"
import { owner, tell } from "../StorageSuite/Setup.ts"

const layer = Circuits.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Memory.layer, StoreClock.layer, Signals.layer))
)

/** Circuits over the same stores, of which nothing is told while the flag says so. */
const unwilling = (is: { mute: boolean }) =>
  Effect.map(JobStore, (jobs) => {
    const down = new StorageError({ operation: "JobStore.settleAndClaim", cause: "The disk is full." })
    return Layer.succeed(JobStore, {
      ...jobs,
      settleAndClaim: (command) =>
        is.mute && (command.news ?? []).length > 0 ? Effect.fail(down) : jobs.settleAndClaim(command)
    })
  })

const opened = Effect.gen(function* () {
  const circuits = yield* Circuits.Circuits
  const sessions = yield* SessionStore
  const { sessionId } = yield* owner
  const circuit = circuits.of(sessionId, false)
  const fail = (times: number) => {
    for (let time = 0; time < times; time++) {
      circuit.began()
      circuit.ended(false)
    }
  }
  const outage = Effect.map(sessions.find(sessionId), (session) => session?.outage ?? null)
  return { circuits, sessions, sessionId, circuit, fail, outage }
})

describe("a process that finds a platform away", () => {
  it.effect("tells the store, and nothing begins meanwhile but a probe", () =>
    Effect.gen(function* () {
      const { circuit, circuits, fail, outage, sessionId } = yield* opened
      fail(19)
      expect(circuit.mayBegin()).toBe(true)
      fail(1)
      expect([circuit.mayBegin(), circuits.of(sessionId, true).mayBegin()]).toEqual([false, true])
      expect(circuits.isUntold(sessionId)).toBe(true)
      expect(yield* outage).toBeNull()
      yield* circuits.store
      expect(yield* outage).not.toBeNull()
      expect(circuits.isUntold(sessionId)).toBe(false)
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "releases what a claim from before brings, and goes on with what a later one brings without a probe",
    () =>
      Effect.gen(function* () {
        const { circuit, circuits, fail, sessionId } = yield* opened
        const before = circuits.known()
        fail(20)
        expect(circuits.admit({ sessionId, probe: false }, before)).toBe(false)
        const meanwhile = circuits.known()
        yield* circuits.store
        expect(circuits.admit({ sessionId, probe: false }, before)).toBe(false)
        expect(circuits.admit({ sessionId, probe: false }, meanwhile)).toBe(false)
        expect(circuits.admit({ sessionId, probe: true }, circuits.known())).toBe(true)
        expect(circuit.isOpen()).toBe(true)
        // Another process has ended it.
        yield* tell(sessionId, "OutageEnded", Time.at(0))
        expect(circuits.admit({ sessionId, probe: false }, circuits.known())).toBe(true)
        expect(circuit.isOpen()).toBe(false)
        yield* circuits.store
        fail(19)
        expect(circuit.isOpen()).toBe(false)
      }).pipe(Effect.provide(layer))
  )

  it.effect("learns of another's outage by the probe that it is given", () =>
    Effect.gen(function* () {
      const { circuit, circuits, outage, sessionId, sessions } = yield* opened
      yield* tell(sessionId, "OutageBegan", Time.at(-1000))
      expect(yield* sessions.acquireProbe({ id: sessionId, now: Time.at(0) })).toBe("granted")
      expect(circuits.admit({ sessionId, probe: true }, circuits.known())).toBe(true)
      expect(circuit.isOpen()).toBe(true)
      const probe = circuits.of(sessionId, true)
      probe.began()
      probe.ended(false)
      yield* TestClock.adjust("1 second")
      yield* circuits.store
      expect(yield* outage).toMatchObject({ intervalMs: 2000, probeAt: 3000 })
      probe.unused()
      yield* circuits.store
      expect(yield* outage).toMatchObject({ intervalMs: 2000, probeAt: 1000 })
      probe.began()
      probe.ended(true)
      yield* circuits.store
      expect([circuit.isOpen(), yield* outage]).toEqual([false, null])
    }).pipe(Effect.provide(layer))
  )

  it.effect("gives back a probe that is not sent, also when it had not learnt of the outage", () =>
    Effect.gen(function* () {
      const { circuits, outage, sessionId, sessions } = yield* opened
      yield* tell(sessionId, "OutageBegan", Time.at(-1000))
      expect(yield* sessions.acquireProbe({ id: sessionId, now: Time.at(0) })).toBe("granted")
      circuits.of(sessionId, true).unused()
      yield* circuits.store
      expect(yield* outage).toMatchObject({ probeAt: 0 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("tells the store nothing of an outage that is over before it was told", () =>
    Effect.gen(function* () {
      const { circuit, circuits, fail, outage, sessionId } = yield* opened
      circuit.began()
      fail(20)
      circuit.ended(true)
      yield* circuits.store
      expect(yield* outage).toBeNull()
      expect([circuit.mayBegin(), circuits.isUntold(sessionId)]).toEqual([true, false])
    }).pipe(Effect.provide(layer))
  )

  it.effect("tells that it is away before any word of a probe, however often the store fails", () =>
    Effect.gen(function* () {
      const is = { mute: true }
      yield* Effect.gen(function* () {
        const { circuits, fail, outage, sessionId } = yield* opened
        fail(20)
        yield* circuits.store
        expect(circuits.isUntold(sessionId)).toBe(true)
        const probe = circuits.of(sessionId, true)
        probe.began()
        probe.ended(false)
        yield* circuits.store
        probe.unused()
        is.mute = false
        yield* circuits.store
        expect(yield* outage).not.toBeNull()
        expect(circuits.isUntold(sessionId)).toBe(false)
        yield* tell(sessionId, "OutageEnded", Time.at(0))
        expect(circuits.admit({ sessionId, probe: false }, circuits.known())).toBe(true)
      }).pipe(Effect.provide(Layer.fresh(Circuits.layer)), Effect.provide(yield* unwilling(is)))
    }).pipe(Effect.provide(layer), Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.effect("claims of it again once a probe proves that the store knows", () =>
    Effect.gen(function* () {
      const is = { mute: true }
      yield* Effect.gen(function* () {
        const { circuits, fail, sessionId } = yield* opened
        fail(20)
        yield* circuits.store
        // Another process has told it, and the claim was asked for before.
        expect(circuits.admit({ sessionId, probe: true }, circuits.known())).toBe(true)
        expect(circuits.isUntold(sessionId)).toBe(false)
        expect(circuits.admit({ sessionId, probe: false }, circuits.known())).toBe(true)
      }).pipe(Effect.provide(Layer.fresh(Circuits.layer)), Effect.provide(yield* unwilling(is)))
    }).pipe(Effect.provide(layer), Effect.provide(Logger.remove(Logger.defaultLogger)))
  )

  it.effect("does not report a probe that took longer than its minute: another one may be under way", () =>
    Effect.gen(function* () {
      const { circuits, outage, sessionId, sessions } = yield* opened
      yield* tell(sessionId, "OutageBegan", Time.at(-1000))
      yield* sessions.acquireProbe({ id: sessionId, now: Time.at(0) })
      circuits.admit({ sessionId, probe: true }, circuits.known())
      const probe = circuits.of(sessionId, true)
      probe.began()
      yield* TestClock.adjust("70 seconds")
      expect(yield* sessions.acquireProbe({ id: sessionId, now: Time.at(70_000) })).toBe("granted")
      probe.ended(false)
      yield* circuits.store
      expect(yield* outage).toMatchObject({ intervalMs: 1000, probeAt: 130_000 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("sees half a minute of silence without anybody who looks, and tells the store", () =>
    Effect.gen(function* () {
      const { circuit, outage } = yield* opened
      circuit.began()
      yield* TestClock.adjust("29 seconds")
      expect(yield* outage).toBeNull()
      yield* TestClock.adjust("6 seconds")
      expect(yield* outage).not.toBeNull()
    }).pipe(Effect.provide(layer))
  )

  it.effect("takes its own freeze for no silence of the platform", () =>
    Effect.gen(function* () {
      // The time goes on, and nothing of the process does.
      let frozenMs = 0
      const test = yield* Effect.clock
      const nanos = () => test.unsafeCurrentTimeNanos() + BigInt(frozenMs) * 1_000_000n
      const clock: Clock.Clock = {
        [Clock.ClockTypeId]: Clock.ClockTypeId,
        unsafeCurrentTimeMillis: () => test.unsafeCurrentTimeMillis() + frozenMs,
        unsafeCurrentTimeNanos: nanos,
        currentTimeMillis: Effect.sync(() => test.unsafeCurrentTimeMillis() + frozenMs),
        currentTimeNanos: Effect.sync(nanos),
        sleep: test.sleep
      }
      const frozen = yield* Layer.build(Layer.fresh(Circuits.layer)).pipe(Effect.withClock(clock))
      yield* Effect.gen(function* () {
        const { circuit, circuits, fail, outage } = yield* opened
        for (let attempt = 0; attempt < 40; attempt++) circuit.began()
        yield* TestClock.adjust("20 seconds")
        frozenMs = 600_000
        for (let attempt = 0; attempt < 39; attempt++) circuit.ended(false)
        yield* circuits.store
        yield* TestClock.adjust("20 seconds")
        expect([circuit.isOpen(), yield* outage]).toEqual([false, null])
        circuit.ended(false)
        fail(20)
        expect(circuit.isOpen()).toBe(true)
      }).pipe(Effect.provide(frozen))
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("has no words of a sender that broke for the platform's", () =>
    Effect.gen(function* () {
      const { circuit, circuits, outage } = yield* opened
      for (let time = 0; time < 50; time++) {
        circuit.began()
        circuit.ended(null)
      }
      yield* circuits.store
      expect([circuit.isOpen(), yield* outage]).toEqual([false, null])
    }).pipe(Effect.provide(layer))
  )
})
