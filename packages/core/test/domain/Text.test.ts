import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as JSONSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import * as Text from "../../src/domain/Text.ts"
import * as RequestDecoder from "../../src/schema/RequestDecoder.ts"

const runs = { numRuns: 2000 }

/** Of one unit, of two, and of half a pair. */
const anyText = FastCheck.array(
  FastCheck.oneof(
    FastCheck.string({ unit: "binary", maxLength: 1 }),
    FastCheck.constantFrom("a", "é", "😀", "\ud83d", "\ude00")
  ),
  { maxLength: 40 }
).map((parts) => parts.join(""))

const codePoints = (text: string): number => [...text].length

describe("the length of a text", () => {
  it("is counted in code points", () => {
    FastCheck.assert(
      FastCheck.property(anyText, FastCheck.nat(45), (text, maximum) => {
        expect(Text.length(text)).toBe(codePoints(text))
        expect(Text.isLonger(text, maximum)).toBe(codePoints(text) > maximum)
      }),
      runs
    )
  })

  it("is bounded by the code points at its head", () => {
    FastCheck.assert(
      FastCheck.property(anyText, FastCheck.nat(45), (text, most) => {
        expect(Text.head(text, most)).toBe([...text].slice(0, most).join(""))
      }),
      runs
    )
  })

  it("is bounded by a schema as JSON Schema counts it", () => {
    FastCheck.assert(
      FastCheck.property(anyText, FastCheck.nat(20), FastCheck.nat(20), (text, minimum, more) => {
        const maximum = minimum + more
        const decode = RequestDecoder.decoder(Schema.Struct({ name: Text.between(minimum, maximum) }))
        const fits = codePoints(text) >= minimum && codePoints(text) <= maximum
        expect(Either.getOrElse(decode({ name: text }), (faults) => faults)).toEqual(
          fits
            ? { name: text }
            : [
                {
                  path: ["name"],
                  code: "out_of_range",
                  message: `\`name\` must be ${minimum} to ${maximum} characters.`
                }
              ]
        )
      }),
      runs
    )
    expect(JSONSchema.make(Text.between(2, 5))).toMatchObject({ type: "string", minLength: 2, maxLength: 5 })
  })
})

/** Characters that show nothing, and why. */
const invisible: ReadonlyArray<readonly [string, string]> = [
  [" ", "space"],
  ["\t", "tab"],
  ["\n", "line feed"],
  ["\u0000", "NUL"],
  ["\u001b", "escape"],
  ["\u007f", "delete"],
  ["\u0085", "next line"],
  ["\u00a0", "no-break space"],
  ["\u00ad", "soft hyphen"],
  ["\u034f", "combining grapheme joiner"],
  ["\u061c", "Arabic letter mark"],
  ["\u115f", "Hangul choseong filler"],
  ["\u1160", "Hangul jungseong filler"],
  ["\u1680", "Ogham space mark"],
  ["\u17b4", "Khmer inherent vowel"],
  ["\u180b", "Mongolian variation selector"],
  ["\u180e", "Mongolian vowel separator"],
  ["\u2003", "em space"],
  ["\u200b", "zero-width space"],
  ["\u200c", "zero-width non-joiner"],
  ["\u200d", "zero-width joiner"],
  ["\u200e", "left-to-right mark"],
  ["\u2028", "line separator"],
  ["\u202e", "right-to-left override"],
  ["\u2060", "word joiner"],
  ["\u2066", "left-to-right isolate"],
  ["\u206f", "nominal digit shapes"],
  ["\u2800", "Braille blank"],
  ["\u3000", "ideographic space"],
  ["\u3164", "Hangul filler"],
  ["\ufe0f", "variation selector 16"],
  ["\ufeff", "byte order mark"],
  ["\uffa0", "halfwidth Hangul filler"],
  ["\ufff9", "interlinear annotation anchor"],
  ["\u{13441}", "hieroglyphic full blank"],
  ["\u{1d159}", "musical null notehead"],
  ["\u{1d173}", "musical begin beam"],
  ["\u{e0020}", "tag space"],
  ["\u{e0100}", "variation selector 17"]
]

describe("a text that shows nothing", () => {
  it.each(invisible)("is blank: %j, %s", (character) => {
    expect(Text.isBlank(character)).toBe(true)
  })

  it("is blank with any number of such characters, and not with one visible character", () => {
    const blank = FastCheck.array(FastCheck.constantFrom(...invisible.map(([character]) => character)), {
      maxLength: 20
    }).map((parts) => parts.join(""))
    const shown = FastCheck.constantFrom(
      "a",
      "0",
      "!",
      "ñ",
      "中",
      "한",
      "ا",
      "😀",
      "\u0301",
      "\u2801",
      "\u06dd",
      "\ufffd"
    )
    FastCheck.assert(
      FastCheck.property(blank, shown, blank, (before, character, after) => {
        expect(Text.isBlank(before + after)).toBe(true)
        expect(Text.isBlank(before + character + after)).toBe(false)
      }),
      runs
    )
  })
})

describe("a text that can be kept", () => {
  it("has neither NUL nor half of a surrogate pair", () => {
    FastCheck.assert(
      FastCheck.property(anyText, (text) => {
        const halves = [...text].some((each) => /^[\ud800-\udfff]$/.test(each))
        expect(Text.isStorable(text)).toBe(!halves && ![...text].includes("\0"))
      }),
      runs
    )
  })
})
