import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Page from "../../src/domain/Page.ts"

describe("pages", () => {
  it("give every row once while rows are added in front", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 40 }),
        FastCheck.integer({ min: 1, max: 7 }),
        FastCheck.array(FastCheck.nat(3), { maxLength: 40 }),
        (rows, limit, added) => {
          let newest = rows
          const table = (): ReadonlyArray<number> =>
            Array.from({ length: newest }, (_, index) => newest - index)
          const seen: Array<number> = []
          let after: number | null = null
          for (let turn = 0; ; turn++) {
            const from: number | null = after
            const candidates: ReadonlyArray<number> = table().filter((row) => from === null || row < from)
            const page: Page.Paged<number> = Page.cut(candidates.slice(0, limit + 1), limit, (row) => row)
            seen.push(...page.items)
            newest += added[turn] ?? 0
            if (page.next === null) break
            after = page.next
          }
          expect(seen).toEqual(Array.from({ length: rows }, (_, index) => rows - index))
        }
      ),
      { numRuns: 1000 }
    )
  })
})
