/** decisions.md §10 "Requests": what would take the parser long is seen before it is parsed. */
import { describe, expect, it } from "@effect/vitest"
import * as JsonScan from "../../src/domain/JsonScan.ts"

const bounds = { levels: 4, values: 100, names: 3 }

describe("a text within bounds", () => {
  it.each([
    ['{"a":1,"b":{"c":1,"a":[{"b":2}]}}', true],
    ['{"a":1,"b":{"c":1,"d":2}}', false],
    ['[{"a":1},{"b":1},{"c":1},{"d":1}]', false],
    ['[{"a":"d:"},{"b":"e\\":"},{"c":":"},{"a" : "\\"f\\":"}]', true],
    ['[{"a":1},{"b":1},{"c":1},{"\\u0063":1}]', true]
  ])("has few names of members that differ: %s", (text, isWithin) => {
    expect(JsonScan.isWithin(text, bounds)).toBe(isWithin)
  })

  it("is looked at once, though a long name has a colon after the other", () => {
    const before = performance.now()
    expect(JsonScan.isWithin(`{"${"x".repeat(200_000)}"${":".repeat(200_000)}`, bounds)).toBe(true)
    expect(performance.now() - before).toBeLessThan(2000)
  })
})
