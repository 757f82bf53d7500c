/** What an installation brings: licences that are allowed, and a bill of materials that says all of it. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { afterAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "sendwright-supply-"))
afterAll(() => rmSync(folder, { recursive: true }))

const run = (script: string, ...given: ReadonlyArray<string>) =>
  spawnSync(process.execPath, [join(root, "scripts", script), ...given], { encoding: "utf8" })

/** A package of one dependency under a licence. */
const depending = (license: unknown): string => {
  const place = mkdtempSync(join(folder, "case-"))
  const dependency = join(place, "node_modules/dependency")
  mkdirSync(dependency, { recursive: true })
  const own = { name: "own", version: "1.0.0", license: "MIT", dependencies: { dependency: "*" } }
  writeFileSync(join(place, "package.json"), JSON.stringify(own))
  writeFileSync(
    join(dependency, "package.json"),
    JSON.stringify({ name: "dependency", version: "2.0.0", license })
  )
  return place
}

describe("the licences of what is installed", () => {
  it("are allowed, all of them", () => {
    const { status, stderr } = run("licenses.mjs")
    expect([status, stderr]).toEqual([0, ""])
  })

  it.each(["GPL-3.0-only", "MIT AND GPL-3.0-only", "SEE LICENSE IN LICENSE", undefined, { type: "MIT" }])(
    "may not be %s",
    (license) => {
      const { status, stderr } = run("licenses.mjs", depending(license))
      expect(status).toBe(1)
      expect(stderr).toMatch(/^dependency@2\.0\.0 is under /)
    }
  )

  it.each(["MIT", "(MIT OR GPL-3.0-only)", "BSD-3-Clause AND MIT"])("may be %s", (license) => {
    expect(run("licenses.mjs", depending(license)).status).toBe(0)
  })
})

const Bom = Schema.parseJson(
  Schema.Struct({
    bomFormat: Schema.Literal("CycloneDX"),
    specVersion: Schema.Literal("1.6"),
    components: Schema.Array(
      Schema.Struct({
        "bom-ref": Schema.String,
        purl: Schema.String,
        licenses: Schema.optional(Schema.Array(Schema.Unknown)),
        hashes: Schema.optional(Schema.Array(Schema.Struct({ alg: Schema.String, content: Schema.String })))
      })
    ),
    dependencies: Schema.Array(Schema.Struct({ ref: Schema.String, dependsOn: Schema.Array(Schema.String) }))
  })
)

describe("the bill of materials", () => {
  it.each(["core", "host", "http", "sendwright"])(
    "of packages/%s names each package once, with its licence and hash",
    (name) => {
      expect(run("sbom.mjs").status).toBe(0)
      const text = readFileSync(join(root, `packages/${name}/dist/sbom.cdx.json`), "utf8")
      const { components, dependencies } = Schema.decodeUnknownSync(Bom)(text)
      const refs = components.map((component) => component["bom-ref"])
      expect(new Set(refs).size).toBe(refs.length)
      expect(refs.length).toBeGreaterThan(3)
      const known = new Set(dependencies.map(({ ref }) => ref))
      expect(dependencies.flatMap(({ dependsOn }) => dependsOn).filter((ref) => !known.has(ref))).toEqual([])
      const unsaid = components.filter(
        ({ hashes, licenses, purl }) =>
          !/^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d/.test(purl) ||
          licenses === undefined ||
          (!purl.includes("sendwright") && !/^[0-9a-f]{128}$/.test(hashes?.[0]?.content ?? ""))
      )
      expect(unsaid).toEqual([])
    }
  )
})
