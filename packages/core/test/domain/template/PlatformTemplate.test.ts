import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fault from "../../../src/domain/Fault.ts"
import * as PlatformTemplate from "../../../src/domain/template/PlatformTemplate.ts"

const body = { type: "BODY", text: "Hello {{1}}", example: { body_text: [["Ana"]] } }
const base = { name: "greeting", language: "en_US", category: "UTILITY", components: [body] }

const read = (json: unknown) => Either.getOrThrow(PlatformTemplate.read(json))

const faults = (json: unknown): ReadonlyArray<string> =>
  Either.match(PlatformTemplate.read(json), {
    onLeft: (found) => found.map(Fault.pointer),
    onRight: () => []
  })

const readAll = (given: ReadonlyArray<unknown>) => given.map(PlatformTemplate.itemReader())

describe("a platform template", () => {
  it("becomes components and the variables to be sent, in the order header, body, buttons", () => {
    const content = Either.getOrThrow(
      PlatformTemplate.read({
        ...base,
        id: "1689556908129832",
        components: [
          {
            type: "BUTTONS",
            buttons: [
              { type: "PHONE_NUMBER", text: "Call", phone_number: "+15550100" },
              { type: "URL", text: "Site", url: "https://a.example/" },
              { type: "URL", text: "Track", url: "https://a.example/{{1}}", example: ["A-1"] }
            ]
          },
          body,
          { type: "FOOTER", text: "Bye" },
          { type: "HEADER", format: "VIDEO", example: { header_handle: ["4::aW"] } }
        ]
      })
    )
    expect(content.status).toBe("approved")
    expect(content.components.map(({ type }) => type)).toEqual(["header", "body", "footer", "buttons"])
    expect(content.variables).toEqual([
      { key: "header.media", type: "media_url", media_type: "video", required: true, max_length: 2048 },
      { key: "body.1", type: "text", required: true, max_length: 1024, example: "Ana" },
      { key: "button.1.1", type: "url_suffix", required: true, max_length: 2000, example: "A-1" }
    ])
    expect(content.bindings.map(({ buttonIndex }) => buttonIndex)).toEqual([null, null, 2])
  })

  it("that needs what variables cannot express is listed as not sendable, and says why", () => {
    const unsendable = [
      { type: "HEADER", format: "LOCATION" },
      { type: "HEADER", format: "GIF" },
      { type: "HEADER", format: "TEXT", text: "{{1}} {{2}}" },
      { type: "BUTTONS", buttons: [{ type: "FLOW", text: "Start" }] },
      { type: "CAROUSEL", cards: [] },
      { type: "LIMITED_TIME_OFFER", limited_time_offer: {} }
    ]
    for (const component of unsendable) {
      const content = read({ ...base, components: [component, body] })
      expect(content.sendable).toBe(false)
      expect(content.unsendableReason).toMatch(/^It(s| has a) [a-z_ ]+\.$/)
      // All else of it is there.
      expect(content.variables.map(({ key }) => key)).toContain("body.1")
    }
  })

  it("whose parameters have a format that nobody knows is listed as not sendable", () => {
    const { sendable, unsendableReason } = read({ ...base, parameter_format: "MIXED", components: [body] })
    expect([sendable, unsendableReason]).toEqual([false, "Its parameters have the format mixed."])
  })

  it("whose components cannot be read is listed as not sendable, and says where", () => {
    const cases: ReadonlyArray<readonly [unknown, string]> = [
      [undefined, "/components"],
      ["BODY", "/components"],
      [[], "/components"],
      [[{ type: "FOOTER", text: "x" }], "/components"],
      [[{ type: "BODY", text: "{{1}} {{3}}" }], "/components/0/text"],
      ...["Hi {{first name}}", "Hi {{first-name}}", "Hi {{}}", "Hi {{\u0661}}"].map(
        (text) => [[{ type: "BODY", text }], "/components/0/text"] as const
      ),
      [[body, { type: "FOOTER", text: "Bye {{1}}" }], "/components/1/text"],
      [
        [body, { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "{{1}}" }] }],
        "/components/1/buttons/0/text"
      ],
      [[{ type: "BODY", text: " \u200b" }], "/components/0/text"],
      [[{ type: "BODY", text: "a\u0000" }], "/components/0/text"],
      [[body, body], "/components/1/type"],
      [[body, { type: "a b" }], "/components/1/type"],
      [[body, { type: "BUTTONS", buttons: [{ type: "URL", text: "Go" }] }], "/components/1/buttons/0/url"],
      [
        [body, { type: "BUTTONS", buttons: Array(11).fill({ type: "QUICK_REPLY" }) }],
        "/components/1/buttons"
      ],
      [[body, null], "/components/1/type"],
      [Array(21).fill(body), "/components"]
    ]
    for (const [components, where] of cases) {
      const content = read({ ...base, components })
      expect([components, content.sendable, content.unsendableReason]).toEqual([
        components,
        false,
        expect.stringContaining(`It cannot be read at ${where}: `)
      ])
    }
    const { unsendableReason } = read({ ...base, components: Array(20).fill({}) })
    expect(unsendableReason).toMatch(/ And 17 more\.$/)
  })

  it("with named placeholders is read by names where nothing says its format, and else says what to do", () => {
    const named = { type: "BODY", text: "Hi {{first_name}}, {{city}}" }
    const names = (json: object) => read({ ...base, ...json }).variables.map(({ key, name }) => [key, name])
    const expected = [
      ["body.1", "first_name"],
      ["body.2", "city"]
    ]
    expect(names({ components: [named] })).toEqual(expected)
    expect(names({ components: [named], parameter_format: "NAMED" })).toEqual(expected)
    const header = { type: "HEADER", format: "TEXT", text: "To {{who}}" }
    expect(names({ components: [header, { type: "BODY", text: "Hi." }] })).toEqual([["header.1", "who"]])
    expect(read({ ...base, parameter_format: "POSITIONAL", components: [named] })).toMatchObject({
      sendable: false,
      unsendableReason: expect.stringContaining("need the `parameter_format` NAMED")
    })
    expect(names({ components: [{ type: "BODY", text: "Hi {{1}}" }] })).toEqual([["body.1", undefined]])
  })

  it("that cannot be listed tells all that is wrong with it, by field", () => {
    expect(
      faults({ name: "Bad Name", language: 5, category: "OTHER", components: [{ type: "BODY" }] })
    ).toEqual(["/name", "/language", "/category", "/components/0/text"])
    expect(faults({ ...base, status: 7 })).toEqual(["/status"])
    expect(faults({ ...base, status: "A\u0000" })).toEqual(["/status"])
    expect(faults({ ...base, name: "a".repeat(513) })).toEqual(["/name"])
    expect(faults({ ...base, language: "\u3164" })).toEqual(["/language"])
    for (const nothing of [null, undefined, "x", 5, [], {}]) {
      expect(faults(nothing)).toEqual(["/name", "/language", "/category", "/components"])
    }
  })

  it("has the platform's cap on price as it came, by its present name before its former, or nothing of one", () => {
    const cap = { bid_amount: 87_000, bid_strategy: "LOWEST_COST_WITH_BID_CAP" }
    const priced = (json: object) => read({ ...base, category: "MARKETING", ...json })
    expect(priced({ optimization_spec: cap })).toMatchObject({ maxPrice: cap, sendable: true })
    expect(priced({ bid_spec: cap }).maxPrice).toEqual(cap)
    expect(priced({ bid_spec: { bid_amount: 1 }, optimization_spec: cap }).maxPrice).toEqual(cap)
    const asText = { max_price: "0.0750", currency: "EUR" }
    expect(priced({ optimization_spec: asText }).maxPrice).toEqual(asText)
    expect(priced({})).not.toHaveProperty("maxPrice")
    expect(priced({ bid_spec: cap, optimization_spec: null }).maxPrice).toBeNull()
    const of = (bytes: number) => ({ a: "x".repeat(bytes - JSON.stringify({ a: "" }).length) })
    expect(priced({ optimization_spec: of(2048) }).maxPrice).toEqual(of(2048))
    for (const unfit of [of(2049), "87000", 87_000, [cap], true])
      expect(priced({ optimization_spec: unfit })).toMatchObject({ maxPrice: null, sendable: true })
  })

  it("holds no text that a database cannot keep", () => {
    const odd = FastCheck.oneof(
      FastCheck.constantFrom("\u0000", "\ud800", "x\u0000y"),
      FastCheck.string({ unit: "binary" })
    )
    FastCheck.assert(
      FastCheck.property(odd, FastCheck.nat(8), (text, place) => {
        const at = (index: number, usual: string): string => (index === place ? text : usual)
        const json = {
          ...base,
          status: at(0, "APPROVED"),
          quality_score: { score: at(1, "GREEN") },
          optimization_spec: { bid_strategy: at(8, "CAP") },
          components: [
            { type: "BODY", text: at(2, "Hi {{1}}"), example: { body_text: [[at(3, "Ana")]] } },
            {
              type: "BUTTONS",
              buttons: [
                {
                  type: "URL",
                  text: at(4, "Go"),
                  url: at(5, "https://a.example/{{1}}"),
                  example: [at(6, "x")]
                },
                { type: "PHONE_NUMBER", text: "Call", phone_number: at(7, "+1555") }
              ]
            }
          ]
        }
        const texts = (value: unknown): ReadonlyArray<string> =>
          typeof value === "string"
            ? [value]
            : typeof value === "object" && value !== null
              ? Object.values(value).flatMap(texts)
              : []
        const found = Either.match(PlatformTemplate.read(json), { onLeft: () => [], onRight: texts })
        expect(found.filter((each) => !each.isWellFormed() || each.includes("\u0000"))).toEqual([])
      }),
      { numRuns: 1000 }
    )
  })

  it("never throws, whatever it is", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.anything(), FastCheck.anything(), (any, other) => {
        PlatformTemplate.read(any)
        PlatformTemplate.read({ ...base, components: any, optimization_spec: other })
        PlatformTemplate.read({ ...base, components: [any, other] })
        PlatformTemplate.read({
          ...base,
          components: [
            { type: "BUTTONS", buttons: [any] },
            { ...body, example: other }
          ]
        })
      }),
      { numRuns: 1000 }
    )
  })
})

describe("several templates", () => {
  it("are read each for itself, in their order, the first of two with one name and language", () => {
    const items = readAll([
      {},
      base,
      { ...base, components: [{ type: "CAROUSEL" }, body] },
      { ...base, language: "es" },
      null,
      { ...base, name: "Bad\u0000", language: "x".repeat(600) }
    ])
    expect(items.map(({ _tag }) => _tag)).toEqual([
      "Refused",
      "Read",
      "Refused",
      "Read",
      "Refused",
      "Refused"
    ])
    const refused = items.flatMap((item) => (item._tag === "Refused" ? [item] : []))
    expect(refused.map(({ language, name }) => [name, language])).toEqual([
      [null, null],
      ["greeting", "en_US"],
      [null, null],
      [null, null]
    ])
    expect(refused.map(({ faults: [first] }) => first && Fault.pointer(first))).toEqual([
      "/templates/0/name",
      "/templates/2/name",
      "/templates/4/name",
      "/templates/5/name"
    ])
    expect(refused[1]?.faults[0]?.message).toMatch(/Item 1 has this name and language/)
  })

  it("tell at most ten faults of each", () => {
    const components = Array(20).fill({ type: "BUTTONS", buttons: Array(10).fill({}) })
    const [item] = readAll([{ components }])
    expect(item?._tag === "Refused" && item.faults.length).toBe(10)
  })

  it("look into the components of what cannot be listed only when its faults are asked for", () => {
    let reads = 0
    const watched = {
      name: 1,
      get components() {
        reads += 1
        return [body]
      }
    }
    const items = readAll(Array.from({ length: 6000 }, () => watched))
    expect(items).toHaveLength(6000)
    expect(reads).toBe(0)
    const [item] = items
    expect(item?._tag === "Refused" && item.faults.map(Fault.pointer)).toEqual([
      "/templates/0/name",
      "/templates/0/language",
      "/templates/0/category"
    ])
    expect(reads).toBe(1)
  })
})
