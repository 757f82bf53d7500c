/** Each documented kind of a header, a component and a button: what a send gives, and what the platform gets (docs/templates.md). */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as PlatformTemplate from "../../../src/domain/template/PlatformTemplate.ts"
import * as TemplateParameters from "../../../src/domain/template/TemplateParameters.ts"
import * as Variables from "../../../src/domain/template/Variables.ts"

const body = { type: "BODY", text: "News" }
const buttons = (...some: ReadonlyArray<object>) => ({ type: "BUTTONS", buttons: some })
const button = (type: string, more: object = {}) => buttons({ type, text: "Go", ...more })
const url = "https://shop.example/{{1}}"
const link = "https://shop.example/files/A.pdf"

const read = (components: ReadonlyArray<object>, category = "UTILITY") =>
  Either.getOrThrow(
    PlatformTemplate.read({ name: "kinds", language: "en", category, status: "APPROVED", components })
  )

const sentOf = (components: ReadonlyArray<object>, values: Variables.Values, category?: string) => {
  const template = read(components, category)
  const { faults, values: resolved } = Variables.resolve(template, undefined)(values, 0)
  return faults.length > 0 ? faults : TemplateParameters.components(template, resolved)
}

const text = (value: string) => ({ type: "text", text: value })
const header = (parameter: object) => [{ type: "header", parameters: [parameter] }]
const button0 = (sub_type: string, parameter: object) => [
  { type: "button", sub_type, index: "0", parameters: [parameter] }
]

interface Kind {
  readonly kind: string
  readonly components: ReadonlyArray<object>
  /** Values by the keys that the template asks for; undefined of one that cannot be sent. */
  readonly values?: Variables.Values
  readonly sent?: ReadonlyArray<object>
}

const plain = (kind: string, component: object): Kind => ({
  kind,
  components: [body, component],
  values: {},
  sent: []
})

const kinds: ReadonlyArray<Kind> = [
  {
    kind: "HEADER TEXT",
    components: [{ type: "HEADER", format: "TEXT", text: "For {{1}}" }, body],
    values: { "header.1": "Ana" },
    sent: header(text("Ana"))
  },
  ...["IMAGE", "VIDEO"].map(
    (format): Kind => ({
      kind: `HEADER ${format}`,
      components: [{ type: "HEADER", format }, body],
      values: { "header.media": link },
      sent: header({ type: format.toLowerCase(), [format.toLowerCase()]: { link } })
    })
  ),
  {
    kind: "HEADER DOCUMENT",
    components: [{ type: "HEADER", format: "DOCUMENT" }, body],
    values: { "header.media": link, "header.filename": "A.pdf" },
    sent: header({ type: "document", document: { link, filename: "A.pdf" } })
  },
  { kind: "HEADER GIF", components: [{ type: "HEADER", format: "GIF" }, body] },
  { kind: "HEADER LOCATION", components: [{ type: "HEADER", format: "LOCATION" }, body] },
  {
    kind: "BODY",
    components: [{ type: "BODY", text: "Hi {{1}}" }],
    values: { "body.1": "Ana" },
    sent: [{ type: "body", parameters: [text("Ana")] }]
  },
  plain("FOOTER", { type: "FOOTER", text: "Shop" }),
  plain("QUICK_REPLY", button("QUICK_REPLY")),
  {
    kind: "URL",
    components: [body, button("URL", { url })],
    values: { "button.0.1": "A-1" },
    sent: button0("url", text("A-1"))
  },
  plain("URL without `{{1}}`", button("URL", { url: "https://shop.example/" })),
  plain("PHONE_NUMBER", button("PHONE_NUMBER", { phone_number: "+15550100100" })),
  {
    kind: "COPY_CODE",
    components: [body, button("COPY_CODE", { example: "SAVE10" })],
    values: { "button.0.1": "SAVE25" },
    sent: button0("copy_code", { type: "coupon_code", coupon_code: "SAVE25" })
  },
  {
    kind: "OTP",
    components: [body, button("OTP", { otp_type: "COPY_CODE" })],
    values: { "button.0.1": "123456" },
    sent: button0("url", text("123456"))
  },
  { kind: "FLOW", components: [body, button("FLOW", { flow_id: "1" })] },
  plain("CATALOG", button("CATALOG")),
  plain("MPM", button("MPM")),
  plain("SPM", button("SPM")),
  plain("VOICE_CALL", button("VOICE_CALL")),
  plain("REQUEST_CONTACT_INFO", button("REQUEST_CONTACT_INFO")),
  plain("CALL_PERMISSION_REQUEST", { type: "CALL_PERMISSION_REQUEST" }),
  { kind: "CAROUSEL", components: [body, { type: "CAROUSEL", cards: [] }] },
  { kind: "LIMITED_TIME_OFFER", components: [body, { type: "LIMITED_TIME_OFFER", limited_time_offer: {} }] }
]

describe("a template with", () => {
  for (const { components, kind, sent, values } of kinds)
    it(`${kind} ${values === undefined ? "is not sendable, and says why" : "is sent as the platform wants it"}`, () => {
      const template = read(components)
      expect(template.sendable, template.unsendableReason ?? "").toBe(values !== undefined)
      if (values === undefined) return expect(template.unsendableReason).toMatch(/^It(s| has a) [a-z_ ]+\.$/)
      expect(template.variables.map(({ key }) => key)).toEqual(Object.keys(values))
      expect(sentOf(components, values)).toEqual(sent)
    })

  it("what is asked for of the person is sendable as a button and as a component", () => {
    for (const type of ["REQUEST_CONTACT_INFO", "CALL_PERMISSION_REQUEST"])
      for (const component of [button(type), { type }]) expect(sentOf([body, component], {})).toEqual([])
  })

  it("several buttons has each that takes a text filled by its place, and a URL by its place among the URLs", () => {
    const urls = [
      { type: "URL", text: "A", url },
      { type: "URL", text: "B", url }
    ]
    const components = [body, buttons({ type: "QUICK_REPLY", text: "Q" }, urls[0] ?? {})]
    expect(read(components).variables.map(({ key }) => key)).toEqual(["button.0.1"])
    const sent = [{ type: "button", sub_type: "url", index: "1", parameters: [text("x")] }]
    for (const name of ["button.0.1", "button.1.1"]) expect(sentOf(components, { [name]: "x" })).toEqual(sent)
    expect(sentOf(components, { "button.0.1": "x", "button.1.1": "x" })).toMatchObject([
      { code: "variable_invalid" }
    ])
    // Where both ways would name another button, the place among all does.
    const both = [body, buttons({ type: "QUICK_REPLY", text: "Q" }, ...urls)]
    expect(read(both).variables.map(({ key }) => key)).toEqual(["button.1.1", "button.2.1"])
    expect(sentOf(both, { "button.1.1": "x", "button.2.1": "y" })).toMatchObject([
      { index: "1", parameters: [text("x")] },
      { index: "2", parameters: [text("y")] }
    ])
    const coupon = [body, buttons({ type: "COPY_CODE", text: "C", example: "S" }, urls[0] ?? {})]
    expect(sentOf(coupon, { "button.0.1": "SAVE", "button.1.1": "x" })).toMatchObject([
      { sub_type: "copy_code", index: "0" },
      { sub_type: "url", index: "1", parameters: [text("x")] }
    ])
  })

  it("a coupon takes 15 characters at most", () => {
    const components = [body, button("COPY_CODE")]
    expect(sentOf(components, { "button.0.1": "x".repeat(16) })).toMatchObject([{ code: "variable_invalid" }])
  })
})

describe("an authentication template", () => {
  const components = (code: object) => [
    { type: "BODY", text: "*{{1}}* is your verification code." },
    buttons(code)
  ]
  const forms = {
    url: {
      type: "URL",
      text: "Copy",
      url: "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}"
    },
    otp: { type: "OTP", text: "Copy", otp_type: "COPY_CODE" }
  }
  const sent = [
    { type: "body", parameters: [text("123456")] },
    { type: "button", sub_type: "url", index: "0", parameters: [text("123456")] }
  ]

  for (const [form, code] of Object.entries(forms)) {
    it(`has one code, in its body and its ${form} button`, () => {
      const given = (values: Variables.Values) => sentOf(components(code), values, "AUTHENTICATION")
      expect(given({ "body.1": "123456" })).toEqual(sent)
      expect(given({ "body.1": "123456", "button.0.1": "123456" })).toEqual(sent)
      expect(given({ "body.1": "123456", "button.0.1": "654321" })).toMatchObject([
        { code: "variable_invalid", path: ["recipients", 0, "variables", "button.0.1"] }
      ])
      expect(given({ "button.0.1": "123456" })).toMatchObject([{ code: "variable_missing" }])
      const { variables } = read(components(code), "AUTHENTICATION")
      expect(variables.map(({ required }) => required)).toEqual([true, false])
    })
  }

  it("refuses a code that its button cannot have", () => {
    expect(sentOf(components(forms.url), { "body.1": "12 34" }, "AUTHENTICATION")).toMatchObject([
      { code: "variable_invalid", path: ["recipients", 0, "variables", "body.1"] }
    ])
  })
})

describe("a locked template", () => {
  it("is sent as before", () => {
    const json = { name: "k", language: "en", category: "UTILITY", status: "LOCKED", components: [body] }
    expect(Either.getOrThrow(PlatformTemplate.read(json)).status).toBe("approved")
  })
})

describe("docs/templates.md", () => {
  it("says of each kind what a send gives", () => {
    const docs = readFileSync(new URL("../../../../../docs/templates.md", import.meta.url), "utf8")
    const rows = [...docs.matchAll(/^\| (.+?) +\| (.+?) +\| (yes|no) +\|$/gm)].map(([, kind, keys, is]) => [
      (kind ?? "").replace(/ \(.*\)$/, ""),
      keys,
      is
    ])
    expect(rows).toEqual(
      kinds.map(({ kind, values }) => {
        const keys = Object.keys(values ?? {}).map((key) => `\`${key.replace("button.0", "button.N")}\``)
        return [kind, keys.length === 0 ? "–" : keys.join(", "), values === undefined ? "no" : "yes"]
      })
    )
  })
})
