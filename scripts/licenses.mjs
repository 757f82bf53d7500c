// Checks that everything which an installation brings is under a licence that asks for no more than its notice.
// `node scripts/licenses.mjs [folder …]`; the two packages unless folders are given.
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { closureOf } from "./closure.mjs"

const allowed = new Set(["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0"])

/** SPDX expressions as packages have them: names, AND, OR, parentheses around the whole. */
const isAllowed = (license) => {
  if (typeof license !== "string") return false
  const expression = license.trim().replace(/^\((.*)\)$/, "$1")
  if (/[()]/.test(expression)) return false
  return expression
    .split(/ OR /)
    .some((choice) => choice.split(/ AND /).every((name) => allowed.has(name.trim())))
}

const root = join(dirname(fileURLToPath(import.meta.url)), "..")
const given = process.argv.slice(2)
const folders =
  given.length === 0
    ? ["core", "host", "http", "sendwright"].map((name) => join(root, "packages", name))
    : given

const all = new Map(folders.flatMap((folder) => closureOf(folder)).map((entry) => [entry.id, entry]))
const refused = [...all.values()].filter(({ license }) => !isAllowed(license))
for (const { id, license } of refused) {
  console.error(
    `${id} is under ${JSON.stringify(license ?? "no licence")}, which is not one of ${[...allowed].join(", ")}.`
  )
}
if (refused.length > 0) process.exitCode = 1
else console.log(`${all.size} packages, all under ${[...allowed].join(", ")}.`)
