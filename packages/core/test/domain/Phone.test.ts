/** Phone numbers are personal data: logs and what others are told have the last four digits. */
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Phone from "../../src/domain/Phone.ts"

describe("the hint of a number that is written otherwise", () => {
  it.each([
    ["+34 600 000 317", "34600000317"],
    ["0034600000317", "34600000317"],
    ["(34) 600-000-317", "34600000317"],
    ["34.600.000.317", "34600000317"],
    ["+49/89/1234567", "49891234567"],
    ["34600000317.0", "34600000317"],
    ["34600000317.00", "34600000317"]
  ])("of %s names its digits", (text, digits) => {
    expect(Phone.check(text)).toBe(`Write the number as digits only: ${digits}.`)
  })

  it.each([
    "34600000317.5",
    "3460000031.70",
    "3.4600000317E+10",
    "34600000317/2",
    "3460000031/7460000",
    "+44 (0)7700 900123",
    "+34 600 000 317 / 8"
  ])("of %s names none, for it could be another number", (text) => {
    expect(Phone.check(text)).toMatch(/^The number must be 7 to 15 digits/)
  })

  it("never has other digits than the text, before a fraction", () => {
    const digits = FastCheck.stringMatching(/^34[0-9]{9}$/)
    const fraction = FastCheck.stringMatching(/^[0-9]{1,4}$/)
    FastCheck.assert(
      FastCheck.property(digits, fraction, (number, rest) => {
        const hint = /digits only: (\d+)/.exec(Phone.check(`${number}.${rest}`) ?? "")?.[1]
        expect([undefined, number]).toContain(hint)
      })
    )
  })
})

describe("a text for others", () => {
  it.each([
    "34600001234",
    "+34600001234",
    "+34 600 001 234",
    "0034600001234",
    "00 34 600 001 234",
    "%2B34600001234",
    "%2b34600001234",
    "\\u002b34600001234",
    "\\u002B34600001234",
    "34 600 00 12 34",
    "34\u00a0600\u00a0001\u00a0234",
    "34-600-001-234",
    "00-34-600-001-234"
  ])("has a number's last four digits, written as %s", (number) => {
    for (const [before, after] of [
      ["", ""],
      ["No ", ", sorry."],
      ['{"to":"', '"}'],
      ["?to=", "&a=1"]
    ])
      expect(Phone.shorten(`${before}${number}${after}`)).toBe(`${before}…1234${after}`)
  })

  it("has a number's last four digits behind the scheme of a link", () => {
    for (const text of ["tel34600001234", "tel:34600001234", "TEL34600001234"])
      expect(Phone.shorten(text)).toBe(text.replace("3460000", "…"))
  })

  it("has two numbers that stand side by side", () => {
    expect(Phone.shorten("12 34 56 34600001234 34 600 001 234")).toBe("12 34 56 …1234 …1234")
  })

  it("keeps UUIDs, dates, addresses of machines and the codes of platforms", () => {
    const digits = (minimum: number, maximum: number) =>
      FastCheck.stringMatching(new RegExp(`^[0-9]{${minimum},${maximum}}$`))
    const kept = FastCheck.oneof(
      FastCheck.uuid(),
      digits(32, 32).map((all) => all.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-")),
      FastCheck.date({ noInvalidDate: true, min: new Date("1970-01-01"), max: new Date("2100-01-01") }).chain(
        (date) => {
          const iso = date.toISOString()
          return FastCheck.constantFrom(iso, iso.slice(0, 10), iso.slice(0, 19).replace("T", " "))
        }
      ),
      FastCheck.ipV4(),
      digits(1, 7)
    )
    FastCheck.assert(
      FastCheck.property(kept, FastCheck.constantFrom("", "of ", '"'), (text, around) => {
        const whole = `${around}${text}${around === '"' ? '"' : ""}`
        expect(Phone.shorten(whole)).toBe(whole)
      }),
      { numRuns: 2000 }
    )
  })
})

describe("a number for whoever is not to know it", () => {
  it("shows its country, its beginning and its end, and hides three digits at least", () => {
    expect(Phone.mask("34600111234")).toBe("+34 600 ··· 234")
    expect(Phone.mask("5215512345678")).toBe("+52 155 ··· 678")
    expect(Phone.mask("3761234")).toBe("+376 ··· 4")
    expect(Phone.mask("2901234567")).toBe("+290 1 ··· 567")
  })

  it("is masked wherever it stands in a text, and ids and times are kept", () => {
    const masked = "+34 600 ··· 234"
    for (const number of [
      "34600111234",
      "+34 600 111 234",
      "0034600111234",
      "+34-600-111-234",
      "%2B34600111234"
    ])
      for (const [before, after] of [
        ["", ""],
        ["call ", " now"],
        ["order_", "-1"],
        ["c", ""],
        ["?phone=", "&a"],
        ['{"to":"', '"}']
      ])
        expect([number, before, Phone.maskIn(`${before}${number}${after}`).includes("111")]).toEqual([
          number,
          before,
          false
        ])
    expect(Phone.maskIn("to 34600111234 (34 600 111 234)")).toBe(`to ${masked} (${masked})`)
    expect(Phone.maskIn("wamid.HBgLMzQ2MDAxMTEyMzQVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA")).toBe("wamid.···Y3RTcA")
    for (const kept of [
      "12345678-1234-7234-8234-123456789012",
      "pk_4fT012345678xYw2RkVb7N",
      "2026-11-26T12:30:00.000Z",
      "since 2026-11-26, by",
      "http://203.0.113.200:8080/hook",
      '{"actual_cost":"12345.0000"}',
      "US.13491208655302741918",
      masked
    ])
      expect(Phone.maskIn(kept)).toBe(kept)
  })

  it.each([
    "34600111234",
    "++34600111234",
    "+ 34 600 111234",
    "00 34.600.111.234",
    "34/600/111/234",
    "34  600  111  234",
    "34\u202f600\u202f111\u202f234",
    "\u202a+34\u2011600\u2011111\u2011234",
    "34\u2013600 \u2013 111\u2013234",
    "34_600_111_234",
    "34:600,111·234",
    "%2B34%20600%20111%20234",
    "34%E2%80%AF600111234",
    "\\u002b34\\u00a0600\\t111\\n234",
    "\uff0b\uff13\uff14\uff16\uff10\uff10\uff11\uff11\uff11\uff12\uff13\uff14",
    "\u0663\u0664\u0666\u0660\u0660\u0661\u0661\u0661\u0662\u0663\u0664",
    "\u2462\u2463600\u00b9\u00b9\u00b9\u2082\u2083\u2084"
  ])("is masked once and whole, written as %s", (number) => {
    for (const [before, after] of [
      ["", ""],
      ["to ", " now"],
      ['{"to":"', '"}']
    ]) {
      const told = Phone.maskIn(`${before}${number}${after}`)
      expect(told.replace("\u202a", "")).toBe(`${before}+34 600 ··· 234${after}`)
    }
  })

  it("is masked beside others, without a code, and of few digits", () => {
    expect(Phone.maskIn("34600111234 34600111235,34600111236")).toBe(
      "+34 600 ··· 234 +34 600 ··· 235,+34 600 ··· 236"
    )
    expect(Phone.maskIn("order 34600111234-2026-11-26")).toContain("+34 600 ··· 234")
    expect(Phone.maskIn("6 0 0 1 1 1 2 3 4 6 0 0 1 1 1 2 3 4")).toBe("··· 234")
    expect(Phone.maskIn("1234567")).toBe("+1 ··· 567")
    expect(Phone.maskIn("600 111 234")).not.toMatch(/600 ?111|111 ?234/)
    expect(Phone.maskIn("2026 and 123456")).toBe("2026 and 123456")
  })

  it("is masked in any spelling where it is known", () => {
    const hide = Phone.masker(["1234567", "34600111234"])
    expect(hide("call 234567, or 34 ..... 600 ..... 111 ..... 234")).toBe(
      "call +1 ··· 567, or +34 600 ··· 234"
    )
    expect(hide("12345678-1234-7234-8234-123456789012")).toBe("12345678-1234-7234-8234-123456789012")
  })

  it("is looked for in one pass, whatever is repeated", () => {
    for (const piece of ["+", "%2b", "1 ", "1%20", "12/ ", "1234567 ", "2026-", "\\u0020"])
      expect(Phone.masker(["1234567"])(piece.repeat(1000))).not.toContain("1234567")
  })
})
