/**
 * The program of a node as it was in an earlier build, taken from the history of this repository: processes of both have
 * to work beside each other (docs/adr/0030).
 */
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/** The oldest build that this one works beside (`compatibleFrom` of its last migrations). */
const commit = "9770ed4bda9d29a2893640e55a1ffe4e52a8b1f2"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Where the workspace's packages are found by their names. */
const cache = join(root, "node_modules/.cache/sendwright-chaos")

const git = (...args: ReadonlyArray<string>): Buffer =>
  execFileSync("git", args, { cwd: root, stdio: ["ignore", "pipe", "ignore"], maxBuffer: 2 ** 28 })

/** False in a copy without the history. */
export const isKnown = (): boolean => {
  try {
    git("cat-file", "-e", commit)
    return true
  } catch {
    return false
  }
}

/** Puts the program with all of its build into one file, with the libraries of today. */
const bundle = async (sources: string, outfile: string): Promise<void> => {
  const { build } = createRequire(join(root, "packages/host/package.json"))("esbuild")
  const core = join(sources, "packages/core/src")
  await build({
    entryPoints: [join(sources, "test/chaos/node.ts")],
    outfile,
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    alias: {
      "@sendwright/core/postgres": join(core, "postgres.ts"),
      "@sendwright/core/sqlite": join(core, "sqlite.ts"),
      "@sendwright/core": join(core, "index.ts")
    },
    nodePaths: [join(root, "packages/core/node_modules"), join(root, "node_modules")],
    external: ["better-sqlite3", "pg"],
    logLevel: "error"
  })
}

/** The file to run. */
export const program = async (): Promise<string> => {
  const folder = join(cache, commit)
  const file = join(folder, "node.cjs")
  if (existsSync(file)) return file
  const fresh = `${folder}.${process.pid}`
  mkdirSync(fresh, { recursive: true })
  const archive = git("archive", commit, "packages/core", "test/chaos", "test/support")
  execFileSync("tar", ["-x", "-C", fresh], { input: archive })
  await bundle(fresh, join(fresh, "node.cjs"))
  try {
    renameSync(fresh, folder)
  } catch {
    // Somebody else has made the very same.
    rmSync(fresh, { recursive: true, force: true })
  }
  return file
}
