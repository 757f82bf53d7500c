/** What becomes of what is under way when a process stops. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type { Sender } from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Worker from "../../src/worker/Worker.ts"
import { find, results } from "../StorageSuite/Setup.ts"
import { accept, accepted, embedded, platform, running } from "./Support.ts"

const taking = (seconds: number) => () => Effect.as(Effect.sleep(`${seconds} seconds`), accepted)

/** A job of ten is being sent, eight at a time, when the process stops; what is left of it after so long. */
const stoppedAfter = Effect.fnUntraced(function* (sender: Sender, seconds: number) {
  const { jobId } = yield* accept(10)
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(running(sender), scope)
  yield* TestClock.adjust("1 second")
  const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
  yield* TestClock.adjust(`${seconds} seconds`)
  const ended = (yield* Fiber.poll(stopping))._tag === "Some"
  const recipients = yield* results(jobId)
  if (!ended) yield* TestClock.adjust("1 minute")
  yield* Fiber.join(stopping)
  return { ended, recipients }
})

describe("a process that stops", () => {
  it.effect("waits for what is in flight, hands it in and takes nothing new", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({}, taking(10))
      const before = yield* stoppedAfter(sender, 8)
      expect(before.ended).toBe(false)
      expect(sent).toHaveLength(8)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("has its outcomes recorded when they come within the grace", () =>
    Effect.gen(function* () {
      const { sender } = platform({}, taking(10))
      const { ended, recipients } = yield* stoppedAfter(sender, 9)
      expect(ended).toBe(true)
      expect(recipients.map(({ attempts, status }) => [status, attempts]).slice(6, 9)).toEqual([
        ["accepted", 1],
        ["accepted", 1],
        ["queued", 0]
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("gives up after the grace: what may be repeated is due again at no cost of an attempt", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true }, taking(100))
      expect((yield* stoppedAfter(sender, 24)).ended).toBe(false)
      const { ended, recipients } = yield* stoppedAfter(sender, 25)
      expect(ended).toBe(true)
      expect(recipients[0]).toMatchObject({ status: "sending", attempts: 0, maybeSent: true })
      expect(recipients[0]?.nextAt).not.toBeNull()
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("stores what it knows, when the store takes it within the grace", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({}, taking(4))
      const failing = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          // Away from the stop on, for ten seconds.
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            command.now >= 1_000 && command.now < 11_000
              ? new StorageError({ operation: "exchange", cause: "The connection broke." })
              : jobs.settleAndClaim(command)
        }))
      )
      const { jobId } = yield* accept(10)
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.provide(running(sender), failing), scope)
      yield* TestClock.adjust("1 second")
      const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("20 seconds")
      expect((yield* Fiber.poll(stopping))._tag).toBe("Some")
      expect(sent).toHaveLength(8)
      expect((yield* results(jobId)).map(({ status }) => status).slice(6, 9)).toEqual([
        "accepted",
        "accepted",
        "queued"
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is no longer among the workers, and what it had claimed and not begun waits as before", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      // The stop begins while the answer to a claim is under way.
      const slow = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.zipLeft(
              jobs.settleAndClaim(command),
              command.claim === null ? Effect.void : Effect.sleep("1 second")
            )
        }))
      )
      const { sender, sent } = platform({}, taking(4))
      const scope = yield* Scope.make()
      const { jobId } = yield* accept(20)
      yield* Layer.buildWithScope(Layer.provide(running(sender), slow), scope)
      yield* TestClock.adjust("500 millis")
      const { sending } = (yield* find(jobId)).counts
      expect(sending).toBeGreaterThan(0)
      expect(yield* jobs.workers).not.toEqual([])
      const stopping = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(stopping)
      expect(yield* jobs.workers).toEqual([])
      const { counts } = yield* find(jobId)
      expect(sent.length).toBeLessThan(sending)
      expect(counts).toMatchObject({ accepted: sent.length, queued: 20 - sent.length, sending: 0 })
      const waiting = (yield* results(jobId)).filter(({ status }) => status === "queued")
      expect(new Set(waiting.map(({ attempts }) => attempts))).toEqual(new Set([0]))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("and that has drained before is among the workers no longer than it drains", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* Effect.gen(function* () {
        const { drain } = yield* Worker.Worker
        for (let round = 0; round < 3; round += 1) {
          yield* accept(1)
          const draining = yield* Effect.fork(drain)
          yield* TestClock.adjust("10 seconds")
          yield* Fiber.join(draining)
        }
        yield* TestClock.adjust("10 seconds")
        expect(yield* jobs.workers).toEqual([])
      }).pipe(Effect.provide(embedded(platform({}, taking(1)).sender)))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("leaves unknown after the grace what may not be repeated", () =>
    Effect.gen(function* () {
      const { sender } = platform({}, taking(100))
      const { recipients } = yield* stoppedAfter(sender, 25)
      expect(recipients.map(({ status }) => status).slice(6, 9)).toEqual(["unknown", "unknown", "queued"])
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a drain that is interrupted", () => {
  it.effect("ends in order, and the process goes on sending", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({}, taking(10))
      const { jobId } = yield* accept(2)
      yield* Effect.gen(function* () {
        const { drain } = yield* Worker.Worker
        const first = yield* Effect.fork(drain)
        yield* TestClock.adjust("1 second")
        const interrupting = yield* Effect.fork(Fiber.interrupt(first))
        yield* TestClock.adjust("30 seconds")
        yield* Fiber.join(interrupting)
        expect(sent).toHaveLength(2)
        expect(yield* find(jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
        const second = yield* accept(2)
        const again = yield* Effect.fork(drain)
        yield* TestClock.adjust("30 seconds")
        yield* Fiber.join(again)
        expect(yield* find(second.jobId)).toMatchObject({ status: "completed", counts: { accepted: 2 } })
      }).pipe(Effect.provide(embedded(sender)))
    }).pipe(Effect.provide(Memory.layer))
  )
})
