import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Priority from "../../../src/domain/job/Priority.ts"

describe("a send without a priority", () => {
  it("has that of its template's category, and another where it asks for it", () => {
    expect(Priority.priorityOf(undefined, "authentication")).toBe("high")
    expect(Priority.priorityOf(undefined, "utility")).toBe("normal")
    expect(Priority.priorityOf(undefined, "marketing")).toBe("low")
    expect(Priority.priorityOf("low", "authentication")).toBe("low")
  })
})

describe("a lower queue that waits", () => {
  it("gets a tenth of what is claimed, in claims of any size, and no more while others wait before it", () => {
    const waiting = FastCheck.subarray([...Priority.all], { minLength: 2 })
    FastCheck.assert(
      FastCheck.property(
        waiting,
        FastCheck.array(FastCheck.integer({ min: 1, max: 60 }), { minLength: 20, maxLength: 60 }),
        (waiting, limits) => {
          let owed = Priority.nothingOwed
          const sums = new Map<Priority.Priority, number>()
          for (const limit of limits) {
            const kept = Priority.kept(waiting, owed, limit)
            const lower = kept.reduce((sum, { least }) => sum + least, 0)
            expect(lower).toBeLessThanOrEqual(limit)
            const got = new Map(
              kept.map(({ least, priority }, at) => [priority, at === 0 ? limit - lower : least])
            )
            for (const [priority, count] of got) sums.set(priority, (sums.get(priority) ?? 0) + count)
            owed = Priority.owedAfter(waiting, owed, got)
          }
          const total = limits.reduce((sum, limit) => sum + limit, 0)
          for (const priority of waiting.slice(1)) {
            expect(sums.get(priority)).toBeGreaterThanOrEqual(total / 10 - 2)
            expect(sums.get(priority)).toBeLessThanOrEqual(total / 10)
          }
        }
      )
    )
  })
})
