/** decisions.md §10 "Requests": what is too deep or too much is refused before it is parsed. */
import { describe, expect, it } from "@effect/vitest"
import { Fault } from "@sendwright/core"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { vi } from "vitest"
import * as Body from "../src/http/Body.ts"

const told = (text: string) => {
  const parse = vi.spyOn(JSON, "parse")
  try {
    const result = Body.parse(Buffer.from(text))
    const faults = Either.isLeft(result) ? result.left : []
    return {
      faults: faults.map((fault) => `${fault.code} ${Fault.pointer(fault)}`),
      // Names on the way to the fault are read, too.
      parsed: parse.mock.calls.some(([given]) => given === text)
    }
  } finally {
    parse.mockRestore()
  }
}

const many = (count: number, unit: (index: number) => string) =>
  Array.from({ length: count }, (_, at) => unit(at)).join(",")
const names = (count: number) => many(count, (index) => `"n${index}":1`)
const filler = `"filler":"${"x".repeat(40_000)}"`

describe("a long body", () => {
  it("with too much in one place is refused by that place, and is not parsed", () => {
    const cases = [
      [`{"recipients":[${many(349_000, () => "{}")}]}`, "out_of_range /recipients"],
      [
        `{"recipients":[{},{"a/b":1,"variables":{${names(100_000)}}}]}`,
        "out_of_range /recipients/1/variables"
      ],
      [`{${names(100_000)}}`, "out_of_range "],
      [`{${filler},"a\\"b":"[{,","c":[${many(10_001, () => "1")}]}`, "out_of_range /c"],
      [`{"a":[${many(100, () => `[${many(1100, () => "[]")}]`)}]}`, "out_of_range "],
      [`{"${"x".repeat(300)}":[${many(20_000, () => "1")}]}`, "out_of_range "],
      [`{${filler},"a":${"[".repeat(40)}`, "invalid_json "]
    ] as const
    for (const [text, expected] of cases)
      expect([text.slice(0, 60), told(text)]).toEqual([
        text.slice(0, 60),
        { faults: [expected], parsed: false }
      ])
  })

  it("within the limits is parsed, whatever its strings hold", () => {
    const text = `{${filler},"a":[${many(10_000, () => "1")}],"b":{${names(100)}},"c":"${'[{,\\\\\\"'.repeat(20_000)}"}`
    expect(told(text)).toEqual({ faults: [], parsed: true })
  })

  it("is read as every other JSON text is", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.jsonValue({ maxDepth: 20 }), (value) => {
        const text = JSON.stringify([value, "x".repeat(40_000)])
        expect(Body.parse(Buffer.from(text))).toEqual(Either.right(JSON.parse(text)))
      }),
      { numRuns: 300 }
    )
  })

  it("that is no JSON text is no fault of another kind", () => {
    for (const text of [
      `${"]".repeat(40_000)}`,
      `"${"\\".repeat(40_001)}`,
      `{${filler}`,
      `${'"'.repeat(40_001)}`
    ])
      expect(told(text).faults, text.slice(0, 9)).toEqual(["invalid_json "])
  })
})
