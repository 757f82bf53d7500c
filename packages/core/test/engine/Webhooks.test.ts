/** Webhooks of the whole engine in memory: outages, neighbours, rotation, batches, replays. */
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import { Recorder } from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import { verifyWebhook, WebhookRefused } from "../../src/webhook/Verify.ts"
import type { WebhookAnswer } from "../../src/webhook/WebhookTransport.ts"
import { WebhookTransport } from "../../src/webhook/WebhookTransport.ts"
import * as Worker from "../../src/worker/Worker.ts"

const url = "https://receiver.example/"
const page = { limit: 100, after: null }

const answered = (status: number, retryAfter: string | null = null) => ({
  _tag: "Answered" as const,
  status,
  retryAfter,
  excerpt: ""
})
const down: WebhookAnswer = { _tag: "Unanswered", reason: "connection", status: null }

const prepared = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const recorder = yield* Recorder
  const { admin } = engine
  const account = yield* admin.accounts.create({
    name: "Shop",
    currency: "EUR",
    plan: { minimumWaitMs: 0 }
  })
  const { endpoint, secret } = yield* admin.webhooks.create(account.id, { url })
  const test = admin.webhooks.test(endpoint.id)
  const find = Effect.map(admin.webhooks.list(account.id, page), ({ items }) =>
    items.find(({ id }) => id === endpoint.id)
  )
  const bodies = Effect.map(recorder.requests, (requests) => requests.map(({ body }) => body))
  return { account, admin, bodies, endpoint, engine, find, recorder, secret, test }
})

describe("a receiver that answers what the store does not take", { concurrent: true }, () => {
  it.effect("delays no other delivery, and its own are settled without its words", () =>
    Effect.gen(function* () {
      const refused = new StorageError({ operation: "exchange", cause: "refused", fault: "content" })
      const refusing = Layer.effect(
        WebhookStore,
        Effect.map(WebhookStore, (store) => ({
          ...store,
          settleAndClaim: (command: Parameters<typeof store.settleAndClaim>[0]) =>
            command.settlements.some(({ attempt }) => attempt.excerpt.includes("bad"))
              ? Effect.fail(refused)
              : store.settleAndClaim(command)
        }))
      )
      const layer = Engine.layer().pipe(
        Layer.provideMerge(RecordingTransport.layer),
        Layer.provide(refusing),
        Layer.provideMerge(Memory.layer),
        Layer.provide(Sender.layer(Sandbox.make())),
        Layer.provide(SecretBox.layerRandom),
        Layer.provide(AddressPolicy.layer([]))
      )
      yield* Effect.gen(function* () {
        const { account, admin, endpoint, engine, recorder, test } = yield* prepared
        const other = yield* admin.webhooks.create(account.id, { url: `${url}other` })
        const saying = (excerpt: string): WebhookAnswer => ({
          _tag: "Answered",
          status: 200,
          retryAfter: null,
          excerpt
        })
        yield* recorder.answer(url, saying("bad"))
        yield* recorder.answer(`${url}other`, saying("two\nlines\0\ud800"))
        yield* test
        yield* admin.webhooks.test(other.endpoint.id)
        yield* engine.drain
        const told = Effect.fnUntraced(function* (endpointId: string) {
          const { items } = yield* admin.webhooks.deliveries(endpointId, page)
          return items.map(({ attempts, status }) => [status, attempts.map(({ excerpt }) => excerpt)])
        })
        expect(yield* told(endpoint.id)).toEqual([["delivered", [""]]])
        expect(yield* told(other.endpoint.id)).toEqual([["delivered", ["two\nlines\ufffd\ufffd"]]])
      }).pipe(Effect.provide(layer))
    })
  )
})

describe("a receiver that is down for days", { concurrent: true }, () => {
  const hours = (count: number, each: Effect.Effect<unknown, unknown>) =>
    Effect.gen(function* () {
      for (let hour = 0; hour < count; hour++) {
        yield* each
        yield* TestClock.adjust("1 hour")
      }
    })

  it.effect("gets all of it when it is back before it is disabled, each event once", () =>
    Effect.gen(function* () {
      const { bodies, engine, find, recorder, test } = yield* prepared
      yield* recorder.answer(url, down)
      yield* hours(24 * 4, Effect.zipRight(test, engine.drain))
      yield* recorder.answer(url, answered(204))
      const before = (yield* bodies).length
      yield* hours(24 * 5, engine.drain)
      const after = (yield* bodies).slice(before)
      expect(after).toHaveLength(24 * 4)
      expect(new Set(after).size).toBe(24 * 4)
      expect(yield* find).toMatchObject({ enabled: true, failingSince: null })
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("for a week is disabled, and gets all of it, oldest first, when it is enabled", () =>
    Effect.gen(function* () {
      const { admin, bodies, endpoint, engine, find, recorder, test } = yield* prepared
      yield* recorder.answer(url, down)
      yield* hours(24 * 7, Effect.zipRight(test, engine.drain))
      expect(yield* find).toMatchObject({
        enabled: false,
        disabledReason: "Every delivery failed for 5 days."
      })
      const told = [...new Set(yield* bodies)]
      // Nothing is attempted while it is disabled, for however long that is.
      yield* hours(24 * 30, engine.drain)
      const before = (yield* bodies).length
      yield* recorder.answer(url, answered(204))
      yield* admin.webhooks.change(endpoint.id, { enabled: true })
      yield* engine.drain
      const after = (yield* bodies).slice(before)
      expect(after).toHaveLength(24 * 7)
      expect(new Set(after).size).toBe(24 * 7)
      const times = after.map((body): string => JSON.parse(body).created_at)
      expect(times).toEqual(times.toSorted())
      expect(after.slice(0, told.length)).toEqual(told)
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect(
    "has its Retry-After obeyed for at most a day, and gets the event even if it asked for longer",
    () =>
      Effect.gen(function* () {
        const { bodies, engine, recorder, test } = yield* prepared
        yield* recorder.answer(url, answered(503, String(60 * 60 * 24 * 31)))
        yield* test
        yield* engine.drain
        yield* TestClock.adjust("23 hours")
        yield* engine.drain
        expect(yield* bodies).toHaveLength(1)
        yield* recorder.answer(url, answered(200))
        yield* TestClock.adjust("1 hour")
        yield* engine.drain
        expect(yield* bodies).toHaveLength(2)
      }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a change of the secret", { concurrent: true }, () => {
  it.effect(
    "leaves no delivery unverified, whichever secret the receiver knows, until the overlap ends",
    () =>
      Effect.gen(function* () {
        const { admin, endpoint, engine, recorder, secret, test } = yield* prepared
        const verdict = (secrets: string) =>
          Effect.gen(function* () {
            yield* test
            yield* engine.drain
            const { body, headers } = (yield* recorder.requests).at(-1) ?? { body: "", headers: {} }
            const now = yield* Time.now
            try {
              return verifyWebhook({ body, headers, secrets, now }).type
            } catch (error) {
              return error instanceof WebhookRefused ? error.reason : "?"
            }
          })
        const second = yield* admin.webhooks.rotate(endpoint.id, { overlapSeconds: 3600 })
        const third = yield* admin.webhooks.rotate(endpoint.id, { overlapSeconds: 7 * 86_400 })
        for (const each of [secret, second.secret, third.secret]) {
          expect(yield* verdict(each)).toBe("webhook.test")
        }
        yield* TestClock.adjust("2 hours")
        // The first secret's hour is over; the second one was given a week.
        expect(yield* verdict(secret)).toBe("signature_mismatch")
        expect(yield* verdict(second.secret)).toBe("webhook.test")
        const fourth = yield* admin.webhooks.rotate(endpoint.id, { overlapSeconds: 0 })
        expect(yield* verdict(third.secret)).toBe("signature_mismatch")
        expect(yield* verdict(fourth.secret)).toBe("webhook.test")
      }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is refused with an overlap of more than a week, and while ten old ones sign", () =>
    Effect.gen(function* () {
      const { admin, endpoint } = yield* prepared
      const rotate = (overlapSeconds: number) => admin.webhooks.rotate(endpoint.id, { overlapSeconds })
      expect(yield* Effect.flip(rotate(7 * 86_400 + 1))).toMatchObject({ _tag: "InvalidRequest" })
      for (let n = 0; n < 10; n++) yield* rotate(3600)
      expect(yield* Effect.flip(rotate(3600))).toMatchObject({ _tag: "InvalidRequest" })
      const { endpoint: after } = yield* rotate(0)
      const now = yield* Time.now
      expect(after.secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)).toHaveLength(1)
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("an endpoint that asks for batches", { concurrent: true }, () => {
  it.effect("gets changes of recipients many to an event, by its subscription, and the rest as before", () =>
    Effect.gen(function* () {
      const { account, admin, engine, recorder } = yield* prepared
      const batched = yield* admin.webhooks.create(account.id, {
        url: "https://batched.example/",
        events: ["recipient.delivered", "job.*"],
        batchRecipients: true
      })
      expect(batched.endpoint.batchRecipients).toBe(true)
      const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const {
        templates: [template]
      } = yield* admin.templates.importAll(session.id, [
        { name: "hi", language: "en", category: "UTILITY", components: [{ type: "BODY", text: "Hello" }] }
      ])
      const phones = Array.from({ length: 250 }, (_, n) => `3461240${1000 + n}`)
      yield* admin.consents.record(
        account.id,
        phones.map((phone) => ({ phone, source: "test" }))
      )
      const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
      const request = {
        templateId: template?.templateId ?? 0,
        recipients: phones.map((phone) => ({ phone }))
      }
      yield* engine.send(caller, { idempotencyKey: "batched", request })
      yield* engine.drain
      interface Told {
        readonly type: string
        readonly data: {
          readonly changes: ReadonlyArray<{
            readonly type: string
            readonly data: { readonly phone: string }
          }>
        }
      }
      const events = (yield* recorder.requests)
        .filter((each) => each.url === "https://batched.example/")
        .map(({ body }): Told => JSON.parse(body))
      const batches = events.filter(({ type }) => type === "recipient.batch")
      const sizes = batches.map(({ data }) => data.changes.length)
      expect(Math.max(...sizes)).toBeLessThanOrEqual(100)
      expect(sizes.length).toBeLessThan(100)
      const changes = batches.flatMap(({ data }) => data.changes)
      expect(new Set(changes.map(({ type }) => type))).toEqual(new Set(["recipient.delivered"]))
      expect(changes.map(({ data }) => data.phone).toSorted()).toEqual(phones.toSorted())
      const others = events.filter(({ type }) => type !== "recipient.batch").map(({ type }) => type)
      expect(others.toSorted()).toEqual(["job.completed", "job.processing"])
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("replays", { concurrent: true }, () => {
  it.effect(
    "bring back what failed, and what was never sent here, once however often they are asked for",
    () =>
      Effect.gen(function* () {
        const { account, admin, bodies, endpoint, engine, recorder, test } = yield* prepared
        yield* recorder.answer(url, answered(500))
        const since = yield* Time.now
        yield* test
        yield* engine.drain
        yield* recorder.answer(url, answered(200))
        const replay = (id: string, which: "failed" | "missing") =>
          admin.webhooks.replaySince({ id, since, which })
        const looked = (id: string, which: "failed" | "missing") =>
          Effect.replicateEffect(admin.webhooks.replaySince({ id, since, which, dryRun: true }), 2)
        expect(yield* looked(endpoint.id, "failed")).toEqual([1, 1])
        expect([yield* replay(endpoint.id, "failed"), yield* replay(endpoint.id, "failed")]).toEqual([1, 0])
        expect(yield* looked(endpoint.id, "failed")).toEqual([0, 0])
        yield* engine.drain
        expect(yield* bodies).toHaveLength(2)
        yield* admin.webhooks.change(endpoint.id, { events: ["consent.*"] })
        yield* admin.consents.record(account.id, [{ phone: "34600000001", source: "test" }])
        yield* engine.drain
        const late = yield* admin.webhooks.create(account.id, { url: "https://late.example/", events: ["*"] })
        const missing = () => replay(late.endpoint.id, "missing")
        expect(yield* looked(late.endpoint.id, "missing")).toEqual([1, 1])
        expect([yield* missing(), yield* missing()]).toEqual([1, 0])
        yield* engine.drain
        const requests = yield* recorder.requests
        const [same] = requests.filter((each) => each.url === "https://late.example/")
        expect(same?.body).toBe((yield* bodies)[2])
      }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("the neighbours of receivers that are dead", { concurrent: true }, () => {
  /** How a receiver behaves, by the host of its URL. */
  const behave = (host: string): Effect.Effect<WebhookAnswer> => {
    if (host.startsWith("hangs")) {
      return Effect.delay(Effect.succeed({ ...down, reason: "timeout" as const }), "15 seconds")
    }
    if (host.startsWith("errs")) return Effect.delay(Effect.succeed(answered(500)), "10 millis")
    if (host.startsWith("resets")) return Effect.succeed(down)
    return Effect.delay(Effect.succeed(answered(204)), "20 millis")
  }

  /** The worst time from an event to its delivery at a healthy receiver, and how often the dead ones were asked. */
  const run = (dead: number) =>
    Effect.gen(function* () {
      const late: Array<number> = []
      let asked = 0
      const transport = Layer.succeed(WebhookTransport, {
        post: ({ body, url }) =>
          Effect.gen(function* () {
            const host = new URL(url).hostname
            const answer = yield* behave(host)
            const now = yield* Time.now
            const { created_at }: { readonly created_at: string } = JSON.parse(body)
            if (host.startsWith("healthy")) late.push(now - (Time.parse(created_at) ?? 0))
            else asked += 1
            return answer
          })
      })
      const layer = Worker.layerLoops.pipe(
        Layer.provideMerge(Engine.layer({ deliveries: 24, graceMs: 0 })),
        Layer.provideMerge(Memory.layer),
        Layer.provide([
          transport,
          Sender.layer(Sandbox.make()),
          SecretBox.layerRandom,
          AddressPolicy.layer([])
        ])
      )
      const context = yield* Layer.build(layer)
      const { admin } = Context.get(context, Engine.Engine)
      const hosts = ["healthy0", "healthy1", "healthy2", "healthy3"].concat(
        Array.from({ length: dead }, (_, n) => `${["hangs", "errs", "resets"][n % 3]}${n}`)
      )
      const endpoints = yield* Effect.forEach(hosts, (host) =>
        Effect.gen(function* () {
          const account = yield* admin.accounts.create({ name: host, currency: "EUR" })
          return (yield* admin.webhooks.create(account.id, { url: `https://${host}.example/` })).endpoint.id
        })
      )
      for (let turn = 0; turn < 70; turn++) {
        yield* Effect.forEach(endpoints, admin.webhooks.test)
        yield* TestClock.adjust("1 second")
      }
      return { asked, count: late.length, worst: Math.max(...late) }
    }).pipe(Effect.scoped)

  it.effect(
    "wait no longer than without them, while those are asked ever less often",
    () =>
      Effect.gen(function* () {
        const alone = yield* run(0)
        const among = yield* run(9)
        expect([alone.count, among.count]).toEqual([280, 280])
        expect(among.worst).toBeLessThanOrEqual(1.1 * alone.worst)
        expect(among.asked).toBeLessThan(9 * 50)
      }),
    60_000
  )
})
