/** Inbound items of people: one commit for the id, the events, the links and the consents. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Consent from "../../src/domain/consent/Consent.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Occurrence from "../../src/domain/Occurrence.ts"
import type { Paged } from "../../src/domain/Page.ts"
import * as Person from "../../src/domain/Person.ts"
import * as Window from "../../src/domain/session/Window.ts"
import type { UnreadHook } from "../../src/domain/UnreadHook.ts"
import * as UnreadHooks from "../../src/domain/UnreadHook.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import type { InboundItem, Word } from "../../src/storage/InboundStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import type { Settlement } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, failure, listen, now, owner, purgeAll, results } from "./Setup.ts"

const [phone, userId] = ["34600000001", "ES.1"]

const nothing: InboundItem = { id: null, identity: null, message: null, word: null, unattributed: null }

const person = (phone: string | null, userId: string | null = null) => ({ phone, userId })

const word = (status: Word["status"], at: Time.Instant, some: Partial<Word> = {}): Word => ({
  purpose: "all",
  status,
  source: "test",
  proof: "proof",
  reportedAt: at,
  ...some
})

const said = (who: ReturnType<typeof person>, said: Word, id: string | null = null): InboundItem => ({
  ...nothing,
  id,
  identity: { person: who, formerly: null },
  word: said
})

const met = (
  who: ReturnType<typeof person>,
  formerly: ReturnType<typeof person> | null = null
): InboundItem => ({ ...nothing, identity: { person: who, formerly } })

const account = Effect.gen(function* () {
  const inbound = yield* InboundStore
  const consents = yield* ConsentStore
  const { accountId, sessionId } = yield* owner
  const receive = (items: ReadonlyArray<InboundItem>, at = now, portfolio = "p") =>
    inbound.receive({ accountId, sessionId, portfolio, items, now: at })
  const refused = (of = phone, purpose: "marketing" | "utility" = "marketing") =>
    Effect.map(consents.refusals({ accountId, phones: [of], purpose }), ({ size }) => size === 1)
  const grant = (at: Time.Instant, of = phone) =>
    consents.record({ accountId, records: [Fixtures.consent(of, { occurredAt: at, recordedAt: at })] })
  return { accountId, sessionId, inbound, consents, receive, refused, grant }
})

export const suite = (layer: Stored): void => {
  describe("what a message opens", () => {
    it.effect("stays as the latest told it, by each name of the person, until long after", () =>
      Effect.gen(function* () {
        const { accountId, inbound, receive, sessionId } = yield* account
        const opens = (id: string, at: Time.Instant, isReferred = false): InboundItem => ({
          ...met(person(phone, userId)),
          id,
          window: Window.opened(at, { isReferred })
        })
        const openUntil = Time.after(now, Time.day)
        const freeUntil = Time.after(now, 3 * Time.day - 5)
        yield* receive([
          opens("m1", Time.before(now, 5), true),
          opens("m2", now),
          opens("m2", Time.after(now, 9))
        ])
        yield* receive([opens("m3", Time.before(now, 1000))])
        const found = (keys: ReadonlyArray<string>, of = sessionId) =>
          Effect.map(inbound.window({ accountId, sessionId: of, keys }), ({ window }) => window)
        const window = { openUntil, freeUntil, closedAt: null, asideAt: null }
        expect(yield* found([phone])).toEqual(window)
        expect(yield* found(["34600000002", Person.keyOfUser(userId, "p")])).toEqual(window)
        for (const keys of [[], ["34600000002"], [Person.keyOfUser(userId, "q")]])
          expect(yield* found(keys)).toBeNull()
        expect(yield* found([phone], "other")).toBeNull()
        const heard = yield* inbound.heardOf({ accountId, keys: [phone, Person.keyOfUser(userId, "p")] })
        expect(heard).toEqual({ windows: [{ sessionId, window, isShared: false }], words: [] })
        expect(yield* inbound.heardOf({ accountId: "other", keys: [phone] })).toEqual({
          windows: [],
          words: []
        })
        const later = Time.after(now, 40 * Time.day)
        const other = { ...opens("m4", later), identity: { person: person("34600000002"), formerly: null } }
        yield* receive([other], later)
        expect(yield* found([phone])).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("is known by every name of the person, and never surely of who did not write", () =>
      Effect.gen(function* () {
        const { accountId, inbound, receive, sessionId } = yield* account
        const [ana, ben] = ["34600000003", "34600000004"]
        const wrote = (who: ReturnType<typeof person>, at: Time.Instant, isAside = false): InboundItem => ({
          ...met(who),
          window: Window.opened(at, { isAside })
        })
        const told = (key: string, at: Time.Instant) =>
          Effect.map(inbound.window({ accountId, sessionId, keys: [key] }), (heard) =>
            Window.told(heard, true, at)
          )
        const until = Time.after(now, Time.day)
        yield* receive([wrote(person(ana), now), met(person(ana, "ES.3"))])
        const open = { open: true, until, freeUntil: null, certain: true }
        expect(yield* told(ana, now)).toEqual(open)
        expect(yield* told(Person.keyOfUser("ES.3", "p"), now)).toEqual(open)
        const nobody = { open: false, until: null, freeUntil: null, certain: false }
        expect(yield* told(ben, now)).toEqual(nobody)
        expect(yield* told(ben, until)).toEqual(nobody)
        expect(yield* told(ana, until)).toEqual({ ...open, open: false })
        yield* receive([wrote(person(ben), now, true)], now)
        expect(yield* told(ana, now)).toEqual({ ...open, certain: false })
        expect(yield* told(ben, now)).toEqual({ ...open, certain: false })
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is not certain where others answer, whose answers open nothing, until long after the last",
      () =>
        Effect.gen(function* () {
          const { accountId, inbound, receive, sessionId } = yield* account
          const [ana, ben] = ["34600000005", "34600000006"]
          const told = (key: string, at: Time.Instant) =>
            Effect.map(inbound.window({ accountId, sessionId, keys: [key] }), (heard) =>
              Window.told(heard, true, at)
            )
          const wrote = (who: string, at: Time.Instant): InboundItem => ({
            ...met(person(who)),
            window: Window.opened(at)
          })
          const answered = (who: string, at: Time.Instant): InboundItem => ({
            ...met(person(who)),
            window: Window.answeredAside(at)
          })
          const until = Time.after(now, Time.day)
          yield* receive([wrote(ana, now)])
          yield* receive([answered(ben, now), answered(ana, Time.after(now, 5))])
          expect(yield* told(ana, now)).toEqual({ open: true, until, freeUntil: null, certain: false })
          expect(yield* told(ben, until)).toEqual({
            open: false,
            until: null,
            freeUntil: null,
            certain: false
          })
          const later = Time.after(now, 40 * Time.day)
          yield* receive([wrote(ana, later)], later)
          expect((yield* told(ana, later)).certain).toBe(false)
          yield* receive([answered("34600000007", later)], later)
          const { window } = yield* inbound.window({ accountId, sessionId, keys: [ben] })
          expect(window).toBeNull()
        }).pipe(Effect.provide(layer))
    )
  })

  describe("what comes in", () => {
    it.effect("is applied once with its event and its consent, however often it comes", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive, refused } = yield* account
        yield* listen(accountId)
        const message = Fixtures.received({ id: "m1", person: person(phone), text: "STOP", at: now })
        const item = { ...said(person(phone), word("revoked", now), "m1"), message }
        yield* receive([item, item])
        yield* receive([item], Time.after(now, Time.day))
        expect((yield* events(now + Time.day)).map(({ type }) => type)).toEqual([
          "message.received",
          "consent.revoked"
        ])
        expect(yield* consents.history({ accountId, phone })).toHaveLength(1)
        expect(yield* refused()).toBe(true)
        yield* purgeAll(Time.after(now, Occurrence.rememberedMs - 1))
        yield* receive([item], Time.after(now, Occurrence.rememberedMs))
        expect(yield* consents.history({ accountId, phone })).toHaveLength(1)
        yield* purgeAll(Time.after(now, Occurrence.rememberedMs))
        yield* receive([item], Time.after(now, Occurrence.rememberedMs))
        expect(yield* consents.history({ accountId, phone })).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("without an id is applied each time", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive } = yield* account
        yield* receive([said(person(phone), word("revoked", now))])
        yield* receive([said(person(phone), word("revoked", now))])
        expect(yield* consents.history({ accountId, phone })).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("revokes for everything that is known of the person, and grants what was told together", () =>
      Effect.gen(function* () {
        const { accountId, consents, grant, receive, refused } = yield* account
        yield* grant(Time.before(now, 10))
        yield* receive([met(person(phone, userId))])
        yield* receive([said(person(null, userId), word("revoked", now))])
        expect(yield* refused()).toBe(true)
        yield* receive([said(person(null, userId), word("granted", Time.after(now, 1)))])
        expect(yield* refused()).toBe(false)
        expect((yield* consents.history({ accountId, userId })).map(({ status }) => status)).toEqual([
          "revoked",
          "granted"
        ])
        expect((yield* consents.history({ accountId, phone })).at(-1)).toMatchObject({ phone, userId })
      }).pipe(Effect.provide(layer))
    )

    it.effect("grants nothing to a phone that another user id has come by, and revokes for it", () =>
      Effect.gen(function* () {
        const { consents, accountId, grant, receive, refused } = yield* account
        const heir = "ES.2"
        yield* grant(Time.before(now, 10))
        yield* receive([met(person(phone, userId))])
        yield* receive([said(person(phone, heir), word("revoked", now))])
        yield* receive([said(person(null, userId), word("granted", Time.after(now, 1)))])
        expect(yield* refused()).toBe(true)
        yield* receive([said(person(phone), word("granted", Time.after(now, 2)))])
        expect(yield* refused()).toBe(false)
        expect((yield* consents.history({ accountId, userId: heir })).at(-1)?.status).toBe("revoked")
        yield* receive([said(person(null, userId), word("revoked", Time.after(now, 3)))])
        expect(yield* refused()).toBe(true)
        yield* receive([said(person(phone, heir), word("granted", Time.after(now, 4)))])
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("grants a phone by one user id of each portfolio", () =>
      Effect.gen(function* () {
        const { receive, refused } = yield* account
        yield* receive([met(person(phone, userId))])
        yield* receive([met(person(phone, "ES.2"))], now, "another")
        yield* receive([said(person(null, userId), word("granted", Time.after(now, 1)))])
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("revokes for what is learnt later, with the proof's origin, and tells it", () =>
      Effect.gen(function* () {
        const { accountId, consents, grant, receive, refused } = yield* account
        yield* grant(Time.before(now, 10))
        yield* receive([said(person(null, userId), word("revoked", now, { purpose: "marketing" }))])
        expect(yield* refused()).toBe(false)
        yield* listen(accountId)
        yield* receive([met(person(phone, userId))], Time.after(now, 50))
        expect([yield* refused(), yield* refused(phone, "utility")]).toEqual([true, false])
        expect((yield* consents.history({ accountId, phone })).at(-1)).toMatchObject({
          status: "revoked",
          purpose: "marketing",
          occurredAt: now,
          recordedAt: now + 50,
          proof: `Carried over from ${userId}: proof`
        })
        expect((yield* events(now + 60)).map(({ type }) => type)).toEqual(["consent.revoked"])
        yield* receive([met(person(phone, userId))], Time.after(now, 70))
        expect(yield* consents.history({ accountId, phone })).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("revokes what is learnt in the same commit, before or behind the opt-out", () =>
      Effect.gen(function* () {
        const { grant, receive, refused } = yield* account
        const other = "34600000002"
        yield* grant(Time.before(now, 10))
        yield* grant(Time.before(now, 10), other)
        yield* receive([said(person(null, userId), word("revoked", now)), met(person(phone, userId))])
        yield* receive([met(person(other, "ES.2")), said(person(null, "ES.2"), word("revoked", now))])
        expect([yield* refused(), yield* refused(other)]).toEqual([true, true])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "carries an opt-out over to what comes in the place of a number or a user id, and no opt-in",
      () =>
        Effect.gen(function* () {
          const { accountId, consents, grant, receive, refused } = yield* account
          const [second, third] = ["34600000002", "34600000003"]
          yield* grant(Time.before(now, 10), second)
          yield* receive([said(person(phone), word("revoked", now))])
          yield* receive([met(person(second), person(phone))], Time.after(now, 1))
          expect(yield* refused(second)).toBe(true)
          yield* grant(Time.after(now, 5))
          yield* receive([met(person(third), person(phone))], Time.after(now, 6))
          expect(yield* refused(third)).toBe(true)
          // Back it does not go: the number may be another's by now, so that what was granted for it has ended.
          yield* receive([said(person(third), word("revoked", Time.after(now, 7)))])
          expect((yield* consents.history({ accountId, phone })).at(-1)?.source).toBe(Consent.numberChanged)
        }).pipe(Effect.provide(layer))
    )

    it.effect(
      "of a phone with more user ids than are kept is told, revokes all the same and grants less",
      () =>
        Effect.gen(function* () {
          const { accountId, consents, grant, receive, refused } = yield* account
          const many = Array.from({ length: Person.maximumLinks + 2 }, (_, n) => `ES.${n}`)
          yield* grant(Time.before(now, 10))
          for (const [n, userId] of many.entries()) {
            const { crowded } = yield* receive([met(person(phone, userId))], Time.after(now, n))
            expect(crowded).toEqual(n < Person.maximumLinks ? [] : [phone])
          }
          const [first = "", last = ""] = [many[0], many.at(-1)]
          yield* receive(
            [said(person(null, last), word("revoked", Time.after(now, 100)))],
            Time.after(now, 100)
          )
          expect(yield* refused()).toBe(true)
          for (const userId of [first, last])
            yield* receive(
              [said(person(null, userId), word("granted", Time.after(now, 101)))],
              Time.after(now, 101)
            )
          expect(yield* refused()).toBe(true)
          yield* receive(
            [said(person(phone, last), word("granted", Time.after(now, 102)))],
            Time.after(now, 102)
          )
          expect(yield* refused()).toBe(false)
          yield* receive([said(person(phone), word("revoked", Time.after(now, 103)))], Time.after(now, 103))
          expect(yield* refused()).toBe(true)
          // What was revoked holds for whoever is told with the phone, and goes on with the user id to the next phone.
          const [stranger, next] = ["ES.new", "34600000009"]
          yield* grant(Time.before(now, 10), next)
          yield* receive([met(person(phone, stranger))], Time.after(now, 104))
          yield* receive([met(person(next, stranger))], Time.after(now, 105))
          expect(yield* refused(next)).toBe(true)
          expect((yield* consents.history({ accountId, userId: first })).at(-1)?.status).toBe("revoked")
        }).pipe(Effect.provide(layer))
    )

    it.effect("files as much for a phone with a hundred user ids as for one with a few", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive } = yield* account
        const many = Array.from({ length: 100 }, (_, n) => `ES.${n}`)
        const filed = Effect.gen(function* () {
          const histories = yield* Effect.forEach(many, (userId) => consents.history({ accountId, userId }))
          return histories.flat().length
        })
        const counts: Array<number> = []
        for (const [n, userId] of many.entries()) {
          yield* receive(
            [said(person(phone, userId), word(n % 2 === 0 ? "revoked" : "granted", Time.after(now, n)))],
            Time.after(now, n)
          )
          if (n % 20 === 19) counts.push(yield* filed)
        }
        const grown = counts.map((count, place) => count - (counts[place - 1] ?? 0))
        expect(new Set(grown.slice(1)).size).toBe(1)
        expect(Math.max(...grown)).toBeLessThanOrEqual(20 * 2 * (Person.maximumKeys + Person.maximumLinks))
      }).pipe(Effect.provide(layer))
    )

    it.effect("of a phone that has opted in and out a hundred times decides as before", () =>
      Effect.gen(function* () {
        const { receive, refused } = yield* account
        for (let n = 0; n < 100; n++) {
          const purpose = n % 3 === 0 ? "marketing" : "all"
          yield* receive([
            said(person(phone), word(n % 2 === 0 ? "granted" : "revoked", Time.after(now, n), { purpose }))
          ])
        }
        const [second, third] = ["34600000002", "34600000003"]
        yield* receive([met(person(phone, userId)), met(person(second, userId))], Time.after(now, 200))
        expect([yield* refused(), yield* refused(second)]).toEqual([true, true])
        yield* receive([said(person(phone), word("granted", Time.after(now, 300)))], Time.after(now, 300))
        yield* receive([met(person(third), person(phone))], Time.after(now, 301))
        expect([yield* refused(), yield* refused(third)]).toEqual([false, true])
      }).pipe(Effect.provide(layer))
    )

    it.effect("means somebody only in its portfolio, and only in its account", () =>
      Effect.gen(function* () {
        const { accountId, consents, grant, receive, refused } = yield* account
        yield* grant(Time.before(now, 10))
        yield* receive([met(person(phone, userId))])
        yield* receive([said(person(null, userId), word("revoked", now))], now, "another")
        expect(yield* refused()).toBe(false)
        expect(yield* consents.history({ accountId, userId })).toHaveLength(1)
        const other = yield* account
        yield* other.receive([said(person(null, userId), word("revoked", now))])
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts an opt-out behind an opt-in of its second, and not behind a later one", () =>
      Effect.gen(function* () {
        const { receive, refused } = yield* account
        const second = Time.at(Math.floor(now / 1000) * 1000)
        const optIn = (at: Time.Instant) =>
          receive([said(person(phone), word("granted", at, { source: "inbound-message" }))])
        yield* optIn(Time.after(second, 300))
        yield* receive([said(person(phone), word("revoked", second))], Time.at(second + 400))
        expect(yield* refused()).toBe(true)
        yield* optIn(Time.after(second, 900))
        yield* receive([said(person(phone), word("revoked", second))], Time.at(second + 800))
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts by a session's own times what it dated, in whatever order it comes", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive, refused } = yield* account
        const stop = (at: Time.Instant) => said(person(phone), word("revoked", at))
        const start = (at: Time.Instant) => said(person(phone), word("granted", at))
        yield* receive([stop(now)])
        yield* receive([start(Time.before(now, Time.hour))], Time.after(now, 1000))
        expect(yield* refused()).toBe(true)
        expect((yield* consents.history({ accountId, phone })).at(-1)).toMatchObject({
          status: "granted",
          occurredAt: now - Time.hour,
          reportedAt: now - Time.hour,
          recordedAt: now + 1000
        })
        // Both in one hook, in either order.
        yield* receive([start(Time.after(now, 3000)), stop(Time.after(now, 2000))], Time.after(now, 5000))
        expect(yield* refused()).toBe(false)
        yield* receive([stop(Time.after(now, 7000)), start(Time.after(now, 6000))], Time.after(now, 9000))
        expect(yield* refused()).toBe(true)
        // An opt-out that comes days late counts as said when it came, but behind it the session dated an opt-in.
        yield* receive([start(Time.after(now, Time.day))], Time.after(now, Time.day))
        yield* receive([stop(Time.after(now, 9000))], Time.after(now, 2 * Time.day))
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "counts an opt-in before the operator's refusal since, and an opt-out late behind its grant",
      () =>
        Effect.gen(function* () {
          const { accountId, consents, grant, receive, refused } = yield* account
          const refusal = Fixtures.consent(phone, {
            status: "revoked",
            reportedAt: Time.before(now, Time.minute)
          })
          yield* consents.record({
            accountId,
            records: [{ ...refusal, occurredAt: Time.before(now, Time.minute) }]
          })
          yield* receive([said(person(phone), word("granted", Time.before(now, Time.hour)))], now)
          expect(yield* refused()).toBe(true)
          yield* grant(Time.after(now, 1))
          expect(yield* refused()).toBe(false)
          yield* receive(
            [said(person(phone), word("revoked", Time.before(now, Time.hour)))],
            Time.after(now, 2)
          )
          expect(yield* refused()).toBe(true)
        }).pipe(Effect.provide(layer))
    )

    it.effect("revokes for all purposes but those that the session later dated an opt-in for", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive, refused } = yield* account
        yield* receive([said(person(phone), word("granted", now, { purpose: "marketing" }))])
        yield* receive([said(person(phone), word("revoked", Time.before(now, Time.hour)))])
        expect([yield* refused(), yield* refused(phone, "utility")]).toEqual([false, true])
        const ids = (yield* consents.history({ accountId, phone })).map(({ id }) => id)
        expect(new Set(ids).size).toBe(ids.length)
      }).pipe(Effect.provide(layer))
    )

    it.effect("counts an opt-out behind a grant registered before it by a clock that is ahead", () =>
      Effect.gen(function* () {
        const { accountId, consents, grant, receive, refused } = yield* account
        yield* grant(Time.after(now, 5))
        yield* receive([said(person(phone), word("revoked", now))])
        expect(yield* refused()).toBe(true)
        expect((yield* consents.history({ accountId, phone })).at(-1)).toMatchObject({
          status: "revoked",
          occurredAt: now + 5,
          recordedAt: now
        })
        yield* grant(Time.after(now, 6))
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("carries no opt-out over a grant that was registered after it", () =>
      Effect.gen(function* () {
        const { grant, receive, refused } = yield* account
        yield* receive([said(person(null, userId), word("revoked", now))])
        yield* grant(Time.after(now, 5))
        yield* receive([met(person(phone, userId))], Time.after(now, 10))
        expect(yield* refused()).toBe(false)
      }).pipe(Effect.provide(layer))
    )

    it.effect("has an operator's revocation hold for the user id, too", () =>
      Effect.gen(function* () {
        const { accountId, consents, receive, refused } = yield* account
        const second = "34600000002"
        yield* receive([met(person(phone, userId))])
        yield* consents.record({ accountId, records: [Fixtures.consent(phone, { status: "revoked" })] })
        expect((yield* consents.history({ accountId, userId })).map(({ status }) => status)).toEqual([
          "revoked"
        ])
        yield* receive([met(person(second, userId))], Time.after(now, 1))
        expect(yield* refused(second)).toBe(true)
      }).pipe(Effect.provide(layer))
    )

    it.effect("and may be an opt-out is kept and told once, listed until it is recorded", () =>
      Effect.gen(function* () {
        const { accountId, inbound, receive, refused, sessionId } = yield* account
        yield* listen(accountId)
        const doubtful = (id: string, at = now): InboundItem => ({
          ...nothing,
          id,
          perhapsRefusal: {
            id: `p-${id}`,
            accountId,
            sessionId,
            phone,
            userId: null,
            messageId: id,
            text: "can you stop the order",
            occurredAt: at,
            reportedAt: null,
            recordedAt: at
          }
        })
        yield* receive([doubtful("1"), doubtful("2")])
        yield* receive([doubtful("1"), doubtful("3")])
        const listed = () =>
          Effect.map(inbound.perhapsRefusals({ accountId, page: { limit: 2, after: null } }), ({ items }) =>
            items.map(({ id }) => id)
          )
        expect(yield* listed()).toEqual(["p-3", "p-2"])
        const { words } = yield* inbound.heardOf({ accountId, keys: ["34600000009", phone] })
        expect(words.map(({ id }) => id)).toEqual(["p-3", "p-2", "p-1"])
        expect((yield* inbound.heardOf({ accountId, keys: ["34600000009"] })).words).toEqual([])
        expect((yield* events()).map(({ type }) => type)).toEqual(Array(3).fill("inbound.perhaps_refusal"))
        expect(yield* inbound.perhapsRefusal("p-3")).toMatchObject({ accountId, phone, portfolio: "p" })
        const counts = yield* inbound.countPerhapsRefusals({ most: 1_000_000 })
        expect(counts?.count).toBeGreaterThanOrEqual(3)
        expect(yield* inbound.countPerhapsRefusals({ most: 2 })).toEqual({
          count: 2,
          firstAt: now,
          accountId
        })
        yield* inbound.forgetPerhapsRefusal("p-3")
        expect((yield* inbound.countPerhapsRefusals({ most: 1_000_000 }))?.count).toBe(
          (counts?.count ?? 0) - 1
        )
        expect(yield* inbound.perhapsRefusal("p-3")).toBeNull()
        expect(yield* listed()).toEqual(["p-2", "p-1"])
        expect(yield* refused()).toBe(true)
        const other = yield* account
        const foreign = { accountId: other.accountId, page: { limit: 2, after: null } }
        expect((yield* inbound.perhapsRefusals(foreign)).items).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("and names nobody is kept and told once, listed newest first", () =>
      Effect.gen(function* () {
        const { accountId, inbound, receive, sessionId } = yield* account
        yield* listen(accountId)
        const found = (id: string): InboundItem => ({
          ...nothing,
          id,
          unattributed: {
            id: `u-${id}`,
            accountId,
            sessionId,
            kind: "message",
            messageId: id,
            text: "STOP",
            occurredAt: now,
            recordedAt: now
          }
        })
        yield* receive([found("1"), found("2")])
        yield* receive([found("1"), found("3")])
        const page = (after: number | null) => inbound.unattributed({ accountId, page: { limit: 2, after } })
        const first = yield* page(null)
        expect(first.items).toEqual([found("3").unattributed, found("2").unattributed])
        expect((yield* page(first.next)).items.map(({ id }) => id)).toEqual(["u-1"])
        expect((yield* events()).map(({ type }) => type)).toEqual(Array(3).fill("inbound.unattributed"))
        const other = yield* owner
        const none = yield* inbound.unattributed({
          accountId: other.accountId,
          page: { limit: 2, after: null }
        })
        expect(none.items).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a part of a hook that nobody understood", () => {
    const part = (name: string, some: Partial<UnreadHook> = {}): UnreadHook => ({
      id: Fixtures.makeIds().uuid(now),
      field: "calls",
      reason: "not known",
      content: `{"${name}":"…"}`,
      isCut: false,
      receivedAt: now,
      ...some
    })

    it.effect("is listed as it came, newest first, of its session alone", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const { sessionId } = yield* owner
        const other = yield* owner
        const parts = ["a", "b", "c"].map((name) => part(name, { isCut: name === "b" }))
        yield* inbound.retainUnread({ sessionId, parts: parts.slice(0, 2) })
        yield* inbound.retainUnread({ sessionId: other.sessionId, parts: [part("x")] })
        yield* inbound.retainUnread({ sessionId, parts: parts.slice(2) })
        const first = yield* inbound.unread({ sessionId, page: { limit: 2, after: null } })
        expect(first.items).toEqual([parts[2], parts[1]])
        const rest = yield* inbound.unread({ sessionId, page: { limit: 2, after: first.next } })
        expect(rest).toEqual({ items: [parts[0]], next: null })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is forgotten for newer ones beyond what is kept of its field, and of its session", () =>
      Effect.gen(function* () {
        const inbound = yield* InboundStore
        const { sessionId } = yield* owner
        const { maximumOfField, maximumOfSession, maximumParts } = UnreadHooks
        const retain = (field: string, most: number) =>
          Effect.forEach(
            Array.from({ length: most / maximumParts }, (_, n) => n * maximumParts),
            (from) =>
              inbound.retainUnread({
                sessionId,
                parts: Array.from({ length: maximumParts }, (_, n) => part(String(from + n), { field }))
              }),
            { discard: true }
          )
        const kept = Effect.gen(function* () {
          const found = new Map<string, number>()
          let after: number | null = null
          do {
            const page: Paged<UnreadHook> = yield* inbound.unread({
              sessionId,
              page: { limit: 250, after }
            })
            for (const { field } of page.items) found.set(field, 1 + (found.get(field) ?? 0))
            after = page.next
          } while (after !== null)
          return found
        })
        yield* retain("rare", maximumParts)
        yield* retain("often", 2 * maximumOfField)
        expect(yield* kept).toEqual(
          new Map([
            ["often", maximumOfField],
            ["rare", maximumParts]
          ])
        )
        const { items } = yield* inbound.unread({ sessionId, page: { limit: 1, after: null } })
        expect(items).toMatchObject([{ content: part(String(2 * maximumOfField - 1)).content }])
        for (let n = 0; n < maximumOfSession / maximumOfField; n++) yield* retain(`f${n}`, maximumOfField)
        const all = yield* kept
        expect([...all.values()].reduce((sum, each) => sum + each, 0)).toBe(maximumOfSession)
        expect([all.has("rare"), all.has("often")]).toEqual([false, false])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("an opt-out that comes with an outcome", () => {
    const refusal = { ...failure, code: "marketing_opted_out" }

    /** A job of two recipients in hand, the first of whom has opted out by the platform's answer. */
    const refusedOne = Effect.gen(function* () {
      const jobs = yield* JobStore
      const some = yield* account
      const { accountId, sessionId } = some
      const command = Fixtures.send(yield* owner, { accountId, sessionId, phones: 2 })
      yield* jobs.accept(command)
      const [job] = yield* claim()
      const [first] = command.recipients
      const phone = first?.address ?? ""
      yield* some.grant(Time.before(now, 1), phone)
      const settlement: Settlement = {
        jobId: command.jobId,
        fence: job?.fence ?? -1,
        index: 0,
        outcome: Outcome.Failed({ failure: refusal }),
        inbound: {
          accountId,
          sessionId,
          portfolio: "p",
          items: [said(person(phone), word("revoked", now, { purpose: "marketing" }), "answer")]
        }
      }
      const settle = (settlements: ReadonlyArray<Settlement>, at = Time.after(now, 1)) =>
        Effect.map(jobs.settleAndClaim({ now: at, settlements, claim: null }), ({ settled }) => settled)
      const statuses = Effect.map(results(command.jobId), (all) => all.map(({ status }) => status))
      const history = Effect.map(some.consents.history({ accountId, phone }), (all) =>
        all.map(({ status }) => status)
      )
      return { ...some, history, phone, settle, settlement, statuses }
    })

    it.effect("is recorded with it, once however often it is handed in, and tells it", () =>
      Effect.gen(function* () {
        const { accountId, history, phone, receive, refused, settle, settlement, statuses } =
          yield* refusedOne
        yield* receive([met(person(phone, userId))])
        yield* listen(accountId)
        expect(yield* settle([settlement])).toBe(1)
        expect(yield* statuses).toEqual(["failed", "sending"])
        expect([yield* refused(phone), yield* refused(phone, "utility")]).toEqual([true, false])
        expect(yield* settle([settlement, settlement], Time.after(now, 2))).toBe(0)
        expect(yield* history).toEqual(["granted", "revoked"])
        expect((yield* events(now + 2)).map(({ type }) => type)).toEqual([
          "recipient.failed",
          "consent.revoked"
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not recorded where the outcomes beside it cannot be", () =>
      Effect.gen(function* () {
        const { history, phone, refused, settle, settlement, statuses } = yield* refusedOne
        const broken: Settlement = {
          ...settlement,
          index: 1,
          get outcome(): Outcome {
            throw new Error("It broke.")
          }
        }
        expect(Exit.isFailure(yield* Effect.exit(settle([settlement, broken])))).toBe(true)
        expect(yield* statuses).toEqual(["sending", "sending"])
        expect(yield* history).toEqual(["granted"])
        expect(yield* settle([settlement])).toBe(1)
        expect(yield* refused(phone)).toBe(true)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is recorded though its outcome comes too late to change anything", () =>
      Effect.gen(function* () {
        const { phone, refused, settle, settlement, statuses } = yield* refusedOne
        const jobs = yield* JobStore
        yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 1), recoverable: ["sandbox"] })
        expect(yield* settle([settlement], Time.after(now, 2))).toBe(0)
        expect(yield* statuses).not.toContain("failed")
        expect(yield* refused(phone)).toBe(true)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is recorded in the account of each, of several that are handed in together", () =>
      Effect.gen(function* () {
        const one = yield* refusedOne
        const other = yield* refusedOne
        const named = (each: typeof one, id: string): Settlement => ({
          ...each.settlement,
          inbound: {
            accountId: each.accountId,
            sessionId: each.sessionId,
            portfolio: "p",
            items: [said(person(each.phone), word("revoked", now, { purpose: "marketing" }), id)]
          }
        })
        expect(yield* one.settle([named(one, "1"), named(other, "2")])).toBe(2)
        expect([yield* one.refused(one.phone), yield* other.refused(other.phone)]).toEqual([true, true])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a session's keywords", () => {
    it.effect("are the default ones until they are changed, and again when they are null", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId: id } = yield* owner
        const keywords = { optOut: ["adiós"], optIn: null }
        expect((yield* sessions.find(id))?.keywords).toEqual({ optOut: null, optIn: null })
        yield* sessions.change({ id, change: { keywords }, now })
        expect((yield* sessions.find(id))?.keywords).toEqual(keywords)
        yield* sessions.change({ id, change: { keywords: { optOut: null, optIn: null } }, now })
        expect((yield* sessions.find(id))?.keywords).toEqual({ optOut: null, optIn: null })
      }).pipe(Effect.provide(layer))
    )
  })
}
