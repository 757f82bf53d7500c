import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as PlatformTemplate from "../../../src/domain/template/PlatformTemplate.ts"
import * as Rendering from "../../../src/domain/template/Rendering.ts"
import { bodyLength, headerLength } from "../../../src/domain/template/Template.ts"

const template = (header: string, body: string) =>
  Either.getOrThrow(
    PlatformTemplate.read({
      name: "greeting",
      language: "en",
      category: "UTILITY",
      status: "APPROVED",
      parameter_format: "NAMED",
      components: [
        { type: "HEADER", format: "TEXT", text: header },
        { type: "BODY", text: body }
      ]
    })
  )

const lengthOf = (text: string | undefined): number => [...(text ?? "")].length

describe("the length of a rendered text", () => {
  const texts = [
    template("Hello {{who}}", "A {{what}} for {{who}}, and one {{what}} more."),
    template("{{who}}", "{{what}}{{what}}{{who}}"),
    template("Hello", "Without")
  ]

  it("is refused exactly when the platform would count it as too long", () => {
    const value = (most: number) =>
      FastCheck.tuple(FastCheck.constantFrom("a", "é", "😀"), FastCheck.integer({ min: 1, max: most })).map(
        ([character, times]) => character.repeat(times)
      )
    FastCheck.assert(
      FastCheck.property(
        FastCheck.constantFrom(...texts),
        value(70),
        value(70),
        value(600),
        (content, header, who, what) => {
          const given = new Map([
            ["header.1", header],
            ["body.who", who],
            ["body.what", what]
          ])
          const values = content.variables.map(({ key, ...rest }, at) => {
            const name = content.bindings[at]?.placeholder ?? ""
            return given.get(key) ?? given.get(`body.${name}`) ?? String(rest.type)
          })
          const rendered = Rendering.render(content, values)
          const isTextHeader = content.variables.some(({ key }) => key === "header.1")
          const tooLong =
            (isTextHeader && lengthOf(rendered.header) > headerLength) || lengthOf(rendered.body) > bodyLength
          expect(Rendering.check(content, values, []).length > 0).toBe(tooLong)
        }
      ),
      { numRuns: 500 }
    )
  })
})
