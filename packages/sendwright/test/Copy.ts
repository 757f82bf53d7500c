/** Another copy of the package with all that it stands on, as a bundler makes one for each entry of an app. */
import { mkdtempSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { build } from "esbuild"

interface Copy {
  readonly sendwright: typeof import("sendwright")
  readonly http: typeof import("sendwright/http")
  readonly postgres: typeof import("sendwright/postgres")
  readonly sqlite: typeof import("sendwright/sqlite")
  readonly testing: typeof import("sendwright/testing")
}

const here = fileURLToPath(new URL(".", import.meta.url))

/** Where Node finds what is left out of a bundle. */
const modules = join(here, "../node_modules")

const entry = ["http", "postgres", "sqlite", "testing"]
  .map((name) => `export * as ${name} from "sendwright/${name}"`)
  .concat('export * as sendwright from "sendwright"')
  .join("\n")

/** By it what is CommonJS in a bundle finds the modules of Node. */
const banner = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`

export interface Bundle {
  readonly file: string
  readonly remove: () => void
}

/** A file that has the program and all that it imports but the modules that are left out. */
export const bundle = async (program: string, external: Array<string>, head = ""): Promise<Bundle> => {
  const folder = mkdtempSync(join(modules, ".copy-"))
  const outfile = join(folder, "copy.mjs")
  await build({
    stdin: { contents: program, resolveDir: here },
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    conditions: ["@sendwright/source"],
    external,
    banner: { js: head },
    logLevel: "error"
  })
  return { file: outfile, remove: () => rmSync(folder, { recursive: true }) }
}

export const copy = async (): Promise<Copy> => {
  const { file, remove } = await bundle(entry, ["better-sqlite3", "pg"], banner)
  try {
    return await import(pathToFileURL(file).href)
  } finally {
    remove()
  }
}
