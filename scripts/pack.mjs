// Packs all packages as they are published, into the folder that is given: `node scripts/pack.mjs <folder>`. They are built
// already. A compiler never removes what it made of a source that is gone, so that goes first. The pages that a README leads
// to are added at the end.
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { pagesOf } from "./pages.mjs"

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

const run = (program, given, cwd) => {
  const { status, stderr, stdout } = spawnSync(program, given, { cwd, encoding: "utf8" })
  if (status === 0) return stdout
  console.error(`Packing failed:\n${stdout}${stderr}`)
  process.exit(1)
}

const given = [
  "-r",
  "--filter",
  "./packages/*",
  "--filter",
  "!@sendwright/console",
  "pack",
  "--json",
  "--pack-destination",
  resolve(process.argv[2])
]
for (const { filename, name } of JSON.parse(run("npx", ["--yes", packageManager, ...given], root))) {
  const place = mkdtempSync(join(tmpdir(), "sendwright-pack-"))
  run("tar", ["-xzf", filename], place)
  for (const [path, content] of pagesOf(root, `packages/${name.replace("@sendwright/", "")}`)) {
    const file = join(place, "package", path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, content)
  }
  run("tar", ["-czf", filename, "package"], place)
  rmSync(place, { recursive: true })
}
