/** The caps of an account (contract.md §14 "Time"): so many messages of a purpose to a person, whoever attempts them. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Category } from "../../src/domain/template/Template.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { now } from "./Setup.ts"

const [ana, ben] = ["34600000001", "34600000002"]

const capped = Effect.gen(function* () {
  const caps = { authentication: null, utility: null, marketing: { most: 2, days: 1 } }
  const { id: accountId } = yield* Effect.tap(Effect.succeed(Fixtures.account({ caps })), (account) =>
    Effect.flatMap(AccountStore, (accounts) => accounts.create(account))
  )
  const jobs = yield* JobStore
  const over = (
    messages: ReadonlyArray<readonly [message: string, phone: string]>,
    { at = now, isAgain = false, purpose = "marketing" as Category, since = now } = {}
  ) =>
    Effect.map(
      jobs.overCap({
        accountId,
        purpose,
        messages: messages.map(([message, address]) => ({ message, address, since: () => since, isAgain })),
        now: at
      }),
      (places) => [...places]
    )
  return { accountId, over }
})

export const suite = (layer: Stored): void => {
  describe("the caps of an account", () => {
    it.effect("let so many through to each person, and count a message once", () =>
      Effect.gen(function* () {
        const { over } = yield* capped
        expect(
          yield* over([
            ["a", ana],
            ["b", ana],
            ["c", ana],
            ["d", ben]
          ])
        ).toEqual([2])
        expect(yield* over([["a", ana]])).toEqual([])
        expect(yield* over([["c", ana]])).toEqual([0])
        expect(yield* over([["c", ana]], { purpose: "utility" })).toEqual([])
        expect(yield* over([["d", ben]])).toEqual([])
        expect(yield* over([["e", ben]])).toEqual([])
        expect(yield* over([["f", ben]])).toEqual([0])
        expect(yield* over([["f", ben]], { isAgain: true })).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("count from the begin of the person's days, by the last attempt", () =>
      Effect.gen(function* () {
        const { over } = yield* capped
        yield* over([
          ["a", ana],
          ["b", ana]
        ])
        const at = Time.after(now, Time.day)
        const since = Time.after(now, 1)
        expect(yield* over([["a", ana]], { at, since })).toEqual([])
        expect(yield* over([["c", ana]], { at, since })).toEqual([])
        expect(yield* over([["d", ana]], { at, since })).toEqual([0])
      }).pipe(Effect.provide(layer))
    )

    it.effect("let no more through of those who ask at once", () =>
      Effect.gen(function* () {
        const { over } = yield* capped
        const asked = Array.from({ length: 12 }, (_, place) => over([[`m${place}`, ana]]))
        const refused = yield* Effect.all(asked, { concurrency: "unbounded" })
        expect(refused.filter((places) => places.length === 0)).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )
  })
}
