/**
 * contract.md §10 "Requests": nothing is ignored. Made from what is served, so that a new route is asked, too: every
 * route and page, an unknown parameter and an unknown member at every place of its body.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import { describe, expect, it } from "@effect/vitest"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as AST from "effect/SchemaAST"
import { Api } from "../../src/api/Api.ts"
import * as Handler from "./Handler.ts"

const name = "no_such_name"
const id = "01930000-0000-7000-8000-000000000000"

/** Asks with the credentials of all. */
const host = Effect.gen(function* () {
  const { content, credentials, handle } = yield* Handler.make()
  const ask = (method: string, url: string, body: unknown) => {
    const bytes = Buffer.from(JSON.stringify(body))
    const headers = {
      ...credentials,
      "content-type": "application/json",
      "content-length": String(bytes.length)
    }
    return Effect.map(
      handle({ method, url, headers, hasBody: true, body: () => Effect.succeed(bytes) }),
      (answer) => {
        const told: { readonly errors?: ReadonlyArray<{ readonly code: string; readonly pointer: string }> } =
          JSON.parse(String(answer.body))
        const unknown = told.errors?.filter(({ code }) => code === "unknown_field") ?? []
        return { status: answer.status, unknown: unknown.map(({ pointer }) => pointer) }
      }
    )
  }
  return { content, ask }
})

const filled = (pattern: string): string =>
  pattern.replaceAll(/:(\w+)/g, (_, parameter) => (parameter === "templateId" ? "1" : id))

type Path = ReadonlyArray<string | 0>

/** Where objects with known members stand in what a schema describes. */
const objectsOf = (ast: AST.AST, path: Path = []): ReadonlyArray<Path> => {
  switch (ast._tag) {
    case "Refinement":
    case "Transformation":
      return objectsOf(ast.from, path)
    case "Union":
      return ast.types.flatMap((type) => objectsOf(type, path))
    case "TupleType":
      return ast.rest.flatMap(({ type }) => objectsOf(type, [...path, 0]))
    case "TypeLiteral":
      return ast.indexSignatures.length > 0
        ? []
        : [
            path,
            ...ast.propertySignatures.flatMap((each) => objectsOf(each.type, [...path, String(each.name)]))
          ]
    default:
      return []
  }
}

/** A body with an unknown member there, and nothing else. */
const bodyWith = (path: Path): unknown =>
  path.reduceRight<unknown>((inner, step) => (step === 0 ? [inner] : { [step]: inner }), { [name]: 1 })

describe("nothing is ignored", () => {
  it.effect("by a route: an unknown parameter and an unknown member are refused, both at once", () =>
    Effect.gen(function* () {
      const { ask, content } = yield* host
      const routes = content.routes.filter(({ handler }) => handler.access !== "hook")
      expect(routes.length).toBeGreaterThan(45)
      for (const { method, pattern } of routes) {
        const { status, unknown } = yield* ask(method, `${filled(pattern)}?${name}=1`, { [name]: 1 })
        expect([method, pattern, status, unknown]).toEqual([
          method,
          pattern,
          422,
          expect.arrayContaining([`/query/${name}`, `/${name}`])
        ])
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("by a page", () =>
    Effect.gen(function* () {
      const { ask, content } = yield* host
      expect([...content.pages.keys()]).toContain("/metrics")
      for (const path of content.pages.keys()) {
        const { status, unknown } = yield* ask("GET", `${path}?${name}=1`, { [name]: 1 })
        expect([path, status, unknown]).toEqual([path, 422, [`/query/${name}`, `/${name}`]])
      }
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("at any depth of a body", () =>
    Effect.gen(function* () {
      const { ask } = yield* host
      const asked: Array<string> = []
      const places: Array<{ readonly method: string; readonly path: string; readonly place: Path }> = []
      HttpApi.reflect(Api, {
        onGroup: () => undefined,
        onEndpoint: ({ endpoint: { method, path, payloadSchema }, group }) => {
          // What a platform posts is the platform's, and has members that we do not read.
          if (group.identifier === "hooks") return
          const ast = Option.map(payloadSchema, (schema) => schema.ast)
          for (const place of Option.match(ast, { onNone: () => [], onSome: (found) => objectsOf(found) }))
            places.push({ method, path, place })
        }
      })
      for (const { method, path, place } of places) {
        const pointer = [...place, name].map((step) => `/${step}`).join("")
        const { status, unknown } = yield* ask(method, filled(path), bodyWith(place))
        expect([method, path, status, unknown]).toEqual([method, path, 422, [pointer]])
        asked.push(pointer)
      }
      expect(asked).toEqual(
        expect.arrayContaining([
          `/plan/${name}`,
          `/pacing/${name}`,
          `/consents/0/${name}`,
          `/prices/0/${name}`,
          `/recipients/0/${name}`
        ])
      )
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
