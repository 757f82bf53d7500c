/** `/openapi.json` is right for strict tools, and says all of every operation. */
import { createConfig, lintFromString } from "@redocly/openapi-core"
import { Engine, Event, HttpGateway, Sandbox, WhatsApp } from "@sendwright/core"
import { Api } from "@sendwright/http/contract"
import { Routes } from "@sendwright/http/server"
import { Validator } from "@seriousme/openapi-schema-validator"
import spectral from "@stoplight/spectral-core"
import rulesets from "@stoplight/spectral-rulesets"
import * as Effect from "effect/Effect"
import { describe, expect, it } from "vitest"
import * as OpenApi from "../support/OpenApi.ts"
import { at, items } from "../support/TestHost.ts"

/** Those of the host. */
const senders = await Effect.runPromise(
  Effect.scoped(
    Effect.map(Effect.all([HttpGateway.make(), WhatsApp.make()]), (made) => [Sandbox.make(), ...made])
  )
)

/** Nobody calls the engine in these tests. */
const engine = Engine.Engine.of(
  new Proxy(Object.create(null), {
    get: (_, name) => {
      if (name === "senders") return senders
      return name === "admin" ? engine : () => Effect.dieMessage(`${String(name)} is not expected`)
    }
  })
)

const { pages, routes } = Routes.ofApi(engine, "https://api.shop.example")
const text = Effect.runPromise(
  Effect.map(pages.get("/openapi.json")?.body ?? Effect.dieMessage("no page"), String)
)
const json: unknown = JSON.parse(await text)
const description = OpenApi.read(json)
const { operations, validator } = description

const problemsOf = (schema: OpenApi.Json, value: unknown): unknown => {
  const validate = validator(schema)
  return validate(value) ? [] : validate.errors
}

describe("the description", () => {
  it("has an operation for each route, and no other", () => {
    const served = routes.map(({ method, pattern }) => `${method} ${pattern.replaceAll(/:(\w+)/g, "{$1}")}`)
    expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(served.sort())
    const known = Object.values(Api.Api.groups).flatMap((group) => Object.keys(group.endpoints))
    expect(operations.map(({ id }) => id.replace(/^.*\./, "")).sort()).toEqual(known.sort())
    expect(new Set(operations.map(({ id }) => id)).size).toBe(operations.length)
  })

  it("is OpenAPI 3.1 by its schema", async () => {
    const { errors, valid } = await new Validator().validate(JSON.parse(JSON.stringify(json)))
    expect(valid, JSON.stringify(errors)).toBe(true)
  })

  it("has no schema of the same `$id` as another", () => {
    const ids = [...JSON.stringify(json).matchAll(/"\$id":"([^"]*)"/g)].map(([, id]) => id)
    expect(ids).toEqual([...new Set(ids)])
  })

  it("is clean by the recommended rules of Redocly", { timeout: 120_000 }, async () => {
    const config = await createConfig({ extends: ["recommended"], telemetry: "off" })
    const problems = await lintFromString({ source: await text, absoluteRef: "openapi.json", config })
    expect(problems.map(({ location, message }) => `${message} ${location[0]?.pointer}`)).toEqual([])
  })

  it("is clean by the recommended rules of Spectral", { timeout: 120_000 }, async () => {
    const linter = new spectral.Spectral()
    // It would compile a schema for each example, for a minute; below they are validated in a second.
    linter.setRuleset(
      Object({
        extends: [[rulesets.oas, "recommended"]],
        rules: { "oas3-valid-media-example": "off", "oas3-parameter-description": "error" }
      })
    )
    const problems = await linter.run(await text)
    expect(problems.map(({ code, message, path }) => `${code}: ${message} ${path.join("/")}`)).toEqual([])
  })

  it("has a typed payload for each type of event, and no other", () => {
    const types = Object.keys(Object(at(json, "webhooks"))).sort()
    expect(types).toEqual([...Event.types, Event.batchType].sort())
    for (const type of types) {
      const body = at(json, "webhooks", type, "post", "requestBody", "content", "application/json")
      const validate = description.event(type)
      expect(validate?.(at(body, "example")), `${type} ${JSON.stringify(validate?.errors)}`).toBe(true)
      expect(validate?.({ id: "1", type, created_at: "now", data: {} })).toBe(false)
    }
  })
})

/** The pointers of what of a schema is a list and says nothing of its most items. */
const unbounded = (value: unknown, pointer = ""): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((each, at) => unbounded(each, `${pointer}/${at}`))
  if (!OpenApi.isObject(value)) return []
  const schema = value["$ref"] === undefined ? value : description.resolve(value)
  const isUnbounded = schema["type"] === "array" && schema["maxItems"] === undefined
  return [
    ...(isUnbounded ? [pointer] : []),
    ...Object.entries(schema).flatMap(([name, each]) => unbounded(each, `${pointer}/${name}`))
  ]
}

describe.each(operations)("$id in the description", (operation) => {
  const { answers, body, example, id, parameters } = operation
  const path = ["paths", operation.path, operation.method.toLowerCase()]

  it("has a summary and a description", () => {
    for (const name of ["summary", "description"]) expect(at(json, ...path, name)).toMatch(/^.{8,}/)
  })

  it("has an example of the body that is one", () => {
    if (body !== undefined) expect(problemsOf(body, example)).toEqual([])
  })

  it("has examples of each answer that are ones, and the headers", () => {
    for (const [status, { examples, headers, mediaType, schema }] of answers) {
      // What has no body has none to show.
      expect([id, status, examples.length > 0]).toEqual([id, status, mediaType !== ""])
      for (const each of examples) expect(problemsOf(schema, each), `${id} ${status}`).toEqual([])
      expect(headers).toContain("x-request-id")
      if (status === 429 || status === 503) expect(headers).toContain("retry-after")
      if (status >= 400) expect(mediaType).toBe("application/problem+json")
    }
  })

  it("tells the refusals that its caller may meet", () => {
    const expected = { anyone: [], hook: [401, 404], key: [401, 402, 409, 429], operator: [401] }
    for (const status of [413, 415, 422, 500, 503, ...expected[operation.access]])
      expect([...answers.keys()], id).toContain(status)
    if (operation.permission !== null) expect([...answers.keys()]).toContain(403)
    if (parameters.some((each) => each.in === "path")) expect([...answers.keys()]).toContain(404)
  })

  it("says who may call", () => {
    const prefixes = {
      "/admin/v1/sign-": "anyone",
      "/admin/": "operator",
      "/api/": "key",
      "/hooks/": "hook"
    } as const
    const expected = Object.entries(prefixes).find(([prefix]) => operation.path.startsWith(prefix))
    expect(operation.access).toBe(expected?.[1] ?? "anyone")
  })

  it("describes its parameters", () => {
    for (const [index, { name }] of parameters.entries())
      expect(at(items(json, ...path, "parameters")[index], "description"), name).toBeTypeOf("string")
  })

  it("takes no list without a most of items, whose length is looked at first", () => {
    if (body !== undefined && operation.access !== "hook") expect(unbounded(body)).toEqual([])
  })

  it("takes no member that it does not name, unless it is a platform's hook", () => {
    if (body === undefined) return
    const schema = description.resolve(body)
    // A body may be one of several.
    const closed = [schema, ...items(schema, "anyOf")]
      .slice("anyOf" in schema ? 1 : 0)
      .every((each) => at(each, "additionalProperties") === false)
    expect(closed).toBe(operation.access !== "hook")
  })
})
