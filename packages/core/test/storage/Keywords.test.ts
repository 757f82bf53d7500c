/** A session may have been stored with an empty list of words to opt out by, which is refused today (contract.md §10). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Keywords from "../../src/domain/consent/Keywords.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "../StorageSuite/Setup.ts"
import * as PostgresByTestClock from "./postgres/ByTestClock.ts"

const stores: ReadonlyArray<readonly [name: string, layer: Stored]> = [
  ["SQLite", Sqlite.layer({ filename: ":memory:" })],
  ["PostgreSQL", PostgresByTestClock.layer]
]

for (const [name, layer] of stores) {
  describe(`${name}: an empty list of words to opt out by`, () => {
    it.effect("is the default list, and the words to opt in by stay as they are", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const account = Fixtures.account()
        yield* (yield* AccountStore).create(account)
        const session = Fixtures.session(account.id, { keywords: { optOut: [], optIn: ["hola"] } })
        yield* sessions.create(session)
        const keywords = (yield* sessions.find(session.id))?.keywords ?? { optOut: [], optIn: [] }
        expect(keywords).toEqual({ optOut: null, optIn: ["hola"] })
        expect(Keywords.read("STOP", keywords)).toBe("revoked")
      }).pipe(Effect.provide(layer))
    )
  })
}
