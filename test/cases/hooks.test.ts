/** Hooks of a platform, and sends to whom they told of, that failed once: over a whole engine in memory. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as NamingPlatform from "../../packages/core/test/engine/NamingPlatform.ts"
import { named } from "../../packages/core/test/engine/NamingPlatform.ts"
import { at, items } from "../support/TestHost.ts"

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))

const page = { limit: 100, after: null }

/** A shop whose session has the ids of the files, a minute after their hooks were said, and what a test asks of it. */
const opened = Effect.gen(function* () {
  const shop = yield* NamingPlatform.shop
  const { account, admin, caller, engine, recorder, session } = shop
  yield* TestClock.setTime(1_790_000_060_000)
  yield* admin.webhooks.create(account.id, { url: "https://receiver.example/", events: ["*"] })
  /** What the account's receiver is told in events of the type. */
  const told = Effect.fnUntraced(function* (type: string) {
    yield* engine.drain
    const events = (yield* recorder.requests).map(({ body }): unknown => JSON.parse(body))
    return events.filter((event) => at(event, "type") === type).map((event) => at(event, "data"))
  })
  /** The words on the consent to marketing, the newest first. */
  const history = (phone: string, accountId = account.id) =>
    Effect.map(admin.consents.find(accountId, { phone }), ({ history }) =>
      history.map(({ status }) => status)
    )
  const template = (templateId: number) => Effect.flatMap(caller, (who) => engine.template(who, templateId))
  const unread = Effect.map(admin.sessions.unreadHooks(session.id, page), ({ items }) => items)
  const sessionNow = admin.sessions.find(session.id)
  return { ...shop, history, sessionNow, template, told, unread }
})

const scenario = <E>(test: (shop: Effect.Effect.Success<typeof opened>) => Effect.Effect<void, E>) =>
  Effect.flatMap(opened, test)

const consentRequired = { _tag: "Left", left: { _tag: "ConsentRequired" } }

describe("a person", () => {
  const differing = read("01-wa-id-differs.json")
  const [asked, waId] = [String(at(differing, "asked")), String(at(differing, "wa_id"))]

  it.scoped.each(["answer", "receipt"])("01: is stopped by the number of the platform's %s", (by) =>
    scenario(({ drain, names, register, report, say, send, sent }) =>
      Effect.gen(function* () {
        yield* register(asked)
        if (by === "answer") names.set(asked, named(waId))
        expect(yield* send(asked)).toMatchObject({ _tag: "Right" })
        yield* drain
        const [message] = sent
        if (message === undefined) return yield* Effect.dieMessage("Nothing was sent.")
        if (by === "receipt") yield* report(message, named(waId))
        yield* say(named(waId), String(at(differing, "say")))
        expect(yield* send(asked)).toMatchObject(consentRequired)
      })
    )
  )

  it.scoped("16: is a duplicate by the other form of their number", () =>
    scenario(({ register, send }) =>
      Effect.gen(function* () {
        const phones = items(read("16-both-forms.json"), "recipients").map((each) =>
          String(at(each, "phone"))
        )
        yield* Effect.forEach(phones, (phone) => register(phone))
        expect(yield* send(...phones)).toMatchObject({
          left: { faults: [{ code: "recipient_duplicate", path: ["recipients", 1] }] }
        })
      })
    )
  )

  it.scoped("05: opts out by a button whose words begin with one of refusal", () =>
    scenario(({ history, post, register, send }) =>
      Effect.gen(function* () {
        yield* register("34600000205")
        yield* post(read("05-opt-out-button.json"))
        expect(yield* history("34600000205")).toEqual(["revoked", "granted"])
        expect(yield* send("34600000205")).toMatchObject(consentRequired)
      })
    )
  )

  it.scoped("23: consents by the platform's sign-up", () =>
    scenario(({ history, post, send }) =>
      Effect.gen(function* () {
        expect(yield* send("34600000230")).toMatchObject(consentRequired)
        yield* post(read("23-preference-signup.json"))
        expect(yield* history("34600000230")).toEqual(["granted"])
        expect(yield* send("34600000230")).toMatchObject({ _tag: "Right" })
      })
    )
  )
})

describe("a template", () => {
  it.scoped("03: that became marketing goes to nobody who revoked marketing, queued or not", () =>
    scenario(({ admin, account, drain, importTemplate, post, sendOf, sent, statuses, template, unread }) =>
      Effect.gen(function* () {
        const templateId = yield* importTemplate("order_news", "en", "UTILITY")
        const [ana, ben] = ["34600000301", "34600000302"] as const
        yield* admin.consents.record(account.id, [
          { phone: ana, source: "form" },
          { phone: ben, source: "form" },
          { phone: ana, source: "form", purpose: "marketing", status: "revoked" }
        ])
        const queued = yield* sendOf(templateId, ana, ben)
        yield* post(read("03-category-update.json"))
        expect(yield* template(templateId)).toMatchObject({ category: "marketing" })
        yield* drain
        expect(sent.map(({ to }) => to)).toEqual([ben])
        if (queued._tag === "Left") return yield* queued.left
        expect(yield* statuses(queued.right.jobId)).toEqual(["skipped", "accepted"])
        expect(yield* sendOf(templateId, ana)).toMatchObject(consentRequired)
        expect(yield* unread).toEqual([])
      })
    )
  )

  it.scoped.each([
    ["06", "06-language-hyphen.json", { status: "paused" }],
    ["06b", "06b-language-hyphen-quality.json", { quality: "red" }]
  ] as const)("%s: is reached by news that write its language with a hyphen", ([, file, found]) =>
    scenario(({ importTemplate, post, told, unread }) =>
      Effect.gen(function* () {
        const template_id = yield* importTemplate("promo_br", "pt_BR", "MARKETING")
        yield* post(read(file))
        expect(yield* told("template.updated")).toContainEqual(
          expect.objectContaining({ template_id, ...found })
        )
        expect(yield* unread).toEqual([])
      })
    )
  )
})

describe("news of a template", () => {
  it.scoped(
    "31: that come late change nothing: it stays marketing, and goes to nobody who revoked that",
    () =>
      scenario(({ account, admin, importTemplate, post, sendOf, template, unread }) =>
        Effect.gen(function* () {
          const templateId = yield* importTemplate("spring_news", "en", "UTILITY")
          const phone = "34600000310"
          yield* admin.consents.record(account.id, [
            { phone, source: "form" },
            { phone, source: "form", purpose: "marketing", status: "revoked" }
          ])
          for (const hook of items(read("31-older-category-later.json"), "hooks")) yield* post(hook)
          expect(yield* template(templateId)).toMatchObject({ category: "marketing" })
          expect(yield* sendOf(templateId, phone)).toMatchObject(consentRequired)
          expect(yield* unread).toMatchObject([
            { field: "template_category_update", reason: "older than what the platform said last" }
          ])
        })
      )
  )

  it.scoped("33: that come again revive nothing", () =>
    scenario(({ admin, importTemplate, post, session }) =>
      Effect.gen(function* () {
        yield* importTemplate("tide_table", "en", "UTILITY")
        for (const hook of items(read("33-same-hook-again.json"), "hooks")) yield* post(hook)
        const { items: disabled } = yield* admin.templates.list(session.id, { status: "disabled", page })
        expect(disabled).toMatchObject([{ name: "tide_table" }])
      })
    )
  )

  it.scoped("46: that it was rejected tell why, in it, its event and the list", () =>
    scenario(({ admin, importTemplate, post, session, told, unread }) =>
      Effect.gen(function* () {
        yield* importTemplate("plain", "en", "UTILITY")
        for (const hook of items(read("46-reason-of-a-rejection.json"), "hooks")) yield* post(hook)
        const rejection = { reason: "Variables at the start", recommendation: "Move it" }
        const { items: rejected } = yield* admin.templates.list(session.id, { status: "rejected", page })
        expect(rejected).toMatchObject([{ why: { reason: "INVALID_FORMAT", rejectionInfo: rejection } }])
        expect(yield* told("template.updated")).toContainEqual(
          expect.objectContaining({
            status: "rejected",
            reason: "INVALID_FORMAT",
            rejection_info: rejection,
            other_info: null
          })
        )
        expect(yield* unread).toEqual([])
      })
    )
  )
})

describe("`message.received`", () => {
  it.scoped.each([
    ["07", "07-flow-reply.json", "interactive"],
    ["07b", "07b-reaction.json", "reaction"],
    ["07d", "07d-order.json", "order"]
  ] as const)("%s: tells the type and the content", ([, file, type]) =>
    scenario(({ post, told }) =>
      Effect.gen(function* () {
        const hook = read(file)
        yield* post(hook)
        const content = at(hook, "entry", 0, "changes", 0, "value", "messages", 0, type)
        expect(yield* told("message.received")).toMatchObject([{ from: "34600000203", type, content }])
      })
    )
  )
})

describe("a hook", () => {
  it.scoped("08: of one number brings what is another's of the same app to that one", () =>
    scenario(({ account, admin, config, history, post, unread }) =>
      Effect.gen(function* () {
        const hook = at(read("08-two-numbers-one-callback.json"), "hook")
        const metadata = at(hook, "entry", 0, "changes", 0, "value", "metadata")
        const other = yield* admin.accounts.create({ name: "Other" })
        yield* admin.sessions.create(other.id, {
          name: "B",
          provider: "whatsapp_cloud",
          config: { ...config, phone_number_id: at(metadata, "phone_number_id") }
        })
        yield* post(hook)
        expect(yield* history("34600000901", other.id)).toEqual(["revoked"])
        expect(yield* history("34600000901", account.id)).toEqual([])
        expect(yield* unread).toEqual([])
      })
    )
  )
})

describe("an account", () => {
  const hooksOf = (file: string): ReadonlyArray<unknown> => items(read(file), "hooks")

  it.scoped("41: goes on where its restriction was over as it came", () =>
    scenario(({ drain, importTemplate, post, register, sendOf, sent, sessionNow, told }) =>
      Effect.gen(function* () {
        const templateId = yield* importTemplate("order_news", "en", "UTILITY")
        yield* register("34600000410")
        const hook = at(read("41-restriction-with-an-end.json"), "hook")
        yield* post(hook)
        expect(yield* sessionNow).toMatchObject({ state: "connected", blockedUntil: null })
        yield* sendOf(templateId, "34600000410")
        yield* drain
        expect(sent).toHaveLength(1)
        const news = at(hook, "entry", 0, "changes", 0, "value")
        expect(yield* told("session.updated")).toMatchObject([{ kind: "account_update", news }])
      })
    )
  )

  it.scoped("41: lets templates wait until the end of its restriction, and direct messages go", () =>
    scenario(
      ({ account, admin, caller, drain, engine, importTemplate, post, register, sendOf, sent, sessionNow }) =>
        Effect.gen(function* () {
          const templateId = yield* importTemplate("order_news", "en", "UTILITY")
          yield* register("34600000411")
          yield* admin.consents.record(account.id, [
            { phone: "34600000411", source: "form", purpose: "direct" }
          ])
          yield* TestClock.setTime(1_789_999_999_000)
          yield* post(at(read("41-restriction-with-an-end.json"), "hook"))
          const until = 1_790_000_002_000
          expect(yield* sessionNow).toMatchObject({ state: "connected", blockedUntil: until })
          const queued = yield* sendOf(templateId, "34600000411")
          if (queued._tag === "Left") return yield* queued.left
          yield* drain
          expect(sent).toHaveLength(0)
          const job = yield* engine.job(yield* caller, queued.right.jobId, { page })
          expect(job).toMatchObject({
            job: { status: "paused", pauseReason: "platform_restriction" },
            waitingFor: { limiter: "session", until }
          })
          yield* engine.sendDirect(yield* caller, {
            idempotencyKey: undefined,
            request: { to: "34600000411", message: "Hello" }
          })
          expect(sent).toHaveLength(1)
          yield* TestClock.setTime(until)
          yield* drain
          expect(sent).toHaveLength(2)
        })
    )
  )

  it.scoped("42: sends templates under a restriction of its replies, and refuses these", () =>
    scenario(({ account, admin, caller, drain, engine, importTemplate, post, register, sendOf, sent }) =>
      Effect.gen(function* () {
        const templateId = yield* importTemplate("order_news", "en", "UTILITY")
        yield* register("34600000420")
        yield* admin.consents.record(account.id, [
          { phone: "34600000420", source: "form", purpose: "direct" }
        ])
        yield* post(at(read("42-restriction-of-replies.json"), "hook"))
        yield* sendOf(templateId, "34600000420")
        yield* drain
        expect(sent).toHaveLength(1)
        const direct = engine.sendDirect(yield* caller, {
          idempotencyKey: undefined,
          request: { to: "34600000420", message: "Hello" }
        })
        expect(yield* Effect.flip(direct)).toMatchObject({
          _tag: "SendFailed",
          outcome: "failed",
          failure: { code: "platform_restriction" }
        })
        expect(sent).toHaveLength(1)
      })
    )
  )

  it.scoped.each([0, 1])("45: that is gone disconnects its session, with that reason (%s)", (which) =>
    scenario(({ post, sessionNow }) =>
      Effect.gen(function* () {
        yield* post(hooksOf("45-account-gone.json")[which])
        const reason = ["deleted", "offboarded"][which]
        expect(yield* sessionNow).toMatchObject({
          state: "disconnected",
          reason: expect.stringContaining(reason ?? "")
        })
      })
    )
  )
})
