/** contract.md §10 "Requests": what would take the parser long is seen before it is parsed. */
import { describe, expect, it } from "@effect/vitest"
import * as JsonScan from "../../src/domain/JsonScan.ts"

/** The answer, and in how many pieces the text was looked at. */
const lookedAt = (text: string) => {
  const pieces = JsonScan.isWithin(text, bounds)
  for (let count = 1; ; count++) {
    const { done, value } = pieces.next()
    if (done === true) return { isWithin: value, pieces: count }
  }
}

const bounds = { levels: 4, values: 100, names: 3 }

describe("a text within bounds", () => {
  it.each([
    ['{"a":1,"b":{"c":1,"a":[{"b":2}]}}', true],
    ['{"a":1,"b":{"c":1,"d":2}}', false],
    ['[{"a":1},{"b":1},{"c":1},{"d":1}]', false],
    ['[{"a":"d:"},{"b":"e\\":"},{"c":":"},{"a" : "\\"f\\":"}]', true],
    ['[{"a":1},{"b":1},{"c":1},{"\\u0063":1}]', true]
  ])("has few names of members that differ: %s", (text, isWithin) => {
    expect(lookedAt(text)).toEqual({ isWithin, pieces: 1 })
  })

  it("is looked at once, though a long name has a colon after the other", () => {
    const before = performance.now()
    expect(lookedAt(`{"${"x".repeat(200_000)}"${":".repeat(200_000)}`).isWithin).toBe(true)
    expect(performance.now() - before).toBeLessThan(2000)
  })

  it.each([
    ["digits", "1".repeat(1_000_000)],
    ["spaces", `${" ".repeat(1_000_000)}1`],
    ["escaped quotes", JSON.stringify('"'.repeat(500_000))],
    ["an escaped string that does not end", `"\\"${"\\n".repeat(500_000)}`]
  ])("is looked at in many pieces, though it is nothing but %s", (_, text) => {
    const { isWithin, pieces } = lookedAt(text)
    expect([isWithin, pieces > 30]).toEqual([true, true])
  })

  it("has names that differ behind a thousand characters for one", () => {
    const name = (last: string) => `"${"x".repeat(2000)}${last}":1`
    expect(lookedAt(`{${["a", "b", "c", "d"].map(name).join(",")}}`).isWithin).toBe(true)
    expect(lookedAt(`{${["a", "b", "c", "d"].map((first) => `"${first}":1`).join(",")}}`).isWithin).toBe(
      false
    )
  })
})
