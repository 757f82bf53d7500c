/** The engine with a gateway over a real socket: odd ids and texts, and refusals that pause, on every store. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { greeting } from "../../../../test/support/Template.ts"
import * as ExternalText from "../../src/domain/ExternalText.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Json from "../../src/domain/Json.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as HttpPlatform from "../../src/testing/HttpPlatform.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Signature from "../../src/webhook/Signature.ts"
import type { Stored } from "../StorageSuite/Setup.ts"
import * as PostgresByTestClock from "../storage/postgres/ByTestClock.ts"

const stores: ReadonlyArray<readonly [name: string, layer: Stored]> = [
  ["memory", Memory.layer],
  ["SQLite", Sqlite.layer({ filename: ":memory:" })],
  ["PostgreSQL", PostgresByTestClock.layer]
]

const embedded = Engine.layer().pipe(
  Layer.provide(RecordingTransport.layer),
  Layer.provide(Layer.unwrapScoped(Effect.map(HttpGateway.make(), (sender) => Sender.layer(sender)))),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([]))
)

const secret = "a-secret-of-the-gateway"
const whole = { limit: 250, after: null }

const json = (status: number, body: object): HttpPlatform.Reply => ({ status, body: JSON.stringify(body) })

/** A session with a gateway that answers each number as it is told. */
const prepared = Effect.fnUntraced(function* (answer: (to: string) => HttpPlatform.Reply) {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const { url } = yield* HttpPlatform.make({
    about: () => undefined,
    answer: ({ body }) => answer(Json.textAt(Json.parse(body), "to") ?? "")
  })
  const account = yield* admin.accounts.create({
    name: "Shop",
    currency: "EUR",
    plan: { minimumWaitMs: 0 }
  })
  const created = yield* admin.sessions.create(account.id, {
    name: "Gateway",
    provider: "http",
    config: { url, secret }
  })
  const session = yield* admin.sessions.connect(created.id)
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [template]
  } = yield* admin.templates.importAll(session.id, [
    { ...greeting, components: [{ type: "BODY", text: "Hello" }] }
  ])
  const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
  const send = Effect.fnUntraced(function* (phones: ReadonlyArray<string>) {
    yield* admin.consents.record(
      account.id,
      phones.map((phone) => ({ phone, source: "test" }))
    )
    const recipients = phones.map((phone) => ({ phone }))
    const request = { templateId: template?.templateId ?? 0, recipients }
    const { jobId } = yield* engine.send(caller, { idempotencyKey: "key", request })
    return Effect.map(engine.job(caller, jobId, { page: whole }), ({ job, results }) => ({
      job,
      results: results.items
    }))
  })
  const hook = Effect.fnUntraced(function* (body: string) {
    const timestamp = Math.floor((yield* Time.now) / Time.second)
    const headers = {
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(secret, timestamp, body)
    }
    yield* engine.hook("http", session.id, {
      method: "POST",
      headers,
      query: {},
      body: new TextEncoder().encode(body)
    })
  })
  return { admin, caller, engine, hook, send, session }
})

const odd = [
  "nul\0",
  "high\ud800",
  "\udfff low",
  "10 KB ".repeat(1700),
  "🎉".repeat(3000),
  "line\r\nlevel=ERROR"
]

const numberOf = (place: number): string => `3460000000${place}`
const placeOf = (to: string): number => Number(to.slice(-1))

for (const [name, layer] of stores) {
  describe(`${name}: a gateway`, () => {
    it.scoped("that gives odd ids has its messages accepted, and its receipts find them", () =>
      Effect.gen(function* () {
        const { engine, hook, send } = yield* prepared((to) => json(200, { id: odd[placeOf(to)] ?? "last" }))
        const phones = [...odd, ""].map((_, place) => numberOf(place))
        const outcome = yield* send(phones)
        yield* engine.drain
        expect((yield* outcome).results.map(({ status }) => status)).toEqual(phones.map(() => "accepted"))
        const receipts = ["nobody's\0", ...odd, "last"].map((id) => ({ id, status: "delivered" }))
        yield* hook(JSON.stringify({ receipts }))
        yield* engine.drain
        expect((yield* outcome).results.map(({ status }) => status)).toEqual(phones.map(() => "delivered"))
      }).pipe(Effect.provide(Layer.provide(embedded, layer)))
    )

    it.scoped("whose clock is wrong has its receipts dated by the time they arrive", () =>
      Effect.gen(function* () {
        const { engine, hook, send } = yield* prepared((to) => json(200, { id: `id-${placeOf(to)}` }))
        const times = ["9999-12-31T23:59:59.999Z", "0000-01-01T00:00:00Z", "2000-01-01T00:00:00Z"]
        const outcome = yield* send(times.map((_, place) => numberOf(place)))
        yield* engine.drain
        const came = yield* Time.now
        const receipts = times.map((at, place) => ({ id: `id-${place}`, status: "delivered", at }))
        yield* hook(JSON.stringify({ receipts }))
        yield* TestClock.adjust("1 minute")
        expect((yield* outcome).results.map(({ deliveredAt }) => deliveredAt)).toEqual(times.map(() => came))
      }).pipe(
        Effect.provide(Layer.provide(embedded, layer)),
        // Before the engine is built: one that runs would live through the years between.
        (test) => Effect.zipRight(TestClock.setTime(Date.UTC(2026, 2, 14, 12)), test)
      )
    )

    it.scoped("that refuses with odd text has its refusals told in order, to who asks directly as well", () =>
      Effect.gen(function* () {
        const { caller, engine, send } = yield* prepared((to) =>
          json(422, { error: { code: odd[placeOf(to)], message: odd[placeOf(to)] } })
        )
        const outcome = yield* send(odd.map((_, place) => numberOf(place)))
        yield* engine.drain
        const { job, results } = yield* outcome
        expect(job.status).toBe("completed")
        for (const [place, text] of odd.entries()) {
          const failure = {
            code: "gateway_refused",
            provider_code: ExternalText.code(text),
            message: ExternalText.message(text),
            permanent: true
          }
          expect(results[place]).toMatchObject({ status: "failed", failure })
          const request = { to: numberOf(place), message: "Hello" }
          expect(
            yield* Effect.flip(engine.sendDirect(caller, { idempotencyKey: undefined, request }))
          ).toMatchObject({
            _tag: "SendFailed",
            failure
          })
        }
      }).pipe(Effect.provide(Layer.provide(embedded, layer)))
    )

    it.scoped("that rejects the credentials by the catalogue's code pauses its jobs, and nothing fails", () =>
      Effect.gen(function* () {
        let knows = false
        const { admin, engine, send, session } = yield* prepared(() =>
          knows
            ? json(200, {})
            : json(401, { error: { code: "credentials_rejected", message: "Token\nexpired." } })
        )
        const outcome = yield* send([numberOf(0), numberOf(1), numberOf(2)])
        yield* engine.drain
        const paused = yield* outcome
        expect(paused.job).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
        expect(paused.results.map(({ attempts, failure }) => [attempts, failure])).toEqual([
          [0, null],
          [0, null],
          [0, null]
        ])
        expect(yield* admin.sessions.find(session.id)).toMatchObject({
          state: "disconnected",
          reason: "Token expired."
        })
        knows = true
        yield* admin.sessions.connect(session.id)
        yield* TestClock.adjust("1 second")
        yield* engine.drain
        expect((yield* outcome).results.map(({ status }) => status)).toEqual([
          "accepted",
          "accepted",
          "accepted"
        ])
      }).pipe(Effect.provide(Layer.provide(embedded, layer)))
    )
  })
}
