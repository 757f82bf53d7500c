/** Inputs of a platform, its errors and its templates, that failed once. */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Variables, WhatsApp } from "@sendwright/core"
import { HttpPlatform } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as PlatformTemplate from "../../packages/core/src/domain/template/PlatformTemplate.ts"
import * as TemplateParameters from "../../packages/core/src/domain/template/TemplateParameters.ts"
import { at } from "../support/TestHost.ts"

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), "utf8"))

const templateOf = (json: unknown) => Either.getOrThrow(PlatformTemplate.read(json))

/** The components of a message with these values. */
const filled = (json: unknown, values: Readonly<Record<string, string>>) => {
  const template = templateOf(json)
  const resolved = Variables.resolve(template, undefined)(values, 0)
  expect(resolved.faults).toEqual([])
  return TemplateParameters.components(template, resolved.values)
}

const access = {
  phone_number_id: "1",
  waba_id: "2",
  access_token: "token",
  app_secret: "secret",
  verify_token: "verify"
}

describe("an answer of the platform", () => {
  it.scopedLive("18: with `is_transient: true` lets the message be tried again", () =>
    Effect.gen(function* () {
      const found = read("18-is-transient.json")
      const { url } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: () => ({
          status: Number(at(found, "status")),
          headers: { "content-type": "application/json" },
          body: JSON.stringify(at(found, "body"))
        })
      })
      const sender = yield* WhatsApp.make()
      const result = yield* sender.send({
        messageId: "m",
        sessionId: "s",
        to: "34600000200",
        userId: null,
        content: { kind: "direct", text: "Hello", linkPreview: false },
        values: [],
        attempt: 1,
        config: { ...access, base_url: url }
      })
      expect(result).toMatchObject({
        _tag: "Transient",
        failure: { provider_code: "3018", permanent: false }
      })
    })
  )
})

describe("a template of the platform", () => {
  it("10: takes the example of a URL as the platform gives it", () => {
    const json = read("10-url-example.json")
    const example = String(at(json, "components", 1, "buttons", 0, "example", 0))
    const parameters = [{ type: "text", text: "abc" }]
    expect(filled(json, { "button.0.1": example })).toEqual([
      { type: "button", sub_type: "url", index: "0", parameters }
    ])
    const shown = templateOf(json).variables[0]?.example ?? ""
    expect(filled(json, { "button.0.1": shown })).toEqual(filled(json, { "button.0.1": example }))
  })

  it("20: gives a document the name that its reader sees", () => {
    const json = at(read("20-document-name.json"), "template")
    const link = "https://shop.example/files/A-17.pdf?signed=1"
    const sent = (filename: string) => [
      { type: "header", parameters: [{ type: "document", document: { link, filename } }] }
    ]
    expect(filled(json, { "header.media": link, "header.filename": "Invoice A-17.pdf" })).toEqual(
      sent("Invoice A-17.pdf")
    )
    expect(filled(json, { "header.media": link })).toEqual(sent("A-17.pdf"))
  })

  it("24: is read by names where they are all that tells so", () => {
    const json = read("24-named-without-format.json")
    expect(filled(json, { "body.first_name": "Ana" })).toEqual([
      { type: "body", parameters: [{ type: "text", parameter_name: "first_name", text: "Ana" }] }
    ])
  })
})
