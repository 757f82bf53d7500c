import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Isolate from "../../src/worker/Isolate.ts"

const refusal = new StorageError({ operation: "store", cause: "22P05", fault: "content" })
const outage = new StorageError({ operation: "store", cause: "ECONNREFUSED" })

/** A store that does not take some items, and counts its commits. */
const storeWithout = (bad: ReadonlySet<number>, failing: Effect.Effect<never, StorageError>) => {
  const stored: Array<number> = []
  const refused: Array<number> = []
  let commits = 0
  const store = (items: ReadonlyArray<number>) =>
    Effect.suspend(() => {
      commits += 1
      if (items.some((item) => bad.has(item))) return failing
      stored.push(...items)
      return Effect.succeed(items.length)
    })
  const items = Array.from({ length: 250 }, (_, item) => item)
  const storing = { items, store, refused: (item: number) => Effect.sync(() => refused.push(item)) }
  return { stored, refused, storing, store, commits: () => commits }
}

describe("a batch", () => {
  for (const [name, failing] of [
    ["refuses", Effect.fail(refusal)],
    ["breaks over", Effect.die(new TypeError("Do not know how to serialize a BigInt"))]
  ] as const) {
    it.effect(`is stored but for what the store ${name}, in few commits`, () =>
      Effect.gen(function* () {
        const { commits, refused, stored, storing } = storeWithout(new Set([0, 117, 249]), failing)
        yield* Isolate.storeAll(storing)
        expect(refused).toEqual([0, 117, 249])
        expect(stored).toHaveLength(247)
        expect(commits()).toBeLessThan(60)
      })
    )
  }

  it.effect("is left as it is when the store is down, and nothing of it is given up", () =>
    Effect.gen(function* () {
      const { commits, refused, storing } = storeWithout(new Set([3]), Effect.fail(outage))
      expect(yield* Effect.flip(Isolate.storeAll(storing))).toBe(outage)
      expect([commits(), refused]).toEqual([1, []])
    })
  )

  it.effect("is nothing to store when it is empty", () =>
    Effect.gen(function* () {
      const { commits, storing } = storeWithout(new Set(), Effect.fail(outage))
      yield* Isolate.storeAll({ ...storing, items: [] })
      expect(commits()).toBe(0)
    })
  )
})
