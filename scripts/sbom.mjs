// Writes what an installation of each package brings, as CycloneDX 1.6 JSON, into the package's own `dist`, with which it
// is published. The same sources give the same file: it has no time and no random number.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { closureOf } from "./closure.mjs"

const root = join(dirname(fileURLToPath(import.meta.url)), "..")

/** By `name@version`: what the lock file was installed from. */
const integrities = new Map(
  [
    ...readFileSync(join(root, "pnpm-lock.yaml"), "utf8").matchAll(
      /^ {2}'?([^\s']+@[^\s'(]+)'?:\n {4}resolution: \{integrity: (sha512)-([\w+/=]+)/gm
    )
  ].map(([, id, , digest]) => [id, Buffer.from(digest, "base64").toString("hex")])
)

const purlOf = ({ name, version }) => `pkg:npm/${name.replace("@", "%40")}@${version}`

const component = (entry, type) => {
  const digest = integrities.get(entry.id)
  const { license } = entry
  return {
    type,
    "bom-ref": entry.id,
    name: entry.name,
    version: entry.version,
    purl: purlOf(entry),
    ...(typeof license === "string"
      ? { licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }] }
      : {}),
    ...(digest === undefined ? {} : { hashes: [{ alg: "SHA-512", content: digest }] })
  }
}

for (const name of ["core", "host", "http", "sendwright"]) {
  const folder = join(root, "packages", name)
  const [subject, ...others] = closureOf(folder)
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: component(subject, name === "host" ? "application" : "library") },
    components: others.map((entry) => component(entry, "library")),
    dependencies: [subject, ...others].map(({ dependsOn, id }) => ({ ref: id, dependsOn }))
  }
  const dist = join(folder, "dist")
  if (!existsSync(dist)) mkdirSync(dist)
  writeFileSync(join(dist, "sbom.cdx.json"), `${JSON.stringify(bom, null, 2)}\n`)
  console.log(`packages/${name}/dist/sbom.cdx.json: ${others.length} packages beside its own`)
}
