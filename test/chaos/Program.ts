/**
 * The program of a node, compiled once: a loader that reads TypeScript more than doubles the time of every start, and
 * a program that is being edited would change between two kills.
 */
import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

/** The program and what it imports from the tests, other than types. */
const names = ["chaos/node", "chaos/Points", "chaos/runMain", "support/Template"] as const

/** Where the workspace's packages are found by their names. */
const cache = fileURLToPath(new URL("../../node_modules/.cache/sendwright-chaos", import.meta.url))

const compiled = (name: string): string => {
  const source = readFileSync(new URL(`../${name}.ts`, import.meta.url), "utf8")
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
      rewriteRelativeImportExtensions: true
    }
  })
  return outputText
}

let known: string | undefined

/** The file to run. */
export const file = (): string => {
  if (known !== undefined) return known
  const files = names.map((name) => ({ name: `${name}.js`, text: compiled(name) }))
  const hash = createHash("sha256")
  for (const { name, text } of files) hash.update(name).update(text)
  const folder = join(cache, hash.digest("hex").slice(0, 16))
  const fresh = `${folder}.${process.pid}`
  for (const { name, text } of files) {
    mkdirSync(dirname(join(fresh, name)), { recursive: true })
    writeFileSync(join(fresh, name), text)
  }
  writeFileSync(join(fresh, "package.json"), '{ "type": "module" }\n')
  try {
    renameSync(fresh, folder)
  } catch {
    // Somebody else has compiled the very same.
    rmSync(fresh, { recursive: true, force: true })
  }
  known = join(folder, "chaos/node.js")
  return known
}
