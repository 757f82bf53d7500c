// The pages that a package's README leads to, as its tarball has them: all below `docs/`, with links among each other. A link
// to a folder leads to its README; one to what is no page and no file stays as its words.
import { existsSync, readFileSync, statSync } from "node:fs"
import { join, posix } from "node:path"

const markdownLink = /(!?\[((?:[^[\]]|\[[^\]]*\])*)\]\()([^\s)]+)\)/g

/** Files of the repository only: an address elsewhere and a place in the same page stay as they are. */
const isOutside = (href) => /^(?:[a-z]+:|#)/.test(href)

/** @returns the file that is meant by a path, from the root, or undefined */
const fileOf = (root, path) => {
  const place = join(root, path)
  if (!existsSync(place)) throw new Error(`${path} is linked to, and is not there.`)
  if (!statSync(place).isDirectory()) return path
  const readme = posix.join(path, "README.md")
  return existsSync(join(root, readme)) ? readme : undefined
}

/**
 * @param {string} root of the repository
 * @param {string} folder of the package, from there
 * @returns {Map<string, string | Buffer>} by the path in the tarball: the README and what it leads to
 */
export const pagesOf = (root, folder) => {
  const placeOf = (path) => {
    if (path === `${folder}/README.md`) return "README.md"
    return path.startsWith("docs/") ? path : `docs/repository/${path}`
  }
  const pages = new Map()
  const visit = (path) => {
    const place = placeOf(path)
    if (pages.has(place)) return
    const content = readFileSync(join(root, path))
    pages.set(place, content)
    if (!path.endsWith(".md")) return
    const text = content.toString().replaceAll(markdownLink, (link, before, words, href) => {
      if (isOutside(href)) return link
      const [, linked, fragment] = /^([^#]*)(#.*)?$/.exec(href)
      const file = fileOf(root, posix.join(posix.dirname(path), linked))
      if (file === undefined) return words
      visit(file)
      return `${before}${posix.relative(posix.dirname(place), placeOf(file))}${fragment ?? ""})`
    })
    pages.set(place, text)
  }
  visit(`${folder}/README.md`)
  return pages
}
