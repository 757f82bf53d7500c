/** The numbers that a process counts of itself (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { growth, total, value } from "../../../../test/support/Metered.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { accept, accepted, deliveries, during, embedded, platform, timedOut } from "./Support.ts"

const refused = Sender.SendResult.Rejected({
  failure: { code: "recipient_unreachable", provider_code: "131026", message: "Not there.", permanent: true }
})

const drained = (sender: Sender.Sender) =>
  Effect.provide(
    Effect.flatMap(Engine.Engine, ({ drain }) => drain),
    embedded(sender)
  )

// The numbers are the whole process's: nothing goes on beside these tests.
describe("attempts", () => {
  it.effect("count by what they brought, each with its time", () =>
    Effect.gen(function* () {
      yield* accept(3)
      const answers = [accepted, refused, timedOut]
      let asked = 0
      const { sender } = platform({}, () =>
        Effect.delay(Effect.succeed(answers[asked++ % 3] ?? accepted), "2 seconds")
      )
      const sending = during(sender, TestClock.adjust("10 seconds"))
      const attempts = (outcome: string) => value("attempts_total", { outcome })
      const before = yield* Effect.all(["accepted", "failed", "unknown"].map(attempts))
      const took = yield* total("attempt_duration_seconds")
      expect(yield* growth(value("attempt_duration_seconds"), sending)).toBe(3)
      const after = yield* Effect.all(["accepted", "failed", "unknown"].map(attempts))
      expect(after.map((count, place) => count - (before[place] ?? 0))).toEqual([1, 1, 1])
      expect((yield* total("attempt_duration_seconds")) - took).toBeCloseTo(6)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("tell how long their recipients were due before them", () =>
    Effect.gen(function* () {
      yield* accept(2)
      yield* TestClock.adjust("30 seconds")
      const before = yield* total("queue_delay_seconds")
      expect(yield* growth(value("queue_delay_seconds"), drained(platform({}).sender))).toBe(2)
      expect((yield* total("queue_delay_seconds")) - before).toBeCloseTo(60)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("what others left", () => {
  it.effect("counts as rescued", () =>
    Effect.gen(function* () {
      const { jobs } = yield* accept(4)
      const claim = { worker: "gone", limit: 3 }
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim })
      const { sender } = platform({ deduplicates: true })
      expect(
        yield* growth(value("rescued_recipients_total"), during(sender, TestClock.adjust("1 minute")))
      ).toBe(3)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("receipts", () => {
  it.effect("tell how old they came, those of unknown messages not", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(1)
      const { sender } = platform({})
      const told = Effect.gen(function* () {
        const { drain, receive } = yield* Engine.Engine
        yield* drain
        yield* TestClock.adjust("20 seconds")
        const report = { status: "delivered", at: Time.at(5000), failure: null, providerId: null } as const
        const messageId = `${jobId.slice(0, -3)}001`
        yield* receive([
          { ...report, messageId },
          { ...report, messageId: `${jobId.slice(0, -3)}0ff` }
        ])
      })
      const before = yield* total("receipt_delay_seconds")
      expect(yield* growth(value("receipt_delay_seconds"), Effect.provide(told, embedded(sender)))).toBe(1)
      expect((yield* total("receipt_delay_seconds")) - before).toBeCloseTo(15)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("webhook deliveries", () => {
  it.effect("count by what they brought", () =>
    Effect.gen(function* () {
      yield* deliveries(2)
      const delivered = value("webhook_deliveries_total", { outcome: "delivered" })
      expect(yield* growth(delivered, drained(platform({}).sender))).toBe(2)
    }).pipe(Effect.provide(Memory.layer))
  )
})
