/** The version of this package, as its manifest says it. */
import { existsSync, readFileSync } from "node:fs"
import { Json } from "@sendwright/core/adapter"

/** The manifest is above the folder of the sources, of the build and of the bundle, which are not as deep. */
const manifestAbove = (folder: URL): URL => {
  const file = new URL("package.json", folder)
  return existsSync(file) ? file : manifestAbove(new URL("..", folder))
}

export const read = (): string =>
  Json.textAt(Json.parse(readFileSync(manifestAbove(new URL(".", import.meta.url)), "utf8")), "version") ?? ""
