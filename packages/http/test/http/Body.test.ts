/** contract.md §10 "Requests": what is too deep or too much is refused before it is parsed. */
import { describe, expect, it } from "@effect/vitest"
import { Fault } from "@sendwright/core"
import { JsonScan } from "@sendwright/core/adapter"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { vi } from "vitest"
import * as Body from "../../src/http/Body.ts"

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
/** 128 letters: a sum of products with the powers of any odd number is the same of `a` and `b` as of `b` and `a`. */
const thueMorse = (a: string, b: string, times = 7): string =>
  times === 0 ? a : thueMorse(a, b, times - 1) + thueMorse(b, a, times - 1)
const hashOf = (name: string) => JsonScan.hashOfName(`"${name}"`, 0, name.length + 1)
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
      [`{"a":[${many(7, () => `[${many(9200, () => "1")}]`)}]}`, "out_of_range "],
      [`[${many(630, (object) => `{${many(99, (at) => `"${object}.${at}":1`)}}`)}]`, "out_of_range "],
      [
        `{${filler},"a":[${many(10, (object) => `{${many(99, (at) => `"${object}.${at}":{"b":1}`)}}`)},{"${"\\u0063"}":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}]}`,
        "out_of_range "
      ],
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

  it("may have a thousand names of members that differ, each as often as it likes", () => {
    const objects = many(10, (object) => `{${many(99, (at) => `"${object}.${at}":1`)}}`)
    const text = `{${filler},"a":[${objects},${objects},{"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"\\u0062b":1}]}`
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

describe("a text that is no JSON", () => {
  it("is looked at once, though a long name has a colon after the other", () => {
    const text = `{"${"x".repeat(200_000)}"${":".repeat(200_000)}`
    const before = performance.now()
    expect(told(text).faults).toEqual(["invalid_json "])
    expect(performance.now() - before).toBeLessThan(2000)
  })
})

describe("a member that an object has twice", () => {
  it("is refused by its place, however it is written and however long the body is", () => {
    const cases = [
      ['{"consents":[{},{"status":"revoked","status":"granted"}]}', ["invalid_value /consents/1/status"]],
      ['{"status":1,"sta\\u0074us":2}', ["invalid_value /status"]],
      ['{"status" :1,\n"status"\t:2}', ["invalid_value /status"]],
      [
        '{"a":1,"a":2,"a":3,"b":{"a/b":[],"a/b":[{"c":1,"c":2}]}}',
        ["invalid_value /a", "invalid_value /b/a~1b", "invalid_value /b/a~1b/0/c"]
      ],
      ['{"__proto__":1,"__proto__":2}', ["invalid_value /__proto__"]],
      ['[{"a":{},"a":{}}]', ["invalid_value /0/a"]],
      [
        '{"a":[{"b":1,"a":{"b":1,"a":1}},{"b":2,"a":1,"b":3}],"b":1,"a":2}',
        ["invalid_value /a/1/b", "invalid_value /a"]
      ],
      [`{"${"x".repeat(300)}":1,"${"x".repeat(300)}":1}`, ["invalid_value "]]
    ] as const
    for (const [text, expected] of cases) {
      expect([text, told(text).faults]).toEqual([text, expected])
      const long = `{${filler},"in":${text}}`
      expect([text, told(long).faults]).toEqual([text, expected.map((fault) => fault.replace(" ", " /in"))])
    }
  })

  it("is no other object's member, and no text that looks like one", () => {
    const text =
      '{"a":{"a":[{"a":1},{"a":2}]},"b":":","c":"\\":\\"c\\":","d":"d : d","C":": :","e":["e",":"]}'
    expect(Body.parse(Buffer.from(text))).toEqual(Either.right(JSON.parse(text)))
  })

  it("is told behind other names that have the hash in common", () => {
    const first = thueMorse("a", "b")
    const second = thueMorse("b", "a")
    expect(hashOf(first)).toBe(hashOf(second))
    const cases = [
      [[first, second, second], [second]],
      [[second, first, second], [second]],
      [
        [first, second, first, second, first],
        [first, second]
      ],
      [[first, second], []]
    ] as const
    for (const [names, twins] of cases) {
      const object = `{${names.map((name) => `"${name}":1`).join(",")}}`
      // Not a twin of what an object around it or before it has, either.
      const text = `{${filler},"${second}":[{"${second}":${object}},{"${first}":1,"${second}":1}]}`
      expect(told(text).faults).toEqual(twins.map((name) => `invalid_value /${second}/0/${second}/${name}`))
    }
  })

  it("is told as often as faults are told", () => {
    const text = `[${many(1000, () => '{"a":1,"a":2}')}]`
    expect(told(text).faults.length).toBe(Fault.maximum)
  })
})
