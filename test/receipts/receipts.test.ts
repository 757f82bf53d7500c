import { expect, it } from "@effect/vitest"
import { Memory } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import * as Effect from "effect/Effect"
import * as Receipts from "./Receipts.ts"

const stores = [
  ["memory", Memory.layer],
  ["SQLite", Sqlite.layer({ filename: ":memory:" })]
] as const

for (const [name, layer] of stores) {
  it.live(`receipts in any order, repeated, and before our own commit end the same on ${name}`, () =>
    Effect.gen(function* () {
      const { counts, differing } = yield* Receipts.compare(layer, Receipts.plan(7, 400))
      expect(differing).toEqual([])
      expect(Object.keys(counts).toSorted()).toEqual(["delivered", "failed", "read", "sent"])
    })
  )
}
