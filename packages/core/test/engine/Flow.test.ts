/** The whole engine in memory under the test clock: sends, receipts, retries, webhooks, direct messages. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { greeting } from "../../../../test/support/Template.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Requests from "../../src/schema/Requests.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { Recorder } from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import { verifyWebhook } from "../../src/webhook/Verify.ts"
import { Worker } from "../../src/worker/Worker.ts"

const whole = { limit: 250, after: null }

const prepared = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const account = yield* admin.accounts.create({
    name: "Shop",
    currency: "EUR",
    plan: { minimumWaitMs: 0 }
  })
  const session = yield* admin.sessions.create(account.id, { name: "Sandbox", provider: "sandbox" })
  const { key, secretKey } = yield* admin.keys.issue(session.id, {})
  const {
    templates: [imported]
  } = yield* admin.templates.importAll(session.id, [greeting])
  const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
  const consent = (...phones: ReadonlyArray<string>) =>
    admin.consents.record(
      account.id,
      phones.map((phone) => ({ phone, source: "test" }))
    )
  const request = (...phones: ReadonlyArray<string>) => ({
    templateId: imported?.templateId ?? 0,
    variables: { "body.1": "Ana" },
    recipients: phones.map((phone) => ({ phone }))
  })
  const send = Effect.fnUntraced(function* (idempotencyKey: string, ...phones: ReadonlyArray<string>) {
    yield* consent(...phones)
    return yield* engine.send(caller, { idempotencyKey, request: request(...phones) })
  })
  const results = (jobId: string) =>
    Effect.map(engine.job(caller, jobId, { page: whole }), ({ results }) => results.items)
  return { engine, admin, account, session, key, caller, consent, request, send, results }
})

describe("a send", () => {
  it.effect("reaches every outcome of the sandbox, with its reason, in its own time", () =>
    Effect.gen(function* () {
      const { admin, caller, engine, results, send } = yield* prepared
      const phones = Array.from({ length: 10 }, (_, last) => `3460000000${last}`)
      const { jobId } = yield* send("all", ...phones)
      yield* engine.drain
      const early = yield* results(jobId)
      expect(early.map(({ status }) => status)).toEqual([
        "delivered",
        "failed",
        "sending",
        "sending",
        "failed",
        "delivered",
        "unknown",
        "sent",
        "delivered",
        "delivered"
      ])
      expect(early[3]?.nextAt).toBeGreaterThanOrEqual(1000)
      for (let minute = 0; minute < 3; minute++) {
        yield* TestClock.adjust("1 minute")
        yield* engine.drain
      }
      const { job } = yield* engine.job(caller, jobId, { page: whole })
      expect(job.status).toBe("completed")
      expect(job.counts).toMatchObject({ delivered: 6, failed: 2, unknown: 1, sent: 1 })
      const ofCode = (code: string) =>
        Effect.map(admin.jobs.list({ code, page: { limit: 10, after: null } }), ({ items }) =>
          items.map(({ id }) => id)
        )
      expect(yield* ofCode("recipient_unreachable")).toEqual([jobId])
      expect(yield* ofCode("template_paused")).toEqual([])
      const late = yield* results(jobId)
      expect(late.map(({ attempts }) => attempts)).toEqual([1, 1, 3, 2, 1, 1, 1, 1, 1, 1])
      expect(late[1]?.failure).toMatchObject({ code: "recipient_unreachable", permanent: true })
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("skips a recipient whose consent was revoked after acceptance", () =>
    Effect.gen(function* () {
      const { account, admin, engine, results, send } = yield* prepared
      const { jobId } = yield* send("revoked", "34600000100", "34600000101")
      yield* TestClock.adjust("1 second")
      yield* admin.consents.record(account.id, [{ phone: "34600000101", status: "revoked", source: "test" }])
      yield* engine.drain
      const found = yield* results(jobId)
      expect(found.map(({ status }) => status)).toEqual(["delivered", "skipped"])
      expect(found[1]?.failure?.code).toBe("consent_required")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("revokes consent when a person replies STOP, with the message as proof", () =>
    Effect.gen(function* () {
      const { account, admin, caller, engine, request, send } = yield* prepared
      yield* send("stop", "34600000009")
      yield* engine.drain
      const { current, history } = yield* admin.consents.find(account.id, { phone: "34600000009" })
      expect(current.map(({ verdict }) => verdict._tag)).toEqual(Array(4).fill("Revoked"))
      expect(history[0]).toMatchObject({ status: "revoked", source: "inbound-message" })
      expect(history[0]?.proof).toContain("STOP")
      const refused = yield* Effect.flip(
        engine.send(caller, { idempotencyKey: "again", request: request("34600000009") })
      )
      expect(refused._tag).toBe("ConsentRequired")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("keeps the template as it was accepted", () =>
    Effect.gen(function* () {
      const { admin, caller, engine, send, session } = yield* prepared
      const { jobId } = yield* send("frozen", "34600000100")
      yield* admin.templates.importAll(session.id, [
        { ...greeting, components: [{ type: "BODY", text: "Changed {{1}}" }] }
      ])
      const { job } = yield* engine.job(caller, jobId, { page: whole })
      expect(JSON.stringify(job.content)).toContain("Hello {{1}}")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("pauses with its session, and goes on when it is back", () =>
    Effect.gen(function* () {
      const { admin, caller, engine, send, session } = yield* prepared
      const { jobId } = yield* send("paused", "34600000002")
      yield* engine.drain
      yield* admin.sessions.disconnect(session.id)
      yield* TestClock.adjust("1 minute")
      yield* engine.drain
      const paused = yield* admin.jobs.find(jobId, { page: whole })
      expect([paused.job.status, paused.job.pauseReason, paused.waitingFor?.limiter]).toEqual([
        "paused",
        "session_disconnected",
        "session"
      ])
      yield* admin.sessions.connect(session.id)
      for (let minute = 0; minute < 2; minute++) {
        yield* engine.drain
        yield* TestClock.adjust("1 minute")
      }
      yield* engine.drain
      expect((yield* engine.job(caller, jobId, { page: whole })).job.counts.delivered).toBe(1)
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("of a body that was never a request is refused by field, in process as over HTTP", () =>
    Effect.gen(function* () {
      const { caller, engine } = yield* prepared
      const request = new Requests.Unchecked({ template_id: "1", recipients: [{ phone: "+1" }] })
      const refused = yield* Effect.flip(engine.send(caller, { idempotencyKey: undefined, request }))
      expect(
        refused._tag === "InvalidRequest" ? refused.faults.map(({ path }) => path.join("/")) : []
      ).toEqual(["headers/Idempotency-Key", "template_id", "recipients/0/phone"])
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a direct message", () => {
  it.effect("is answered at once, again under its key, and told by message events", () =>
    Effect.gen(function* () {
      const { account, admin, caller, consent, engine } = yield* prepared
      yield* admin.webhooks.create(account.id, { url: "https://receiver.example/" })
      yield* consent("34600000100", "34600000001")
      const request = { to: "34600000100", message: "Hello" }
      const first = yield* engine.sendDirect(caller, { idempotencyKey: "d", request })
      const again = yield* engine.sendDirect(caller, { idempotencyKey: "d", request })
      expect(again).toEqual({ ...first, replayed: true })
      const failed = yield* Effect.flip(
        engine.sendDirect(caller, { idempotencyKey: "f", request: { ...request, to: "34600000001" } })
      )
      expect(failed).toMatchObject({
        _tag: "SendFailed",
        outcome: "failed",
        failure: { provider_code: "131026" }
      })
      yield* engine.drain
      const requests = yield* (yield* Recorder).requests
      expect(requests.map(({ body }): string => JSON.parse(body).type).sort()).toEqual([
        "message.accepted",
        "message.delivered",
        "message.failed",
        "message.sent"
      ])
      const { items } = yield* admin.jobs.messages({
        accountId: account.id,
        page: { limit: 10, after: null }
      })
      expect(items.map(({ recipient }) => recipient.status)).toEqual(["failed", "delivered"])
      const toOne = (phone: string) =>
        Effect.map(
          admin.jobs.messages({ accountId: account.id, phone, page: { limit: 10, after: null } }),
          ({ items }) => items.map(({ recipient }) => recipient.status)
        )
      expect(yield* toOne("34600000001")).toEqual(["failed"])
      expect(yield* toOne("34600000002")).toEqual([])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("whose outcome is unknown is settled by any receipt, and each change is told", () =>
    Effect.gen(function* () {
      const { account, admin, caller, consent, engine } = yield* prepared
      yield* admin.webhooks.create(account.id, { url: "https://receiver.example/" })
      const recorder = yield* Recorder
      for (const [index, status] of (["sent", "delivered", "failed"] as const).entries()) {
        const to = `34600${index}0006`
        yield* consent(to)
        const request = { to, message: "Hello", reference: status }
        const sent = yield* Effect.flip(engine.sendDirect(caller, { idempotencyKey: undefined, request }))
        if (sent._tag !== "SendFailed" || sent.messageId === null) return yield* Effect.die(sent)
        const { messageId } = sent
        expect((yield* engine.message(caller, messageId)).recipient.status).toBe("unknown")
        const failure = { code: "undeliverable", provider_code: null, message: "Gone.", permanent: true }
        const now = yield* Time.now
        const report = { messageId, status, at: now, failure, providerId: null }
        expect(yield* engine.receive([report])).toEqual([])
        const settled = yield* engine.message(caller, messageId)
        expect(settled).toMatchObject({ job: { reference: status }, recipient: { status } })
        expect(settled.recipient.failure).toEqual(status === "failed" ? failure : null)
      }
      yield* engine.drain
      const told = (yield* recorder.requests).map(({ body }) => JSON.parse(body))
      expect(told.map(({ data, type }): unknown => [type, data.reference, data.status]).sort()).toEqual([
        ["message.delivered", "delivered", "delivered"],
        ["message.failed", "failed", "failed"],
        ["message.sent", "sent", "sent"]
      ])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is tried again while that is soon", () =>
    Effect.gen(function* () {
      const { caller, consent, engine } = yield* prepared
      yield* consent("34600000003")
      const sending = yield* Effect.fork(
        engine.sendDirect(caller, {
          idempotencyKey: undefined,
          request: { to: "34600000003", message: "Hi" }
        })
      )
      yield* TestClock.adjust("3 seconds")
      expect((yield* Fiber.join(sending)).status).toBe("accepted")
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("webhooks", () => {
  it.effect("are retried on the schedule with the same id and bytes, signed anew", () =>
    Effect.gen(function* () {
      const { account, admin, engine } = yield* prepared
      const url = "https://receiver.example/"
      const { endpoint, secret } = yield* admin.webhooks.create(account.id, { url })
      const recorder = yield* Recorder
      yield* recorder.answer(url, { _tag: "Unanswered", reason: "timeout", status: null })
      yield* admin.webhooks.test(endpoint.id)
      yield* engine.drain
      yield* TestClock.adjust("7 seconds")
      yield* engine.drain
      yield* TestClock.adjust("2 minutes")
      yield* recorder.answer(url, { _tag: "Answered", status: 204, retryAfter: null, excerpt: "" })
      yield* engine.drain
      yield* TestClock.adjust("30 days")
      yield* engine.drain
      const requests = yield* recorder.requests
      expect(requests).toHaveLength(3)
      expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
      expect(new Set(requests.map(({ headers }) => headers["webhook-id"])).size).toBe(1)
      for (const { body, headers } of requests) {
        const now = Number(headers["X-Service-Timestamp"]) * 1000
        expect(verifyWebhook({ body, headers, secrets: secret, now }).type).toBe("webhook.test")
      }
      const { items } = yield* admin.webhooks.deliveries(endpoint.id, { limit: 10, after: null })
      expect(items[0]?.attempts.map(({ reason }) => reason)).toEqual(["timeout", "timeout", null])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("are given up after 8 days, and disable what has failed for 5, telling the others", () =>
    Effect.gen(function* () {
      const { account, admin, engine } = yield* prepared
      const dead = yield* admin.webhooks.create(account.id, { url: "https://dead.example/" })
      yield* admin.webhooks.create(account.id, {
        url: "https://alive.example/",
        events: ["webhook.disabled"]
      })
      const recorder = yield* Recorder
      yield* recorder.answer("https://dead.example/", {
        _tag: "Answered",
        status: 500,
        retryAfter: null,
        excerpt: ""
      })
      yield* admin.webhooks.test(dead.endpoint.id)
      for (let hour = 0; hour < 24 * 7; hour++) {
        yield* engine.drain
        yield* TestClock.adjust("1 hour")
      }
      const { items } = yield* admin.webhooks.list(account.id, { limit: 10, after: null })
      expect(items.map(({ enabled }) => enabled)).toEqual([true, false])
      const requests = yield* recorder.requests
      const alive = requests.filter(({ url }) => url === "https://alive.example/")
      expect(alive.map(({ body }): string => JSON.parse(body).type)).toEqual(["webhook.disabled"])
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a caller", () => {
  it.effect("is refused with a wrong secret, and limited to the requests of its plan", () =>
    Effect.gen(function* () {
      const { account, admin, engine, key, session } = yield* prepared
      const wrong = yield* Effect.exit(engine.identify({ publicKey: key.publicKey, secretKey: "sk_wrong" }))
      expect(Exit.isFailure(wrong)).toBe(true)
      yield* admin.accounts.change(account.id, { plan: { requestsPerMinute: 2 } })
      const fresh = yield* admin.keys.issue(session.id, {})
      const credentials = { publicKey: fresh.key.publicKey, secretKey: fresh.secretKey }
      yield* engine.identify(credentials)
      yield* engine.identify(credentials)
      expect(yield* Effect.flip(engine.identify(credentials))).toMatchObject({
        _tag: "RateLimited",
        retryAfterMs: 30_000
      })
      yield* TestClock.adjust("30 seconds")
      expect((yield* engine.identify(credentials)).rate.remaining).toBe(0)
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("another key of the same session", () => {
  it.effect("reads no message and reads and cancels no job of this one", () =>
    Effect.gen(function* () {
      const { admin, caller, consent, engine, request, session } = yield* prepared
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      const other = yield* engine.identify({ publicKey: key.publicKey, secretKey })
      yield* consent("34600000100", "34600000101")
      const direct = { to: "34600000100", message: "Hello" }
      const { messageId } = yield* engine.sendDirect(caller, { idempotencyKey: "d", request: direct })
      const { jobId } = yield* engine.send(caller, { idempotencyKey: "j", request: request("34600000101") })
      for (const refused of [
        yield* Effect.flip(engine.message(other, messageId)),
        yield* Effect.flip(engine.job(other, jobId, { page: whole })),
        yield* Effect.flip(engine.cancel(other, jobId))
      ]) {
        expect(refused._tag).toBe("NotFound")
      }
      expect((yield* engine.message(caller, messageId)).job.id).toBe(`${messageId.slice(0, -3)}000`)
      expect((yield* engine.cancel(caller, jobId)).status).toBe("canceled")
      expect(yield* Effect.flip(engine.cancel(caller, jobId))).toMatchObject({
        _tag: "JobEnded",
        status: "canceled"
      })
      expect(yield* Effect.flip(admin.jobs.retry(jobId))).toMatchObject({ _tag: "JobEnded" })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a job that nobody works on", () => {
  it.effect("waits for a worker, until one lives over the store in whatever process", () =>
    Effect.gen(function* () {
      const { caller, engine, send } = yield* prepared
      const { jobId } = yield* send("lonely", "34600000001")
      const waitingFor = Effect.map(engine.job(caller, jobId, { page: whole }), (detail) => detail.waitingFor)
      const worker = { limiter: "worker", until: null }
      expect(yield* waitingFor).toEqual(worker)
      const jobs = yield* JobStore
      const beat = (at: Time.Instant | null, beats: number) =>
        jobs.heartbeat({ workers: ["elsewhere"], beats, dispatchesAt: at })
      // One that only has in hand what it was asked for takes nothing by itself.
      yield* beat(null, 1)
      expect(yield* waitingFor).toEqual(worker)
      yield* beat(yield* Time.now, 2)
      yield* TestClock.adjust("14 seconds")
      expect(yield* waitingFor).toBeNull()
      yield* TestClock.adjust("1 second")
      expect(yield* waitingFor).toEqual(worker)
      // Said by a clock that was ahead.
      yield* beat(Time.after(yield* Time.now, 86_400_000), 3)
      expect(yield* waitingFor).toEqual(worker)
      yield* engine.drain
      expect(yield* waitingFor).toBeNull()
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("waits for none where the loops run in this process", () =>
    Effect.gen(function* () {
      const { admin, caller, engine, send, session } = yield* prepared
      yield* admin.sessions.change(session.id, { pacing: { messagesPerSecond: 1 } })
      const { jobId } = yield* send("here", "34600000001", "34600000002", "34600000003")
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* (yield* Worker).start
          yield* TestClock.adjust("500 millis")
          const detail = yield* engine.job(caller, jobId, { page: whole })
          expect(detail.waitingFor).toEqual({ limiter: "pace", until: 2500 })
        })
      )
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a paced session", () => {
  it.effect("sends at its pace, and says when a job will be through", () =>
    Effect.gen(function* () {
      const { admin, caller, engine, send, session } = yield* prepared
      const paced = yield* admin.sessions.change(session.id, { pacing: { messagesPerSecond: 2 } })
      expect(paced.pacing).toEqual({ messagesPerSecond: 2, pairIntervalMs: null })
      const { jobId } = yield* send("paced", ...Array.from({ length: 5 }, (_, n) => `3460000010${n}`))
      yield* engine.drain
      const now = yield* Time.now
      yield* (yield* JobStore).heartbeat({ workers: ["elsewhere"], beats: 1, dispatchesAt: now })
      const detail = yield* engine.job(caller, jobId, { page: whole })
      expect(detail.waitingFor).toEqual({ limiter: "pace", until: now + 2000 })
      expect(detail).toMatchObject({ endsAt: now + 2000, limitedBy: "pace" })
      for (let step = 0; step < 4; step++) {
        yield* TestClock.adjust("500 millis")
        yield* engine.drain
      }
      const done = yield* engine.job(caller, jobId, { page: whole })
      expect(done).toMatchObject({ endsAt: null, limitedBy: null, job: { status: "completed" } })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
