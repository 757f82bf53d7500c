/** An erasure or an export over all accounts, and one beside a transaction of the app's (docs/adr/0040, contract.md §13). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import { connection, migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as ByTestClock from "../storage/postgres/ByTestClock.ts"
import * as NamingPlatform from "./NamingPlatform.ts"
import { named } from "./NamingPlatform.ts"

const [phone, other, userId] = ["34600000001", "34600000002", "ES.1"]
const page = { limit: 10, after: null }

describe("a person over all accounts", () => {
  it.scoped("has the names that an account's own platforms tied to them in that account alone", () =>
    Effect.gen(function* () {
      const { account, admin, engine, register, say } = yield* NamingPlatform.shop
      const neighbor = yield* admin.accounts.create({ name: "Neighbor", plan: { minimumWaitMs: 0 } })
      const session = yield* admin.sessions.create(neighbor.id, {
        name: "S",
        provider: "whatsapp_cloud",
        config: {
          phone_number_id: "1",
          waba_id: "2",
          access_token: "t",
          app_secret: "another-secret",
          verify_token: "v"
        }
      })
      yield* admin.sessions.connect(session.id)
      const { key, secretKey } = yield* admin.keys.issue(session.id, {})
      yield* admin.consents.record(
        neighbor.id,
        [phone, other].map((phone) => ({ phone, source: "form" }))
      )
      yield* register(phone)
      const who = yield* engine.identify({ publicKey: key.publicKey, secretKey })
      for (const to of [phone, other])
        yield* engine.sendDirect(who, { idempotencyKey: undefined, request: { to, message: `for ${to}` } })
      // A hook that one tenant may have forged, with the secret of its own app.
      yield* say(named(phone, userId), "Hello")
      yield* say(named(other, userId), "Hello")

      const exported = yield* admin.people.export({ phone })
      expect(exported.sections.messages.map(({ phone, text }) => [phone, text])).toEqual([
        [phone, `for ${phone}`]
      ])
      const tied = Object.entries(exported.names.ofAccounts).map(([id, names]) => [
        id,
        names.map(({ text }) => text)
      ])
      expect(tied).toEqual([[account.id, [phone, userId, other]]])
      expect(exported.names.given.map(({ text }) => text)).toEqual([phone])

      yield* admin.people.erase({ phone, reason: "asked" })
      yield* TestClock.adjust("1 minute")
      yield* engine.drain
      expect((yield* admin.people.erasures(page)).items.map(({ nextAt }) => nextAt)).toEqual([null])
      expect((yield* admin.people.export({ phone: other })).sections.messages).toMatchObject([
        { account_id: neighbor.id, text: `for ${other}` }
      ])
      const consents = yield* admin.consents.find(neighbor.id, { phone: other })
      expect(consents.history).toMatchObject([{ status: "granted" }])
      const again = yield* Effect.either(
        engine.sendDirect(who, { idempotencyKey: undefined, request: { to: other, message: "again" } })
      )
      expect(Either.isRight(again)).toBe(true)
      const gone = yield* Effect.either(
        engine.sendDirect(who, { idempotencyKey: undefined, request: { to: phone, message: "again" } })
      )
      expect(Either.isLeft(gone)).toBe(true)
    })
  )
})

describe("a list of consents without times", () => {
  it.scoped("opens nobody who said no, who was erased, or whom it refuses itself; with a time it does", () =>
    Effect.gen(function* () {
      const { account, admin, register, say, send } = yield* NamingPlatform.shop
      const [stopped, erased, both, listed] = ["34600000011", "34600000012", "34600000013", "34600000014"]
      const list = [stopped, erased, listed].map((phone) => ({ phone, source: "list" }))
      const record = (items: Parameters<typeof admin.consents.record>[1], importedAt?: string) =>
        Effect.map(admin.consents.record(account.id, items, importedAt), (results) =>
          results.map(({ _tag }) => _tag)
        )
      const may = (phone: string) => Effect.map(send(phone), Either.isRight)
      expect(yield* record(list)).toEqual(["Recorded", "Recorded", "Recorded"])
      const before = "2026-03-14T12:00:00Z"
      yield* TestClock.adjust("2 seconds")
      yield* say(named(stopped), "STOP")
      yield* admin.people.erase({ phone: erased, reason: "asked" })
      yield* TestClock.adjust("2 seconds")
      for (const importedAt of [undefined, before])
        expect(yield* record(list, importedAt)).toEqual(["KeptRefused", "KeptRefused", "Recorded"])
      expect([yield* may(stopped), yield* may(erased), yield* may(listed)]).toEqual([false, false, true])
      // In whatever order; what does not concern each other is recorded.
      expect(
        yield* record([
          { phone: both, source: "list", purpose: "marketing" },
          { phone: both, source: "list", status: "revoked", purpose: "marketing" },
          { phone: both, source: "list" },
          { phone: both, source: "list", purpose: "utility" }
        ])
      ).toEqual(["KeptRefused", "Recorded", "KeptRefused", "Recorded"])
      expect(yield* may(both)).toBe(false)
      // An account's own export has what is left of the erased.
      expect(yield* record([{ phone: "erased:0123456789abcdef01234567", source: "list" }])).toEqual([
        "KeptRefused"
      ])
      yield* TestClock.adjust("2 seconds")
      for (const phone of [stopped, erased]) yield* register(phone)
      expect([yield* may(stopped), yield* may(erased)]).toEqual([true, true])
    })
  )
})

describe("an erasure beside a transaction of the app's", () => {
  it.scoped("is not done before it has looked at what that transaction has written", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const { admin, drain, register, send } = yield* NamingPlatform.shopOver(ByTestClock.over(url))
      const app = yield* connection(url)
      const query = (text: string) => Effect.promise(() => app.query(text))
      yield* register(phone)
      yield* register(other)
      yield* send(other)
      yield* drain
      // In whatever isolation: it sees what was before the erasure.
      yield* query("BEGIN ISOLATION LEVEL REPEATABLE READ")
      yield* query("SELECT count(*) FROM sendwright_consent")
      yield* admin.people.erase({ phone, reason: "asked" })
      yield* TestClock.adjust("61 seconds")
      yield* drain
      const state = Effect.map(admin.people.erasures(page), ({ items }) => items[0])
      const before = yield* state
      expect(before?.nextAt).not.toBe(null)
      yield* query(`UPDATE sendwright_recipient SET phone = '${phone}'`)
      yield* TestClock.adjust("31 seconds")
      yield* drain
      // It waits alone, and looks through nothing meanwhile.
      expect(yield* state).toMatchObject({ sweptAt: before?.sweptAt, waitsFor: [expect.any(String)] })
      yield* query("COMMIT")
      yield* TestClock.adjust("31 seconds")
      yield* drain
      expect(yield* state).toMatchObject({ nextAt: null, waitsFor: [], counts: { recipients: 1 } })
      const { rows } = yield* query("SELECT phone FROM sendwright_recipient")
      expect(rows).toEqual([{ phone: expect.stringMatching(/^erased:/) }])
    })
  )
})
