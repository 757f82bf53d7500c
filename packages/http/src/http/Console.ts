/**
 * The console: static files that `packages/console` builds and `packages/host/scripts/bundle.mjs` puts beside this package's
 * build and the host's. A path below `/console` that is no file is one of its screens.
 */
import { promises } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Address from "./Address.ts"
import { type Answer, noRoute, type Refused, refuse } from "./Answers.ts"
import type { PlainRequest } from "./Exchange.ts"
import * as Files from "./Files.ts"

export const root = "/console"

export const isBelow = (path: string): boolean => path === root || path.startsWith(`${root}/`)

const typeOf = (name: string): string => (name.endsWith(".css") ? "text/css" : "text/javascript")

/** Where operators sign in: by their token, or in the app that the console is a part of. */
export type SignIn = "app" | "token"

/** The page, which has to know where the API is, and where to sign in. */
const located = (page: string, path: string, signIn: SignIn): string => {
  const written = path.replaceAll("&", "&amp;")
  return page
    .replace('<base href="/console/">', () => `<base href="${written}${root}/">`)
    .replace('name="sendwright-api" content=""', () => `name="sendwright-api" content="${written}"`)
    .replace('name="sendwright-sign-in" content=""', `name="sendwright-sign-in" content="${signIn}"`)
}

/** By paths below the root; the page has none. */
const read = (path: string, signIn: SignIn): Promise<ReadonlyMap<string, Files.File>> => {
  // As deep below the package from the sources as from the build; in the host's bundle that is the host's.
  const folder = join(dirname(fileURLToPath(import.meta.url)), "../../console")
  const textAt = (name: string) => promises.readFile(/* turbopackIgnore: true */ join(folder, name), "utf8")
  return promises.readdir(/* turbopackIgnore: true */ join(folder, "assets")).then(async (names) => {
    const assets = names.map(async (name) => {
      const text = await textAt(`assets/${name}`)
      return [`/assets/${name}`, Files.file(typeOf(name), Files.forEver, text)] as const
    })
    const page = Files.file("text/html", Files.fresh, located(await textAt("index.html"), path, signIn))
    return new Map([["", page], ...(await Promise.all(assets))])
  })
}

const notBuilt = refuse(
  "not_found",
  "The console's files are not there. In a clone of the repository `npm run setup` builds them."
)

/** @param baseUrl the API's own address, with its prefix */
export const make = (baseUrl: string, signIn: SignIn) => {
  let files: ReadonlyMap<string, Files.File> | undefined
  const found = Effect.suspend(() =>
    files === undefined
      ? Effect.tap(
          Effect.tryPromise(() => read(Address.pathOf(baseUrl), signIn)),
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
        return Effect.succeed(Files.answer(request, file))
      }
    )
}
