/**
 * Random histories of what people say of consent: doubled, late by minutes to 7 days, out of order, split over hooks, by texts,
 * buttons and the platform's preferences, beside the operator's records (contract.md §11). After each hook the engine
 * decides as a plain model does, and nothing is sent that the model refuses.
 */

import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Consent from "../../src/domain/consent/Consent.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

/** One word: who dates it, when it was said, and when it comes, in seconds after the history's beginning. */
const ways = ["text", "button", "preference"] as const
const delays = [0, 1, 60, 240, 360, 3600, 86_400, 3 * 86_400, 7 * 86_400]
const word = FastCheck.record({
  by: FastCheck.constantFrom(...(["first", "first", "second", "operator"] as const)),
  way: FastCheck.constantFrom(...ways),
  status: FastCheck.constantFrom(...Consent.statuses),
  saidAt: FastCheck.constantFrom(0, 1, 2, 30, 60, 600, 3600, 3601, 7200, 86_400),
  delay: FastCheck.constantFrom(...delays),
  again: FastCheck.option(FastCheck.constantFrom(...delays)),
  ownTime: FastCheck.boolean()
})
type Word = typeof word extends FastCheck.Arbitrary<infer A> ? A : never
const history = FastCheck.array(word, { minLength: 1, maxLength: 10 })

interface Fact {
  readonly by: string | null
  readonly status: Consent.Status
  readonly purpose: Consent.Scope
  readonly told: number | null
  readonly came: number
}

/** Consent stands by a grant that was said after every revocation (see `domain/consent/Order`). */
const isGranted = (facts: ReadonlyArray<Fact>, purpose: Consent.Purpose): boolean => {
  const all = facts.filter((each) => each.purpose === purpose || each.purpose === "all")
  const isLate = ({ came, told }: Fact) => Math.abs((told ?? came) - came) > 300_000
  const when = (each: Fact) => {
    const at = Math.min(each.told ?? each.came, each.came)
    return each.by !== null && each.status === "revoked" && isLate(each) ? each.came : at
  }
  const isAfter = (yes: Fact, no: Fact): boolean => {
    const first = all.indexOf(yes) < all.indexOf(no)
    if (yes.by !== null && yes.by === no.by && yes.told !== null && no.told !== null)
      return yes.told === no.told ? !first && yes.came > no.came && !isLate(yes) : yes.told > no.told
    if (first && yes.by === null && (no.by !== null || no.told === null)) return false
    return first ? when(yes) > when(no) : when(yes) >= when(no)
  }
  const grants = all.filter(({ status }) => status === "granted")
  return grants.some((yes) => all.every((no) => no.status === "granted" || isAfter(yes, no)))
}

const secret = "the app's secret"
const numbers = { first: ["1001", "2001"], second: ["1002", "2002"] } as const

const sent: Array<string> = []
const senders = Effect.map(WhatsApp.make(), (whatsApp) =>
  Sender.layer({
    ...whatsApp,
    send: ({ to }) =>
      Effect.sync(() => {
        sent.push(to)
        return Sender.SendResult.Accepted({ providerId: null, status: "accepted" })
      })
  })
)

const engineLayer = Engine.layer().pipe(
  Layer.provide(RecordingTransport.layer),
  Layer.provide(Layer.unwrapScoped(senders)),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([])),
  Layer.provideMerge(Memory.layer)
)

const shop = Effect.gen(function* () {
  yield* TestClock.setTime(Date.UTC(2026, 2, 14, 12))
  const engine = yield* Engine.Engine
  const sessions = yield* SessionStore
  const { admin } = engine
  const plan = { minimumWaitMs: 0, requestsPerMinute: 1_000_000, dailyTemplateRecipients: null }
  const account = yield* admin.accounts.create({ name: "Shop", plan })
  const session = (name: "first" | "second") =>
    Effect.gen(function* () {
      const [phone_number_id, waba_id] = numbers[name]
      const config = { phone_number_id, waba_id, access_token: "t", app_secret: secret, verify_token: "v" }
      const { id } = yield* admin.sessions.create(account.id, { name, provider: "whatsapp_cloud", config })
      yield* sessions.transition({
        id,
        state: "connected",
        reason: null,
        now: yield* Time.now
      })
      return id
    })
  const ids = { first: yield* session("first"), second: yield* session("second") }
  const components = [{ type: "BODY", text: "An offer" }]
  const offer = { name: "offer", language: "en", category: "MARKETING", components, status: "APPROVED" }
  const imported = yield* admin.templates.importAll(ids.first, [offer])
  const { key, secretKey } = yield* admin.keys.issue(ids.first, {})
  const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
  const hook = (name: "first" | "second", changes: ReadonlyArray<object>) => {
    const [phone_number_id, id] = numbers[name]
    const ours = changes.map(({ field, ...value }: { readonly field?: string }) => ({
      field,
      value: { metadata: { phone_number_id }, ...value }
    }))
    const body = JSON.stringify({ object: "whatsapp_business_account", entry: [{ id, changes: ours }] })
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    return engine.hook("whatsapp_cloud", ids[name], {
      method: "POST",
      headers: { "x-hub-signature-256": `sha256=${signature}` },
      query: {},
      body: new TextEncoder().encode(body)
    })
  }
  return { account, admin, caller, engine, hook, templateId: imported.templates[0]?.templateId ?? 0 }
})

type Shop = Effect.Effect.Success<typeof shop>

/** What comes of a word, and what it is to the model; repetitions come as they came. */
const itemOf = (each: Word, place: number, phone: string, begin: number) => {
  const at = begin / 1000 + each.saidAt
  const yes = each.status === "granted"
  const value = yes ? (place % 2 === 0 ? "resume" : "signup") : "stop"
  const message = { from: phone, id: `wamid.${phone}.${place}`, timestamp: String(at) }
  const text = { ...message, type: "text", text: { body: yes ? "START" : "stop please" } }
  const button = { ...message, type: "button", button: { payload: yes ? "START" : "Stop offers", text: "x" } }
  const isPreference = each.way === "preference"
  return {
    item: isPreference ? { wa_id: phone, value, timestamp: String(at) } : each.way === "text" ? text : button,
    isPreference,
    // A revocation without an id counts each time that it comes.
    name: isPreference ? (yes ? `${each.by} ${value} ${at}` : null) : `${place}`,
    fact: {
      by: each.by,
      status: each.status,
      purpose: isPreference ? ("marketing" as const) : ("all" as const),
      told: at * 1000
    }
  }
}

/** Plays one history for a person of its own; answers what the engine decided otherwise than the model. */
const play = Effect.fnUntraced(function* (made: Shop, words: ReadonlyArray<Word>, phone: string) {
  const { account, admin, caller, engine, hook, templateId } = made
  const begin = yield* Time.now
  const arrivals = words
    .flatMap((each, place) => [
      { each, place, at: each.saidAt + each.delay },
      ...(each.again === null ? [] : [{ each, place, at: each.saidAt + each.again }])
    ])
    .toSorted((a, b) => a.at - b.at)
  const facts: Array<Fact> = []
  const known = new Set<string>()
  const wrong: Array<string> = []
  const check = Effect.fnUntraced(function* (step: number) {
    const { current } = yield* admin.consents.find(account.id, { phone })
    for (const { purpose, verdict } of current)
      if ((verdict._tag === "Granted") !== isGranted(facts, purpose))
        wrong.push(`${step} ${purpose} ${verdict._tag}`)
    const before = sent.length
    const request = { templateId, recipients: [{ phone }] }
    yield* Effect.ignore(engine.send(caller, { idempotencyKey: `${phone}-${step}`, request }))
    yield* engine.drain
    if (sent.length - before !== (isGranted(facts, "marketing") ? 1 : 0)) wrong.push(`${step} sent`)
  })
  for (let from = 0; from < arrivals.length; ) {
    const [first] = arrivals.slice(from)
    if (first === undefined) break
    // What comes within two seconds comes in one hook of its session, in an order of its own.
    let end = from
    while (
      end < arrivals.length &&
      (arrivals[end]?.at ?? 0) <= first.at + 1 &&
      arrivals[end]?.each.by === first.each.by
    )
      end += 1
    const together = arrivals.slice(from, end).toReversed()
    from = end
    const now = Math.max((yield* Time.now) + 1000, begin + (first.at + 1) * 1000)
    yield* TestClock.setTime(now)
    const { by } = first.each
    if (by === "operator") {
      for (const { each } of together) {
        const told = each.ownTime ? Math.min(begin + each.saidAt * 1000, now) : null
        const occurred = told === null ? {} : { occurredAt: new Date(told).toISOString() }
        yield* admin.consents.record(account.id, [
          { phone, source: "desk", status: each.status, ...occurred }
        ])
        facts.push({ by: null, status: each.status, purpose: "all", told, came: now })
      }
    } else {
      const items = together.map(({ each, place }) => itemOf(each, place, phone, begin))
      const messages = items.filter(({ isPreference }) => !isPreference)
      const preferences = items.filter(({ isPreference }) => isPreference)
      yield* hook(by, [
        { field: "messages", messages: messages.map(({ item }) => item) },
        { field: "user_preferences", user_preferences: preferences.map(({ item }) => item) }
      ])
      for (const { fact, name } of [...messages, ...preferences]) {
        if (name !== null && known.has(name)) continue
        if (name !== null) known.add(name)
        facts.push({ ...fact, came: now })
      }
    }
    yield* check(from)
  }
  yield* TestClock.adjust("11 days")
  return wrong
})

describe("a history of words", () => {
  it.effect(
    "decides as the plain model does, and nothing is sent that it refuses",
    () =>
      Effect.gen(function* () {
        const made = yield* shop
        const numRuns = Number(process.env["HISTORIES"] ?? 24)
        const seed = Number(process.env["SEED"] ?? 36)
        const histories = FastCheck.sample(history, { numRuns, seed })
        const wrong: Array<unknown> = []
        for (const [n, words] of histories.entries()) {
          const found = yield* play(made, words, `346${String(10_000_000 + n)}`)
          if (found.length > 0) wrong.push({ n, found, words })
        }
        expect(wrong.slice(0, 2)).toEqual([])
        expect(sent.length).toBeGreaterThan(histories.length / 2)
      }).pipe(Effect.provide(engineLayer)),
    600_000
  )
})
