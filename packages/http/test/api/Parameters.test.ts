/** What a parameter is for is told by its description; what is wrong with a value, by its rule. */
import { expect, it } from "@effect/vitest"
import { AdminApi } from "@sendwright/core/contract"
import { TestEngine } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as AST from "effect/SchemaAST"
import { at, items } from "../../../../test/support/TestHost.ts"
import * as Handler from "../http/Handler.ts"

const id = "01930000-0000-7000-8000-000000000000"

const parametersOf = (schema: Option.Option<{ readonly ast: AST.AST }>) =>
  Option.isSome(schema) ? AST.getPropertySignatures(schema.value.ast).map(({ name }) => String(name)) : []

/** Periods, by the names of their ends. */
const ends = [
  ["after", "before"],
  ["from", "to"],
  ["created_after", "created_before"],
  ["completed_after", "completed_before"],
  ["recorded_after", "recorded_before"]
] as const

it.effect("refuses a parameter without a value, and a period that ends before it begins, of every list", () =>
  Effect.gen(function* () {
    const { credentials, handle } = yield* Handler.make()
    const refused = Effect.fnUntraced(function* (path: string, query: string) {
      const request = { method: "GET", headers: credentials, hasBody: false }
      const url = `${path.replaceAll(/:\w+/g, id)}?${query}`
      const answer = yield* handle({ ...request, url, body: () => Effect.succeed(Buffer.alloc(0)) })
      const json: unknown = answer.status === 422 ? JSON.parse(String(answer.body)) : {}
      return items(json, "errors").map((fault) => String(at(fault, "pointer")))
    })
    const taken: Array<string> = []
    let periods = 0
    for (const { endpoint } of AdminApi.operations) {
      if (endpoint.method !== "GET") continue
      const names = parametersOf(endpoint.urlParamsSchema)
      const empty = yield* refused(endpoint.path, names.map((name) => `${name}=`).join("&"))
      taken.push(
        ...names.filter((name) => !empty.includes(`/query/${name}`)).map((name) => `${endpoint.name} ${name}`)
      )
      const asked = ends.filter(([after, before]) => names.includes(after) && names.includes(before))
      if (asked.length === 0) continue
      periods += asked.length
      const late = asked.map(
        ([after, before]) => `${after}=2026-01-02T00:00:00Z&${before}=2026-01-01T00:00:00Z`
      )
      const query = [...(endpoint.name === "usage" ? ["by=day"] : []), ...late].join("&")
      expect([endpoint.name, yield* refused(endpoint.path, query)]).toEqual([
        endpoint.name,
        asked.map(([after]) => `/query/${after}`)
      ])
    }
    // The engine judges these, of what the path names.
    expect(taken).toEqual(["previewTemplate variables", "consents phone", "consents user_id", "person phone"])
    expect(periods).toBe(12)
  }).pipe(Effect.provide(TestEngine.layer))
)

it.effect("refuses each parameter by its rule, never by what it is for", () =>
  Effect.gen(function* () {
    const { credentials, handle } = yield* Handler.make()
    const messages: Array<string> = []
    for (const { endpoint } of AdminApi.operations) {
      if (endpoint.method !== "GET") continue
      const asked = parametersOf(endpoint.urlParamsSchema).map((name) => `${name}=%C2%A7`)
      const url = `${endpoint.path.replaceAll(/:\w+/g, id)}?${asked.join("&")}`
      const answer = yield* handle({
        method: "GET",
        url,
        headers: credentials,
        hasBody: false,
        body: () => Effect.succeed(Buffer.alloc(0))
      })
      const json: unknown = JSON.parse(String(answer.body))
      messages.push(...items(json, "errors").map((fault) => String(at(fault, "message"))))
    }
    expect(messages.length).toBeGreaterThan(50)
    expect(messages.filter((message) => /must be (?!RFC)[A-Z].|\.\.$/.test(message))).toEqual([])
    expect(messages).toContain("`after` must be an RFC 3339 date-time.")
  }).pipe(Effect.provide(TestEngine.layer))
)
