/** A direct message is tried again inline; consent is asked for before each attempt (decisions.md §4). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

/** Fails for a moment twice, then would be accepted. */
const phone = "34600000002"

describe("a direct message", () => {
  it.effect("is not tried again once its recipient has said STOP", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { accountId, caller } = yield* prepare(engine, [phone])
      const request = { to: phone, message: "Hello" }
      const sending = yield* Effect.fork(
        Effect.flip(engine.sendDirect(caller, { idempotencyKey: undefined, request }))
      )
      yield* TestClock.adjust("1 millis")
      yield* engine.admin.consents.record(accountId, [{ phone, status: "revoked", source: "test" }])
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(sending)).toMatchObject({
        _tag: "SendFailed",
        outcome: "failed",
        failure: { code: "consent_required" }
      })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
