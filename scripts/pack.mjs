// Packs all packages as they are published, into the folder that is given: `node scripts/pack.mjs <folder>`. They are built
// already. A compiler never removes what it made of a source that is gone, so that goes first.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

// The console lies in the packages that serve it.
for (const name of readdirSync(join(root, "packages")).filter((name) => name !== "console")) {
  const dist = join(root, "packages", name, "dist")
  for (const path of readdirSync(dist, { recursive: true })) {
    const source = path.match(/^(?!bundle\b)(.*?)(\.js|\.d\.ts)(\.map)?$/)
    if (source === null) continue
    const [, module, , map] = source
    if (map !== undefined || !existsSync(join(dist, "../src", `${module}.ts`))) rmSync(join(dist, path))
  }
}

const given = [
  "-r",
  "--filter",
  "./packages/*",
  "--filter",
  "!@sendwright/console",
  "pack",
  "--pack-destination",
  resolve(process.argv[2])
]
const { status, stderr, stdout } = spawnSync("npx", ["--yes", packageManager, ...given], {
  cwd: root,
  encoding: "utf8"
})
if (status !== 0) {
  console.error(`Packing failed:\n${stdout}${stderr}`)
  process.exit(1)
}
