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
