/** The rules of the packages' READMEs that a tool can see. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { functionsOf } from "./support/SourceMeasures.ts"

const root = fileURLToPath(new URL("..", import.meta.url))

const files = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))

const source = (file: string): string => readFileSync(join(root, file), "utf8")

/** What the compiler tells of a built file to those who import it. */
const declarations = (file: string): string =>
  source(file.replace("/src/", "/dist/").replace(/\.(?:ts|js)$/, ".d.ts")).replaceAll(/\/\*[\s\S]*?\*\//g, "")

/** Modules of the same package that a file imports, be it for their types alone. */
const imports = (file: string): ReadonlyArray<string> =>
  [...source(file).matchAll(/^(?:import|export)\s[^"'=]*?from\s+["'](\.[^"']+)["']/gms)].map((match) =>
    relative(root, resolve(root, dirname(file), match[1] ?? ""))
  )

const core = files("packages/core/src")
const host = files("packages/host/src")
const http = files("packages/http/src")
const promises = files("packages/sendwright/src")
const folderOf = (file: string): string =>
  file
    .replace("packages/core/src/", "")
    .split("/")
    .slice(0, -1)
    .join("/")
    .replace(/^domain\/.*/, "domain")

/** The folders that a folder of core may import, besides itself and `effect`, which reads Effect by another way. */
const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  domain: [],
  secret: ["domain", "storage"],
  storage: ["domain"],
  "storage/policy": ["domain", "storage"],
  "storage/sql": ["domain", "storage", "storage/policy", "storage/sql/codec", "storage/sql/jobs"],
  "storage/sql/jobs": ["domain", "storage", "storage/policy", "storage/sql", "storage/sql/codec"],
  "storage/sql/codec": ["domain", "storage", "storage/sql"],
  "storage/sqlite": ["domain", "runtime", "storage", "storage/sql"],
  "storage/postgres": ["domain", "runtime", "storage", "storage/sql"],
  http: ["domain", "runtime"],
  runtime: ["domain"],
  schema: ["domain"],
  webhook: ["domain", "http"],
  sender: ["domain", "schema", "http", "runtime", "storage", "secret", "webhook", "sender/whatsapp"],
  "sender/whatsapp": ["domain", "schema", "runtime", "storage", "sender"],
  worker: ["domain", "schema", "runtime", "storage", "sender", "secret", "webhook"],
  engine: ["domain", "schema", "runtime", "storage", "sender", "secret", "webhook", "worker", "engine/admin"],
  "engine/admin": [
    "domain",
    "schema",
    "runtime",
    "storage",
    "sender",
    "secret",
    "webhook",
    "worker",
    "engine"
  ]
}

describe("core", () => {
  it("imports go one way", () => {
    const wrong = core.flatMap((file) => {
      const from = folderOf(file)
      const may = allowed[from]
      if (may === undefined) return []
      return imports(file)
        .filter((to) => ![from, "effect", ...may].includes(folderOf(to)))
        .map((to) => `${file} → ${to}`)
    })
    expect(wrong).toEqual([])
  })

  it("imports what Effect 4 has no module for by way of `effect/`, which says so when it is loaded", () => {
    const gone =
      /^(?:import|export) (?!type)[^"]* from "effect\/(?:Either|FiberRef|MetricKey|Micro|ParseResult|STM)"/m
    const wrong = core.filter((file) => !/\/src\/(?:effect|testing)\//.test(file) && gone.test(source(file)))
    expect(wrong).toEqual([])
  })

  for (const [entry, what] of [
    ["sql.ts", "a store over a handle of the app's"],
    ["index.ts", "what is in memory"],
    ["contract.ts", "what may be asked of an engine"]
  ])
    it(`needs no driver and no native module for ${what}`, () => {
      const loaded = /^(?:import|export)\s(?!type\b)[^"'=]*?from\s+["']([^"']+)["']/gms
      const seen = new Set<string>()
      const drivers: Array<string> = []
      const visit = (file: string): void => {
        if (seen.has(file)) return
        seen.add(file)
        for (const [, next = ""] of source(file).matchAll(loaded)) {
          if (next.startsWith(".")) visit(relative(root, resolve(root, dirname(file), next)))
          else if (/^(?:better-sqlite3|pg|@effect\/)/.test(next)) drivers.push(`${file} → ${next}`)
        }
      }
      visit(`packages/core/src/${entry}`)
      expect(drivers).toEqual([])
    })
})

describe("http", () => {
  it("needs no driver, no command line and no native module", () => {
    const wrong = http.flatMap((file) =>
      // Examples in docstrings import the package itself.
      [...source(file).matchAll(/^(?! \*).*from "([^".][^"]*)"/gm)]
        .map(([, name = ""]) => name)
        .filter(
          (name) =>
            !/^(?:node:\w+|effect\/\w+|@effect\/platform\/\w+|@sendwright\/core(?:\/adapter|\/contract)?)$/.test(
              name
            )
        )
        .map((name) => `${file} → ${name}`)
    )
    expect(wrong).toEqual([])
  })
})

describe("sendwright", () => {
  it("loads the API only where it is mounted", () => {
    const using = promises.filter((file) => /from "@sendwright\/http/.test(source(file)))
    expect(using).toEqual(["packages/sendwright/src/inside/Mounting.ts"])
    const loading = promises.filter((file) => imports(file).some((to) => to.endsWith("/inside/Mounting.ts")))
    expect(loading).toEqual(["packages/sendwright/src/http.ts"])
  })

  it("shows types of its own alone: what is inside is named by no entry's declarations", () => {
    const entries = promises.filter((file) => /\/src\/\w+\.ts$/.test(file))
    const seen = new Set<string>()
    const visit = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const [, next = ""] of declarations(file).matchAll(/from "(\.[^"]+)"/g))
        visit(relative(root, resolve(root, dirname(file), next)))
    }
    for (const file of entries) visit(file)
    const wrong = [...seen].filter((file) => /"effect|"@sendwright\/core|\/inside\//.test(declarations(file)))
    expect(entries.length).toBeGreaterThan(0)
    expect(wrong).toEqual([])
  })
})

/** The ways from a node over others back to it. */
const cyclesOf = (
  nodes: Iterable<string>,
  next: (node: string) => Iterable<string>
): ReadonlyArray<string> => {
  const state = new Map<string, "open" | "done">()
  const cycles: Array<string> = []
  const visit = (node: string, trail: ReadonlyArray<string>): void => {
    if (state.get(node) === "done") return
    if (state.get(node) === "open") {
      cycles.push([...trail.slice(trail.indexOf(node)), node].join(" → "))
      return
    }
    state.set(node, "open")
    for (const each of next(node)) visit(each, [...trail, node])
    state.set(node, "done")
  }
  for (const node of nodes) visit(node, [])
  return cycles
}

describe.each(Object.entries({ core, http, host, promises }))("%s", (_, product) => {
  it("has no cycle of imports", () => {
    expect(cyclesOf(product, imports)).toEqual([])
  })

  it("has no cycle of folders", () => {
    // A folder is one with those inside it, and what stands in none of them is no folder.
    const nameOf = (file: string): string | undefined => file.match(/\/src\/([^/]+)\//)?.[1]
    const next = new Map<string, Set<string>>()
    for (const file of product)
      for (const to of imports(file)) {
        const [from = "", into = from] = [nameOf(file), nameOf(to)]
        if (from !== "" && from !== into) next.set(from, (next.get(from) ?? new Set()).add(into))
      }
    expect(cyclesOf(next.keys(), (folder) => next.get(folder) ?? [])).toEqual([])
  })
})

describe("all source", () => {
  const clock = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(|\brandomUUID\(/
  it("takes time and chance from Effect, whose clock of the machine is made in one place", () => {
    const files = [...core, ...http, ...host, ...promises].filter((file) => clock.test(source(file)))
    expect(files).toEqual(["packages/core/src/runtime/Timers.ts"])
  })

  it("counts lengths of text in code points", () => {
    const units = /\bSchema\.(minLength|maxLength|length)\(/
    expect([...core, ...http, ...host, ...promises].filter((file) => units.test(source(file)))).toEqual([])
  })

  it("keeps no state beside its modules, so that two engines in one process share none", () => {
    // What is found of an object (`Memo.ofObject`) goes with it; a map that is typed as one to be read does not grow.
    const state =
      /^(?:export )?(?:let |const \w+(?:: (?:Map|Set|WeakMap)<.*>)? = (?:new (?:Map|Set|WeakMap)|Memo\.make))/m
    // The event loop is the process's: docs/adr/0014.
    const loop = "packages/core/src/runtime/EventLoopBudget.ts"
    const product = [...core, ...http, ...host, ...promises].filter((file) => file !== loop)
    expect(product.filter((file) => state.test(source(file)))).toEqual([])
  })

  it("has no any, no suppressed check, no swallowed cause", () => {
    const banned =
      /\bas any\b|: any\b|@ts-ignore|@ts-expect-error|biome-ignore|Effect\.ignore\b|as unknown as/
    expect([...core, ...http, ...host, ...promises].filter((file) => banned.test(source(file)))).toEqual([])
  })
})

describe("what a reader meets", () => {
  const mostComplexity = 15
  const longLines = 100
  const mostLong = 12
  const read = [...core, ...http, ...host, ...promises].filter((file) => !file.includes("/src/testing/"))
  const functions = read.flatMap((file) => functionsOf(file, source(file)))

  it("has no function of more paths than a reader can hold", () => {
    const complex = functions.filter(({ complexity }) => complexity > mostComplexity)
    const found = complex.map(({ at, complexity }) => `${at}: ${complexity} paths, at most ${mostComplexity}`)
    expect(found, "Give a decision within each of these a name of its own.").toEqual([])
  })

  it("has few functions longer than a page", () => {
    const long = functions.filter(({ lines }) => lines > longLines).toSorted((a, b) => b.lines - a.lines)
    const list = long.map(({ at, lines }) => `${at}: ${lines} lines`).join("\n")
    expect(
      long.length,
      `At most ${mostLong} functions may be over ${longLines} lines. Split one of these:\n${list}`
    ).toBeLessThanOrEqual(mostLong)
  })
})
