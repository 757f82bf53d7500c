/** contract.md §14 "People without a number": a platform's user id beside or instead of a number. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import * as NamingPlatform from "./NamingPlatform.ts"
import { named } from "./NamingPlatform.ts"

const [phone, userId] = ["34600000101", "ES.13491208655302741918"]

const scenario = <E>(
  test: (shop: Effect.Effect.Success<typeof NamingPlatform.shop>) => Effect.Effect<void, E>
) => Effect.flatMap(NamingPlatform.shop, test)

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
    scenario(({ account, admin, engine, message, register, session }) =>
      Effect.gen(function* () {
        yield* message(named(phone, userId), { type: "text", text: { body: "Hello" } })
        yield* TestClock.adjust("2 seconds")
        yield* register(userId)
        const config = {
          phone_number_id: "206540352242922",
          waba_id: "202290129340398",
          access_token: "token",
          app_secret: "another-secret-of-the-platform",
          verify_token: "verify"
        }
        const other = yield* admin.sessions.create(account.id, {
          name: "Another",
          provider: "whatsapp_cloud",
          config
        })
        yield* admin.sessions.connect(other.id)
        const directTo = (sessionId: string) =>
          Effect.flatMap(engine.callerOf(sessionId), (who) =>
            Effect.either(
              engine.sendDirect(who, {
                idempotencyKey: undefined,
                request: { user_id: userId, message: "Hello" }
              })
            )
          )
        expect(faultsOf(yield* directTo(other.id))).toEqual([["recipient_invalid", "user_id"]])
        expect(yield* directTo(session.id)).toMatchObject({ right: { to: null, userId, status: "accepted" } })
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
