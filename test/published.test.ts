/**
 * The packages as they are published: other tools read their tarballs, npm installs them where nothing else is, and there
 * the documents' TypeScript compiles as it stands, and the programs among it run, and those of `examples/`.
 */
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core"
import * as Schema from "effect/Schema"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { mortal } from "./support/mortal.ts"
import * as Published from "./support/Published.ts"

const { root } = Published
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const place = mkdtempSync(join(tmpdir(), "sendwright-published-"))
afterAll(() => rm(place, { recursive: true }), 60_000)

/** The project of somebody who uses all of it. */
const project = join(place, "project")
/** The project of somebody who needs no database. */
const small = join(place, "small")

const packed = Published.pack(join(place, "tarballs"))
const installedSmall = packed.then(({ core, sendwright }) => Published.install(small, [sendwright, core]))
const installed = installedSmall.then(async () => {
  const drivers = [Published.betterSqlite3()]
  const all = await Published.install(project, [...Object.values(await packed), ...drivers])
  Published.buildBetterSqlite3(project)
  Published.lend(project, {
    "@effect/vitest": "",
    "@hono/node-server": "examples",
    "@types/better-sqlite3": "",
    "@types/express": "examples",
    "@types/node": "",
    "@types/pg": "",
    "csv-parse": "examples",
    "drizzle-orm": "packages/sendwright",
    express: "examples",
    fastify: "examples",
    hono: "examples",
    knex: "packages/sendwright",
    kysely: "packages/sendwright",
    postgres: "packages/sendwright",
    typeorm: "packages/sendwright",
    vitest: ""
  })
  return all
})
// Whoever waits for it is told.
installed.catch(() => undefined)

const patience = { timeout: 180_000 }

/** The packages are modules for the Node that they ask for: older ways to resolve read none of them. */
const isOfModules = (problem: Problem): boolean =>
  !("resolutionKind" in problem && ["node10", "node16-cjs"].includes(problem.resolutionKind))

describe.each(["core", "host", "http", "sendwright"] as const)("the tarball of packages/%s", (name) => {
  let tarball: Buffer
  beforeAll(async () => {
    tarball = readFileSync((await packed)[name])
  }, patience.timeout)

  it("has the files that its manifest names, in the order that each tool asks for (publint)", async () => {
    const { messages, pkg } = await publint({
      pack: { tarball: new Uint8Array(tarball).buffer },
      level: "suggestion",
      strict: true
    })
    expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
  })

  it("has no map, whose sources would be elsewhere, and nothing that was built of a source that is gone", () => {
    const files = createPackageFromTarballData(tarball).listFiles()
    expect(files.filter((file) => file.endsWith(".map"))).toEqual([])
    const modules = files.flatMap((file) => file.match(/\/dist\/(?!bundle)(.*)\.(?:d\.ts|js)$/)?.[1] ?? [])
    expect(
      modules.filter((module) => !existsSync(join(root, "packages", name, "src", `${module}.ts`)))
    ).toEqual([])
  })

  it("has the pages that its README leads to, and whatever file these link to", () => {
    const found = createPackageFromTarballData(tarball)
    const files = new Set(found.listFiles())
    const linked = [...files]
      .filter((file) => file.endsWith(".md"))
      .flatMap((page) =>
        [...found.readFile(page).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, href = ""]) => {
          const { pathname, protocol } = new URL(href, `file://${page}`)
          return protocol === "file:" ? [{ page, pathname }] : []
        })
      )
    expect(linked.filter(({ pathname }) => !files.has(pathname))).toEqual([])
    const front = `/node_modules/${found.packageName}/README.md`
    expect(linked.filter(({ page }) => page === front).length).toBeGreaterThan(3)
    // Some disks keep one file for both.
    expect(new Set([...files].map((file) => file.toLowerCase())).size).toBe(files.size)
  })

  it("has types for each entry, which are those of what runs (attw)", patience, async () => {
    const result = await checkPackage(createPackageFromTarballData(tarball))
    expect(result.types ? result.problems.filter(isOfModules) : "no types").toEqual([])
  })
})

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

/** The examples of docstrings: what stands between the fences behind `@example`. */
const documented = ["packages/sendwright/src", "packages/core/src", "packages/http/src"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
  )
  .filter((name) => name.endsWith(".ts"))
const examplesOf = (file: string): ReadonlyArray<string> =>
  [...read(file).matchAll(/^ *\* @example\n *\* ```ts\n([\s\S]*?)^ *\* ```$/gm)].map(([, text = ""]) =>
    text.replaceAll(/^ *\* ?/gm, "")
  )

const snippets: ReadonlyMap<string, string> = new Map(
  [
    ...pages.map((page) => [page, snippetsOf(page)] as const),
    ...documented.map((file) => [file, examplesOf(file)] as const)
  ].flatMap(([page, texts]) =>
    texts.map((text, at) => [`${page.replaceAll("/", "-")}-${at + 1}.ts`, text] as const)
  )
)

describe("each function of sendwright", () => {
  it.each(["http", "index", "postgres", "sqlite", "testing"])(
    "of %s.ts shows its use in its docstring",
    (entry) => {
      const parts = read(`packages/sendwright/src/${entry}.ts`).split(/^export const (\w+)/m)
      const named = parts.flatMap((before, at) =>
        at % 2 === 0 && at + 1 < parts.length ? [[parts[at + 1], before] as const] : []
      )
      expect(named.length).toBeGreaterThan(1)
      const without = named.filter(([, before]) => !/```ts\n[\s\S]*```\n(?: \*.*\n)* \*\/\n$/.test(before))
      expect(without.map(([name]) => name)).toEqual([])
    }
  )
})

const compilerOptions = {
  target: "ES2022",
  module: "NodeNext",
  moduleResolution: "NodeNext",
  strict: true,
  // As careful people add to it.
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  allowImportingTsExtensions: true
}
const write = (folder: string, name: string, text: string | object): void =>
  writeFileSync(join(folder, name), typeof text === "string" ? text : JSON.stringify(text))

const node = (
  script: string,
  given: ReadonlyArray<string>,
  folder = project,
  env: Readonly<Record<string, string>> = {}
) => Published.run(process.execPath, [join(root, "node_modules", script), ...given], folder, env)

const compile = async (folder: string): Promise<ReadonlyArray<string>> =>
  (await node("typescript/bin/tsc", ["--pretty", "false"], folder)).stdout
    .split("\n")
    .filter((line) => line !== "")

const run = (file: string, env?: Readonly<Record<string, string>>) =>
  node("tsx/dist/cli.mjs", [file], project, env)

describe("one `npm install` and nothing beside it", () => {
  beforeAll(async () => {
    await installedSmall
  }, patience.timeout)

  it("brings at most 50 packages, and none that has to be compiled or fetched by a script", async () => {
    const { native, packages } = await installedSmall
    expect(packages).toContain("node_modules/sendwright")
    expect(packages.length, packages.join("\n")).toBeLessThanOrEqual(50)
    // It makes msgpackr faster where it is built, which nothing here waits for.
    expect(native).toEqual(["node_modules/msgpackr-extract"])
  })

  it("runs the first send by Node alone", async () => {
    write(small, "first-send.mjs", snippets.get("packages-sendwright-README.md-1.ts") ?? "")
    const { stderr, stdout } = await Published.run(process.execPath, ["first-send.mjs"], small)
    expect(stderr).toBe("")
    expect(stdout).toContain("34600001234 delivered")
    const lines = readFileSync(join(small, "first-send.mjs"), "utf8").split("\n")
    expect(lines.filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15)
  })

  it("has every entry that needs no other package", async () => {
    const entries = ["sendwright", "sendwright/testing", "sendwright/sqlite", "sendwright/postgres"]
    const imports = entries.map((entry) => `await import(${JSON.stringify(entry)})`)
    const { code, stderr } = await Published.run(
      process.execPath,
      ["--input-type=module", "--eval", imports.join("\n")],
      small
    )
    expect([code, stderr]).toEqual([0, ""])
  })

  it("opens PostgreSQL by what it brings, and says which driver a file of SQLite needs", async () => {
    const { code, stderr, stdout } = await Published.run(
      process.execPath,
      [
        "--input-type=module",
        "--eval",
        `import { createSendwright, sandbox } from "sendwright"
         import { sqlite } from "sendwright/sqlite"
         import { postgres } from "sendwright/postgres"
         for (const store of [sqlite({ file: "none.db" }), postgres({ url: "postgres://127.0.0.1:1/none" })])
           await createSendwright({ store, senders: [sandbox()], secretKey: Buffer.alloc(32).toString("base64") }).catch(
             ({ code, message }) => console.log(code, message)
           )`
      ],
      small
    )
    expect([code, stderr]).toEqual([0, ""])
    const told = stdout.trim().split("\n")
    expect(read("packages/sendwright/README.md")).toContain("npm install better-sqlite3")
    expect(told).toEqual([
      expect.stringMatching(
        /^invalid_options sqlite\(\{ file \}\) needs its driver.*: npm install better-sqlite3$/
      ),
      expect.stringMatching(/^unavailable .*PostgreSQL at 127\.0\.0\.1:1 .*ECONNREFUSED/)
    ])
  })

  it("compiles it in a strict project, its declarations too", patience, async () => {
    const text = snippets.get("packages-sendwright-README.md-1.ts") ?? ""
    write(small, "first-send.ts", `${text}\nexport const wrong: number = sw`)
    const own = { ...compilerOptions, typeRoots: [join(root, "node_modules/@types")], types: ["node"] }
    write(small, "tsconfig.json", { compilerOptions: own, files: ["first-send.ts"] })
    expect(await compile(small)).toEqual([
      expect.stringMatching(
        /^first-send\.ts.*TS2322: Type 'Sendwright' is not assignable to type 'number'\.$/
      )
    ])
  })
})

describe("all packages, installed by npm", () => {
  beforeAll(async () => {
    await installed
  }, patience.timeout)

  const entries = (["core", "host", "http", "sendwright"] as const).flatMap((name) => {
    const Exports = Schema.Record({ key: Schema.String, value: Schema.Unknown })
    const Manifest = Schema.parseJson(Schema.Struct({ name: Schema.String, exports: Exports }))
    const manifest = Schema.decodeUnknownSync(Manifest)(read(`packages/${name}/package.json`))
    return Object.keys(manifest.exports).map((entry) => `${manifest.name}${entry.slice(1)}`)
  })
  // They run in a test only.
  const ofTests = ["sendwright/vitest", "@sendwright/core/testing/SenderSuite"]
  const ofPrograms = entries.filter((entry) => !entry.includes("*") && !ofTests.includes(entry))

  it("are imported by each entry", async () => {
    const program = ofPrograms.map((entry) => `await import(${JSON.stringify(entry)})`).join("\n")
    const { code, stderr } = await Published.run(
      process.execPath,
      ["--input-type=module", "--eval", program],
      project
    )
    expect([code, stderr]).toEqual([0, ""])
    expect(ofPrograms.length).toBeGreaterThan(15)
  })

  it("are read by `require`, as an app of CommonJS does", async () => {
    const program = ofPrograms.map((entry) => `require(${JSON.stringify(entry)})`).join("\n")
    const { code, stderr } = await Published.run(
      process.execPath,
      ["--input-type=commonjs", "--eval", program],
      project
    )
    expect([code, stderr]).toEqual([0, ""])
  })

  it("have the command line", async () => {
    const { code, stdout } = await Published.run("npx", ["sendwright", "--help"], project)
    expect(code).toBe(0)
    expect(stdout).toContain("Sendwright")
  })

  it("have the service", async () => {
    const env = { ...Published.environment, ADMIN_TOKEN: "let-me-in-and-nobody-else", PORT: "0" }
    const child = mortal(spawn("npx", ["sendwright-host"], { cwd: project, env }))
    let output = ""
    child.stdout.on("data", (chunk) => (output += chunk))
    child.stderr.on("data", (chunk) => (output += chunk))
    const ended = new Promise((resolve) => child.on("close", resolve))
    const told = new Promise((resolve) =>
      child.stdout.on("data", () => /is on \S+:\d/.test(output) && resolve(0))
    )
    await Promise.race([told, ended])
    const [, url] = output.match(/is on (\S+:\d+)/) ?? []
    expect(url, output).toBeDefined()
    const response = await fetch(`${url}/health/ready`)
    child.kill("SIGTERM")
    await ended
    expect([response.status, output]).toEqual([200, expect.stringContaining("Sendwright is on")])
  })
})

describe("the documents' TypeScript", () => {
  beforeAll(async () => {
    await installed
    for (const [name, text] of snippets) write(project, name, text)
    cpSync(join(root, "examples"), join(project, "examples"), {
      recursive: true,
      filter: (path) => !/(\/node_modules|\/\.next|tsconfig\.json)$/.test(path)
    })
    const own = { ...compilerOptions, skipLibCheck: true, types: ["node"] }
    // These are programs of the repository: they start what is in its other folders.
    const repositorys = ["examples/demo", "examples/custom-sender/host.test.ts"]
    // Next has types of its own for the whole process, and the app is built by `test/embedding/next.test.ts`.
    const exclude = [...repositorys, "examples/next", "node_modules"]
    write(project, "tsconfig.json", { compilerOptions: own, exclude })
  }, patience.timeout)

  it("is found on the pages and in the sources that have some", () => {
    expect([...snippets.keys()]).toEqual(
      expect.arrayContaining([
        "README.md-1.ts",
        "packages-core-README.md-1.ts",
        "docs-own-sender.md-2.ts",
        "packages-sendwright-src-index.ts-1.ts"
      ])
    )
  })

  it("compiles in a strict project, each snippet as it stands", patience, async () => {
    const broken = join(project, "broken.ts")
    writeFileSync(broken, 'import { Engine } from "@sendwright/core"\nEngine.layer(caller)\n')
    const found = await compile(project)
    rmSync(broken)
    expect(found).toEqual(["broken.ts(2,14): error TS2304: Cannot find name 'caller'."])
  })

  it.each(["README.md-1.ts", "README.md-2.ts"])("in %s is a program that sends", patience, async (file) => {
    const { stderr, stdout } = await run(file)
    expect(stderr).toBe("")
    expect(stdout).toContain("34600001234 delivered")
  })

  it("in packages/sendwright/README.md sends by SQLite, too", patience, async () => {
    const text = snippets.get("packages-sendwright-README.md-1.ts") ?? ""
    const onSqlite = text.replace("memory, ", "").replace("memory()", 'sqlite({ file: "first-send.db" })')
    write(project, "on-sqlite.ts", `import { sqlite } from "sendwright/sqlite"\n${onSqlite}`)
    const { stderr, stdout } = await run("on-sqlite.ts")
    expect(stderr).toBe("")
    expect(stdout).toContain("34600001234 delivered")
    expect(readdirSync(project)).toContain("first-send.db")
  })

  it("in packages/sendwright/README.md is a test that passes", patience, async () => {
    const [file = ""] = [...snippets].find(([, text]) => text.includes("node:test")) ?? []
    const { code, stdout } = await run(file)
    expect(code, stdout).toBe(0)
    // As newer Nodes report it, and as Node 20 does.
    expect(stdout).toMatch(/^[ℹ#] pass 1$/m)
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
  it("in docs/mount.md serve the API below their prefix", patience, async () => {
    const at = snippetsOf("docs/mount.md").findIndex((text) => text.includes("inExpress")) + 1
    const program = `
      import { serve } from "@hono/node-server"
      import express from "express"
      import Fastify from "fastify"
      import { Hono } from "hono"
      import { createSendwright, memory, sandbox } from "sendwright"
      import { handlerOf, inExpress, inFastify, inHono } from "./docs-mount.md-${at}.ts"

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

describe("the examples", () => {
  const secret = Buffer.alloc(32, 1).toString("base64")

  it.each(["programs/effect-program.ts", "programs/send-in-a-transaction.ts", "custom-sender/main.ts"])(
    "%s runs to its end",
    patience,
    async (file) => {
      const { code, stderr } = await run(`examples/${file}`, { SECRET_KEY: secret })
      expect([code, stderr]).toEqual([0, ""])
    }
  )

  it("pass their tests", patience, async () => {
    const files = [
      "testing/ten",
      "appointments/appointments",
      "campaign/campaign",
      "custom-sender/custom-sender"
    ]
    const given = files.map((file) => `examples/${file}.test.ts`)
    const { code, stderr, stdout } = await node(
      "vitest/vitest.mjs",
      ["run", "--root", project, ...given],
      project,
      { NO_COLOR: "1" }
    )
    expect(code, stdout + stderr).toBe(0)
    expect(stdout).toMatch(/Test Files\s+4 passed/)
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
    ["docs/mount.md", "@effect/platform"]
  ])("in %s have ranges that core works with, %s among them", (page, needed) => {
    const lines = [...read(page).matchAll(/^npm install .*$/gm)].map(([line]) => line)
    const named = lines.flatMap((line) => [...line.matchAll(/"(@?[^"@]+)@([^"]+)"/g)])
    expect(named.map(([, name]) => name)).toContain(needed)
    for (const [, name = "", range = ""] of named) {
      expect([name, range.startsWith("^"), peers[name]?.startsWith(range)]).toEqual([name, true, true])
    }
  })
})
