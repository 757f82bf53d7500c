/** Who is one person (contract.md §11 "People"): what a platform ties together by a message of ours. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Person from "../../src/domain/Person.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import type { InboundItem, Word } from "../../src/storage/InboundStore.ts"
import { InboundStore } from "../../src/storage/InboundStore.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, now, owner, results } from "./Setup.ts"

/** A number of Ivory Coast as it is asked for, and the id of its account, which is older than its two new digits. */
const [asked, waId, userId] = ["2250707123456", "22507123456", "CI.1"]
const [second, third] = ["34600000002", "34600000003"]

const nothing: InboundItem = { id: null, identity: null, message: null, word: null, unattributed: null }
const person = (phone: string | null, userId: string | null = null): Person.Person => ({ phone, userId })

const word = (status: Word["status"], at: Time.Instant): Word => ({
  purpose: "all",
  status,
  source: "inbound-message",
  proof: "proof",
  reportedAt: at
})

const account = Effect.gen(function* () {
  const inbound = yield* InboundStore
  const consents = yield* ConsentStore
  const who = yield* owner
  const { accountId, sessionId } = who
  const receive = (items: ReadonlyArray<InboundItem>, at = now) =>
    inbound.receive({ accountId, sessionId, portfolio: "p", items, now: at })
  const met = (identity: Person.IdentityReport, at = now) => receive([{ ...nothing, identity }], at)
  /** The platform names whom we asked for by a number. */
  const named = (asked: string, phone: string | null, userId: string | null = null, at = now) =>
    met({ person: person(phone, userId), formerly: null, asked: [asked] }, at)
  const moved = (from: string, to: string, at: Time.Instant, userId: string | null = null) =>
    met({ person: person(to, userId), formerly: person(from), at }, at)
  const said = (
    status: Word["status"],
    phone: string | null,
    at: Time.Instant,
    userId: string | null = null
  ) =>
    receive(
      [{ ...nothing, identity: { person: person(phone, userId), formerly: null }, word: word(status, at) }],
      at
    )
  const register = (status: Word["status"], phone: string, at: Time.Instant) =>
    consents.record({
      accountId,
      records: [Fixtures.consent(phone, { status, occurredAt: at, recordedAt: at })]
    })
  /** Of these those who may have nothing. */
  const refused = (...phones: ReadonlyArray<string>) =>
    Effect.map(consents.refusals({ accountId, phones, purpose: "marketing" }), (found) =>
      phones.filter((_, place) => found.has(place))
    )
  const numbers = (...phones: ReadonlyArray<string>) => inbound.others({ accountId, keys: phones })
  return { ...who, met, moved, named, numbers, receive, refused, register, said }
})

export const suite = (layer: Stored): void => {
  describe("one person", () => {
    it.effect("is the number asked for and the one that the platform names: either's opt-out is both's", () =>
      Effect.gen(function* () {
        const { named, refused, register, said } = yield* account
        for (const phone of [asked, waId]) yield* register("granted", phone, Time.before(now, 10))
        yield* named(asked, waId)
        yield* said("revoked", waId, Time.after(now, 1))
        expect(yield* refused(asked, waId)).toEqual([asked, waId])
        yield* said("granted", waId, Time.after(now, 2))
        expect(yield* refused(asked, waId)).toEqual([])
        yield* said("revoked", asked, Time.after(now, 3))
        expect(yield* refused(asked, waId)).toEqual([asked, waId])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is refused by what one name said before the platform told of the other", () =>
      Effect.gen(function* () {
        const { named, refused, register, said } = yield* account
        for (const phone of [asked, waId]) yield* register("granted", phone, Time.before(now, 10))
        yield* said("revoked", waId, now, userId)
        expect(yield* refused(asked)).toEqual([])
        yield* named(asked, null, userId, Time.after(now, 5))
        expect(yield* refused(asked)).toEqual([asked])
        yield* said("granted", null, Time.after(now, 6), userId)
        expect(yield* refused(asked, waId)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves a number with what was granted for it, and with no refusal of theirs", () =>
      Effect.gen(function* () {
        const { accountId, moved, named, refused, register, said, met } = yield* account
        const consents = yield* ConsentStore
        const sourcesOf = (phone: string) =>
          Effect.map(consents.history({ accountId, phone }), (history) =>
            history.map(({ purpose, source, status }) => [status, source, purpose])
          )
        for (const phone of [asked, second, third]) yield* register("granted", phone, Time.before(now, 10))
        // The platform names the line that is asked for by another number.
        yield* named(asked, waId)
        yield* moved(waId, second, Time.after(now, Time.second))
        expect(yield* refused(asked, second)).toEqual([asked])
        expect(yield* sourcesOf(asked)).toEqual([
          ["granted", "test", "all"],
          ["revoked", "number_changed", "all"]
        ])
        yield* moved(waId, second, Time.after(now, Time.second))
        expect(yield* sourcesOf(asked)).toHaveLength(2)
        // What ended with a number is no word of anybody's.
        expect(yield* sourcesOf(second)).toEqual([["granted", "test", "all"]])

        // Another user id of the portfolio has it; one that replaced the first is the same person's.
        yield* met({ person: person(third, "ES.1"), formerly: null }, now)
        yield* met({ person: person(null, "ES.2"), formerly: person(null, "ES.1") }, Time.after(now, 1))
        yield* met({ person: person(third, "ES.2"), formerly: null }, Time.after(now, 2))
        expect(yield* refused(third)).toEqual([])
        // The new owner's own word of the same second stands.
        const at = Time.after(now, 3 * Time.second)
        yield* said("granted", third, at, "ES.9")
        expect(yield* sourcesOf(third)).toEqual([
          ["granted", "test", "all"],
          ["revoked", "number_changed", "all"],
          ["granted", "inbound-message", "all"]
        ])
        expect(yield* refused(third)).toEqual([])
        yield* register("granted", third, Time.after(at, Time.second))
        yield* met({ person: person(third, "ES.9"), formerly: null }, Time.after(at, 2 * Time.second))
        expect(yield* refused(third)).toEqual([])
        // News of before the new owner's word, late and twice, ends nothing that they said.
        yield* moved(third, second, Time.before(at, Time.second))
        yield* moved(third, second, Time.before(at, Time.second))
        expect(yield* refused(third)).toEqual([])
        // A list without times opens no number that its owner left.
        const record = Fixtures.consent(asked, { occurredAt: at, recordedAt: at })
        const undated = new Map([[record.id, { isErased: false }]])
        expect(yield* consents.record({ accountId, records: [record], undated })).toEqual([null])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "leaves a number that another user id has, as it is asked for and as the platform names it",
      () =>
        Effect.gen(function* () {
          const { accountId, met, named, refused, register } = yield* account
          const consents = yield* ConsentStore
          for (const phone of [asked, waId]) yield* register("granted", phone, Time.before(now, 10))
          yield* named(asked, waId, userId)
          yield* met({ person: person(waId, "CI.2"), formerly: null }, Time.after(now, Time.second))
          expect(yield* refused(asked, waId)).toEqual([asked, waId])
          const why = yield* consents.refusals({ accountId, phones: [asked], purpose: "marketing" })
          expect(why.get(0)).toMatchObject({ _tag: "Revoked", record: { source: "number_changed" } })
        }).pipe(Effect.provide(layer))
    )

    it.effect("stays refused by their own words, and by an erasure, where a list tells no time", () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        const { accountId, refused, register, said } = yield* account
        const recorded = (
          phone: string,
          isErased: boolean,
          some: Parameters<typeof Fixtures.consent>[1] = {}
        ) => {
          const record = Fixtures.consent(phone, {
            occurredAt: Time.after(now, 5),
            recordedAt: Time.after(now, 5),
            ...some
          })
          const undated = new Map([[record.id, { isErased }]])
          return Effect.map(
            consents.record({ accountId, records: [record], undated }),
            ([each]) => each !== null
          )
        }
        yield* said("revoked", asked, Time.after(now, 1))
        yield* register("revoked", waId, Time.after(now, 1))
        // Of the account's own refusal nobody knows more than of the list.
        expect([yield* recorded(asked, false), yield* recorded(waId, false)]).toEqual([false, true])
        expect(yield* recorded(asked, false, { purpose: "utility" })).toBe(false)
        expect(yield* refused(asked, waId)).toEqual([asked])
        expect([yield* recorded(second, true), yield* recorded(third, false)]).toEqual([false, true])
        expect(yield* refused(second, third)).toEqual([second])
        // What is known of a time since opens it, and a list that follows changes nothing.
        yield* register("granted", asked, Time.after(now, 6))
        yield* register("granted", second, Time.after(now, 6))
        expect([yield* recorded(asked, false), yield* recorded(second, true)]).toEqual([true, true])
        expect(
          yield* recorded(asked, false, {
            status: "revoked",
            occurredAt: Time.after(now, 7),
            recordedAt: Time.after(now, 7)
          })
        ).toBe(true)
        expect(yield* refused(asked, second)).toEqual([asked])
      }).pipe(Effect.provide(layer))
    )

    it.effect("says it in a reply to a message of ours, also where the platform mixes people up", () =>
      Effect.gen(function* () {
        const { named, receive, refused, register } = yield* account
        const strangers = Array.from({ length: Person.maximumLinks }, (_, n) => `3461000000${n}`)
        for (const each of strangers) yield* named(each, waId)
        yield* register("granted", asked, Time.before(now, 10))
        const identity = { person: person(waId), formerly: null, asked: [asked] }
        yield* receive(
          [{ ...nothing, identity, word: word("revoked", Time.after(now, 1)) }],
          Time.after(now, 1)
        )
        expect(yield* refused(asked)).toEqual([asked])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is granted by an operator for the number that is named, and revoked for all of them", () =>
      Effect.gen(function* () {
        const { named, refused, register, said } = yield* account
        const [mexican, other] = ["5215512345678", "525512345678"]
        yield* named(asked, waId)
        yield* register("granted", waId, Time.after(now, 1))
        expect(yield* refused(asked, waId)).toEqual([asked])
        yield* named(asked, null, userId, Time.after(now, 2))
        expect(yield* refused(asked, waId)).toEqual([asked])
        yield* register("granted", asked, Time.after(now, 3))
        yield* register("revoked", waId, Time.after(now, 4))
        expect(yield* refused(asked, waId)).toEqual([asked, waId])
        yield* register("granted", asked, Time.after(now, 5))
        yield* said("granted", other, Time.after(now, 5))
        yield* register("revoked", mexican, Time.after(now, 6))
        expect(yield* refused(asked, waId, mexican, other)).toEqual([waId, mexican, other])
      }).pipe(Effect.provide(layer))
    )

    it.effect("stays refused by another name where an operator has granted the one that said no", () =>
      Effect.gen(function* () {
        const { named, refused, register, said } = yield* account
        for (const phone of [asked, waId]) yield* register("granted", phone, Time.before(now, 10))
        yield* said("revoked", waId, now)
        yield* register("granted", waId, Time.after(now, 1))
        yield* named(asked, waId, null, Time.after(now, 2))
        expect(yield* refused(asked, waId)).toEqual([asked])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is nobody where the platform gives one number to everybody", () =>
      Effect.gen(function* () {
        const { named, numbers, refused, register, said } = yield* account
        const all = Array.from({ length: 40 }, (_, n) => `346000001${String(n).padStart(2, "0")}`)
        for (const phone of all) yield* register("granted", phone, Time.before(now, 10))
        for (const [n, phone] of all.entries()) yield* named(phone, waId, null, Time.after(now, n))
        const [first = "", last = "", newcomer] = [all[0], all.at(-1), "34600000999"]
        yield* said("revoked", first, Time.after(now, 100))
        yield* said("revoked", last, Time.after(now, 101))
        const stopped = yield* refused(...all)
        expect(stopped).toEqual(expect.arrayContaining([first, last]))
        expect(stopped.length).toBeLessThanOrEqual(Person.maximumKeys)
        // An opt-out of the number itself goes no further, nor to who is named with it later.
        yield* said("revoked", waId, Time.after(now, 102))
        yield* register("granted", newcomer, Time.after(now, 103))
        yield* named(newcomer, waId, null, Time.after(now, 104))
        expect((yield* refused(...all)).length).toBeLessThanOrEqual(Person.maximumKeys)
        expect(yield* refused(newcomer)).toEqual([])
        yield* said("granted", waId, Time.after(now, 105))
        expect(yield* refused(first, last)).toEqual([first, last])
        expect(yield* numbers(first, last)).toEqual(new Map())
      }).pipe(Effect.provide(layer))
    )

    it.effect("has several numbers and a user id, of each of which all are found", () =>
      Effect.gen(function* () {
        const { named, numbers } = yield* account
        const another = yield* account
        const brazilian = ["5511987654399", "551187654399"]
        yield* named(asked, waId)
        yield* named(second, waId, userId)
        const found = yield* numbers(asked, waId, third, ...brazilian)
        expect([...found.keys()].toSorted()).toEqual([asked, waId, ...brazilian].toSorted())
        expect(found.get(asked)?.toSorted()).toEqual([asked, waId, second, `@${userId} p`].toSorted())
        expect(found.get(asked)?.[0]).toBe(asked)
        expect(found.get(brazilian[1] ?? "")).toEqual(brazilian.toReversed())
        expect(yield* another.numbers(asked)).toEqual(new Map())
      }).pipe(Effect.provide(layer))
    )

    it.effect("has two messages apart, whichever number they go to", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sessions = yield* SessionStore
        const { accountId, publicKey } = yield* owner
        const session = Fixtures.session(accountId, {
          pacing: { messagesPerSecond: null, pairIntervalMs: 6000 }
        })
        yield* sessions.create(session)
        const inbound = yield* InboundStore
        const identity = { person: person(waId), formerly: null, asked: [asked] }
        const sessionId = session.id
        const items = [{ ...nothing, identity }]
        yield* inbound.receive({ accountId, sessionId, portfolio: "p", items, now })
        const phones = [asked, "5511987654399", waId, "551187654399", second]
        const recipients = phones.map((phone) => ({
          address: phone,
          externalId: null,
          values: ["a"],
          market: null,
          price: null
        }))
        const command = Fixtures.send({ accountId, sessionId, publicKey }, { recipients })
        yield* jobs.accept(command)
        const claimed = yield* claim(10)
        const sent = claimed.flatMap(({ recipients }) => recipients.map(({ address: phone }) => phone))
        expect(sent).toEqual([asked, "5511987654399", second])
        const later = yield* Effect.map(results(command.jobId), (all) => all.map(({ nextAt }) => nextAt))
        expect([later[2], later[3]]).toEqual([now + 6000, now + 6000])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a number that changed hands", () => {
    const at = Time.after(now, Time.minute)

    it.effect("brings its owner's opt-outs to the new number, and takes none of theirs afterwards", () =>
      Effect.gen(function* () {
        const { moved, named, refused, register, said } = yield* account
        const newUserId = "CI.2"
        for (const phone of [asked, waId, second, third])
          yield* register("granted", phone, Time.before(now, 10))
        yield* named(asked, waId, userId)
        yield* named(third, waId)
        yield* said("revoked", waId, Time.after(now, 1))
        yield* moved(waId, second, at, newUserId)
        expect(yield* refused(asked, waId, second, third)).toEqual([asked, waId, second, third])
        // Who has the number now says yes and no for themselves.
        yield* said("granted", waId, Time.after(at, Time.minute), "CI.heir")
        expect(yield* refused(asked, waId, second, third)).toEqual([asked, second, third])
        yield* said("granted", second, Time.after(at, 2 * Time.minute), newUserId)
        expect(yield* refused(waId, second)).toEqual([])
        yield* said("revoked", second, Time.after(at, 3 * Time.minute))
        expect(yield* refused(waId, second, third)).toEqual([second, third])
      }).pipe(Effect.provide(layer))
    )

    it.effect("grants nothing to whom it belongs now by what its former owner is known by", () =>
      Effect.gen(function* () {
        const { moved, named, refused, said } = yield* account
        yield* named(asked, waId, userId)
        yield* moved(waId, second, at)
        yield* said("revoked", waId, Time.after(at, Time.minute))
        yield* said("granted", null, Time.after(at, 2 * Time.minute), userId)
        yield* said("granted", second, Time.after(at, 2 * Time.minute))
        expect(yield* refused(waId)).toEqual([waId])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not tied to its former owner again by what was told before, and comes late", () =>
      Effect.gen(function* () {
        const { met, moved, refused, said } = yield* account
        const late = { person: person(waId, userId), formerly: null, asked: [asked], at: now }
        yield* moved(waId, second, at)
        yield* met(late, Time.after(at, Time.minute))
        yield* said("revoked", waId, Time.after(at, 2 * Time.minute))
        yield* said("granted", null, Time.after(at, 3 * Time.minute), userId)
        expect(yield* refused(waId)).toEqual([waId])
        // What the former owner is known by is the new number's.
        yield* said("granted", second, Time.after(at, 3 * Time.minute))
        yield* said("granted", asked, Time.after(at, 3 * Time.minute))
        yield* said("revoked", null, Time.after(at, 4 * Time.minute), userId)
        expect(yield* refused(second, asked)).toEqual([second, asked])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is its new owner's, however often the change is told again", () =>
      Effect.gen(function* () {
        const { moved, named, numbers, refused, said } = yield* account
        yield* named(asked, waId)
        yield* moved(waId, second, at)
        expect(yield* numbers(waId, asked)).toEqual(new Map())
        yield* named(third, waId, null, Time.after(at, Time.minute))
        yield* moved(waId, second, at)
        expect((yield* numbers(third)).get(third)).toEqual([third, waId])
        yield* said("granted", waId, Time.after(at, 2 * Time.minute))
        expect(yield* refused(third)).toEqual([])
        // And back: it is the former owner's again.
        yield* moved(second, waId, Time.after(at, 3 * Time.minute))
        yield* said("revoked", waId, Time.after(at, 4 * Time.minute))
        expect(yield* refused(asked, waId)).toEqual([asked, waId])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("whom the platform names", () => {
    const sent = Effect.gen(function* () {
      const jobs = yield* JobStore
      const some = yield* account
      const { accountId, publicKey, sessionId } = some
      const command = Fixtures.send({ accountId, sessionId, publicKey }, { phones: 2 })
      yield* jobs.accept(command)
      const [job] = yield* claim()
      const [first = "", other = ""] = command.recipients.map(({ address: phone }) => phone)
      const settle = (inbound = true) =>
        jobs.settleAndClaim({
          now,
          settlements: [0, 1].map((index) => ({
            jobId: command.jobId,
            fence: job?.fence ?? -1,
            index,
            outcome: Outcome.Accepted({ providerId: `p${index}`, status: "accepted" }),
            ...(inbound && index === 0
              ? {
                  inbound: {
                    accountId,
                    sessionId,
                    portfolio: "p",
                    items: [
                      { ...nothing, identity: { person: person(waId), formerly: null, asked: [first] } }
                    ]
                  }
                }
              : {})
          })),
          claim: null
        })
      const report = (named: Report["named"], index = 0): Report => ({
        messageId: null,
        providerId: `p${index}`,
        status: "delivered",
        at: now,
        failure: null,
        ...(named === undefined ? {} : { named })
      })
      return { ...some, command, first, jobs, other, report, settle }
    })

    it.effect("in an answer is linked in the commit of the outcome, once however often it is handed in", () =>
      Effect.gen(function* () {
        const { first, numbers, refused, register, said, settle } = yield* sent
        yield* register("granted", first, Time.before(now, 10))
        expect((yield* settle()).settled).toBe(2)
        expect((yield* settle()).settled).toBe(0)
        expect((yield* numbers(first)).get(first)).toEqual([first, waId])
        yield* said("revoked", waId, Time.after(now, 1))
        expect(yield* refused(first)).toEqual([first])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "in a receipt is answered with the number asked for, each time, and only where it differs",
      () =>
        Effect.gen(function* () {
          const { first, jobs, other, report, sessionId, settle } = yield* sent
          yield* settle(false)
          const reports = [
            report({ phone: waId, userId: null }),
            report({ phone: other, userId }, 1),
            report({ phone: null, userId }, 1),
            report(undefined)
          ]
          for (const applied of [2, 0]) {
            const received = yield* jobs.receive({ now, sessionId, reports })
            expect(received).toEqual({
              applied,
              ends: { recipients: [], jobs: [] },
              unmatched: [],
              refused: [],
              ended: expect.any(Array),
              met: [
                { sessionId, asked: first, report: reports[0] },
                { sessionId, asked: other, report: reports[2] }
              ]
            })
          }
        }).pipe(Effect.provide(layer))
    )

    it.effect("in a receipt before our own commit is answered once the message is known", () =>
      Effect.gen(function* () {
        const { first, jobs, report, sessionId, settle } = yield* sent
        const early = report({ phone: waId, userId: null })
        expect((yield* jobs.receive({ now, sessionId, reports: [early] })).met).toEqual([])
        yield* settle(false)
        expect((yield* jobs.applyEarlyReports({ now })).met).toEqual([
          { sessionId, asked: first, report: early }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is found by the platform's id of the session's message", () =>
      Effect.gen(function* () {
        const { first, jobs, sessionId, settle } = yield* sent
        yield* settle(false)
        const another = yield* account
        const providerIds = ["p0", "strange"]
        expect(yield* jobs.sentTo({ sessionId, providerIds })).toEqual(new Map([["p0", first]]))
        expect(yield* jobs.sentTo({ sessionId: another.sessionId, providerIds })).toEqual(new Map())
      }).pipe(Effect.provide(layer))
    )
  })
}
