/** A clock that is moved by hand goes from one due time to the next, and nothing is left out on the way. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"

const phone = "34600001234"
const page = { limit: 25, after: null }

const send = (engine: typeof Engine.Engine.Service, caller: Engine.Caller, templateId: number) =>
  engine.send(caller, {
    idempotencyKey: "order-1",
    request: {
      templateId,
      recipients: [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
    }
  })

/** Drains at each due time until nothing is left, and answers the times. */
const advance = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const times: Array<number> = []
  for (let steps = 0; steps < 50; steps++) {
    yield* engine.drain
    const next = yield* engine.nextDue
    if (next === null) break
    const now = yield* Time.now
    times.push(next)
    yield* TestClock.adjust(Math.max(0, next - now))
  }
  return times
})

const engineOf = (sender: Sender.Sender) =>
  Engine.layer().pipe(
    Layer.provideMerge(Memory.layer),
    Layer.provideMerge(RecordingTransport.layer),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(SecretBox.layerRandom),
    Layer.provide(AddressPolicy.layer([]))
  )

describe("the next due time", () => {
  it.effect("is none for a webhook that this process does not reach", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { accountId, caller, templateId } = yield* prepare(engine, [phone])
      yield* engine.admin.webhooks.create(accountId, { url: "https://away.example/", events: ["*"] })
      yield* send(engine, caller, templateId)
      yield* engine.drain
      expect(yield* engine.nextDue).toBeNull()
    }).pipe(
      Effect.provide(
        Engine.layer().pipe(
          Layer.provide(Memory.layer),
          Layer.provide(
            Layer.succeed(WebhookTransport, {
              post: () => Effect.dieMessage("It is not reached."),
              reaches: () => false
            })
          ),
          Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 }))),
          Layer.provide(SecretBox.layerRandom),
          Layer.provide(AddressPolicy.layer([]))
        )
      )
    )
  )

  it.effect("is now once something was accepted, then that of its receipts, and then there is none", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { caller, templateId } = yield* prepare(engine, [phone])
      yield* engine.drain
      expect(yield* engine.nextDue).toBeNull()
      const { jobId } = yield* send(engine, caller, templateId)
      expect(yield* engine.nextDue).toBe(0)
      const times = yield* advance
      expect(times.length).toBeGreaterThan(0)
      expect(times.every((time) => time > 0 && time <= 60_000)).toBe(true)
      const { results } = yield* engine.job(caller, jobId, { page })
      expect(results.items).toMatchObject([{ status: "delivered" }])
    }).pipe(Effect.provide(TestEngine.layerWith({ receiptDelayMs: 30_000 })))
  )

  it.effect("is that of the next attempt after a failure that passes", () => {
    let attempts = 0
    const sender: Sender.Sender = {
      provider: "sandbox",
      deduplicates: true,
      send: () =>
        Effect.sync(() => {
          attempts += 1
          return attempts < 3
            ? Sender.SendResult.Transient({
                failure: {
                  code: "pair_rate_limited",
                  provider_code: null,
                  message: "Too many.",
                  permanent: false
                },
                retryAfterMs: null,
                answered: true
              })
            : Sender.accepted(null, "accepted")
        })
    }
    return Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { caller, templateId } = yield* prepare(engine, [phone])
      yield* send(engine, caller, templateId)
      const times = yield* advance
      expect(attempts).toBe(3)
      expect(times.toSorted((a, b) => a - b)).toEqual(times)
      expect(times).toHaveLength(2)
    }).pipe(Effect.provide(engineOf(sender)))
  })

  it.effect("is the end of a session's block", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { caller, templateId } = yield* prepare(engine, [phone])
      const until = Time.at(2 * 24 * 60 * 60 * 1000)
      yield* (yield* SessionStore).block({ id: caller.session.id, until, now: Time.at(0) })
      const { jobId } = yield* send(engine, caller, templateId)
      expect((yield* advance)[0]).toBe(until)
      expect((yield* engine.job(caller, jobId, { page })).job.status).toBe("completed")
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

it.effect("a template is found by its name and language, as its number finds it", () =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const { caller, templateId } = yield* prepare(engine, [phone])
    const found = yield* engine.template(caller, { name: "order_shipped", language: "en" })
    expect(found).toEqual(yield* engine.template(caller, templateId))
    expect((yield* engine.template(caller, { name: "order_shipped", language: "EN" })).templateId).toBe(
      templateId
    )
    const other = engine.template(caller, { name: "order_shipped", language: "fr" })
    expect(yield* Effect.flip(other)).toMatchObject({ _tag: "NotFound", what: "template" })
  }).pipe(Effect.provide(TestEngine.layer))
)
