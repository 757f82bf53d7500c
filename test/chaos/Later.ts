/**
 * The program of a node as a later build will be: this build with one migration more, which adds and takes nothing away.
 * Processes of both have to work beside each other (docs/adr/0030).
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Where the workspace's packages are found by their names. */
const cache = join(root, "node_modules/.cache/sendwright-chaos")

/** What each process of this build meets while it works: wider rows, a wider index, a table that it does not know. */
const expansion = `
export const migrations = [...released, {
  id: released.length + 1,
  name: "of a later build",
  compatibleFrom: released.length,
  statements: [
    "sendwright_job", "sendwright_recipient", "sendwright_session", "sendwright_template", "sendwright_event"
  ].map((table) => "ALTER TABLE " + table + " ADD COLUMN of_later TEXT NOT NULL DEFAULT 'later'; CREATE INDEX " + table + "_later ON " + table + " (of_later);").join("")
    + "CREATE TABLE sendwright_later (id INTEGER PRIMARY KEY)"
}]
`

/** As much as is used of esbuild, whose types only the package of the host has. */
interface Building {
  readonly onLoad: (
    which: { readonly filter: RegExp },
    load: (file: { readonly path: string }) => { readonly contents: string; readonly loader: "ts" }
  ) => void
}

const expanded = {
  name: "expanded",
  setup: ({ onLoad }: Building) => {
    onLoad({ filter: /[/\\]storage[/\\](?:sqlite|postgres)[/\\]Schema\.ts$/ }, ({ path }) => {
      const released = readFileSync(path, "utf8").replace("export const migrations", "const released")
      return { contents: released + expansion, loader: "ts" }
    })
  }
}

/** The file to run: one program with all of its build in it. */
export const program = async (): Promise<string> => {
  const { build } = createRequire(join(root, "packages/host/package.json"))("esbuild")
  const built: { readonly outputFiles: ReadonlyArray<{ readonly text: string }> } = await build({
    entryPoints: [join(root, "test/chaos/node.ts")],
    write: false,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    conditions: ["@sendwright/source"],
    nodePaths: [join(root, "packages/core/node_modules"), join(root, "node_modules")],
    external: ["better-sqlite3", "pg"],
    plugins: [expanded],
    logLevel: "error"
  })
  const text = built.outputFiles.map((file) => file.text).join("")
  const file = join(cache, `later-${createHash("sha256").update(text).digest("hex").slice(0, 16)}.cjs`)
  if (existsSync(file)) return file
  mkdirSync(cache, { recursive: true })
  writeFileSync(`${file}.${process.pid}`, text)
  renameSync(`${file}.${process.pid}`, file)
  return file
}
