/** contract.md §13 "A number that changed hands": the next owner of a number gets nothing that was meant for the one before. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestClock from "effect/TestClock"
import * as NamingPlatform from "./NamingPlatform.ts"
import { named } from "./NamingPlatform.ts"

const [left, now] = ["34600000001", "34600000002"]

describe("a number that its owner left", () => {
  it.scoped("keeps no consent: what waits is skipped, and the grant goes on only where it is moved", () =>
    Effect.gen(function* () {
      const { account, admin, drain, message, register, say, send, sent, statuses } =
        yield* NamingPlatform.shop
      yield* register(left)
      yield* TestClock.adjust("2 seconds")
      const waiting = yield* send(left)
      const system = { type: "user_changed_number", body: "User Ana changed", wa_id: now }
      yield* message(named(left), { type: "system", system })
      yield* drain
      expect(sent).toEqual([])
      if (Either.isRight(waiting)) expect(yield* statuses(waiting.right.jobId)).toEqual(["skipped"])
      const may = (phone: string) => Effect.map(send(phone), Either.isRight)
      expect([yield* may(left), yield* may(now)]).toEqual([false, false])

      const move = admin.consents.move(account.id, { from: left, to: now, reason: "told by Ana" })
      const moved = yield* move
      expect(moved.records).toMatchObject([{ phone: now, status: "granted", source: "form", purpose: "all" }])
      expect(yield* move).toEqual(moved)
      expect([yield* may(left), yield* may(now)]).toEqual([false, true])

      yield* TestClock.adjust("2 seconds")
      yield* say(named(now), "STOP")
      expect((yield* Effect.flip(move))._tag).toBe("InvalidRequest")
      expect([yield* may(left), yield* may(now)]).toEqual([false, false])
    })
  )

  it.scoped("is told by another user id in a receipt, too, and its refusals stay", () =>
    Effect.gen(function* () {
      const { drain, register, report, say, send, sent } = yield* NamingPlatform.shop
      yield* register(left)
      yield* send(left)
      yield* drain
      const [first] = sent
      if (first === undefined) return yield* Effect.dieMessage("Nothing was sent.")
      yield* report(first, named(left, "ES.1"))
      expect(Either.isRight(yield* send(left))).toBe(true)
      yield* report(first, named(left, "ES.2"))
      expect(Either.isRight(yield* send(left))).toBe(false)
      yield* TestClock.adjust("2 seconds")
      yield* say(named(left, "ES.2"), "START")
      expect(Either.isRight(yield* send(left))).toBe(true)
    })
  )

  it.scoped("is moved at the operator's word as well, and by nothing that cannot be", () =>
    Effect.gen(function* () {
      const { account, admin, register, send } = yield* NamingPlatform.shop
      yield* register(left)
      const faults = (from: string, to: string, reason = "told") =>
        Effect.map(Effect.flip(admin.consents.move(account.id, { from, to, reason })), (refused) =>
          refused._tag === "InvalidRequest"
            ? refused.faults.map(({ path }) => path.join("/"))
            : [refused._tag]
        )
      expect(yield* faults(`+${left}`, "12", " ")).toEqual(["from", "to", "reason"])
      expect(yield* faults(left, left)).toEqual(["to"])
      expect(yield* faults(now, left)).toEqual(["from"])
      yield* admin.consents.move(account.id, { from: left, to: now, reason: "told" })
      expect(Either.isRight(yield* send(now))).toBe(true)
      expect(Either.isRight(yield* send(left))).toBe(false)
    })
  )

  it.scoped("leaves the next owner alone, and what the person refused", () =>
    Effect.gen(function* () {
      const { account, admin, message, register, say, send, seconds } = yield* NamingPlatform.shop
      const may = (phone: string) => Effect.map(send(phone), Either.isRight)
      yield* admin.consents.record(account.id, [
        { phone: left, source: "form" },
        { phone: left, source: "form", purpose: "marketing", status: "revoked" }
      ])
      const other = "34600000003"
      yield* admin.consents.move(account.id, { from: left, to: other, reason: "told" })
      const { current } = yield* admin.consents.find(account.id, { phone: other })
      expect(current.map(({ verdict }) => verdict._tag)).toEqual(["Missing", "Granted", "Granted", "Granted"])

      yield* register(now)
      yield* TestClock.adjust("2 seconds")
      const at = yield* seconds
      yield* TestClock.adjust("1 minute")
      yield* say(named(now), "START")
      // The news of before comes late, and twice.
      const system = { type: "user_changed_number", body: "User Bo changed", wa_id: "34600000004" }
      yield* message(named(now), { type: "system", system }, at)
      yield* message(named(now), { type: "system", system }, at)
      expect(yield* may(now)).toBe(true)
      const move = admin.consents.move(account.id, { from: now, to: "34600000004", reason: "told" })
      expect(yield* Effect.flip(move)).toMatchObject({ faults: [{ path: ["from"] }] })
      expect([yield* may(now), yield* may("34600000004")]).toEqual([true, false])
    })
  )

  it.scoped("tells so to who sends there, and goes on to a number that somebody else had left", () =>
    Effect.gen(function* () {
      const { account, admin, message, register, send } = yield* NamingPlatform.shop
      for (const [from, to] of [
        [left, "34600000005"],
        [now, left]
      ] as const) {
        yield* register(from)
        yield* TestClock.adjust("2 seconds")
        yield* message(named(from), { type: "system", system: { type: "user_changed_number", wa_id: to } })
      }
      expect(yield* Effect.flip(yield* send(left))).toMatchObject({
        withdrawn: 0,
        message: expect.stringMatching(/^The number has a new owner since /)
      })
      // An account's list of before opens nothing.
      const imported = admin.consents.record(account.id, [{ phone: left, source: "list" }])
      expect(yield* imported).toMatchObject([{ _tag: "KeptRefused" }])
      const { records } = yield* admin.consents.move(account.id, { from: now, to: left, reason: "told" })
      expect(records).toMatchObject([{ proof: "Moved from …0002 (told): no proof was given" }])
      expect(Either.isRight(yield* send(left))).toBe(true)
    })
  )

  it.scoped("ends also where the news of both moves of who came back are late", () =>
    Effect.gen(function* () {
      const { message, register, seconds, send } = yield* NamingPlatform.shop
      for (const number of [left, now]) yield* register(number)
      const moves = [
        [left, now],
        [now, left]
      ] as const
      const said: Array<number> = []
      for (const _ of moves) {
        yield* TestClock.adjust("1 hour")
        said.push(yield* seconds)
      }
      yield* TestClock.adjust("1 hour")
      for (const [place, [from, to]] of moves.entries())
        yield* message(
          named(from),
          { type: "system", system: { type: "user_changed_number", wa_id: to } },
          said[place]
        )
      for (const number of [left, now]) expect(Either.isRight(yield* send(number))).toBe(false)
    })
  )
})
