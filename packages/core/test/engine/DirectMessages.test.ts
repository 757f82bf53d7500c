/** A direct message is tried again inline; consent is asked for before each attempt (contract.md §4). */
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

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

  it.effect("that the platform may have is not told as failed when the session is blocked meanwhile", () =>
    Effect.gen(function* () {
      const failureOf = (code: string) => ({ code, provider_code: null, message: "No.", permanent: false })
      const sender: Sender.Sender = {
        provider: "sandbox",
        deduplicates: true,
        send: ({ attempt }) =>
          Effect.succeed(
            attempt === 1
              ? Sender.SendResult.Ambiguous({ failure: failureOf("outcome_unknown") })
              : Sender.SendResult.Transient({ failure: failureOf("number_restricted"), retryAfterMs: null })
          )
      }
      const context = yield* Engine.layer().pipe(
        Layer.provide([RecordingTransport.layer, Sender.layer(sender), SecretBox.layerRandom]),
        Layer.provide(AddressPolicy.layer([])),
        Layer.build
      )
      const engine = Context.get(context, Engine.Engine)
      const { caller } = yield* prepare(engine, [phone])
      const request = { to: phone, message: "Hello" }
      const sending = yield* Effect.fork(
        Effect.flip(engine.sendDirect(caller, { idempotencyKey: undefined, request }))
      )
      yield* TestClock.adjust("10 seconds")
      expect(yield* Fiber.join(sending)).toMatchObject({ _tag: "SendFailed", outcome: "unknown" })
    }).pipe(Effect.scoped, Effect.provide(Memory.layer))
  )

  it.effect(
    "that outlasts the engine is logged once, and its outcome is settled by the worker that rescues it",
    () =>
      Effect.gen(function* () {
        const lines: Array<string> = []
        const logger = Logger.make(({ logLevel, message }) => {
          lines.push(`${logLevel.label} ${String(message)}`)
        })
        const gone = yield* Deferred.make<void>()
        const left = yield* Deferred.make<void>()
        const sender: Sender.Sender = {
          provider: "sandbox",
          deduplicates: false,
          send: () =>
            Effect.zipRight(
              Deferred.succeed(left, undefined),
              Effect.as(
                Deferred.await(gone),
                Sender.SendResult.Accepted({ providerId: null, status: "accepted" })
              )
            )
        }
        const scope = yield* Scope.make()
        const context = yield* Engine.layer().pipe(
          Layer.provide([RecordingTransport.layer, Sender.layer(sender), SecretBox.layerRandom]),
          Layer.provide(AddressPolicy.layer([])),
          Layer.buildWithScope(scope),
          Effect.provide(Logger.add(logger))
        )
        const engine = Context.get(context, Engine.Engine)
        const { caller } = yield* prepare(engine, [phone])
        const request = { to: phone, message: "Hello" }
        const sending = yield* Effect.forkDaemon(
          engine.sendDirect(caller, { idempotencyKey: "one", request })
        )
        yield* Deferred.await(left)
        yield* Scope.close(scope, Exit.void)
        yield* Deferred.succeed(gone, undefined)
        expect(Exit.isInterrupted(yield* Fiber.await(sending))).toBe(true)
        expect(lines).toEqual([expect.stringMatching(/^WARN 1 direct message\(s\) are left under way/)])
        const earlier = yield* (yield* JobStore).findByIdempotencyKey({
          publicKey: caller.key.publicKey,
          key: "one"
        })
        expect(earlier).toMatchObject({ answer: null })
      }).pipe(Effect.provide(Memory.layer))
  )
})
