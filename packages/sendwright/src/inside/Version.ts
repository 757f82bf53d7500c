/** The version of this package, as its manifest says it; of a copy inside an app's bundle nobody knows. */
import { readFileSync } from "node:fs"

interface Manifest {
  readonly name?: unknown
  readonly version?: unknown
}

const manifestAt = (place: string): Manifest => {
  try {
    return JSON.parse(readFileSync(new URL(place, import.meta.url), "utf8"))
  } catch {
    return {}
  }
}

/** The sources are as deep below the manifest as the build. */
export const read = (): string => {
  const { name, version } = manifestAt("../../package.json")
  return name === "sendwright" && typeof version === "string" ? version : "unknown"
}
