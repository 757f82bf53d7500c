/**
 * Clients that others generate from the description compile strictly, and each of their operations does what it says
 * against a real host. The calls are written from the description, so that none can be left out.
 */
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createClient } from "@hey-api/openapi-ts"
import openapiTS, { astToString } from "openapi-typescript"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Graph } from "../graph/Graph.ts"
import type { Operation } from "../support/OpenApi.ts"
import * as OpenApi from "../support/OpenApi.ts"
import type { TestHost } from "../support/TestHost.ts"
import * as Tenants from "./Tenants.ts"
import * as World from "./World.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
let host: TestHost
let graph: Graph
/** Within the repository, so that what the clients import is found. */
let folder: string
beforeAll(async () => {
  mkdirSync(join(root, "node_modules/.cache"), { recursive: true })
  folder = mkdtempSync(join(root, "node_modules/.cache/clients-"))
  graph = await World.platform()
  host = await World.host()
}, 60_000)
afterAll(async () => {
  await Promise.all([host.stop(), graph.close()])
  rmSync(folder, { recursive: true, force: true })
})

/** Those that end what others need. */
const last = [
  "v1.cancel",
  "admin.cancelJob",
  "admin.disconnect",
  "admin.revokeKey",
  "admin.revokeOperator",
  "admin.removeWebhook"
]

interface Call {
  readonly operation: Operation
  readonly path: Record<string, unknown>
  readonly query: Record<string, unknown>
  readonly header: Record<string, unknown>
  readonly body: unknown
  /** What proves the caller; `fetch` adds it. */
  readonly credentials: Readonly<Record<string, string>>
  readonly token: string
}

const callsOf = async (): Promise<ReadonlyArray<Call>> => {
  const { operations } = OpenApi.read((await host.request("/openapi.json")).json)
  const world = await World.make(host, await Tenants.make(host, "https://receiver.example/hook"), graph.url)
  const known = World.known(host, world)
  const rank = ({ id }: Operation) => last.indexOf(id)
  return [...operations]
    .sort((one, other) => rank(one) - rank(other))
    .map((operation) => {
      const body = operation.body === undefined ? undefined : known.body(operation, operation.example)
      const of = (place: string) =>
        Object.fromEntries(
          operation.parameters
            .filter(
              (each) =>
                each.in === place && (each.required || known.parameter(operation, each.name) !== undefined)
            )
            .map(({ name, schema }) => {
              const text =
                known.parameter(operation, name) ??
                (Array.isArray(schema["enum"]) ? schema["enum"][0] : `${name}-1`)
              return [name, schema["type"] === "integer" ? Number(text) : text]
            })
        )
      const query = of("query")
      return {
        operation,
        path: of("path"),
        query: ["admin.consents", "admin.person"].includes(operation.id)
          ? { ...query, phone: "34600000100" }
          : query,
        header: of("header"),
        body,
        credentials: known.headers(operation, body === undefined ? undefined : JSON.stringify(body)),
        token: known.query(operation)
      }
    })
}

/** What both programs begin with: the credentials are added to each request, and its status is written down. */
const prelude = (calls: ReadonlyArray<Call>): string => `
interface Proof { readonly credentials: Readonly<Record<string, string>>; readonly token: string }
const proofs: Readonly<Record<string, Proof>> = ${JSON.stringify(
  Object.fromEntries(calls.map(({ credentials, operation, token }) => [operation.id, { credentials, token }]))
)}
let current = ""
const proving = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
  const request = new Request(input, init)
  const { credentials, token } = proofs[current] ?? { credentials: {}, token: "" }
  for (const [name, value] of Object.entries(credentials)) request.headers.set(name, value)
  if (token === "") return fetch(request)
  return fetch(new Request(request.url + (request.url.includes("?") ? "&" : "?") + token, request))
}
const found: Array<readonly [string, number]> = []
const ask = async (id: string, call: () => Promise<{ readonly response?: Response | undefined }>): Promise<void> => {
  current = id
  const { response } = await call()
  found.push([id, response?.status ?? 0])
}
`

const epilogue = "process.stdout.write(JSON.stringify(found))\n"

const members = (value: Readonly<Record<string, unknown>>): string =>
  Object.entries(value)
    .filter(([, each]) => each !== undefined && (!OpenApi.isObject(each) || Object.keys(each).length > 0))
    .map(([name, each]) => `${name}: ${JSON.stringify(each)}`)
    .join(", ")

/** The name that `@hey-api/openapi-ts` gives an operation. */
const heyName = (id: string): string => id.replaceAll(/\.(.)/g, (_, first: string) => first.toUpperCase())

/** Not waited for by blocking: this process serves the platform. Answers what was printed. */
const execute = (...given: ReadonlyArray<string>): Promise<string> =>
  new Promise((resolve) =>
    execFile(process.execPath, given, { cwd: root, encoding: "utf8" }, (_, stdout, stderr) =>
      resolve(stdout === "" ? stderr : stdout)
    )
  )

/** Answers the errors. */
const compile = (place: string): Promise<string> => {
  writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }))
  writeFileSync(
    join(place, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        strict: true,
        noUncheckedIndexedAccess: true,
        noEmit: true,
        target: "ES2022",
        module: "ESNext",
        moduleResolution: "bundler",
        lib: ["ES2023", "DOM", "DOM.Iterable"],
        types: ["node"],
        skipLibCheck: true
      },
      include: ["."]
    })
  )
  return execute(join(root, "node_modules/typescript/bin/tsc"), "-p", place)
}

/** Each operation with the status of its success. */
const expected = (calls: ReadonlyArray<Call>) =>
  calls.map(({ operation }) => [operation.id, [...operation.answers.keys()].find((status) => status < 300)])

describe("a generated client compiles strictly and calls every operation", () => {
  it("of openapi-typescript, with openapi-fetch", { timeout: 240_000 }, async () => {
    const calls = await callsOf()
    const place = mkdtempSync(join(folder, "fetch-"))
    const description = (await host.request("/openapi.json")).text
    writeFileSync(join(place, "schema.d.ts"), astToString(await openapiTS(JSON.parse(description))))
    const lines = calls.map(({ body, header, operation, path, query }) => {
      const params = members({ path, query, header })
      const init = [
        ...(params === "" ? [] : [`params: { ${params} }`]),
        ...(body === undefined ? [] : [members({ body })]),
        // What is not JSON has to be asked for.
        ...([...operation.answers.values()].some(({ mediaType }) =>
          ["text/plain", "application/x-ndjson"].includes(mediaType)
        )
          ? ['parseAs: "text"']
          : [])
      ]
      return `await ask("${operation.id}", () => client.${operation.method}("${operation.path}", { ${init.join(", ")} }))`
    })
    const program = join(place, "calls.ts")
    writeFileSync(
      program,
      `import createClient from "openapi-fetch"\nimport type { paths } from "./schema.js"\n${prelude(calls)}
const client = createClient<paths>({ baseUrl: ${JSON.stringify(host.base)}, fetch: proving })\n${lines.join("\n")}\n${epilogue}`
    )
    expect(await compile(place)).toBe("")
    const printed = await execute("--import", "tsx", program)
    expect(printed).toMatch(/^\[/)
    expect(JSON.parse(printed)).toEqual(expected(calls))
  })

  it("of @hey-api/openapi-ts", { timeout: 240_000 }, async () => {
    const calls = await callsOf()
    const place = mkdtempSync(join(folder, "hey-"))
    const description = (await host.request("/openapi.json")).text
    await createClient({
      input: JSON.parse(description),
      output: join(place, "client"),
      logs: { level: "silent" },
      plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"]
    })
    const lines = calls.map(({ body, header, operation, path, query }) => {
      const init = members({ path, query, headers: header, body })
      return `await ask("${operation.id}", () => sdk.${heyName(operation.id)}({ ${init} }))`
    })
    const program = join(place, "calls.ts")
    writeFileSync(
      program,
      `import * as sdk from "./client/sdk.gen"\nimport { client } from "./client/client.gen"\n${prelude(calls)}
client.setConfig({ baseUrl: ${JSON.stringify(host.base)}, fetch: proving })\n${lines.join("\n")}\n${epilogue}`
    )
    expect(await compile(place)).toBe("")
    const printed = await execute("--import", "tsx", program)
    expect(printed).toMatch(/^\[/)
    expect(JSON.parse(printed)).toEqual(expected(calls))
  })
})
