// Makes dist/ of src/: index.html and assets with hashed names. The types of the calls are made from the description of
// this build's API, which is why `tsc -b` comes first. Does nothing when nothing changed.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const folder = join(dirname(fileURLToPath(import.meta.url)), "..")
const dist = join(folder, "dist")
const page = join(dist, "index.html")
const types = join(folder, "generated/api.d.ts")
const texts = join(folder, "generated/texts.ts")
const contract = join(folder, "../http/dist/contract.js")
const adapter = join(folder, "../core/dist/adapter.js")

const newest = (place) =>
  Math.max(
    ...readdirSync(place, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => statSync(join(entry.parentPath, entry.name)).mtimeMs)
  )
const modified = (file) => (existsSync(file) ? statSync(file).mtimeMs : 0)

/** What no type needs: prose, examples, and rules that TypeScript has no word for. */
const prose = ["description", "summary", "example", "pattern", "headers"]
const bare = (value) => {
  if (Array.isArray(value)) return value.map(bare)
  if (typeof value !== "object" || value === null) return value
  // A story is also told as text; a client that names no type is answered in JSON.
  if (value["application/json"] !== undefined) return { "application/json": bare(value["application/json"]) }
  const kept = Object.entries(value).filter(
    ([name, each]) =>
      !(prose.includes(name) && (name === "example" || name === "headers" || typeof each === "string"))
  )
  return Object.fromEntries(kept.map(([name, each]) => [name, bare(each)]))
}

const makeTypes = async () => {
  const { Api, Description } = await import(contract)
  const { astToString, default: openapiTS } = await import("openapi-typescript")
  const routes = Api.operations.map(({ route }) => route({}))
  const { components, info, openapi, paths } = Description.openApi({
    baseUrl: "",
    prefix: "",
    routes,
    senders: []
  })
  // Which providers there are is the engine's to say.
  components.schemas.Provider = { type: "string" }
  const admin = Object.fromEntries(Object.entries(paths).filter(([path]) => path.startsWith("/admin/")))
  const text = astToString(
    await openapiTS(bare({ openapi, info, paths: admin, components }), { silent: true })
  )
  mkdirSync(dirname(types), { recursive: true })
  writeFileSync(types, text)
  // The texts that a client says of a recipient: whatever the API tells of them, the screens show.
  const { ClientTexts } = await import(adapter)
  writeFileSync(
    texts,
    `export const titles = ${JSON.stringify(Object.entries(ClientTexts.recipient.titles))} as const\n`
  )
}

const bundle = async () => {
  const { build } = await import("esbuild")
  rmSync(dist, { recursive: true, force: true })
  const { metafile } = await build({
    entryPoints: { console: join(folder, "src/main.tsx"), style: join(folder, "src/style.css") },
    outdir: join(dist, "assets"),
    entryNames: "[name]-[hash]",
    bundle: true,
    format: "esm",
    target: ["es2022", "safari16"],
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    metafile: true,
    logLevel: "warning"
  })
  const named = Object.keys(metafile.outputs).map((file) => basename(file))
  const nameOf = (start) => `assets/${named.find((name) => name.startsWith(start))}`
  writeFileSync(
    page,
    readFileSync(join(folder, "src/index.html"), "utf8")
      .replace("assets/console.js", nameOf("console-"))
      .replace("assets/style.css", nameOf("style-"))
  )
}

const description = newest(join(folder, "../http/dist"))
if (Math.min(modified(types), modified(texts)) < Math.max(description, newest(join(folder, "../core/dist"))))
  await makeTypes()
if (
  modified(page) <
  Math.max(newest(join(folder, "src")), modified(texts), modified(fileURLToPath(import.meta.url)))
)
  await bundle()
