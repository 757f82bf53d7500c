/** The packages as they are published, and installed by npm in a folder of somebody's own. */
import { execFile } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"

export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Of the environment only what leads to programs and to the registry: the tests' own has settings and paths of the workspace. */
export const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(path|home|tmpdir|.*proxy|.*cert.*|npm_config_(registry|cache|userconfig|globalconfig))$/i.test(name)
  )
)

/** Runs a program to its end, which is its own or comes after two minutes. */
export const run = (
  program: string,
  given: ReadonlyArray<string>,
  cwd: string,
  env: Readonly<Record<string, string>> = {}
): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { cwd, env: { ...environment, ...env }, timeout: 120_000 }
    execFile(program, [...given], options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === "number" ? error.code : 1, stdout, stderr })
    })
  })

const orThrow = ({ code, stderr, stdout }: Ended): void => {
  if (code !== 0) throw new Error(`${stdout}${stderr}`)
}

export type Tarballs = Readonly<Record<"core" | "host" | "http" | "sendwright", string>>

export const pack = async (folder: string): Promise<Tarballs> => {
  mkdirSync(folder)
  orThrow(await run(process.execPath, [join(root, "scripts/pack.mjs"), folder], root))
  const files = readdirSync(folder)
  const of = (prefix: string): string => {
    const file = files.find((file) => file.startsWith(prefix) && /^\d/.test(file.slice(prefix.length)))
    if (file === undefined) throw new Error(`${prefix} was not packed.`)
    return join(folder, file)
  }
  return {
    core: of("sendwright-core-"),
    host: of("sendwright-host-"),
    http: of("sendwright-http-"),
    sendwright: of("sendwright-")
  }
}

const Lock = Schema.parseJson(
  Schema.Struct({
    packages: Schema.Record({
      key: Schema.String,
      value: Schema.Struct({ hasInstallScript: Schema.optional(Schema.Boolean) })
    })
  })
)

/**
 * Installs by npm in a new folder. Answers what is there then, by its paths, and what of it has to be built or fetched.
 * Scripts don't run, so that nothing is compiled.
 */
export const install = async (folder: string, packages: ReadonlyArray<string>) => {
  mkdirSync(folder)
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }))
  const given = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts", ...packages]
  orThrow(await run("npm", given, folder))
  const lock = readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")
  const installed = Object.entries(Schema.decodeUnknownSync(Lock)(lock).packages)
  return {
    packages: installed.map(([path]) => path),
    native: installed.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => path)
  }
}

/** Gives a folder what is no part of the packages, as the workspace has it. */
export const lend = (folder: string, packages: Readonly<Record<string, string>>): void => {
  for (const [name, from] of Object.entries(packages)) {
    const place = join(folder, "node_modules", name)
    mkdirSync(dirname(place), { recursive: true })
    symlinkSync(join(root, from, "node_modules", name), place)
  }
}

const Version = Schema.parseJson(Schema.Struct({ version: Schema.String }))

/** The version of better-sqlite3 here, whose binary is given to a folder that has the same. */
export const betterSqlite3 = (): string => {
  const manifest = readFileSync(join(root, "node_modules/better-sqlite3/package.json"), "utf8")
  return `better-sqlite3@${Schema.decodeUnknownSync(Version)(manifest).version}`
}
/** The newer one brings its binary. */
export const buildBetterSqlite3 = (folder: string): void => {
  const built = "node_modules/better-sqlite3/build/Release/better_sqlite3.node"
  if (existsSync(join(root, built))) cpSync(join(root, built), join(folder, built))
}
