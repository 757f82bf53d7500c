/**
 * Says what is wrong when the installed `effect` is not one that this package runs on. Node finds every module of a
 * program before it runs any, so an import of a module that another Effect lacks would fail with an error that tells
 * neither the cause nor the cure. Therefore the package's entries import this file before all else, and what Effect 4
 * has no module for is read from `effect` as a whole, in the files beside this one.
 */
import * as effect from "effect"

/** The oldest of Effect 3, as in `peerDependencies`. */
const oldest = { minor: 22, patch: 2 }

const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map((part) => Number.parseInt(part, 10))
  if (major !== 3) return false
  return minor > oldest.minor || (minor === oldest.minor && patch >= oldest.patch)
}

// Effect 4 has no such module.
const version = effect.ModuleVersion?.getCurrentVersion() ?? "4 or newer"

if (!isSupported(version)) {
  const range = `^3.${oldest.minor}.${oldest.patch}`
  throw new Error(
    `@sendwright/core needs effect ${range} and found effect ${version}. Run: npm install "effect@${range}"`
  )
}
