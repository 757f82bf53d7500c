import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ExternalText from "../../src/domain/ExternalText.ts"

const { code, failure, id, lines, longest, message } = ExternalText

const length = (text: string): number => Array.from(text).length

/** Any UTF-16 code units: lone surrogates, NUL and all other control characters. */
const anyText = (maxLength: number) =>
  FastCheck.array(
    FastCheck.oneof(
      FastCheck.integer({ min: 0, max: 0xffff }),
      FastCheck.constantFrom(0, 0x0a, 0x1b, 0x7f, 0x85, 0x2028, 0xd800, 0xdfff)
    ),
    { maxLength }
  ).map((units) => String.fromCharCode(...units))

describe("text from outside", () => {
  it("that is in order is returned as it is", () => {
    for (const text of ["", "wamid.HBgLMzQ2MDAwMDAwMDA=", "ñandú 🎉", "😀".repeat(512)]) {
      expect(id(text)).toBe(text)
      expect(message(text)).toBe(text)
      expect(lines(text, 512)).toBe(text)
    }
    expect(code("131026")).toBe("131026")
  })

  it("is well-formed, without control characters and no longer than its kind, whatever it was", () => {
    FastCheck.assert(
      FastCheck.property(anyText(3000), (text) => {
        for (const [kept, most] of [
          [id(text), longest.id],
          [code(text), longest.code],
          [message(text), longest.message]
        ] as const) {
          expect(kept.isWellFormed()).toBe(true)
          expect(kept).not.toMatch(/\p{Cc}/u)
          expect(length(kept)).toBeLessThanOrEqual(most)
        }
        expect(message(text)).not.toMatch(/[\u2028\u2029]/)
        const kept = lines(text, 2000)
        expect(kept.isWellFormed()).toBe(true)
        expect(kept).not.toContain("\0")
        expect(length(kept)).toBeLessThanOrEqual(2000)
      }),
      { numRuns: 300 }
    )
  })

  it("cannot show itself in another order, nor hide a part", () => {
    for (const control of "\u200b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff") {
      for (const kept of [id, code, message].map((kind) => kind(`a${control}b`)))
        expect([control, kept.slice(0, 3)]).toEqual([control, "a\ufffdb"])
      const words = `a${control}b`
      expect(lines(words, 512)).toBe(words)
    }
    for (const text of ["مرحبا\u200f!", "क्\u200dष", "👩\u200d💻"]) expect(message(text)).toBe(text)
  })

  it("is the same when it enters again", () => {
    FastCheck.assert(
      FastCheck.property(anyText(1500), (text) => {
        for (const kind of [id, code, message]) expect(kind(kind(text))).toBe(kind(text))
      })
    )
  })
})

describe("an id from outside", () => {
  it("stays another one than every other, however late they differ and whatever had to be replaced", () => {
    const long = "x".repeat(10_000)
    const odd = ["a\0", "a\x01", "a\ud800", "a\udfff", "a\ufffd", "a", `${long}1`, `${long}2`, long]
    expect(new Set(odd.map(id)).size).toBe(odd.length)
    FastCheck.assert(
      FastCheck.property(anyText(700), anyText(700), (one, other) => {
        expect(id(one) === id(other)).toBe(one === other)
      })
    )
  })

  it("fits an index of PostgreSQL", () => {
    expect(Buffer.byteLength(id("😀".repeat(5000)))).toBeLessThan(2700)
  })
})

describe("a message from outside", () => {
  it("is one line that no terminal takes for a command", () => {
    expect(message("refused\r\n2026-01-01 ERROR forged\t!")).toBe("refused 2026-01-01 ERROR forged !")
    expect(message("\u001b[31mred\u001b[0m\u0085next")).toBe("\ufffd[31mred\ufffd[0m next")
  })

  it("shows that it was cut", () => {
    expect(message("😀".repeat(1024))).toBe("😀".repeat(1024))
    expect(message("😀".repeat(1025))).toBe(`${"😀".repeat(1023)}…`)
  })
})

describe("a failure from outside", () => {
  it("is its four members and nothing else", () => {
    const given = {
      code: "c".repeat(100),
      provider_code: "1\n2",
      message: "No\nway",
      permanent: true,
      response: { huge: 1n }
    }
    expect(failure(given)).toEqual({
      code: `${"c".repeat(63)}…`,
      provider_code: "1\ufffd2",
      message: "No way",
      permanent: true
    })
  })
})
