/**
 * The program of a node, made once: one file with all of its build in it. To read hundreds of modules costs each start three
 * times as much, and a program that is being edited would change between two kills.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Where the packages that are not in the file are found by their names. */
const cache = join(root, "node_modules/.cache/sendwright-chaos")

interface Built {
  readonly outputFiles: ReadonlyArray<{ readonly text: string }>
}

/** As much as is used of esbuild, whose types only the package of the host has. */
export interface Building {
  readonly onLoad: (
    which: { readonly filter: RegExp },
    load: (file: { readonly path: string }) => { readonly contents: string; readonly loader: "ts" }
  ) => void
}

interface Plugin {
  readonly name: string
  readonly setup: (building: Building) => void
}

interface Builder {
  readonly build: (options: object) => Promise<Built>
  readonly buildSync: (options: object) => Built
}

const builder = (): Builder => createRequire(join(root, "packages/host/package.json"))("esbuild")

const options = {
  entryPoints: [join(root, "test/chaos/node.ts")],
  write: false,
  bundle: true,
  format: "cjs",
  platform: "node",
  target: "node20",
  conditions: ["@sendwright/source"],
  nodePaths: [join(root, "packages/core/node_modules"), join(root, "node_modules")],
  external: ["better-sqlite3", "pg"],
  logLevel: "error"
} as const

const kept = (name: string, { outputFiles }: Built): string => {
  const text = outputFiles.map((file) => file.text).join("")
  const file = join(cache, `${name}-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.cjs`)
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
  return file
}

let known: string | undefined

/** The file to run. */
export const file = (): string => {
  known ??= kept("node", builder().buildSync(options))
  return known
}

/** The same of another build, whose sources a plugin changes. */
export const changed = async (plugin: Plugin): Promise<string> =>
  kept(plugin.name, await builder().build({ ...options, plugins: [plugin] }))
