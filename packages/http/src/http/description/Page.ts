/** `/docs`: the description for people. */
import { isObject, type Json } from "../../api/Json.ts"

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
export const make = (spec: Json): string => {
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
<a href="openapi.json">openapi.json</a>.</p>
${section("Versioned API", below("/api/v1"))}${section("Public endpoints", below("/api/public"))}
${section("Admin API", below("/admin"))}${section("Service", below("/health", "/problems"))}
<h2>Schemas</h2>${schemaList}</html>`
}
