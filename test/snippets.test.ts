/** The TypeScript of the documents compiles as it stands there, and the programs among it run. */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { afterAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const pages = [
  "README.md",
  "examples/README.md",
  "packages/core/README.md",
  "packages/host/README.md",
  "packages/http/README.md",
  "packages/sendwright/README.md",
  ...readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name))
]

const snippetsOf = (page: string): ReadonlyArray<string> =>
  [...read(page).matchAll(/^```(?:ts|typescript)\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => text)

/** A project of somebody's own, over the packages as they are built. */
const project = mkdtempSync(join(tmpdir(), "sendwright-snippets-"))
afterAll(() => rmSync(project, { recursive: true }))
symlinkSync(join(root, "examples/node_modules"), join(project, "node_modules"))
writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }))
const options = {
  target: "ES2022",
  module: "NodeNext",
  strict: true,
  // As careful people add to it.
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: true,
  typeRoots: [join(root, "node_modules/@types")],
  types: ["node"]
}
writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: options }))

const files = pages.flatMap((page) =>
  snippetsOf(page).map((text, at) => {
    const name = `${page.replaceAll("/", "-")}-${at + 1}.ts`
    writeFileSync(join(project, name), text)
    return name
  })
)

const node = (script: string, args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) =>
  new Promise<{ readonly stdout: string; readonly stderr: string }>((resolve) => {
    const settings = { cwd: project, env: { ...process.env, ...env }, timeout: 110_000 }
    execFile(process.execPath, [join(root, "node_modules", script), ...args], settings, (_, stdout, stderr) =>
      resolve({ stdout, stderr })
    )
  })

const compile = async (): Promise<ReadonlyArray<string>> =>
  (await node("typescript/bin/tsc", ["--pretty", "false"])).stdout.split("\n").filter((line) => line !== "")

const run = (file: string, env?: Readonly<Record<string, string>>) => node("tsx/dist/cli.mjs", [file], env)

const patience = { timeout: 120_000 }

describe("the documents' TypeScript", () => {
  it("is found on the pages that have some", () => {
    expect(files).toEqual(
      expect.arrayContaining(["README.md-1.ts", "packages-core-README.md-1.ts", "docs-senders.md-2.ts"])
    )
  })

  it("compiles in a strict project, each snippet as it stands", patience, async () => {
    const broken = join(project, "broken.ts")
    writeFileSync(broken, 'import { Engine } from "@sendwright/core"\nEngine.layer(caller)\n')
    const found = await compile()
    rmSync(broken)
    expect(found).toEqual(["broken.ts(2,14): error TS2304: Cannot find name 'caller'."])
  })

  it("in README.md is a program that sends", patience, async () => {
    const { stderr, stdout } = await run("README.md-1.ts")
    expect(stderr).toBe("")
    expect(stdout).toContain("34600001234 delivered")
  })

  it("in packages/sendwright/README.md is a program that sends, in 15 lines", patience, async () => {
    const file = "packages-sendwright-README.md-1.ts"
    const { stderr, stdout } = await run(file)
    expect(stderr).toBe("")
    expect(stdout).toContain("34600001234 delivered")
    const lines = readFileSync(join(project, file), "utf8").split("\n")
    expect(lines.filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15)
  })

  it("in packages/core/README.md is a program that opens its file", patience, async () => {
    const secret = Buffer.alloc(32, 1).toString("base64")
    const { stderr, stdout } = await run("packages-core-README.md-1.ts", { SECRET_KEY: secret })
    expect(stderr).toBe("")
    expect(stdout).toContain("The account My shop is in ./app.db.")
    expect(readdirSync(project)).toContain("app.db")
  })
})

describe("the documents' mounts", () => {
  it("in docs/embedding.md serve the API below their prefix", patience, async () => {
    const at = snippetsOf("docs/embedding.md").findIndex((text) => text.includes("inExpress")) + 1
    const program = `
      import { serve } from "@hono/node-server"
      import express from "express"
      import Fastify from "fastify"
      import { Hono } from "hono"
      import { createSendwright, memory, sandbox } from "sendwright"
      import { handlerOf, inExpress, inFastify, inHono } from "./docs-embedding.md-${at}.ts"

      const secretKey = Buffer.alloc(32, 1).toString("base64")
      const sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey })
      const handler = handlerOf(sw)
      const show = async (name: string, port: number) => {
        const response = await fetch(\`http://127.0.0.1:\${port}/api/messaging/openapi.json\`)
        console.log(name, response.status, JSON.stringify((await response.json()).servers))
      }
      const app = express()
      inExpress(app, handler)
      app.use(express.json())
      const server = app.listen(0, "127.0.0.1", async () => {
        await show("express", Object(server.address()).port)
        const fastify = Fastify()
        inFastify(fastify, handler)
        await fastify.listen({ port: 0, host: "127.0.0.1" })
        await show("fastify", Object(fastify.server.address()).port)
        const hono = new Hono()
        inHono(hono, handler)
        serve({ fetch: hono.fetch, port: 0, hostname: "127.0.0.1" }, async ({ port }) => {
          await show("hono", port)
          await sw.stop()
          process.exit(0)
        })
      })`
    writeFileSync(join(project, "mounts.ts"), program)
    const { stderr, stdout } = await run("mounts.ts")
    rmSync(join(project, "mounts.ts"))
    expect(stderr).toBe("")
    const served = '200 [{"url":"/api/messaging"}]'
    expect(stdout.trim().split("\n")).toEqual(
      ["express", "fastify", "hono"].map((name) => `${name} ${served}`)
    )
  })
})

describe("the documents' install lines", () => {
  const Manifest = Schema.parseJson(
    Schema.Struct({ peerDependencies: Schema.Record({ key: Schema.String, value: Schema.String }) })
  )
  const peers = Schema.decodeUnknownSync(Manifest)(read("packages/core/package.json")).peerDependencies

  it.each([
    ["README.md", "effect"],
    ["packages/core/README.md", "effect"],
    ["packages/http/README.md", "effect"],
    ["packages/sendwright/README.md", "@effect/sql"],
    ["docs/embedding.md", "@effect/platform"]
  ])("in %s have ranges that core works with, %s among them", (page, needed) => {
    const lines = [...read(page).matchAll(/^npm install .*$/gm)].map(([line]) => line)
    const named = lines.flatMap((line) => [...line.matchAll(/"(@?[^"@]+)@([^"]+)"/g)])
    expect(named.map(([, name]) => name)).toContain(needed)
    for (const [, name = "", range = ""] of named) {
      expect([name, range.startsWith("^"), peers[name]?.startsWith(range)]).toEqual([name, true, true])
    }
  })
})
