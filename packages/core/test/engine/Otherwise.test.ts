/** A template in the place of a text that the platform takes no more, as one message (contract.md §14). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { OutboundMessage } from "../../src/sender/Sender.ts"
import { SendResult } from "../../src/sender/Sender.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import { embedded, platform, wroteTo } from "../worker/Support.ts"

const to = "34600000021"
const closed = { code: "window_closed", provider_code: "131047", message: "Too late.", permanent: true }
const other = { ...closed, code: "undeliverable", provider_code: "131026" }
const unsaid = { ...closed, code: "outcome_unknown", provider_code: null, permanent: false }

type Answer = (message: OutboundMessage) => SendResult

const harness = () => {
  let answer: Answer = () => SendResult.Accepted({ providerId: null, status: "accepted" })
  const kinds: Array<string> = []
  const messages: Array<OutboundMessage> = []
  const { sender } = platform({ hasWindow: true }, (message) =>
    Effect.sync(() => {
      kinds.push(message.content.kind)
      messages.push(message)
      return answer(message)
    })
  )
  const layer = Layer.provideMerge(embedded(sender), Layer.merge(Memory.layer, RecordingTransport.layer))
  const ready = Effect.gen(function* () {
    yield* TestClock.setTime(20 * Time.day)
    const engine = yield* Engine.Engine
    const { accountId, caller, templateId } = yield* prepare(engine, [to])
    const wrote = wroteTo(accountId, caller.session.id, to)
    const otherwise = { template_id: templateId, variables: { "body.1": "Ana", "body.2": "1" } }
    const send = (idempotencyKey?: string) =>
      engine.sendDirect(caller, { idempotencyKey, request: { to, message: "Hi", otherwise } })
    const story = (id: string) =>
      Effect.map(engine.message(caller, id), ({ job, recipient }) => ({
        status: recipient.status,
        isReplaced: job.replacedAt !== null,
        attempts: recipient.attempts,
        failure: recipient.failure?.code ?? null
      }))
    const revoke = engine.admin.consents.record(accountId, [
      { phone: to, source: "phone", status: "revoked", purpose: "utility" }
    ])
    const report = (
      messageId: string,
      status: "delivered" | "failed",
      failure: typeof closed | null = null
    ) =>
      Effect.flatMap(Time.now, (at) => engine.receive([{ messageId, status, at, failure, providerId: null }]))
    const hears = engine.admin.webhooks.create(accountId, { url: "https://receiver.example/" })
    const recorder = yield* RecordingTransport.Recorder
    const told = Effect.zipRight(engine.drain, recorder.requests).pipe(
      Effect.map((all) => all.map(({ body }) => JSON.parse(body))),
      Effect.map((all) => all.map(({ data, type }): unknown => [type, data.status, data.error?.code ?? null]))
    )
    const answers = (next: Answer) => {
      answer = next
    }
    return { accountId, answers, hears, told, caller, engine, otherwise, report, revoke, send, story, wrote }
  })
  return { kinds, layer, messages, ready }
}

const refusesTexts: Answer = ({ content, messageId }) =>
  content.kind === "direct"
    ? SendResult.Rejected({ failure: closed })
    : SendResult.Accepted({ providerId: `p-${messageId}`, status: "accepted" })

describe("a text with a template in its place", () => {
  const open = harness()
  it.effect("goes as it is while the window may be open", () =>
    Effect.gen(function* () {
      const { send, story, wrote } = yield* open.ready
      yield* wrote(0)
      const sent = yield* send()
      expect(sent).toMatchObject({ status: "accepted", sentAs: "text" })
      expect(open.kinds).toEqual(["direct"])
      expect(open.messages[0]?.content).not.toHaveProperty("otherwise")
      expect(yield* story(sent.messageId)).toMatchObject({ status: "accepted", isReplaced: false })
    }).pipe(Effect.provide(open.layer))
  )

  const known = harness()
  it.effect(
    "goes as the template where the window is certainly closed, and nobody is asked for the text",
    () =>
      Effect.gen(function* () {
        const { send, story, wrote } = yield* known.ready
        yield* wrote(2 * Time.day)
        const sent = yield* send("k1")
        expect(sent).toMatchObject({ status: "accepted", sentAs: "template", replayed: false })
        expect(yield* send("k1")).toMatchObject({
          messageId: sent.messageId,
          sentAs: "template",
          replayed: true
        })
        expect(known.kinds).toEqual(["template"])
        expect(known.messages[0]).toMatchObject({ values: ["Ana", "1"], messageId: sent.messageId })
        expect(yield* story(sent.messageId)).toMatchObject({ status: "accepted", isReplaced: true })
      }).pipe(Effect.provide(known.layer))
  )

  const answered = harness()
  it.effect(
    "goes as the template in the same message once the platform's answer refuses it for the window",
    () =>
      Effect.gen(function* () {
        const { answers, caller, engine, send, story } = yield* answered.ready
        answers(refusesTexts)
        const sent = yield* send("k1")
        expect(sent).toMatchObject({ status: "accepted", sentAs: "template" })
        expect(answered.kinds).toEqual(["direct", "template"])
        expect(new Set(answered.messages.map(({ messageId }) => messageId))).toEqual(
          new Set([sent.messageId])
        )
        expect(yield* story(sent.messageId)).toMatchObject({
          status: "accepted",
          failure: null,
          isReplaced: true
        })
        expect((yield* engine.window(caller, to)).open).toBe(false)
        expect(yield* send("k1")).toMatchObject({ sentAs: "template", replayed: true })
        const { message, timeline } = yield* engine.timeline(caller, sent.messageId)
        expect(message.sentAs).toBe("template")
        expect(timeline.map(({ code, kind }) => [kind, code])).toEqual([
          ["accepted", null],
          ["consent", null],
          ["attempt", "window_closed"],
          ["retried", null],
          ["attempt", null]
        ])
      }).pipe(Effect.provide(answered.layer))
  )

  const later = harness()
  it.effect(
    "goes as the template once a receipt refuses it; what the platform says of the text later changes nothing",
    () =>
      Effect.gen(function* () {
        const { engine, report, send, story } = yield* later.ready
        const { messageId } = yield* send()
        yield* TestClock.adjust("5 seconds")
        yield* report(messageId, "failed", closed)
        expect(yield* story(messageId)).toMatchObject({ status: "queued", isReplaced: true })
        yield* report(messageId, "failed", closed)
        yield* engine.drain
        expect(later.kinds).toEqual(["direct", "template"])
        expect(yield* story(messageId)).toMatchObject({ status: "accepted", failure: null })
        yield* TestClock.adjust("5 seconds")
        yield* report(messageId, "failed", closed)
        yield* engine.drain
        expect(later.kinds).toHaveLength(2)
        expect(yield* story(messageId)).toMatchObject({ status: "accepted" })
        yield* report(messageId, "delivered")
        expect(yield* story(messageId)).toMatchObject({ status: "delivered" })
      }).pipe(Effect.provide(later.layer))
  )

  const unclear = harness()
  it.effect("goes never as both: after no answer, and after another refusal, no template goes", () =>
    Effect.gen(function* () {
      const { answers, engine, send } = yield* unclear.ready
      answers(() => SendResult.Ambiguous({ failure: unsaid }))
      expect(yield* Effect.flip(send())).toMatchObject({ outcome: "unknown" })
      answers(() => SendResult.Rejected({ failure: other }))
      expect(yield* Effect.flip(send())).toMatchObject({ outcome: "failed" })
      yield* engine.drain
      expect(unclear.kinds).toEqual(["direct", "direct"])
    }).pipe(Effect.provide(unclear.layer))
  )

  const refused = harness()
  it.effect("has the template's consent: refused before it is accepted, or at its turn", () =>
    Effect.gen(function* () {
      const { answers, revoke, send, wrote } = yield* refused.ready
      answers(refusesTexts)
      yield* revoke
      expect(yield* Effect.flip(send())).toMatchObject({
        outcome: "failed",
        failure: { code: "consent_required" }
      })
      expect(refused.kinds).toEqual(["direct"])
      yield* wrote(2 * Time.day)
      expect(yield* Effect.flip(send())).toMatchObject({ _tag: "ConsentRequired" })
      expect(refused.kinds).toEqual(["direct"])
    }).pipe(Effect.provide(refused.layer))
  )

  const busy = harness()
  it.effect("leaves a template that has to wait to the workers, who attempt it once", () =>
    Effect.gen(function* () {
      const { answers, engine, send, story } = yield* busy.ready
      answers(({ content }) =>
        content.kind === "direct"
          ? SendResult.Rejected({ failure: closed })
          : SendResult.Transient({ failure: { ...other, permanent: false }, retryAfterMs: 60_000 })
      )
      const sent = yield* send()
      expect(sent).toMatchObject({ status: "queued", sentAs: "template" })
      answers(refusesTexts)
      yield* engine.drain
      expect(busy.kinds).toEqual(["direct", "template"])
      yield* TestClock.adjust("5 minutes")
      yield* engine.drain
      expect(busy.kinds).toEqual(["direct", "template", "template"])
      expect(yield* story(sent.messageId)).toMatchObject({ status: "accepted" })
    }).pipe(Effect.provide(busy.layer))
  )

  const given = harness()
  it.effect("is told to have failed once its template is canceled", () =>
    Effect.gen(function* () {
      const { engine, hears, report, send, told } = yield* given.ready
      yield* hears
      const { messageId } = yield* send()
      yield* TestClock.adjust("5 seconds")
      yield* report(messageId, "failed", closed)
      yield* engine.admin.people.erase({ phone: to, reason: "letter" })
      expect(yield* told).toEqual([
        ["message.accepted", "accepted", null],
        ["message.failed", "canceled", "canceled"]
      ])
    }).pipe(Effect.provide(given.layer))
  )

  const withdrawn = harness()
  it.effect("is told to have failed without consent to its template, by the answer as by a receipt", () =>
    Effect.gen(function* () {
      const { answers, hears, report, revoke, send, told, wrote } = yield* withdrawn.ready
      yield* hears
      yield* revoke
      const { messageId } = yield* send()
      yield* TestClock.adjust("5 seconds")
      yield* report(messageId, "failed", closed)
      const skipped = ["message.failed", "skipped", "consent_required"]
      expect(yield* told).toEqual([["message.accepted", "accepted", null], skipped])
      answers(refusesTexts)
      yield* wrote(0)
      yield* Effect.flip(send())
      expect((yield* told).slice(2)).toEqual([skipped])
    }).pipe(Effect.provide(withdrawn.layer))
  )

  const unpaid = harness()
  it.effect("needs a plan with templates, and no permission but that of a direct message", () =>
    Effect.gen(function* () {
      const { accountId, caller, engine, otherwise, wrote } = yield* unpaid.ready
      yield* wrote(2 * Time.day)
      const { key, secretKey } = yield* engine.admin.keys.issue(caller.session.id, {
        permissions: ["direct:send"]
      })
      const send = Effect.gen(function* () {
        const direct = yield* engine.identify({ publicKey: key.publicKey, secretKey })
        const request = { to, message: "Hi", otherwise }
        return yield* engine.sendDirect(direct, { idempotencyKey: undefined, request })
      })
      expect(yield* send).toMatchObject({ sentAs: "template" })
      yield* engine.admin.accounts.change(accountId, { plan: { features: ["direct"] } })
      yield* TestClock.adjust("2 seconds")
      expect(yield* Effect.flip(send)).toMatchObject({ _tag: "FeatureUnavailable", feature: "templates" })
      expect(unpaid.kinds).toEqual(["template"])
    }).pipe(Effect.provide(unpaid.layer))
  )

  const priced = harness()
  it.effect(
    "has the template's price, however it came in the text's place, and shows both in its story",
    () =>
      Effect.gen(function* () {
        const { accountId, answers, caller, engine, otherwise, report, send, wrote } = yield* priced.ready
        yield* engine.admin.rateCards.add({
          currency: caller.account.currency,
          effectiveFrom: Time.at(0),
          prices: [{ market: "*", prefixes: null, category: "utility", price: "0.0500" }]
        })
        const costs = Effect.fnUntraced(function* (messageId: string) {
          yield* engine.drain
          yield* report(messageId, "delivered")
          const { actualCost, job, recipient } = yield* engine.message(caller, messageId)
          const { message } = yield* engine.timeline(caller, messageId)
          expect(message).toMatchObject({
            estimated: "0.0500",
            template: { templateId: otherwise.template_id },
            content: { body: "Hi" }
          })
          return [recipient.status, job.estimatedCost, actualCost]
        })
        const cost = ["delivered", "0.0500", "0.0500"]
        const late = yield* send()
        expect((yield* engine.message(caller, late.messageId)).job.estimatedCost).toBeNull()
        yield* TestClock.adjust("5 seconds")
        yield* report(late.messageId, "failed", closed)
        yield* TestClock.adjust("5 seconds")
        expect(yield* costs(late.messageId)).toEqual(cost)
        yield* wrote(0)
        answers(refusesTexts)
        yield* TestClock.adjust("5 seconds")
        expect(yield* costs((yield* send()).messageId)).toEqual(cost)
        expect(yield* costs((yield* send()).messageId)).toEqual(cost)
        expect(priced.kinds).toEqual(["direct", "template", "direct", "template", "template"])
        const { items } = yield* engine.admin.jobs.messages({ accountId, page: { limit: 10, after: null } })
        expect(items.map(({ actualCost }) => actualCost)).toEqual(["0.0500", "0.0500", "0.0500"])
        answers(() => SendResult.Accepted({ providerId: null, status: "accepted" }))
        yield* wrote(0)
        const dearer = yield* send()
        yield* TestClock.adjust("5 seconds")
        yield* engine.admin.rateCards.add({
          currency: caller.account.currency,
          effectiveFrom: yield* Time.now,
          prices: [{ market: "*", prefixes: null, category: "utility", price: "0.0700" }]
        })
        yield* TestClock.adjust("5 seconds")
        yield* report(dearer.messageId, "failed", closed)
        yield* engine.drain
        yield* report(dearer.messageId, "delivered")
        const { actualCost, job } = yield* engine.message(caller, dearer.messageId)
        expect([job.estimatedCost, actualCost]).toEqual(["0.0500", "0.0700"])
      }).pipe(Effect.provide(priced.layer))
  )

  const held = harness()
  it.effect("is told as it was answered while its template waits for hours: queued, without an error", () =>
    Effect.gen(function* () {
      const { accountId, answers, engine, otherwise } = yield* held.ready
      answers(refusesTexts)
      const { items } = yield* engine.admin.sessions.list(accountId, { limit: 1, after: null })
      const [session] = items
      if (session === undefined) return yield* Effect.dieMessage("no session")
      yield* engine.admin.sessions.change(session.id, {
        quietHours: { utility: { from: "09:00", to: "20:00" } }
      })
      const { key, secretKey } = yield* engine.admin.keys.issue(session.id, {})
      const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
      const request = { to, message: "Hi", otherwise }
      const sent = yield* engine.sendDirect(caller, { idempotencyKey: undefined, request })
      expect(sent).toMatchObject({ status: "queued", sentAs: "template" })
      const told = yield* engine.message(caller, sent.messageId)
      expect(told.recipient).toMatchObject({ status: "queued", failure: null })
      expect(told.job.replacedAt).not.toBeNull()
      expect((yield* engine.window(caller, to)).open).toBe(false)
      yield* TestClock.adjust("12 hours")
      yield* engine.drain
      expect(held.kinds).toEqual(["direct", "template"])
    }).pipe(Effect.provide(held.layer))
  )
})
