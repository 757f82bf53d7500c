// Puts the console's files beside this package's build and the one of http, whose code serves them. Then makes
// dist/bundle/main.cjs of dist/main.js, the host and all that it imports in one file, and main.mjs, which starts
// it with the code cache of a start that is made here: reading and compiling is most of a start. Another version of Node
// takes no notice of that cache. Does nothing when nothing changed.
import { spawnSync } from "node:child_process"
import { copyFileSync, cpSync, existsSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const scripts = dirname(fileURLToPath(import.meta.url))
const host = join(scripts, "..")
const bundle = join(host, "dist/bundle")
const cache = join(bundle, "main.cjs.cache")
const built = [
  join(host, "dist/.tsbuildinfo"),
  join(host, "../core/dist/.tsbuildinfo"),
  join(host, "../http/dist/.tsbuildinfo"),
  join(scripts, "start.mjs")
]

await import("../../console/scripts/build.mjs")
for (const place of [host, join(host, "../http")]) {
  rmSync(join(place, "console"), { recursive: true, force: true })
  cpSync(join(host, "../console/dist"), join(place, "console"), { recursive: true })
}

const modified = (file) => statSync(file).mtimeMs

if (!existsSync(cache) || built.some((file) => modified(file) >= modified(cache))) {
  const { build } = await import("esbuild")
  rmSync(bundle, { recursive: true, force: true })
  await build({
    entryPoints: [join(host, "dist/main.js")],
    outfile: join(bundle, "main.cjs"),
    bundle: true,
    format: "cjs",
    platform: "node",
    target: "node20",
    minify: true,
    // Read by nobody but `node --enable-source-maps`.
    sourcemap: true,
    external: ["better-sqlite3", "pg"],
    // What is ESM here is not there.
    define: { "import.meta.url": "moduleUrl" },
    banner: { js: 'const moduleUrl = require("node:url").pathToFileURL(__filename).href' },
    logLevel: "warning"
  })
  copyFileSync(join(scripts, "start.mjs"), join(bundle, "main.mjs"))
  const { status, stderr } = spawnSync(process.execPath, [join(scripts, "warm.mjs"), bundle], {
    encoding: "utf8",
    timeout: 60_000,
    env: { PORT: "0", HOST: "127.0.0.1", DATABASE_URL: "sqlite::memory:" }
  })
  if (status !== 0) {
    console.error(`The bundle does not start:\n${stderr}`)
    process.exit(1)
  }
}
