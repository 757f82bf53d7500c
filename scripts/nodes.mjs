// The short part of the gate under other Nodes, each from npm and in a clone of its own: the demo, README's programs, the packed packages and a run of kills. `node scripts/nodes.mjs 22 24 26`
import { spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const [given, versions] = [process.argv.slice(2), ["22", "24", "26"]]

const run = (folder, env, program, ...args) => {
  const { status } = spawnSync(program, args, { cwd: folder, env, stdio: "inherit" })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`)
}

/** The environment in which `node` is of a version. Native addons are built against its own headers. */
const environmentOf = (folder, version) => {
  run(folder, process.env, "npm", "install", "--silent", "--no-audit", "--no-fund", `node@${version}`)
  const node = join(folder, "node_modules/node")
  const platform = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`
  const headers = [join(node, "node_modules", platform), join(folder, "node_modules", platform)].find(
    existsSync
  )
  return {
    ...process.env,
    PATH: join(node, "bin") + delimiter + process.env.PATH,
    ...(headers === undefined ? {} : { npm_config_nodedir: headers })
  }
}

/** The driver of the newer Nodes, which brings its binaries; the repository has the last one for Node 20, which is compiled. */
const driver = "better-sqlite3: ^13.2.0"

const install = (clone, env) => {
  const workspace = join(clone, "pnpm-workspace.yaml")
  writeFileSync(
    workspace,
    readFileSync(workspace, "utf8").replace("overrides:\n", `overrides:\n  ${driver}\n`)
  )
  const { packageManager } = JSON.parse(readFileSync(join(clone, "package.json"), "utf8"))
  run(
    clone,
    { ...env, CI: "true" },
    "npx",
    "--yes",
    packageManager,
    "install",
    "--silent",
    "--no-frozen-lockfile"
  )
}

const tests = [
  "packages/host/test/Bundle.test.ts",
  "packages/sendwright/test/Kit.test.ts",
  "test/published.test.ts",
  "test/chaos/chaos.test.ts"
]

for (const version of given.length > 0 ? given : versions) {
  const folder = mkdtempSync(join(tmpdir(), `sendwright-node-${version}-`))
  const began = performance.now()
  try {
    const env = environmentOf(folder, version)
    run(folder, env, "git", "clone", "--quiet", root, "repository")
    const clone = join(folder, "repository")
    run(clone, env, "node", "--version")
    install(clone, env)
    run(clone, env, "npm", "run", "--silent", "setup")
    run(clone, env, "npm", "run", "--silent", "demo", "--", "--once")
    run(clone, env, "npx", "vitest", "run", "--config", "test/vitest.config.ts", ...tests)
    console.log(`Node ${version}: passed in ${Math.round((performance.now() - began) / 1000)} s`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
