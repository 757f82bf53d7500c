/** contract.md §10 "Consent": what hooks bring of opt-outs and opt-ins, and who is granted or revoked after them. */
import { createHmac } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as WhatsApp from "../../src/sender/WhatsApp.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Signature from "../../src/webhook/Signature.ts"

const senders = Effect.map(Effect.all([HttpGateway.make(), WhatsApp.make()]), (all) => Sender.layer(...all))

const embedded = Engine.layer().pipe(
  Layer.provide(RecordingTransport.layer),
  Layer.provide(Layer.unwrapScoped(senders)),
  Layer.provide(SecretBox.layerRandom),
  Layer.provide(AddressPolicy.layer([])),
  Layer.provide(Memory.layer)
)

const secret = "a-secret-of-the-platform"
const [number, waba] = ["106540352242922", "102290129340398"]
const [ana, ben] = ["34600000001", "34600000002"]

/** An account with a session of either provider, in which some people consent. */
const shop = Effect.gen(function* () {
  yield* TestClock.setTime(Date.UTC(2026, 2, 14, 12))
  const { admin, hook } = yield* Engine.Engine
  const account = yield* admin.accounts.create({ name: "Shop" })
  const gateway = yield* admin.sessions.create(account.id, {
    name: "Gateway",
    provider: "http",
    config: { url: "http://127.0.0.1:9", secret }
  })
  const whatsApp = yield* admin.sessions.create(account.id, {
    name: "WhatsApp",
    provider: "whatsapp_cloud",
    config: {
      phone_number_id: number,
      waba_id: waba,
      access_token: "token",
      app_secret: secret,
      verify_token: "verify"
    }
  })
  const consent = (...phones: ReadonlyArray<string>) =>
    admin.consents.record(
      account.id,
      phones.map((phone) => ({ phone, source: "test" }))
    )
  const consentNow = (phone: string) =>
    Effect.flatMap(Time.now, (now) =>
      admin.consents.record(account.id, [{ phone, source: "test", occurredAt: new Date(now).toISOString() }])
    )
  yield* consent(ana, ben)
  yield* TestClock.adjust("1 minute")

  const post = (
    provider: "http" | "whatsapp_cloud",
    sessionId: string,
    headers: Record<string, string>,
    body: string
  ) => hook(provider, sessionId, { method: "POST", headers, query: {}, body: new TextEncoder().encode(body) })

  const bringToGateway = Effect.fnUntraced(function* (given: unknown) {
    const body = JSON.stringify(given)
    const timestamp = Math.floor((yield* Time.now) / Time.second)
    const headers = {
      "x-service-timestamp": String(timestamp),
      "x-service-signature": Signature.sign(secret, timestamp, body)
    }
    yield* post("http", gateway.id, headers, body)
    yield* TestClock.adjust("1 second")
  })
  /** Messages to the gateway's hook, each in a hook of its own. */
  const say = (...messages: ReadonlyArray<unknown>) =>
    Effect.forEach(messages, (message) => bringToGateway({ messages: [message] }), { discard: true })

  const change = Effect.fnUntraced(function* (value: object, field = "messages") {
    const metadata = { phone_number_id: number }
    const entry = [{ id: waba, changes: [{ field, value: { metadata, ...value } }] }]
    const body = JSON.stringify({ object: "whatsapp_business_account", entry })
    const signature = createHmac("sha256", secret).update(body).digest("hex")
    yield* post("whatsapp_cloud", whatsApp.id, { "x-hub-signature-256": `sha256=${signature}` }, body)
    yield* TestClock.adjust("1 second")
  })
  const seconds = Effect.map(Time.now, (now) => String(Math.floor(now / Time.second)))
  /** Messages to the platform's hook, each in a hook of its own. */
  const write = (...messages: ReadonlyArray<object>) =>
    Effect.forEach(
      messages,
      (message, place) =>
        Effect.flatMap(seconds, (timestamp) =>
          change({ messages: [{ from: ana, id: `wamid.${timestamp}.${place}`, timestamp, ...message }] })
        ),
      { discard: true }
    )

  const verdict = (phone: string) =>
    Effect.map(
      admin.consents.find(account.id, { phone }),
      ({ current }) => current.find(({ purpose }) => purpose === "marketing")?.verdict._tag
    )
  return { account, admin, bringToGateway, change, consent, consentNow, say, seconds, verdict, write }
})

const scenario = <E>(test: (made: Effect.Effect.Success<typeof shop>) => Effect.Effect<void, E>) =>
  Effect.flatMap(shop, test).pipe(Effect.provide(embedded))

describe("a gateway's STOP", () => {
  it.scoped.each([
    ["under an empty id", { id: "" }, ["hello", "STOP"]],
    ["under a blank id", { id: "  " }, ["hello", "STOP"]],
    ["under the id of other words", { id: "1" }, ["hello", "STOP"]],
    ["under the id of an earlier one, between which is a START", { id: "1" }, ["STOP", "START", "STOP"]],
    [
      "without an id, on the day of an earlier one",
      { at: "2026-03-14T00:00:00Z" },
      ["STOP", "START", "STOP"]
    ],
    ["without an id and a time, behind an earlier one", {}, ["STOP", "START", "STOP"]]
  ] as const)("%s is no repetition", ([, more, words]) =>
    scenario(({ say, verdict }) =>
      Effect.gen(function* () {
        yield* say(...words.map((text) => ({ from: ana, text, ...more })))
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )

  it.scoped("under the id of another person's is no repetition", () =>
    scenario(({ say, verdict }) =>
      Effect.gen(function* () {
        yield* say({ id: "1", from: ben, text: "STOP" }, { id: "1", from: ana, text: "STOP" })
        expect([yield* verdict(ana), yield* verdict(ben)]).toEqual(["Revoked", "Revoked"])
      })
    )
  )
})

describe("an opt-in", () => {
  it.scoped("without an id grants again", () =>
    scenario(({ say, verdict }) =>
      Effect.gen(function* () {
        yield* say({ from: ana, text: "STOP", at: "2026-03-14T12:01:00Z" })
        yield* say({ from: ana, text: "START", at: "2026-03-14T12:01:01Z" })
        expect(yield* verdict(ana)).toBe("Granted")
      })
    )
  )

  it.scoped.each([
    ["with an id", { id: "1" }],
    ["without an id", {}]
  ] as const)("%s that comes again after a STOP, hours late, is a repetition", ([, more]) =>
    scenario(({ say, verdict }) =>
      Effect.gen(function* () {
        const start = { from: ana, text: "START", at: "2026-03-14T12:01:00Z", ...more }
        yield* say(start, { id: "2", from: ana, text: "STOP", at: "2026-03-14T12:01:01Z" })
        yield* TestClock.adjust("3 hours")
        yield* say(start)
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )
})

describe("an opt-in that was said an hour ago", () => {
  /** A word as each way brings it: when it was said is an hour ago, or now. */
  const ways = [
    ["by a text", { field: "messages", list: "messages", stop: "STOP", start: "START" }],
    [
      "by the platform's preferences",
      { field: "user_preferences", list: "user_preferences", stop: "stop", start: "resume" }
    ]
  ] as const
  it.scoped.each(ways)("%s, and comes behind a STOP, refuses the next message", ([, way]) =>
    scenario(({ account, admin, change, seconds, verdict }) =>
      Effect.gen(function* () {
        const now = Number(yield* seconds)
        const item = (word: string, at: number) => ({
          ...(way.field === "messages"
            ? { from: ana, id: `wamid.${word}`, type: "text", text: { body: word } }
            : { wa_id: ana, value: word }),
          timestamp: String(at)
        })
        yield* change({ [way.list]: [item(way.stop, now)] }, way.field)
        yield* change({ [way.list]: [item(way.start, now - 3600)] }, way.field)
        expect(yield* verdict(ana)).toBe("Revoked")
        const { history } = yield* admin.consents.find(account.id, { phone: ana })
        expect(history[0]).toMatchObject({
          status: "granted",
          occurredAt: (now - 3600) * Time.second,
          reportedAt: (now - 3600) * Time.second
        })
        // Both in one hook, in either order.
        for (const words of [
          [item(way.start, now - 3600), item(way.stop, now)],
          [item(way.stop, now), item(way.start, now - 3600)]
        ]) {
          yield* change({ [way.list]: words.map((word) => ({ ...word, from: ben, wa_id: ben })) }, way.field)
          expect(yield* verdict(ben)).toBe("Revoked")
        }
      })
    )
  )

  it.scoped("and comes behind the operator's refusal, refuses the next message", () =>
    scenario(({ account, admin, say, verdict }) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("2 hours")
        yield* admin.consents.record(account.id, [{ phone: ana, source: "call centre", status: "revoked" }])
        const occurredAt = "2026-03-14T13:30:00Z"
        yield* admin.consents.record(account.id, [
          { phone: ben, source: "call centre", status: "revoked", occurredAt }
        ])
        yield* say({ id: "1", from: ana, text: "START", at: "2026-03-14T13:00:00Z" })
        yield* say({ id: "2", from: ben, text: "START", at: "2026-03-14T13:00:00Z" })
        expect([yield* verdict(ana), yield* verdict(ben)]).toEqual(["Revoked", "Revoked"])
        yield* say({ id: "3", from: ben, text: "START", at: "2026-03-14T13:31:00Z" })
        expect(yield* verdict(ben)).toBe("Granted")
      })
    )
  )
})

describe("a hook", () => {
  it.scoped("that the platform repeats for a week is a repetition until the tenth day", () =>
    scenario(({ account, admin, say }) =>
      Effect.gen(function* () {
        const stop = { id: "1", from: ana, text: "STOP", at: "2026-03-14T12:01:00Z" }
        yield* say(stop)
        yield* TestClock.adjust("9 days")
        yield* say(stop)
        expect((yield* admin.consents.find(account.id, { phone: ana })).history).toHaveLength(2)
      })
    )
  )
})

describe("an opt-out of the platform", () => {
  it.scoped("is read where the error's code is text, and where the number's id is null", () =>
    scenario(({ change, verdict }) =>
      Effect.gen(function* () {
        const errors = [{ code: "131050" }]
        const metadata = { phone_number_id: null }
        yield* change({ statuses: [{ id: "wamid.1", status: "failed", recipient_id: ana, errors }] })
        yield* change({ metadata, messages: [{ id: "wamid.2", from: ben, text: { body: "STOP" } }] })
        expect([yield* verdict(ana), yield* verdict(ben)]).toEqual(["Revoked", "Revoked"])
      })
    )
  )
})

describe("an opt-out of another shape", () => {
  const edited = (said: object) => ({
    type: "edit",
    edit: { original_message_id: "wamid.before", message: { type: "text", ...said } }
  })
  it.scoped.each([
    ["a text that was edited into one", edited({ text: { body: "STOP" } })],
    ["a caption that was edited into one", edited({ image: { id: "1", caption: "stop please" } })],
    [
      "a template's button that begins with one",
      { type: "button", button: { payload: "Unsubscribe from Promos", text: "Unsubscribe from Promos" } }
    ],
    [
      "a template's button by its label",
      { type: "button", button: { payload: "7", text: "Stop offers now" } }
    ],
    ["a template's button by its payload", { type: "button", button: { payload: "stop_all", text: "No" } }],
    ["one with courtesy", { type: "text", text: { body: "bitte abmelden" } }],
    ["one with its last letter repeated", { type: "text", text: { body: "STOPPP" } }]
  ] as const)("is %s", ([, message]) =>
    scenario(({ verdict, write }) =>
      Effect.gen(function* () {
        yield* write(message)
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )

  it.scoped.each([
    ["said in a group", { type: "text", text: { body: "STOP" }, group_id: "group.1" }],
    [
      "a reply button that begins with one",
      { type: "interactive", interactive: { button_reply: { id: "1", title: "Cancel order" } } }
    ],
    ["one among other words", { type: "text", text: { body: "can you stop the order" } }]
  ] as const)("is not what is %s", ([, message]) =>
    scenario(({ verdict, write }) =>
      Effect.gen(function* () {
        yield* write(message)
        expect(yield* verdict(ana)).toBe("Granted")
      })
    )
  )

  it.scoped("has no opposite in a group", () =>
    scenario(({ verdict, write }) =>
      Effect.gen(function* () {
        yield* write({ text: { body: "STOP" } }, { text: { body: "START" }, group_id: "group.1" })
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )
})

describe("a text that may be an opt-out", () => {
  it.scoped(
    "changes nothing, and is listed until an operator records it for all that is known of the person",
    () =>
      scenario(({ account, admin, change, verdict, write }) =>
        Effect.gen(function* () {
          const contacts = [{ wa_id: ben, user_id: "ES.2" }]
          yield* change({ contacts, messages: [{ from: ben, id: "wamid.met", text: { body: "Hello" } }] })
          const said = { from: undefined, from_user_id: "ES.2", text: { body: "can you stop the order" } }
          yield* write({ ...said, id: "wamid.1" }, { ...said, id: "wamid.1" }, { text: { body: "thanks" } })
          expect(yield* verdict(ben)).toBe("Granted")
          const listed = Effect.map(
            admin.consents.perhapsRefusals(account.id, { limit: 10, after: null }),
            ({ items }) => items
          )
          const [found, ...others] = yield* listed
          expect([found, others]).toMatchObject([
            { text: "can you stop the order", messageId: "wamid.1", phone: null, userId: "ES.2" },
            []
          ])
          yield* admin.consents.recordRefusal(found?.id ?? "")
          expect(yield* verdict(ben)).toBe("Revoked")
          expect(yield* listed).toEqual([])
          expect((yield* Effect.flip(admin.consents.recordRefusal(found?.id ?? "")))._tag).toBe("NotFound")
          yield* write({ ...said, id: "wamid.9", text: { body: "START" } })
          expect(yield* verdict(ben)).toBe("Granted")
        })
      )
  )
})

describe("an opt-in word", () => {
  const buttonReply = { id: "r1", title: "Yes" }
  const listReply = { id: "r1", title: "Yes" }
  it.scoped.each([
    ["on a template's button", { type: "button", button: { payload: "btn_1", text: "Yes" } }],
    ["on a template's button without a payload", { type: "button", button: { text: "Yes" } }],
    ["on a reply button", { type: "interactive", interactive: { button_reply: buttonReply } }],
    ["in a list's row", { type: "interactive", interactive: { list_reply: listReply } }],
    ["in a caption", { type: "image", image: { id: "1", caption: "Yes" } }]
  ] as const)("%s grants nothing", ([, pressed]) =>
    scenario(({ verdict, write }) =>
      Effect.gen(function* () {
        yield* write({ type: "text", text: { body: "STOP" } }, pressed)
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )

  it.scoped.each([
    ["as a text", { type: "text", text: { body: "Yes" } }],
    ["as a button's payload", { type: "button", button: { payload: "YES", text: "Sign me up" } }]
  ] as const)("%s grants again", ([, message]) =>
    scenario(({ verdict, write }) =>
      Effect.gen(function* () {
        yield* write({ type: "text", text: { body: "STOP" } }, message)
        expect(yield* verdict(ana)).toBe("Granted")
      })
    )
  )
})

describe("a preference of the platform", () => {
  it.scoped("to sign up grants marketing", () =>
    scenario(({ change, seconds, verdict }) =>
      Effect.gen(function* () {
        const stranger = "34600000230"
        const timestamp = yield* seconds
        const signup = { wa_id: stranger, category: "marketing_messages", value: "signup", timestamp }
        yield* change({ user_preferences: [signup] }, "user_preferences")
        expect(yield* verdict(stranger)).toBe("Granted")
      })
    )
  )

  it.scoped("that stops, resumes and stops within one second is stopped", () =>
    scenario(({ change, seconds, verdict }) =>
      Effect.gen(function* () {
        const timestamp = yield* seconds
        for (const value of ["stop", "resume", "stop"])
          yield* change({ user_preferences: [{ wa_id: ana, value, timestamp }] }, "user_preferences")
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )
})

describe("a phone", () => {
  it.scoped.each([
    34600000001,
    "+34 600 000 001",
    "0034600000001",
    "whatsapp:+34600000001",
    "tel:+34-600-000-001",
    "34600000001@c.us",
    "34600000001:12@s.whatsapp.net",
    "\u202a+34600000001\u202c",
    "+34 600\u2011000\u2011001",
    " 34\u00a0600\u2009000\u202f001 "
  ])("written %j is the same phone", (from) =>
    scenario(({ say, verdict, write }) =>
      Effect.gen(function* () {
        yield* say({ id: "1", from, text: "STOP" })
        expect(yield* verdict(ana)).toBe("Revoked")
        yield* say({ id: "2", from: ana, text: "START" })
        yield* write({ from, type: "text", text: { body: "STOP" } })
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )
})

describe("a number of two forms", () => {
  it.scoped.each([
    ["525512345678", "5215512345678"],
    ["5215512345678", "525512345678"],
    ["541123456789", "5491123456789"],
    ["5511987654321", "551187654321"],
    ["551187654321", "5511987654321"]
  ] as const)("%s is revoked and granted as %s, by its phone and by its user id", ([phone, from]) =>
    scenario(({ change, consent, consentNow, verdict, write }) =>
      Effect.gen(function* () {
        yield* consent(phone)
        const verdicts = Effect.all([verdict(phone), verdict(from)])
        yield* write({ from, from_user_id: "MX.1", text: { body: "STOP" } })
        expect(yield* verdicts).toEqual(["Revoked", "Revoked"])
        yield* write({ from, from_user_id: "MX.1", text: { body: "START" } })
        expect(yield* verdicts).toEqual(["Granted", "Granted"])
        yield* write({ from: undefined, from_user_id: "MX.1", text: { body: "STOP" } })
        expect(yield* verdicts).toEqual(["Revoked", "Revoked"])
        // What is recorded without a time brings nobody back who refused by words (contract.md §13 "People").
        yield* consent(phone)
        expect(yield* verdict(phone)).toBe("Revoked")
        yield* TestClock.adjust("1 second")
        yield* consentNow(phone)
        expect(yield* verdict(phone)).toBe("Granted")
        yield* change({ user_preferences: [{ wa_id: from, value: "stop" }] }, "user_preferences")
        expect(yield* verdicts).toEqual(["Revoked", "Revoked"])
      })
    )
  )

  it.scoped("revokes nobody else's consent", () =>
    scenario(({ consent, verdict, write }) =>
      Effect.gen(function* () {
        const others = ["551132345678", "5511932345678", "5215512345679", "34612345678"]
        yield* consent(...others)
        yield* write(
          { from: "5511987654321", text: { body: "STOP" } },
          { from: "551132345678", text: { body: "Hi" } }
        )
        expect(yield* Effect.forEach(others, verdict)).toEqual(others.map(() => "Granted"))
      })
    )
  )
})

describe("a gateway's hook", () => {
  it.scoped.each([
    [[{ from: ana, text: "STOP" }]],
    [{ messages: { from: ana, text: "STOP" } }],
    [{ receipts: "none", messages: [] }],
    [{ message: [{ from: ana, text: "STOP" }] }],
    [{ receipts: null }],
    ["STOP"]
  ] as const)("of %j is refused, for nothing of it can be read", ([body]) =>
    scenario(({ bringToGateway }) =>
      Effect.gen(function* () {
        expect((yield* Effect.flip(bringToGateway(body)))._tag).toBe("InvalidRequest")
      })
    )
  )

  it.scoped("of receipts alone or of messages alone is read", () =>
    scenario(({ bringToGateway, verdict }) =>
      Effect.gen(function* () {
        yield* bringToGateway({ receipts: [], messages: null })
        yield* bringToGateway({ messages: [{ from: ana, text: "STOP" }] })
        expect(yield* verdict(ana)).toBe("Revoked")
      })
    )
  )

  it.scoped("keeps its messages that cannot be read, with their JSON, once and not without bound", () =>
    scenario(({ account, admin, bringToGateway, verdict }) =>
      Effect.gen(function* () {
        const long = { from: ben, body: "x".repeat(100_000) }
        const messages = [7, null, {}, [], { from: ben, body: "STOP" }, long, { from: ana, text: "STOP" }]
        yield* bringToGateway({ messages })
        yield* bringToGateway({ messages })
        expect(yield* verdict(ana)).toBe("Revoked")
        const kept = Effect.map(
          admin.consents.unattributed(account.id, { limit: 250, after: null }),
          ({ items }) => items.map(({ text }) => text)
        )
        const [cut, whole, ...others] = yield* kept
        expect([whole, others]).toEqual([JSON.stringify(messages[4]), []])
        expect(cut?.length).toBeLessThan(10_000)
        yield* bringToGateway({ messages: Array.from({ length: 5000 }, (_, n) => ({ n })) })
        expect(yield* kept).toHaveLength(102)
      })
    )
  )
})
