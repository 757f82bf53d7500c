// Installs and builds, from a clone that has nothing but Node and npm. Says nothing when there is nothing to do. Then it
// becomes the program that its first argument names, where it has one.
import { spawnSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"

const parent = process.ppid
const root = join(dirname(fileURLToPath(import.meta.url)), "../../..")
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`Sendwright needs Node ${manifest.engines.node}; this is ${process.version}.`)
  process.exit(1)
}

/** pnpm keeps a copy of the lock file it installed from. */
const installed = () => {
  const record = join(root, "node_modules/.pnpm/lock.yaml")
  return (
    existsSync(record) && readFileSync(record, "utf8") === readFileSync(join(root, "pnpm-lock.yaml"), "utf8")
  )
}

const run = (what, command, args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8", shell: false })
  if (status === 0) return
  console.error(`${what} failed:\n${stdout ?? ""}${stderr ?? ""}`)
  process.exit(status ?? 1)
}

/**
 * From Node 22 on takes the better-sqlite3 that brings its binaries: the one of the lock file, which is the last for Node 20, aborts
 * under Node 24. The workspace and its lock file are changed for it.
 */
const takeNewerDriver = () => {
  const workspace = join(root, "pnpm-workspace.yaml")
  const text = readFileSync(workspace, "utf8")
  const driver = "  better-sqlite3: ^13.2.0\n"
  if (!text.includes(driver)) writeFileSync(workspace, text.replace("overrides:\n", `overrides:\n${driver}`))
}

if (!installed()) {
  console.error("Installing dependencies (the first time takes a minute or two) …")
  if (major >= 22) takeNewerDriver()
  const lock = major >= 22 ? "--no-frozen-lockfile" : "--frozen-lockfile"
  run("Installing", "npx", ["--yes", manifest.packageManager, "install", lock])
}
// Types are most of what a build takes, and are checked by the tests.
run("Building", process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "-b", "--noCheck"])
run("Bundling", process.execPath, [join(root, "packages/host/scripts/bundle.mjs")])

const [program, ...given] = process.argv.slice(2)
// Who was to end it may be gone by now, and nobody would.
if (program !== undefined && process.ppid === parent) {
  const file = join(root, program)
  process.argv = [process.argv[0], file, ...given]
  await import(pathToFileURL(file).href)
}
