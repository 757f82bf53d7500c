import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fault from "../../src/domain/Fault.ts"
import { parsePlatform } from "../../src/domain/Template.ts"

const body = { type: "BODY", text: "Hello {{1}}", example: { body_text: [["Ana"]] } }
const base = { name: "greeting", language: "en_US", category: "UTILITY", components: [body] }

const faults = (json: unknown): ReadonlyArray<string> =>
  Either.match(parsePlatform(json), { onLeft: (found) => found.map(Fault.pointer), onRight: () => [] })

describe("a platform template", () => {
  it("becomes components and the variables to be sent, in the order header, body, buttons", () => {
    const content = Either.getOrThrow(
      parsePlatform({
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

  it("that needs what variables cannot express is not sendable, and says why", () => {
    const unsendable = [
      { type: "HEADER", format: "LOCATION" },
      { type: "BUTTONS", buttons: [{ type: "COPY_CODE", example: "SAVE10" }] },
      { type: "BUTTONS", buttons: [{ type: "FLOW", text: "Start" }] }
    ]
    for (const component of unsendable) {
      const content = Either.getOrThrow(parsePlatform({ ...base, components: [component, body] }))
      expect(content.sendable).toBe(false)
      expect(content.unsendableReason).toMatch(/^Its /)
    }
  })

  it("tells all that is wrong with it, by field", () => {
    expect(
      faults({ name: "Bad Name", language: 5, category: "OTHER", components: [{ type: "BODY" }] })
    ).toEqual(["/name", "/language", "/category", "/components/0/text"])
    expect(faults({ ...base, components: [{ type: "FOOTER", text: "x" }] })).toEqual(["/components"])
    expect(faults({ ...base, components: [{ type: "BODY", text: "{{1}} {{3}}" }] })).toEqual([
      "/components/0/text"
    ])
    expect(faults({ ...base, components: [body, body] })).toEqual(["/components/1/type"])
    expect(faults(null)).toContain("/name")
  })

  it("never throws, whatever it is", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.anything(), FastCheck.anything(), (any, other) => {
        parsePlatform(any)
        parsePlatform({ ...base, components: any })
        parsePlatform({ ...base, components: [any, other] })
        parsePlatform({
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
