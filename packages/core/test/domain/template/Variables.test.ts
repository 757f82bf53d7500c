import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as PlatformTemplate from "../../../src/domain/template/PlatformTemplate.ts"
import * as Rendering from "../../../src/domain/template/Rendering.ts"
import type { TemplateContent } from "../../../src/domain/template/Template.ts"
import * as Variables from "../../../src/domain/template/Variables.ts"
import { inside } from "../../http/Inside.ts"

const runs = { numRuns: 1000 }

const parsed = (json: unknown): TemplateContent => Either.getOrThrow(PlatformTemplate.read(json))

const order = parsed({
  name: "order",
  language: "en",
  category: "UTILITY",
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}" },
    { type: "BODY", text: "{{2}} and {{1}} and {{2}}" },
    {
      type: "BUTTONS",
      buttons: [
        { type: "QUICK_REPLY", text: "Ok" },
        { type: "URL", text: "Static", url: "https://shop.example/" },
        { type: "URL", text: "Track", url: "https://shop.example/track/{{1}}" }
      ]
    }
  ]
})

const keys = order.variables.map(({ key }) => key)
const complete = { "header.1": "A-1", "body.1": "one", "body.2": "two", "button.1.1": "x" }

const word = FastCheck.stringMatching(/^[A-Za-z0-9]{1,12}$/)
const some = FastCheck.dictionary(FastCheck.constantFrom(...keys), word, { noNullPrototype: true })

describe("variables", () => {
  it("take the recipient's value over the common one, and tell whose it was", () => {
    FastCheck.assert(
      FastCheck.property(some, some, (common, own) => {
        const { faults, values } = Variables.resolve(order, common)(own, 0)
        const origins = Variables.originsOf(order, own, common)
        keys.forEach((key, place) => {
          const expected = own[key] ?? common[key]
          if (expected === undefined) {
            expect(faults.filter(({ path }) => path.at(-1) === key).map(({ code }) => code)).toEqual([
              "variable_missing"
            ])
          } else {
            expect([values[place], origins[place]]).toEqual([expected, key in own ? "recipient" : "common"])
          }
        })
        expect(faults).toHaveLength(keys.filter((key) => !(key in own) && !(key in common)).length)
      }),
      runs
    )
  })

  it("are checked for their length first, and no further than the maximum of faults", () => {
    const [fault, ...more] = Variables.resolve(order, complete)(
      { "body.1": "\u200b".repeat(100_000) },
      0
    ).faults
    expect(more).toEqual([])
    expect(fault?.message).toBe("`body.1` must be at most 1024 characters.")
    const names = Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`x${at}`, "x"]))
    expect(Variables.resolve(order, complete)(names, 0).faults).toHaveLength(250)
  })

  it("refuse every name that the template does not ask for, those of Object's prototype too", () => {
    const names = FastCheck.oneof(
      FastCheck.constantFrom(
        "__proto__",
        "constructor",
        "toString",
        "hasOwnProperty",
        "body.3",
        "button.0.1",
        "body.x"
      ),
      FastCheck.string()
    ).filter((name) => !keys.includes(name))
    FastCheck.assert(
      FastCheck.property(names, (name) => {
        const own: Record<string, string> = JSON.parse(`{${JSON.stringify(name)}:"x"}`)
        const faults = Variables.resolve(order, complete)(own, 3).faults
        expect(faults.map(({ code, path }) => [code, path])).toEqual([
          ["variable_unknown", ["recipients", 3, "variables", name]]
        ])
        expect(Variables.checkCommon(order, own).map(({ code }) => code)).toEqual(["variable_unknown"])
      }),
      runs
    )
  })

  it("do not fall through a blank value to the common one", () => {
    const { faults } = Variables.resolve(order, complete)({ "body.1": " " }, 0)
    expect(faults.map(({ code }) => code)).toEqual(["variable_invalid"])
  })

  it("hold no newline, tab, control character, lone surrogate or run of more than 4 spaces", () => {
    for (const value of ["a\nb", "a\tb", "a\u0000b", "\ud800", "a     b", "a\u007fb"]) {
      expect(Variables.resolve(order, complete)({ "body.1": value }, 0).faults).toHaveLength(1)
    }
    for (const value of ["a    b", "ñ 😀", "{{1}}", "<b>"]) {
      expect(Variables.resolve(order, complete)({ "body.1": value }, 0).faults).toEqual([])
    }
  })

  it("keep a URL suffix below the template's address", () => {
    const bad = [
      "../../x",
      "..",
      "a/../../b",
      "%2e%2e/x",
      "//evil.example",
      "/x",
      "\\evil",
      "a b",
      "x#y",
      "%zz",
      "a%2f%2e%2e",
      "x\n"
    ]
    for (const value of bad) {
      const { faults } = Variables.resolve(order, complete)({ "button.1.1": value }, 0)
      expect([value, faults.map(({ code }) => code)]).toEqual([value, ["variable_invalid"]])
    }
    for (const value of ["A-1", "a/b?c=d&e=f", "caf%C3%A9", "ñ", "@x", "v1.2"]) {
      expect([value, Variables.resolve(order, complete)({ "button.1.1": value }, 0).faults]).toEqual([
        value,
        []
      ])
    }
    const bare = parsed({
      name: "bare",
      language: "en",
      category: "UTILITY",
      components: [
        { type: "BODY", text: "Hi" },
        { type: "BUTTONS", buttons: [{ type: "URL", text: "Go", url: "https://shop.example{{1}}" }] }
      ]
    })
    for (const value of [".evil.example", "@evil.example", ":8443/x"]) {
      expect([value, Variables.resolve(bare, {})({ "button.0.1": value }, 0).faults.length]).toEqual([
        value,
        1
      ])
    }
  })

  it("take a media URL that is https, public and without credentials, as a webhook's must be", () => {
    const media = parsed({
      name: "media",
      language: "en",
      category: "MARKETING",
      components: [
        { type: "HEADER", format: "IMAGE" },
        { type: "BODY", text: "Hi" }
      ]
    })
    const faults = (url: string) =>
      Variables.resolve(media, undefined)({ "header.media": url }, 0).faults.length
    for (const url of [
      "https://cdn.example.com/a.png",
      "https://cdn.example.com:8443/a.png?b=c",
      "https://8.8.8.8/a.png",
      "https://[2606:4700::1]/a.png",
      `https://cdn.example.com/${"😀".repeat(2024)}`
    ]) {
      expect([url, faults(url)]).toEqual([url, 0])
    }
    for (const url of [
      "http://cdn.example.com/a.png",
      "ftp://cdn.example.com/a.png",
      "data:image/png;base64,AAAA",
      "https://user:pass@cdn.example.com/",
      "https://cdn.example.com/a.png#top",
      "https://cdn.example.com/a b.png",
      "https://cdn.example.com/\ud800.png",
      "https://cdn.example.com/a\u0000.png",
      "cdn.example.com/a.png",
      "//cdn.example.com/a.png",
      `https://cdn.example.com/${"a".repeat(2025)}`,
      ...inside.map((host) => `https://${host}/a.png`)
    ]) {
      expect([url, faults(url)]).toEqual([url, 1])
    }
  })

  it("that show nothing are blank", () => {
    for (const value of ["", " ", "\u200b", "\u3164\u2800", "\u00ad\ufeff "]) {
      const { faults } = Variables.resolve(order, complete)({ "body.1": value }, 0)
      expect([value, faults.map(({ message }) => message)]).toEqual([
        value,
        ["`body.1` must not be empty or blank."]
      ])
    }
  })

  it("of named placeholders are numbered by first appearance, and the name is accepted too, but not both", () => {
    const named = parsed({
      name: "named",
      language: "en",
      category: "MARKETING",
      parameter_format: "NAMED",
      components: [{ type: "BODY", text: "{{last_name}}, {{first_name}} {{last_name}}" }]
    })
    expect(named.variables.map(({ key }) => key)).toEqual(["body.1", "body.2"])
    const { faults, values } = Variables.resolve(named, undefined)(
      { "body.first_name": "Ana", "body.1": "Ruiz" },
      0
    )
    expect([faults, values]).toEqual([[], ["Ruiz", "Ana"]])
    expect(Rendering.render(named, values).body).toBe("Ruiz, Ana Ruiz")
  })

  it("of a named placeholder are refused when both names are given in one place, and tell both when none is", () => {
    const named = parsed({
      name: "named",
      language: "en",
      category: "MARKETING",
      parameter_format: "NAMED",
      components: [
        { type: "HEADER", format: "TEXT", text: "For {{who}}" },
        { type: "BODY", text: "{{first_name}}" }
      ]
    })
    const told = (own: Variables.Values, common?: Variables.Values) =>
      Variables.resolve(named, common)(own, 0).faults.map(({ code, message, path }) => [
        code,
        path.at(-1),
        message
      ])
    expect(told({ "body.1": "a", "body.first_name": "b", "header.who": "c", "header.1": "c" })).toEqual([
      [
        "variable_invalid",
        "body.first_name",
        "Give `body.1` or `body.first_name`, not both: they name the same variable."
      ],
      [
        "variable_invalid",
        "header.1",
        "Give `header.1` or `header.who`, not both: they name the same variable."
      ]
    ])
    expect(told({ "header.who": "c" })).toEqual([
      ["variable_missing", "body.1", "`body.1` or `body.first_name` is missing."]
    ])
    expect(told({ "body.1": "a", "header.1": "b", "body.last_name": "c" })).toEqual([
      [
        "variable_unknown",
        "body.last_name",
        "The template asks for `header.1` or `header.who`, `body.1` or `body.first_name` only."
      ]
    ])
    // The recipient's wins, by whichever name.
    expect(
      Variables.resolve(named, { "body.1": "all", "header.1": "h" })({ "body.first_name": "own" }, 0)
    ).toEqual({
      values: ["h", "own"],
      faults: []
    })
  })
})

describe("rendering", () => {
  it("puts values in place in one pass, so that a value is never read as a placeholder", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string(), FastCheck.string(), (one, two) => {
        expect(Rendering.render(order, ["H", one, two, "x"]).body).toBe(`${two} and ${one} and ${two}`)
      }),
      runs
    )
    expect(Rendering.render(order, ["{{1}}", "{{2}}", "$&", "x"])).toEqual({
      header: "Order {{1}}",
      body: "$& and {{2}} and $&",
      buttons: [
        { type: "quick_reply", text: "Ok" },
        { type: "url", text: "Static", url: "https://shop.example/" },
        { type: "url", text: "Track", url: "https://shop.example/track/x" }
      ]
    })
  })

  it("is at most 60 characters of header and 1,024 of body, told at the variables", () => {
    const long = Rendering.check(order, ["x".repeat(55), "y".repeat(1020), "z", "s"], ["v"])
    expect(long.map(({ path }) => path)).toEqual([
      ["v", "header.1"],
      ["v", "body.1"],
      ["v", "body.2"]
    ])
    expect(Rendering.check(order, ["x".repeat(54), "y", "😀".repeat(500), "s"], ["v"])).toEqual([])
  })
})

describe("the name of a document (contract.md §11)", () => {
  const invoice = parsed({
    name: "invoice",
    language: "en",
    category: "UTILITY",
    components: [
      { type: "HEADER", format: "DOCUMENT" },
      { type: "BODY", text: "Your invoice." }
    ]
  })
  const named = (own: Variables.Values, common?: Variables.Values) =>
    Variables.resolve(invoice, common)(own, 0)
  const media = "https://shop.example/files/A%2017.pdf?signed=1"

  it("is a variable that need not be given", () => {
    expect(invoice.variables).toEqual([
      { key: "header.media", type: "media_url", media_type: "document", required: true, max_length: 2048 },
      { key: "header.filename", type: "text", required: false, max_length: 240 }
    ])
    expect(named({}).faults.map(({ path }) => path.at(-1))).toEqual(["header.media"])
  })

  it("is the value, the common one, or the last part of the URL's path", () => {
    const common = { "header.filename": "Common.pdf" }
    expect(named({ "header.media": media, "header.filename": "Invoice 17.pdf" }, common).values).toEqual([
      media,
      "Invoice 17.pdf"
    ])
    expect(named({ "header.media": media }, common).values[1]).toBe("Common.pdf")
    for (const [url, name] of [
      [media, "A 17.pdf"],
      ["https://shop.example/files/", "files"],
      ["https://shop.example/a%2Fb", "document"],
      ["https://shop.example/%ff", "%ff"],
      [`https://shop.example/${"a".repeat(241)}`, "document"],
      ["https://shop.example/", "document"]
    ] as const)
      expect(named({ "header.media": url })).toEqual({ values: [url, name], faults: [] })
  })

  it("tells whose it was: the URL's, when nobody gave it", () => {
    const origin = (own: Variables.Values, common: Variables.Values) =>
      Variables.originsOf(invoice, own, common)[1]
    expect(origin({ "header.media": media }, {})).toBe("recipient")
    expect(origin({}, { "header.media": media })).toBe("common")
    expect(origin({ "header.media": media }, { "header.filename": "a" })).toBe("common")
    expect(origin({ "header.filename": "a" }, { "header.media": media })).toBe("recipient")
  })

  it.each(["", " ", "a/b.pdf", "a\\b.pdf", "..", ".", "a\nb.pdf", "a".repeat(241)])("is not %j", (name) => {
    const { faults } = named({ "header.media": media, "header.filename": name })
    expect(faults.map(({ code, path }) => [code, path.at(-1)])).toEqual([
      ["variable_invalid", "header.filename"]
    ])
  })
})

describe("the suffix of a URL", () => {
  it("may be given as the whole address, as the platform's example is", () => {
    const value = (text: string) =>
      Variables.resolve(order, { ...complete, "button.1.1": text })(undefined, 0).values.at(-1)
    expect(value("https://shop.example/track/A-1")).toBe("A-1")
    expect(value("A-1")).toBe("A-1")
    const own = { "button.1.1": "https://shop.example/track/B-2" }
    expect(Variables.resolve(order, complete)(own, 0)).toMatchObject({ faults: [] })
    expect(Variables.resolve(order, complete)(own, 0).values.at(-1)).toBe("B-2")
    for (const other of [
      "https://shop.example/track/",
      "https://shop.example/other",
      "https://else.example/track/1"
    ])
      expect(Variables.checkCommon(order, { "button.1.1": other }), other).toHaveLength(1)
  })
})
