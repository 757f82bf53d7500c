/** What a process keeps of the circuits of its sessions, and what it tells the store of them. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Memory from "../../src/storage/memory/Memory.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { owner } from "../../src/testing/StorageSuite/Setup.ts"
import * as Circuits from "../../src/worker/Circuits.ts"
import { Wake } from "../../src/worker/Wake.ts"

const layer = Circuits.layer.pipe(Layer.provideMerge(Layer.mergeAll(Memory.layer, Wake.layer)))

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
      expect([...circuits.excluded()]).toEqual([sessionId])
      expect(yield* outage).toBeNull()
      yield* circuits.store
      expect(yield* outage).not.toBeNull()
      expect([...circuits.excluded()]).toEqual([])
    }).pipe(Effect.provide(layer))
  )

  it.effect(
    "releases what a claim from before brings, and goes on with what a later one brings without a probe",
    () =>
      Effect.gen(function* () {
        const { circuit, circuits, fail, sessionId, sessions } = yield* opened
        const before = circuits.asking()
        fail(20)
        expect(circuits.admit({ sessionId, probe: false }, before)).toBe(false)
        const meanwhile = circuits.asking()
        yield* circuits.store
        expect(circuits.admit({ sessionId, probe: false }, before)).toBe(false)
        expect(circuits.admit({ sessionId, probe: false }, meanwhile)).toBe(false)
        expect(circuits.admit({ sessionId, probe: true }, circuits.asking())).toBe(true)
        expect(circuit.isOpen()).toBe(true)
        // Another process has ended it.
        yield* sessions.markAvailable({ id: sessionId, now: 0 })
        expect(circuits.admit({ sessionId, probe: false }, circuits.asking())).toBe(true)
        expect(circuit.isOpen()).toBe(false)
        yield* circuits.store
        fail(19)
        expect(circuit.isOpen()).toBe(false)
      }).pipe(Effect.provide(layer))
  )

  it.effect("learns of another's outage by the probe that it is given", () =>
    Effect.gen(function* () {
      const { circuit, circuits, outage, sessionId, sessions } = yield* opened
      yield* sessions.markUnavailable({ id: sessionId, now: 0 })
      expect(circuits.admit({ sessionId, probe: true }, circuits.asking())).toBe(true)
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

  it.effect("tells the store nothing of an outage that is over before it was told", () =>
    Effect.gen(function* () {
      const { circuit, circuits, fail, outage } = yield* opened
      circuit.began()
      fail(20)
      circuit.ended(true)
      yield* circuits.store
      expect(yield* outage).toBeNull()
      expect([circuit.mayBegin(), [...circuits.excluded()]]).toEqual([true, []])
    }).pipe(Effect.provide(layer))
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
