/** Two hosts over one PostgreSQL, with clocks that are wrong (docs/adr/0021). */
import { expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../../../test/support/Postgres.ts"
import { greeting } from "../../../../../test/support/Template.ts"
import * as Engine from "../../../src/engine/Engine.ts"
import * as SecretBox from "../../../src/secret/SecretBox.ts"
import * as Sandbox from "../../../src/sender/Sandbox.ts"
import * as Sender from "../../../src/sender/Sender.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import * as RecordingTransport from "../../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../../src/webhook/AddressPolicy.ts"

const skewed = (ms: number): Clock.Clock => {
  const real = Clock.make()
  const now = () => real.unsafeCurrentTimeMillis() + ms
  return {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    unsafeCurrentTimeNanos: () => real.unsafeCurrentTimeNanos(),
    currentTimeNanos: real.currentTimeNanos,
    sleep: (duration) => real.sleep(duration)
  }
}

/** An engine whose clock is wrong, and how to run its operations on its host. */
const host = Effect.fnUntraced(function* (url: string, ms: number) {
  const clock = skewed(ms)
  const layer = Engine.layer().pipe(
    Layer.provide(Postgres.layer({ url: Redacted.make(url), maxConnections: 3 })),
    Layer.provideMerge(RecordingTransport.layer),
    Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0, receiptDelayMs: 0, resolutionDelayMs: 0 }))),
    Layer.provide(SecretBox.layer(Redacted.make(new Uint8Array(32)))),
    Layer.provide(AddressPolicy.layer([]))
  )
  const on = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    effect.pipe(Effect.withClock(clock), Logger.withMinimumLogLevel(LogLevel.Error))
  const context = yield* on(Layer.build(layer))
  return { engine: Context.get(context, Engine.Engine), on }
})

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour

it.scopedLive(
  "what either of two hosts accepts the other sends and delivers at once, however far their clocks are apart",
  () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const right = yield* host(url, 0)
      const { admin } = right.engine
      const account = yield* admin.accounts.create({
        name: "a",
        plan: { minimumWaitMs: 0, requestsPerMinute: 60 }
      })
      const session = yield* admin.sessions.create(account.id, { name: "s", provider: "sandbox" })
      yield* admin.sessions.connect(session.id)
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const {
        templates: [template]
      } = yield* admin.templates.importAll(session.id, [greeting])
      const { endpoint } = yield* admin.webhooks.create(account.id, {
        url: "https://receiver.example/hook",
        events: ["job.completed"]
      })
      yield* admin.consents.record(account.id, [{ phone: "34600000001", source: "test" }])
      const credentials = { publicKey: key.publicKey, secretKey }
      let sends = 0
      for (const ms of [5 * minute, -5 * minute, hour, -hour, day, -day]) {
        const wrong = yield* host(url, ms)
        const health = yield* wrong.on(wrong.engine.clock.health)
        expect(Math.abs((health.differenceMs ?? 0) + ms)).toBeLessThan(1000)
        expect(health.uncertain).toBe(false)
        for (const [accepting, sending] of [
          [wrong, right],
          [right, wrong]
        ] as const) {
          sends += 1
          const caller = yield* accepting.on(accepting.engine.identify(credentials))
          expect(caller.rate.allowed).toBe(true)
          const { jobId } = yield* accepting.on(
            accepting.engine.send(caller, {
              idempotencyKey: `k${sends}`,
              request: {
                templateId: template?.templateId ?? 0,
                recipients: [{ phone: "34600000001", variables: { "body.1": "Ana" } }]
              }
            })
          )
          yield* Effect.repeatN(Effect.delay(sending.on(sending.engine.drain), 20), 1)
          const detail = yield* right.engine.job(caller, jobId, { page: { limit: 10, after: null } })
          expect(detail.job.status).toBe("completed")
          const page = { limit: 100, after: null }
          const { items } = yield* admin.webhooks.deliveries(endpoint.id, page)
          expect(items).toHaveLength(sends)
          expect(items.every(({ status }) => status === "delivered")).toBe(true)
        }
      }
    }),
  120_000
)
