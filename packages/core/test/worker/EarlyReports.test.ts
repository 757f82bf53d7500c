/** Receipts by the platform's id that come before its answer does. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { find, owner } from "../StorageSuite/Setup.ts"
import { acceptOf, platform, running } from "./Support.ts"

describe("a receipt that is faster than the answer", () => {
  it.effect("is applied soon after the answer was stored", () =>
    Effect.gen(function* () {
      const { sender } = platform({}, () =>
        Effect.delay(
          Effect.succeed(SendResult.Accepted({ providerId: "wamid.1", status: "accepted" })),
          "8 seconds"
        )
      )
      const who = yield* owner
      const jobId = yield* acceptOf(who, 1)
      const status = Effect.map(find(jobId), ({ counts }) =>
        Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [name] : []))
      )
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("7 seconds")
        const jobs = yield* JobStore
        const report: Report = {
          messageId: null,
          providerId: "wamid.1",
          status: "delivered",
          at: Time.at(7000),
          failure: null
        }
        yield* jobs.receive({ now: Time.at(7000), sessionId: who.sessionId, reports: [report] })
        expect(yield* status).toEqual(["sending"])
        yield* TestClock.adjust("2 seconds")
        expect(yield* status).toEqual(["delivered"])
      }).pipe(Effect.provide(running(sender)))
    }).pipe(Effect.provide(Layer.fresh(Memory.layer)))
  )
})
