/** The sandbox is a platform within the process: what it had still to report outlives that. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import type { Sender } from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { find, owner, results } from "../StorageSuite/Setup.ts"
import { during } from "./Support.ts"

describe("a sandbox that starts again", () => {
  it.effect("reports what it had accepted and what it had not answered, and of nothing else", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const send = Fixtures.send(who, { phones: 3, now: Time.at(0) })
      const to = ["34600001000", "34600000005", "34600000006"]
      const recipients = send.recipients.map((each, index) => ({ ...each, address: to[index] ?? "" }))
      const records = to.map((phone) => Fixtures.consent(phone, { occurredAt: Time.at(0) }))
      yield* (yield* ConsentStore).record({ accountId: who.accountId, records })
      yield* (yield* JobStore).accept({ ...send, recipients })
      const statuses = Effect.map(results(send.jobId), (all) => all.map(({ status }) => status))

      const first: Sender = Sandbox.make({ receiptDelayMs: 3_600_000, resolutionDelayMs: 3_600_000 })
      yield* during(first, TestClock.adjust("2 seconds"))
      expect(yield* statuses).toEqual(["accepted", "unknown", "unknown"])

      yield* during(Sandbox.make(), TestClock.adjust("5 seconds"))
      expect(yield* statuses).toEqual(["delivered", "delivered", "unknown"])
      expect((yield* find(send.jobId)).counts).toMatchObject({ delivered: 2, unknown: 1 })
    }).pipe(Effect.provide(Memory.layer))
  )
})
