/**
 * The console: static files that `packages/console` builds and `packages/host/scripts/bundle.mjs` puts beside this package's
 * build and the host's. A path below `/console` that is no file is one of its screens.
 */
import { promises } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import * as Effect from "effect/Effect"
import * as Address from "./Address.ts"
import { type Answer, noRoute, type Refused, refuse } from "./Answers.ts"
import { type Headers, headerOf, type PlainRequest } from "./Exchange.ts"

export const root = "/console"

export const isBelow = (path: string): boolean => path === root || path.startsWith(`${root}/`)

interface File {
  readonly contentType: string
  readonly headers: Headers
  readonly body: Uint8Array
  /** For clients that take it. */
  readonly zipped: Uint8Array
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"

const file = (contentType: string, cacheControl: string, text: string): File => ({
  contentType: `${contentType}; charset=utf-8`,
  headers: { "content-security-policy": policy, "cache-control": cacheControl, vary: "accept-encoding" },
  body: Buffer.from(text),
  zipped: gzipSync(text)
})

const typeOf = (name: string): string => (name.endsWith(".css") ? "text/css" : "text/javascript")

/** The page, which has to know where the API is. */
const located = (page: string, path: string): string => {
  const written = path.replaceAll("&", "&amp;")
  return page
    .replace('<base href="/console/">', () => `<base href="${written}${root}/">`)
    .replace('name="sendwright-api" content=""', () => `name="sendwright-api" content="${written}"`)
}

/** By paths below the root; the page has none. */
const read = (path: string): Promise<ReadonlyMap<string, File>> => {
  // As deep below the package from the sources as from the build; in the host's bundle that is the host's.
  const folder = join(dirname(fileURLToPath(import.meta.url)), "../../console")
  const textAt = (name: string) => promises.readFile(/* turbopackIgnore: true */ join(folder, name), "utf8")
  return promises.readdir(/* turbopackIgnore: true */ join(folder, "assets")).then(async (names) => {
    const assets = names.map(async (name) => {
      const text = await textAt(`assets/${name}`)
      return [`/assets/${name}`, file(typeOf(name), "public, max-age=31536000, immutable", text)] as const
    })
    const page = file("text/html", "no-cache", located(await textAt("index.html"), path))
    return new Map([["", page], ...(await Promise.all(assets))])
  })
}

const notBuilt = refuse(
  "not_found",
  "The console's files are not there. In a clone of the repository `npm run setup` builds them."
)

/** @param baseUrl the API's own address, with its prefix */
export const make = (baseUrl: string) => {
  let files: ReadonlyMap<string, File> | undefined
  const found = Effect.suspend(() =>
    files === undefined
      ? Effect.tap(
          Effect.tryPromise(() => read(Address.pathOf(baseUrl))),
          (read) => {
            files = read
          }
        )
      : Effect.succeed(files)
  )
  return (request: PlainRequest, path: string): Effect.Effect<Answer, Refused> =>
    Effect.flatMap(
      Effect.catchAll(found, () => notBuilt),
      (files) => {
        const name = path.slice(root.length)
        // An asset of an older build is no screen.
        const file = files.get(name) ?? (name.startsWith("/assets/") ? undefined : files.get(""))
        if (file === undefined) return noRoute
        const { body, contentType, headers, zipped } = file
        const isZipped = headerOf(request, "accept-encoding")?.includes("gzip") === true
        return Effect.succeed<Answer>({
          status: 200,
          contentType,
          headers: isZipped ? { ...headers, "content-encoding": "gzip" } : headers,
          body: isZipped ? zipped : body
        })
      }
    )
}
