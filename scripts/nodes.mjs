// The short part of the gate under other Nodes, each from npm and on a copy of its own: the demo, the first send and
// README's programs from the packed packages, the store on SQLite, the test kit, the bundle and a run of kills. `npm run nodes`, or
// `node scripts/nodes.mjs 24` for one.
import { spawnSync } from "node:child_process"
import { chmodSync, cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const given = process.argv.slice(2)

const run = (folder, env, program, ...args) => {
  const { status } = spawnSync(program, args, { cwd: folder, env, stdio: ["ignore", "inherit", "inherit"] })
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`)
}

/** Of the scenarios of `chaos` one, by its title. */
const kills = "SQLite sends nothing twice to one that does not"

/** Not the sources: what an install, a build or a run made, and the history. */
const made = /^(?:node_modules|dist|generated|data|results|\.git|\.next|.*\.tsbuildinfo)$/

for (const version of given.length > 0 ? given : ["22", "24", "26"]) {
  const folder = mkdtempSync(join(tmpdir(), `sendwright-node-${version}-`))
  // PostgreSQL does not run as root, and its user reads its programs here.
  chmodSync(folder, 0o755)
  const began = performance.now()
  try {
    run(folder, process.env, "npm", "install", "--silent", "--no-audit", "--no-fund", `node@${version}`)
    const bin = join(folder, "node_modules/node/bin")
    const env = { ...process.env, CI: "true", PATH: bin + delimiter + process.env.PATH }
    const copy = join(folder, "repository")
    const test = (...files) =>
      run(copy, env, "npx", "vitest", "run", "--config", "test/vitest.config.ts", ...files)
    cpSync(root, copy, { recursive: true, filter: (path) => path === root || !made.test(basename(path)) })
    run(copy, env, "node", "--version")
    run(copy, env, "npm", "run", "--silent", "demo", "--", "--once")
    test(
      // Each Node has another driver, and each driver another SQLite.
      "packages/core/test/storage/sqlite/Sqlite.test.ts",
      "packages/host/test/Bundle.test.ts",
      "packages/sendwright/test/Kit.test.ts",
      "test/published.test.ts"
    )
    test("test/chaos/chaos.test.ts", "-t", kills)
    console.log(`Node ${version}: passed in ${Math.round((performance.now() - began) / 1000)} s`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
