// What an installation of a package brings with it: all that its dependencies, optional ones and needed peers lead to,
// as it is installed here. Reads node_modules alone, so that it works offline and by any package manager.
import { existsSync, readFileSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"

const manifestOf = (folder) => JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))

/** As Node resolves it; undefined when it is not installed. */
const locate = (from, name) => {
  const place = join(from, "node_modules", name)
  if (existsSync(join(place, "package.json"))) return realpathSync(place)
  return dirname(from) === from ? undefined : locate(dirname(from), name)
}

const namesOf = ({ dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} }) => ({
  needed: Object.keys(dependencies ?? {}),
  // Binaries of other platforms are not installed here.
  optional: [
    ...Object.keys(optionalDependencies ?? {}),
    ...Object.keys(peerDependencies ?? {}).filter((name) => peerDependenciesMeta[name]?.optional !== true)
  ]
})

/**
 * @param {string} folder of a package that is installed
 * @returns {ReadonlyArray<{id: string, name: string, version: string, license: unknown, dependsOn: ReadonlyArray<string>}>}
 *   the package first, the others by their ids
 */
export const closureOf = (folder) => {
  const found = new Map()
  const visit = (place) => {
    const manifest = manifestOf(place)
    const { license, name, version } = manifest
    const id = `${name}@${version}`
    if (found.has(id)) return id
    const entry = { id, name, version, license, dependsOn: [] }
    found.set(id, entry)
    const { needed, optional } = namesOf(manifest)
    const places = new Set()
    for (const dependency of new Set([...needed, ...optional])) {
      const at = locate(place, dependency)
      if (at !== undefined) places.add(at)
      else if (needed.includes(dependency))
        throw new Error(`${id} needs ${dependency}, which is not installed.`)
    }
    entry.dependsOn = [...places].map(visit).sort()
    return id
  }
  visit(realpathSync(folder))
  const [first, ...others] = found.values()
  return [first, ...others.sort((a, b) => (a.id < b.id ? -1 : 1))]
}
