/** A platform that refuses a message because the person has opted out says so once (contract.md §10 "Consent"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { find } from "../StorageSuite/Setup.ts"
import { accept, during, embedded, platform } from "./Support.ts"

const refusal = {
  code: "marketing_opted_out",
  provider_code: "131050",
  message: "The person has stopped marketing messages.",
  permanent: true
}

const refusing = () => platform({}, () => Effect.succeed(SendResult.Rejected({ failure: refusal })))

const backAt = 25_000

const unlessOut = <A>(verb: Effect.Effect<A, StorageError>): Effect.Effect<A, StorageError> =>
  Effect.flatMap(Time.now, (now) =>
    now < backAt ? Effect.fail(new StorageError({ operation: "simulated", cause: "away" })) : verb
  )

/** Stores that take neither outcomes nor what people said until that time. */
const out = Layer.provideMerge(
  Layer.mergeAll(
    Layer.effect(
      JobStore,
      Effect.map(JobStore, (jobs) => ({
        ...jobs,
        settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
          command.settlements.length === 0
            ? jobs.settleAndClaim(command)
            : unlessOut(jobs.settleAndClaim(command))
      }))
    ),
    Layer.effect(
      InboundStore,
      Effect.map(InboundStore, (inbound) => ({
        ...inbound,
        receive: (command: Parameters<typeof inbound.receive>[0]) => unlessOut(inbound.receive(command))
      }))
    )
  ),
  Memory.layer
)

const isRevoked = Effect.fnUntraced(function* (accountId: string, phone: string) {
  const consents = yield* ConsentStore
  return (yield* consents.refusals({ accountId, phones: [phone], purpose: "marketing" })).size === 1
})

describe("an opt-out that a platform's refusal tells", () => {
  it.effect("is recorded with the outcome, however long the store took no outcome", () =>
    Effect.gen(function* () {
      const { sender, sent } = refusing()
      const { jobId } = yield* accept(3)
      yield* during(sender, TestClock.adjust("40 seconds"))
      const job = yield* find(jobId)
      expect(job.counts.failed).toBe(3)
      expect(sent).toHaveLength(3)
      for (const phone of ["34600000000", "34600000001", "34600000002"])
        expect(yield* isRevoked(job.accountId, phone)).toBe(true)
    }).pipe(Effect.provide(out))
  )

  it.effect("is recorded with the outcome of a direct message, too", () =>
    Effect.gen(function* () {
      const phone = "34600000001"
      const engine = yield* Engine.Engine
      const { accountId, caller } = yield* prepare(engine, [phone])
      const send = engine.sendDirect(caller, {
        idempotencyKey: undefined,
        request: { to: phone, message: "Hello" }
      })
      yield* TestClock.setTime(backAt - 10_000)
      const sending = yield* Effect.fork(Effect.flip(send))
      yield* TestClock.adjust("20 seconds")
      expect(yield* Fiber.join(sending)).toMatchObject({ failure: { provider_code: "131050" } })
      expect(yield* isRevoked(accountId, phone)).toBe(true)
    }).pipe(Effect.provide(Layer.provideMerge(embedded(refusing().sender), out)))
  )
})
