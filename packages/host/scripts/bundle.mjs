// Makes dist/bundle/main.mjs of dist/main.js: the host and all that it imports in a few files, for a fast start. What is
// loaded only when it is needed (PostgreSQL, the description of the API) stays apart. Does nothing when nothing changed.
import { existsSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const host = join(dirname(fileURLToPath(import.meta.url)), "..")
const bundle = join(host, "dist/bundle")
const entry = join(bundle, "main.mjs")
const built = [join(host, "dist/.tsbuildinfo"), join(host, "../core/dist/.tsbuildinfo")]

const modified = (file) => statSync(file).mtimeMs

if (!existsSync(entry) || built.some((file) => modified(file) >= modified(entry))) {
  const { build } = await import("esbuild")
  rmSync(bundle, { recursive: true, force: true })
  await build({
    entryPoints: [join(host, "dist/main.js")],
    outdir: bundle,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    minify: true,
    // Read by nobody but `node --enable-source-maps`.
    sourcemap: true,
    external: ["better-sqlite3", "pg"],
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);'
    },
    logLevel: "warning"
  })
}
