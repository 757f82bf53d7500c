/** The caps of an account (contract.md §14 "Time"), as its operator sets them and its sends meet them. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { greeting } from "../../../../test/support/Template.ts"
import * as Caps from "../../src/domain/account/Caps.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"

const phone = "34600000100"

const shop = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { admin } = engine
  const { id } = yield* admin.accounts.create({ name: "Shop", caps: { marketing: { most: 2, days: 1 } } })
  yield* admin.consents.record(id, [{ phone, source: "test" }])
  const senderOf = Effect.fnUntraced(function* (name: string) {
    const session = yield* admin.sessions.create(id, { name, provider: "sandbox" })
    const { key, secretKey } = yield* admin.keys.issue(session.id, {})
    const sale = { ...greeting, category: "MARKETING" }
    const { templates } = yield* admin.templates.importAll(session.id, [sale])
    const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
    return Effect.fnUntraced(function* (idempotencyKey: string) {
      const { jobId } = yield* engine.send(caller, {
        idempotencyKey,
        request: {
          templateId: templates[0]?.templateId ?? 0,
          variables: { "body.1": "Ana" },
          recipients: [{ phone }]
        }
      })
      yield* engine.drain
      const { results } = yield* engine.job(caller, jobId, { page: { limit: 1, after: null } })
      const [result] = results.items
      return result?.failure?.code ?? result?.status
    })
  })
  return { admin, id, first: yield* senderOf("First"), second: yield* senderOf("Second") }
})

describe("the caps of an account", () => {
  it.effect("skip one message too many, whichever session sends it, until the person's next day", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.UTC(2026, 10, 2, 12))
      const { first, second } = yield* shop
      expect(yield* first("a")).toBe("delivered")
      expect(yield* second("b")).toBe("delivered")
      expect(yield* first("c")).toBe("capped")
      expect(yield* second("d")).toBe("capped")
      yield* TestClock.adjust("1 day")
      expect(yield* first("e")).toBe("delivered")
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it("count from the begin of the person's first day, where they may be", () => {
    const now = Time.at(Date.UTC(2026, 10, 2, 23, 30))
    const since = (address: string, timeZone: string | null, days: number) =>
      Time.format(Caps.sinceOf(address, timeZone, days, now))
    expect(since("4915112345678", null, 1)).toBe("2026-11-02T23:00:00.000Z")
    expect(since("4915112345678", null, 10)).toBe("2026-10-24T22:00:00.000Z")
    expect(since("34600000100", null, 1)).toBe("2026-11-02T00:00:00.000Z")
    expect(since("34600000100", "Asia/Tokyo", 1)).toBe("2026-11-02T15:00:00.000Z")
  })

  it.effect("are changed one by one, and refused where they are none", () =>
    Effect.gen(function* () {
      const { admin, first, id } = yield* shop
      const changed = yield* admin.accounts.change(id, { caps: { utility: { most: 1, days: 7 } } })
      expect(changed.caps).toEqual({
        authentication: null,
        marketing: { most: 2, days: 1 },
        utility: { most: 1, days: 7 }
      })
      const refused = Effect.flip(
        admin.accounts.change(id, {
          caps: { marketing: { most: 0, days: 1 }, utility: { most: 1, days: 32 } }
        })
      )
      const { faults } = yield* Effect.filterOrDieMessage(
        refused,
        (error) => error._tag === "InvalidRequest",
        "It was refused for something else."
      )
      expect(faults.map(({ path }) => path)).toEqual([
        ["caps", "marketing"],
        ["caps", "utility"]
      ])
      const without = yield* admin.accounts.change(id, { caps: { marketing: null, utility: null } })
      expect(without.caps).toEqual(Caps.none)
      for (const key of ["a", "b", "c"]) expect(yield* first(key)).toBe("delivered")
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
