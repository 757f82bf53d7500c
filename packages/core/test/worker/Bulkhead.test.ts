/** How many attempts a process begins of each session. */
import { describe, expect, it } from "@effect/vitest"
import { Bulkhead } from "../../src/worker/Bulkhead.ts"

const unscathed = { crashCount: 0 }

describe("a session that is new", () => {
  it.each([2, 3, 4, 8, 64])("has a turn beside one that holds all that it may have of %i slots", (slots) => {
    const bulkhead = new Bulkhead({ slots, oldAt: 0 })
    const claim = (id: string, count: number): void => {
      const asking = bulkhead.ask(count, 0)
      bulkhead.claimed(asking, id, Array(count).fill(unscathed))
      bulkhead.over(asking)
    }
    claim("holds", slots)
    while (bulkhead.next(0) !== undefined) bulkhead.began("holds", unscathed, 0)
    claim("new", 1)
    expect(bulkhead.next(2000)).toBe("new")
  })
})
