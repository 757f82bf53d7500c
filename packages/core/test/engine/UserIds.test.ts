/** contract.md §14 "People without a number": a platform's user id beside or instead of a number. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import * as NamingPlatform from "./NamingPlatform.ts"
import { named } from "./NamingPlatform.ts"

const [phone, userId] = ["34600000101", "ES.13491208655302741918"]

const open = Effect.map(NamingPlatform.shop, (shop) => ({
  ...shop,
  /** A direct message to the id, by a session. */
  directTo: (sessionId: string) =>
    Effect.flatMap(shop.engine.callerOf(sessionId), (who) =>
      Effect.either(
        shop.engine.sendDirect(who, {
          idempotencyKey: undefined,
          request: { user_id: userId, message: "Hello" }
        })
      )
    )
}))

type Shop = Effect.Effect.Success<typeof open>

const scenario = <E>(test: (shop: Shop) => Effect.Effect<void, E>) => Effect.flatMap(open, test)

/** The id of a connected session of another portfolio. */
const another = Effect.fnUntraced(function* (admin: Shop["admin"], accountId: string) {
  const config = {
    phone_number_id: "206540352242922",
    waba_id: "202290129340398",
    access_token: "token",
    app_secret: "another-secret-of-the-platform",
    verify_token: "verify"
  }
  const { id } = yield* admin.sessions.create(accountId, {
    name: "Another",
    provider: "whatsapp_cloud",
    config
  })
  yield* admin.sessions.connect(id)
  return id
})

const faultsOf = (answer: Either.Either<unknown, { readonly _tag: string }>) =>
  Either.isLeft(answer) && "faults" in answer.left && Array.isArray(answer.left.faults)
    ? answer.left.faults.map(({ code, path }) => [code, path.join(".")])
    : []

describe("a person whom only a user id names", () => {
  it.scoped("gets a message, and is told of as such in answers and events", () =>
    scenario(({ account, admin, caller, drain, engine, recorder, register, send, sent }) =>
      Effect.gen(function* () {
        yield* admin.webhooks.create(account.id, { url: "https://app.example/hook", events: ["*"] })
        yield* register(userId)
        const accepted = yield* send(userId)
        if (Either.isLeft(accepted)) return yield* Effect.die(accepted.left)
        yield* drain
        expect(sent.map(({ to }) => to)).toEqual([userId])
        const { results } = yield* engine.job(yield* caller, accepted.right.jobId, {
          page: { limit: 1, after: null }
        })
        expect(results.items[0]?.status).toBe("accepted")
        const told = (yield* recorder.requests).map(({ body }) => JSON.parse(body))
        expect(told.find(({ type }) => type === "recipient.accepted")?.data).toMatchObject({
          phone: null,
          user_id: userId
        })
        expect(told.find(({ type }) => type === "consent.granted")?.data).toMatchObject({
          phone: null,
          user_id: userId
        })
        const found = yield* admin.search.find({ text: userId, page: { limit: 9, after: null } })
        expect(found.items.map(({ title }) => title).toSorted()).toEqual([userId, `news to ${userId}`])
      })
    )
  )

  it.scoped("needs consent, by whichever name it was given and told together", () =>
    scenario(({ message, register, send }) =>
      Effect.gen(function* () {
        expect(faultsOf(yield* send(userId))).toEqual([["consent_required", "recipients.0.user_id"]])
        yield* register(phone)
        expect(faultsOf(yield* send(userId))).toEqual([["consent_required", "recipients.0.user_id"]])
        // An operator's grant is for the name that it has; a refusal is the person's.
        yield* register(userId)
        expect(faultsOf(yield* send(userId))).toEqual([])
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        yield* register(phone, "revoked")
        yield* TestClock.adjust("2 seconds")
        expect(faultsOf(yield* send(userId))).toEqual([["consent_required", "recipients.0.user_id"]])
      })
    )
  )

  it.scoped("is a duplicate of the number that the platform told with them", () =>
    scenario(({ message, register, send }) =>
      Effect.gen(function* () {
        yield* register(phone)
        yield* register(userId)
        expect(faultsOf(yield* send(phone, userId))).toEqual([])
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        expect(faultsOf(yield* send(phone, userId))).toEqual([["recipient_duplicate", "recipients.1"]])
      })
    )
  )

  it.scoped("is erased with all that was sent to them", () =>
    scenario(({ account, admin, drain, register, send }) =>
      Effect.gen(function* () {
        yield* register(userId)
        yield* send(userId)
        yield* drain
        const erased = yield* admin.people.erase({ userId, accountId: account.id, reason: "asked" })
        expect(erased.counts.recipients).toBe(1)
        expect(faultsOf(yield* send(userId))).toEqual([["consent_required", "recipients.0.user_id"]])
      })
    )
  )
})

describe("a message to a closed market", () => {
  it.scoped("is not attempted, by the country of the user id", () =>
    scenario(({ drain, register, send, sent, statuses }) =>
      Effect.gen(function* () {
        for (const id of ["US.1349", "CA.1349"]) {
          yield* register(id)
          const accepted = yield* send(id)
          yield* drain
          if (Either.isRight(accepted))
            expect(yield* statuses(accepted.right.jobId)).toEqual([id === "US.1349" ? "failed" : "accepted"])
        }
        expect(sent.map(({ to }) => to)).toEqual(["CA.1349"])
      })
    )
  )
})

describe("a recipient", () => {
  it.scoped("with both names has consent by either, is refused by either, and is found by each", () =>
    scenario(({ admin, caller, drain, engine, newsId, register, sent }) =>
      Effect.gen(function* () {
        const who = yield* caller
        const send = (idempotencyKey: string) =>
          Effect.either(
            engine.send(who, {
              idempotencyKey,
              request: { templateId: newsId, recipients: [{ phone, userId }] }
            })
          )
        expect(faultsOf(yield* send("one"))).toEqual([["consent_required", "recipients.0.phone"]])
        yield* register(phone)
        expect(Either.isRight(yield* send("two"))).toBe(true)
        yield* drain
        expect(sent).toHaveLength(1)
        for (const text of [phone, userId]) {
          const { items } = yield* admin.search.find({ text, page: { limit: 9, after: null } })
          expect(items.map(({ title }) => title)).toContain(`news to +${phone}`)
        }
        yield* register(userId, "revoked")
        expect(faultsOf(yield* send("three"))).toEqual([["consent_required", "recipients.0.phone"]])
      })
    )
  )

  it.scoped("without a name, or with one that is none, is refused with its field", () =>
    scenario(({ caller, engine, newsId }) =>
      Effect.gen(function* () {
        const who = yield* caller
        const recipients = [{}, { userId: "1349" }, { phone, userId: "ZZ.1" }]
        const answer = yield* Effect.either(
          engine.send(who, { idempotencyKey: "wrong", request: { templateId: newsId, recipients } })
        )
        expect(faultsOf(answer)).toEqual([
          ["required", "recipients.0.phone"],
          ["recipient_invalid", "recipients.1.user_id"],
          ["recipient_invalid", "recipients.2.user_id"]
        ])
      })
    )
  )

  it.scoped("of another portfolio is unknown", () =>
    scenario(({ account, admin, directTo, message, register, session }) =>
      Effect.gen(function* () {
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        yield* register(userId)
        const other = yield* another(admin, account.id)
        expect(faultsOf(yield* directTo(other))).toEqual([["recipient_invalid", "user_id"]])
        expect(yield* directTo(session.id)).toMatchObject({ right: { to: null, userId, status: "accepted" } })
      })
    )
  )

  it.scoped("is unknown to another portfolio, also where only a message without a number told of it", () =>
    scenario(({ account, admin, directTo, message, register }) =>
      Effect.gen(function* () {
        const other = yield* another(admin, account.id)
        yield* message(named(null, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        yield* register(userId)
        expect(faultsOf(yield* directTo(other))).toEqual([["recipient_invalid", "user_id"]])
      })
    )
  )

  it.scoped("of an id that nobody told yet may be asked by sessions that come later", () =>
    scenario(({ account, admin, directTo, register }) =>
      Effect.gen(function* () {
        yield* register(userId)
        const other = yield* another(admin, account.id)
        expect(Either.isRight(yield* directTo(other))).toBe(true)
      })
    )
  )

  it.scoped("keeps a refusal by an id that a platform tells only later", () =>
    scenario(({ message, register, send }) =>
      Effect.gen(function* () {
        yield* register(phone)
        yield* register(userId, "revoked")
        expect(faultsOf(yield* send(phone))).toEqual([])
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        expect(faultsOf(yield* send(phone))).toEqual([["consent_required", "recipients.0.phone"]])
        yield* register(userId)
        yield* register(phone)
        yield* TestClock.adjust("2 seconds")
        expect(faultsOf(yield* send(phone))).toEqual([])
        expect(faultsOf(yield* send(userId))).toEqual([])
      })
    )
  )

  it.scoped("with two names that the platform told of two people is refused", () =>
    scenario(({ caller, engine, message, newsId, register }) =>
      Effect.gen(function* () {
        const [other, otherId] = ["34600000909", "ES.909"]
        yield* message(named(other, otherId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        yield* register(phone)
        const who = yield* caller
        const sendTo = (phone: string, userId: string) =>
          Effect.either(
            engine.send(who, {
              idempotencyKey: `${phone}-${userId}`,
              request: { templateId: newsId, recipients: [{ phone, userId }] }
            })
          )
        const refused = [["recipient_invalid", "recipients.0.user_id"]]
        expect(faultsOf(yield* sendTo(phone, otherId))).toEqual(refused)
        expect(faultsOf(yield* sendTo(other, userId))).toEqual(refused)
        expect(faultsOf(yield* sendTo(phone, userId))).toEqual([])
        const direct = yield* Effect.either(
          engine.sendDirect(who, {
            idempotencyKey: undefined,
            request: { to: phone, user_id: otherId, message: "Hello" }
          })
        )
        expect(faultsOf(direct)).toEqual([["recipient_invalid", "user_id"]])
      })
    )
  )

  it.scoped("with two names that the platform tells of two people after the acceptance gets nothing", () =>
    scenario(({ caller, drain, engine, message, newsId, register, sent, statuses }) =>
      Effect.gen(function* () {
        yield* register(phone)
        const sendAt = new Date(Date.UTC(2026, 2, 15, 12))
        const { jobId } = yield* engine.send(yield* caller, {
          idempotencyKey: "tomorrow",
          request: { templateId: newsId, recipients: [{ phone, userId }], sendAt }
        })
        yield* message(named("34600000909", userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 days")
        yield* drain
        expect(yield* statuses(jobId)).toEqual(["skipped"])
        expect(sent).toEqual([])
      })
    )
  )

  it.scoped("of a one-time code needs a number, by now or before", () =>
    scenario(({ admin, message, register, sendOf, session }) =>
      Effect.gen(function* () {
        const components = [
          { type: "BODY", text: "{{1}} is your code" },
          { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE", text: "Copy" }] }
        ]
        const { templates } = yield* admin.templates.importAll(session.id, [
          { name: "code", language: "en", category: "AUTHENTICATION", status: "APPROVED", components }
        ])
        const templateId = templates[0]?.templateId ?? 0
        yield* register(userId)
        expect(faultsOf(yield* sendOf(templateId, userId))).toContainEqual([
          "recipient_needs_number",
          "recipients.0.user_id"
        ])
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        expect(faultsOf(yield* sendOf(templateId, userId)).map(([code]) => code)).toEqual([
          "variable_missing"
        ])
      })
    )
  )
})
