/** The app on Next, built and served as an app is: the bundler makes a copy of `sendwright` for each entry of it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, expect, it } from "vitest"
import { mortal } from "../support/mortal.ts"
import { freshDatabase } from "../support/Postgres.ts"

const app = fileURLToPath(new URL("../../examples/next", import.meta.url))
const next = createRequire(join(app, "package.json")).resolve("next/dist/bin/next")
const adminToken = "of the tests, long enough"

const run = (words: ReadonlyArray<string>, url: string): ChildProcess =>
  mortal(
    spawn(process.execPath, [next, ...words], {
      cwd: app,
      env: {
        PATH: process.env["PATH"] ?? "",
        NEXT_TELEMETRY_DISABLED: "1",
        DATABASE_URL: url,
        ADMIN_TOKEN: adminToken
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )

/** Its lines, as they come. */
const outputOf = (child: ChildProcess, heard: (line: string) => void = () => {}) => {
  const lines: Array<string> = []
  for (const stream of [child.stdout, child.stderr])
    if (stream !== null)
      createInterface(stream).on("line", (line) => {
        lines.push(line)
        heard(line)
      })
  return lines
}

let scope: Scope.CloseableScope
let server: ChildProcess
let told: ReadonlyArray<string>
let origin: string

beforeAll(async () => {
  scope = await Effect.runPromise(Scope.make())
  const url = await Effect.runPromise(Scope.extend(freshDatabase, scope))
  const build = run(["build"], url)
  const lines = outputOf(build)
  const [code]: ReadonlyArray<unknown> = await once(build, "close")
  expect([code, lines.join("\n")]).toEqual([0, expect.not.stringContaining("Warning")])
  server = run(["start", "-H", "127.0.0.1", "-p", "0"], url)
  origin = await new Promise((resolve, reject) => {
    server.once("close", () => reject(new Error(told.join("\n"))))
    told = outputOf(server, (line) => {
      const [address] = line.match(/http:\/\/127\.0\.0\.1:\d+/) ?? []
      if (address !== undefined) resolve(address)
    })
  })
}, 300_000)

afterAll(async () => {
  if (server.exitCode === null) {
    server.kill("SIGTERM")
    await once(server, "close")
  }
  await Effect.runPromise(Scope.close(scope, Exit.void))
}, 60_000)

const order = (id: string, name: string, phone: string): Promise<Response> => {
  const body = new URLSearchParams({ id, name, phone })
  return fetch(`${origin}/orders`, { method: "POST", body })
}
const page = async (): Promise<string> => (await fetch(origin)).text()

it("has several copies of the package, or this shows nothing", () => {
  const chunks = join(app, ".next/server")
  const files = readdirSync(chunks, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.js$/.test(file)
  )
  const copies = files.filter((file) =>
    readFileSync(join(chunks, file), "utf8").includes("sendwright/inside")
  )
  expect(copies.length).toBeGreaterThan(1)
})

it("sends in a transaction of Prisma that a route has, and the page tells of what a handler heard", async () => {
  expect(await page()).toContain("Messages go out.")
  const response = await order("1", "Ana", "34600001234")
  expect([response.status, await response.json()]).toEqual([201, { jobId: expect.any(String) }])
  await expect.poll(page, { timeout: 10_000 }).toContain("1: Ana, who was told")
})

it("knows a refusal by another copy's error, and nothing of its transaction stays", async () => {
  const response = await order("2", "Bea", "34600005678")
  expect(response.status).toBe(422)
  expect(await response.json()).toMatchObject({
    name: "SendwrightError",
    code: "consent_required",
    issues: [{ path: "/to/0/phone" }]
  })
  expect(await page()).not.toContain("Bea")
})

it("has the API mounted over the same engine", async () => {
  const ask = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${origin}/api/messaging${path}`, { headers })
  expect((await ask("/health/ready")).status).toBe(200)
  expect((await ask("/admin/v1/accounts")).status).toBe(401)
  const accounts = await ask("/admin/v1/accounts", { authorization: `Bearer ${adminToken}` })
  expect([accounts.status, await accounts.text()]).toEqual([200, expect.stringContaining('"Shop"')])
  expect((await ask("/nowhere")).status).toBe(404)
})

it("ends when it is told to, and says nothing that went wrong", async () => {
  server.kill("SIGTERM")
  const [code]: ReadonlyArray<unknown> = await once(server, "close")
  // The request without a token is told.
  const wrong = told.filter((line) => /error|warn/i.test(line) && !line.includes("invalid_credentials"))
  expect([code, wrong]).toEqual([143, []])
})
