/** `/openapi.json` and `/docs`, both made from the contract. */
import * as OpenApi from "@effect/platform/OpenApi"
import { Api } from "../api/Api.ts"

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const problem = {
  type: "object",
  required: ["ok", "type", "title", "status", "code", "detail", "request_id"],
  properties: {
    ok: { type: "boolean", enum: [false] },
    type: { type: "string", format: "uri" },
    title: { type: "string" },
    status: { type: "integer" },
    code: { type: "string" },
    detail: { type: "string" },
    request_id: { type: "string" },
    errors: {
      type: "array",
      maxItems: 250,
      items: {
        type: "object",
        required: ["pointer", "code", "message"],
        properties: { pointer: { type: "string" }, code: { type: "string" }, message: { type: "string" } }
      }
    }
  }
}

const problemResponse = {
  description: "A refusal; `code` tells which.",
  content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } }
}

const securityOf = (path: string): ReadonlyArray<Json> =>
  path.startsWith("/admin/")
    ? [{ adminToken: [] }]
    : path.startsWith("/api/")
      ? [{ publicKey: [], secretKey: [] }]
      : []

const member = (value: unknown, name: string): Json => {
  const found = isObject(value) ? value[name] : undefined
  return isObject(found) ? found : {}
}

/** The names of the component schemas that a part of the description refers to, and those that they refer to. */
const referred = (part: unknown, schemas: Json, found: Set<string> = new Set()): ReadonlySet<string> => {
  for (const [, name] of JSON.stringify(part ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (name === undefined || found.has(name)) continue
    found.add(name)
    referred(schemas[name], schemas, found)
  }
  return found
}

/** A schema that takes members which it does not name. The builder closes all of them. */
const opened = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(opened)
  if (!isObject(schema)) return schema
  const { additionalProperties, ...rest } = schema
  const members = Object.entries(rest).map(([name, value]) => [name, opened(value)])
  return {
    ...Object.fromEntries(members),
    ...(additionalProperties === undefined || additionalProperties === false
      ? {}
      : { additionalProperties: opened(additionalProperties) })
  }
}

const mapEntries = (value: unknown, f: (each: unknown, name: string) => unknown): Json =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, each]) => [name, f(each, name)])
  )

const operations = (paths: Json): ReadonlyArray<unknown> =>
  Object.values(paths).flatMap((methods) => Object.values(isObject(methods) ? methods : {}))

const withRefusals = (path: string, operation: unknown): unknown => {
  if (!isObject(operation)) return operation
  // The builder's own 400 is never answered: faults of the shape are 422.
  const { 400: _, ...own } = member(operation, "responses")
  const answers = mapEntries(own, opened)
  return { ...operation, security: securityOf(path), responses: { ...answers, default: problemResponse } }
}

/**
 * OpenAPI 3.1 of the contract, with what HttpApi does not know: servers, security, refusals. Bodies of requests are
 * closed, since nothing of them is ignored; answers may grow, so they are open (decisions.md §10 "Requests").
 */
export const openApi = (baseUrl: string): Json => {
  // As plain JSON, which is what is looked into.
  const spec: unknown = JSON.parse(JSON.stringify(OpenApi.fromApi(Api)))
  const [paths, components] = [member(spec, "paths"), member(spec, "components")]
  const schemas = member(components, "schemas")
  const bodies = operations(paths).map((operation) => member(operation, "requestBody"))
  const closed = referred(bodies, schemas)
  return {
    ...(isObject(spec) ? spec : {}),
    servers: [{ url: baseUrl }],
    paths: mapEntries(paths, (methods, path) =>
      mapEntries(methods, (operation) => withRefusals(path, operation))
    ),
    components: {
      ...components,
      schemas: {
        ...mapEntries(schemas, (schema, name) => (closed.has(name) ? schema : opened(schema))),
        Problem: problem
      },
      securitySchemes: {
        publicKey: { type: "apiKey", in: "header", name: "x-public-key" },
        secretKey: { type: "apiKey", in: "header", name: "x-secret-key" },
        adminToken: { type: "http", scheme: "bearer" }
      }
    }
  }
}

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h2{margin-top:2.5rem;border-bottom:1px solid #d0d7de}summary{cursor:pointer;padding:.4rem 0}
code,pre{font:13px/1.5 ui-monospace,monospace}pre{background:#f6f8fa;padding:1rem;overflow:auto;border-radius:6px}
b{display:inline-block;min-width:4.5rem}.s{color:#57606a;margin-left:.75rem}`

const section = (title: string, entries: ReadonlyArray<readonly [string, string, Json]>): string =>
  `<h2>${escape(title)}</h2>${entries
    .map(([method, path, operation]) => {
      const { operationId: _, responses, security: __, summary, tags: ___, ...input } = operation
      const shown = JSON.stringify({ ...input, responses }, null, 2)
      const text = typeof summary === "string" ? summary : ""
      return `<details><summary><b>${escape(method.toUpperCase())}</b><code>${escape(path)}</code><span class="s">${escape(text)}</span></summary><pre>${escape(shown)}</pre></details>`
    })
    .join("")}`

/** A reference page that loads nothing from anywhere. */
export const docs = (baseUrl: string): string => {
  const spec = openApi(baseUrl)
  const paths = isObject(spec["paths"]) ? spec["paths"] : {}
  const all = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(isObject(operations) ? operations : {}).flatMap(([method, operation]) =>
      isObject(operation) ? [[method, path, operation] as const] : []
    )
  )
  const below = (...prefixes: ReadonlyArray<string>) =>
    all.filter(([, path]) => prefixes.some((prefix) => path.startsWith(prefix)))
  const components = isObject(spec["components"]) ? spec["components"] : {}
  const schemas = isObject(components["schemas"]) ? components["schemas"] : {}
  const schemaList = Object.entries(schemas)
    .map(
      ([name, schema]) =>
        `<details><summary><code>${escape(name)}</code></summary><pre>${escape(JSON.stringify(schema, null, 2))}</pre></details>`
    )
    .join("")
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Sendwright API</title><style>${style}</style>
<h1>Sendwright API 1.0.0</h1>
<p>Every request of <code>/api</code> carries <code>x-public-key</code> and <code>x-secret-key</code>. Refusals are
<code>application/problem+json</code>; <code>GET /problems/{code}</code> explains each. The machine-readable form is at
<a href="/openapi.json">/openapi.json</a>.</p>
${section("Versioned API", below("/api/v1"))}${section("Public endpoints", below("/api/public"))}
${section("Admin API", below("/admin"))}${section("Service", below("/health", "/problems"))}
<h2>Schemas</h2>${schemaList}</html>`
}
