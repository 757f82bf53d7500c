/** What waits is measured, and told where nobody is there to send it (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Logged from "../../../../test/support/Logged.ts"
import { value } from "../../../../test/support/Metered.ts"
import * as Time from "../../src/domain/Instant.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Worker from "../../src/worker/Worker.ts"
import { accept, during, embedded, platform } from "./Support.ts"

const { sender } = platform({})

/** A process that accepts and sends nothing. */
const beside = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { watch } = yield* Worker.Worker
    yield* Effect.forkScoped(watch)
    return yield* body
  }).pipe(Effect.scoped, Effect.provide(embedded(sender)))

// The gauges are the whole process's: nothing goes on beside these tests.
describe("what waits", () => {
  it.effect("is told when no process is there that sends, and once one is", () =>
    Effect.gen(function* () {
      yield* accept(3)
      const flow = Effect.gen(function* () {
        yield* TestClock.adjust("20 seconds")
        expect(yield* value("waiting_recipients", { limiter: "worker" })).toBe(3)
        expect(yield* value("waiting_recipients")).toBe(3)
        expect(yield* value("oldest_waiting_seconds")).toBe(20)
        yield* during(sender, TestClock.adjust("10 seconds"))
        expect(yield* value("waiting_recipients")).toBe(0)
        expect(yield* value("oldest_waiting_seconds")).toBe(0)
      })
      const lines = (yield* Logged.during(beside(flow))).filter(({ text }) => /wait/.test(text))
      expect(lines).toEqual([
        {
          level: "WARN",
          text: "Recipients wait, and no process is alive that sends them",
          annotations: { waiting: 3 }
        },
        {
          level: "INFO",
          text: "What waited for a process that sends has one, or waits no more",
          annotations: {}
        }
      ])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is measured by a process that sends, by what it waits for", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(2)
      const job = yield* (yield* JobStore).find(jobId)
      yield* (yield* SessionStore).transition({
        id: job?.sessionId ?? "",
        state: "disconnected",
        reason: "logged out",
        now: Time.at(0)
      })
      const flow = Effect.gen(function* () {
        yield* TestClock.adjust("10 seconds")
        expect(yield* value("waiting_recipients", { limiter: "session" })).toBe(2)
      })
      yield* during(sender, flow)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is read once in four seconds at most, however often a process looks", () =>
    Effect.gen(function* () {
      let reads = 0
      const jobs = yield* JobStore
      const counted = Effect.suspend(() => {
        reads += 1
        return jobs.backlog({ most: 1, now: Time.at(0) })
      })
      const store = JobStore.of({ ...jobs, backlog: () => counted })
      const looking = during(sender, TestClock.adjust("20 seconds"), { leaseMs: 300 })
      yield* Effect.provideService(looking, JobStore, store)
      expect(reads).toBeGreaterThan(2)
      expect(reads).toBeLessThan(25)
    }).pipe(Effect.provide(Memory.layer))
  )
})
