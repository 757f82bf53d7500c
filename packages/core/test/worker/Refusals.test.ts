/** A store that works and does not take one outcome keeps no other from being stored (contract.md §10). */
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { SendResult } from "../../src/sender/Sender.ts"
import type { Settlement } from "../../src/storage/JobStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { find, results } from "../StorageSuite/Setup.ts"
import { accept, accepted, platform, running } from "./Support.ts"

/** Refuses commits that have such a settlement, and answers what was logged as an error meanwhile. */
const refusing = Effect.fnUntraced(function* (
  isRefused: (settlement: Settlement, now: number) => boolean,
  seconds: number,
  fault?: StorageError["fault"]
) {
  const logged: Array<string> = []
  const log = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ cause, logLevel, message }) => {
      if (logLevel.label === "ERROR") logged.push(`${String(message)} ${Cause.pretty(cause)}`)
    })
  )
  const cause = "the column does not take it"
  const error = new StorageError({
    operation: "exchange",
    cause,
    fault
  })
  const layer = Layer.effect(
    JobStore,
    Effect.map(JobStore, (jobs) => ({
      ...jobs,
      settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
        command.settlements.some((settlement) => isRefused(settlement, command.now))
          ? error
          : jobs.settleAndClaim(command)
    }))
  )
  const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) =>
    Effect.succeed(
      messageId.endsWith("003")
        ? SendResult.Accepted({ providerId: "odd 34600000000", status: "accepted" })
        : accepted
    )
  )
  const ended = yield* Deferred.make<void>()
  const whole = yield* TestClock.adjust(`${seconds} seconds`).pipe(
    Effect.zipRight(Deferred.succeed(ended, undefined)),
    Effect.provide(Layer.provide(running(sender), layer)),
    Effect.provide(log),
    Effect.fork
  )
  yield* Deferred.await(ended)
  // Who stops tries again for a while.
  while (Option.isNone(yield* Fiber.poll(whole))) yield* TestClock.adjust("1 second")
  yield* Fiber.join(whole)
  return { logged: logged.filter((line) => line.includes("cannot be stored")), sent }
})

const isOdd = ({ outcome }: Settlement): boolean =>
  outcome._tag === "Accepted" && outcome.providerId?.startsWith("odd") === true

describe("a store that refuses one outcome of a batch without saying why", { concurrent: true }, () => {
  it.effect("gets the others, and that one without text from outside; the log names it", () =>
    Effect.gen(function* () {
      const first = yield* accept(20)
      const second = yield* accept(20)
      const { logged, sent } = yield* refusing(isOdd, 40)
      for (const { jobId } of [first, second]) {
        expect((yield* find(jobId)).status).toBe("completed")
        const recipients = yield* results(jobId)
        expect(recipients.map(({ failure, status }) => failure?.code ?? status)).toEqual(
          recipients.map((_, index) => (index === 2 ? "outcome_unstorable" : "accepted"))
        )
        expect(logged.filter((line) => line.includes(`job ${jobId} (recipient 2)`))).toHaveLength(1)
      }
      expect(logged).toHaveLength(2)
      expect(logged.join()).not.toContain("34600000000")
      expect(new Set(sent).size).toBe(sent.length)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is believed of the only outcome that there is after half a minute", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(1)
      const { logged } = yield* refusing((settlement) => settlement.outcome._tag === "Accepted", 28)
      expect(logged).toEqual([])
      expect((yield* find(jobId)).counts).toMatchObject({ accepted: 0, unknown: 0 })
      // The next process takes back all that this one could not store.
      yield* refusing((settlement) => settlement.outcome._tag === "Accepted", 70)
      expect((yield* results(jobId))[0]).toMatchObject({ failure: { code: "outcome_unstorable" } })
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("an outcome that is refused in any form", { concurrent: true }, () => {
  for (const fault of [undefined, "content"] as const) {
    const how = fault === "content" ? "by a store that says so" : "by a store that does not say so"
    it.effect(`${how}, is told in the log and left to the rescue; the others go on`, () =>
      Effect.gen(function* () {
        const { jobId } = yield* accept(8)
        const isRefused = (settlement: Settlement, now: number) =>
          now < 75_000 && settlement.jobId === jobId && settlement.index === 2
        const { logged, sent } = yield* refusing(isRefused, 45, fault)
        const before = yield* results(jobId)
        expect(before.map(({ status }) => status)).toEqual(
          before.map((_, index) => (index === 2 ? "sending" : "accepted"))
        )
        const place = `job ${jobId} (recipient 2) cannot be stored`
        expect(logged.filter((line) => line.includes(place)).length).toBeGreaterThanOrEqual(2)
        expect(logged.some((line) => line.includes(`${place} in any form`))).toBe(true)
        expect(sent.length).toBeGreaterThanOrEqual(8)
        // Its name was given up, so that it is attempted again; that outcome is stored.
        yield* refusing(isRefused, 150, fault)
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(Memory.layer))
    )
  }
})

describe("a store that cannot take one outcome of a batch for a while, and says so", {
  concurrent: true
}, () => {
  it.effect("gets the others at once, and that one whole when it can", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(8)
      // A lock that somebody keeps for two minutes, say.
      const isLocked = (settlement: Settlement, now: number) => isOdd(settlement) && now < 120_000
      const { logged } = yield* refusing(isLocked, 90, "collision")
      expect((yield* find(jobId)).counts).toMatchObject({ accepted: 7, sending: 1 })
      expect(logged).toEqual([])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("loses nothing of it, however long that takes", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(8)
      const isLocked = (settlement: Settlement, now: number) => isOdd(settlement) && now < 120_000
      const { logged, sent } = yield* refusing(isLocked, 130, "collision")
      expect((yield* find(jobId)).counts).toMatchObject({ accepted: 8 })
      expect(logged).toEqual([])
      expect(sent).toHaveLength(8)
    }).pipe(Effect.provide(Memory.layer))
  )
})
