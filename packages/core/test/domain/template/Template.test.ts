import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../../src/domain/Instant.ts"
import * as PlatformTemplate from "../../../src/domain/template/PlatformTemplate.ts"
import * as Rendering from "../../../src/domain/template/Rendering.ts"
import * as Template from "../../../src/domain/template/Template.ts"
import * as TemplateParameters from "../../../src/domain/template/TemplateParameters.ts"
import * as Variables from "../../../src/domain/template/Variables.ts"

const runs = { numRuns: 500 }

const parsed = (text: string, format: "NAMED" | "POSITIONAL", header = "Dear {{who}}") =>
  Either.getOrThrow(
    PlatformTemplate.read({
      name: "greeting",
      language: "en",
      category: "UTILITY",
      parameter_format: format,
      components: [
        ...(format === "NAMED" ? [{ type: "HEADER", format: "TEXT", text: header }] : []),
        { type: "BODY", text },
        { type: "BUTTONS", buttons: [{ type: "URL", text: "Track", url: "https://a.example/{{1}}" }] }
      ]
    })
  )

const textOf = (names: ReadonlyArray<string>): string =>
  ["Hello", ...names.map((name) => `{{${name}}}`)].join(" ")

const named = (...names: ReadonlyArray<string>) => parsed(textOf(names), "NAMED")

const pool = ["first_name", "last_name", "city", "code", "day", "hour"]

/** Names in any order, each once; or a version of the template with so many positions. */
const version = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.shuffledSubarray(pool) },
  { weight: 1, arbitrary: FastCheck.nat(3) }
)

const bodyOf = ({ variables }: Template.TemplateContent) =>
  variables.filter(({ key }) => key.startsWith("body."))

describe("names of variables", () => {
  it("keep the number under which they were first seen through every import, and nobody else gets it", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(version, { minLength: 1, maxLength: 8 }), (versions) => {
        const numbers = new Map<string, number>()
        let kept: Template.NumberedTemplate | null = null
        for (const names of versions) {
          const content: Template.TemplateContent =
            typeof names === "number"
              ? parsed(textOf(Array.from({ length: names }, (_, place) => String(place + 1))), "POSITIONAL")
              : named(...names)
          kept = Template.merge(kept, content)
          if (typeof names === "number") {
            expect(bodyOf(kept).map(({ key, name }) => [key, name])).toEqual(
              Array.from({ length: names }, (_, place) => [`body.${place + 1}`, undefined])
            )
            continue
          }
          for (const name of names) numbers.set(name, numbers.get(name) ?? numbers.size + 1)
          const expected = [...numbers].filter(([name]) => names.includes(name)).sort(([, a], [, b]) => a - b)
          expect(bodyOf(kept).map(({ key, name }) => [name, key])).toEqual(
            expected.map(([name, number]) => [name, `body.${number}`])
          )
          expect(kept.variables.map(({ key }) => key.split(".")[0])).toEqual([
            "header",
            ...names.map(() => "body"),
            "button"
          ])
          // A value that is sent by number or by name reaches the placeholder of that name.
          const given = Object.fromEntries(
            names.map((name, place) => [
              place % 2 === 0 ? `body.${numbers.get(name)}` : `body.${name}`,
              `<${name}>`
            ])
          )
          const { faults, values } = Variables.resolve(kept, { "header.1": "H", "button.0.1": "x" })(given, 0)
          expect(faults).toEqual([])
          expect(Rendering.render(kept, values).body).toBe(
            ["Hello", ...names.map((name) => `<${name}>`)].join(" ")
          )
          const body = TemplateParameters.components(kept, values).find(({ type }) => type === "body")
          for (const { parameter_name, text } of body?.parameters ?? [])
            expect(text).toBe(`<${String(parameter_name)}>`)
        }
      }),
      runs
    )
  })

  it("are the same template again in another order of the same text's placeholders", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.shuffledSubarray(pool),
        FastCheck.shuffledSubarray(pool),
        (first, second) => {
          const once = Template.merge(null, named(...first))
          const twice = Template.merge(once, named(...second))
          expect(Template.merge(once, named(...first))).toBe(once)
          expect(Template.merge(twice, named(...second))).toBe(twice)
          // A platform's hook imports what it changes as it was kept.
          expect(Template.merge(twice, { ...twice, status: "paused" })).toEqual({
            ...twice,
            status: "paused"
          })
        }
      ),
      runs
    )
  })

  it("of a header are always of its one variable, header.1", () => {
    const before = Template.merge(null, parsed("Hi", "NAMED", "Dear {{who}}"))
    const after = Template.merge(before, parsed("Hi", "NAMED", "Dear {{whom}}"))
    expect([before, after].map(({ variables: [header] }) => [header?.key, header?.name])).toEqual([
      ["header.1", "who"],
      ["header.1", "whom"]
    ])
  })

  it("are told by the lookup beside the key", () => {
    const kept = Template.merge(Template.merge(null, named("first_name", "city")), named("city"))
    const template = { ...kept, templateId: 1, sessionId: "s", updatedAt: Time.at(0) }
    expect(Template.toWire(template).variables).toMatchObject([
      { key: "header.1", name: "who", type: "text" },
      { key: "body.2", name: "city", type: "text" },
      { key: "button.0.1", type: "url_suffix" }
    ])
    expect(Template.toWire(template)).not.toHaveProperty("names")
  })

  it("of a template that was stored without them have the numbers that they had", () => {
    const content = Template.merge(null, named("last_name", "first_name"))
    const { names: _, quality: __, ...rest } = content
    const stored = { ...rest, variables: rest.variables.map(({ name: _, ...variable }) => variable) }
    expect(Template.ofStored(stored)).toEqual(content)
    expect(Template.merge(Template.ofStored(stored), named("first_name", "last_name")).names).toEqual([
      "last_name",
      "first_name"
    ])
    const positional = Template.merge(null, parsed("{{1}} {{2}}", "POSITIONAL"))
    const { names: ___, ...before } = positional
    expect(Template.ofStored(before)).toEqual(positional)
    expect(Template.ofStored(positional)).toEqual(positional)
  })

  it("of a document that was stored without its name have one, and stay as they are at the next import", () => {
    const read = (json: object) =>
      Either.getOrThrow(PlatformTemplate.read({ name: "a", language: "en", category: "UTILITY", ...json }))
    const content = Template.merge(
      null,
      read({
        components: [
          { type: "HEADER", format: "DOCUMENT" },
          { type: "BODY", text: "Hi {{1}}" }
        ]
      })
    )
    const earlier = {
      ...content,
      variables: content.variables.filter(({ key }) => key !== "header.filename"),
      bindings: content.bindings.slice(1)
    }
    expect(Template.ofStored(earlier)).toEqual(content)
    const stored = Template.ofStored(earlier)
    expect(Template.merge(stored, content)).toBe(stored)
  })
})
