/** A package as it is published: its files, with the manifest that `pnpm publish` makes of the workspace's. */
import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"

const packages = fileURLToPath(new URL("../../packages", import.meta.url))

const Dependencies = Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
const Manifest = Schema.parseJson(
  Schema.Struct(
    {
      version: Schema.String,
      dependencies: Dependencies,
      peerDependencies: Dependencies,
      publishConfig: Schema.Record({ key: Schema.String, value: Schema.Unknown })
    },
    { key: Schema.String, value: Schema.Unknown }
  )
)

/** All packages of the workspace have one version. */
const published = (text: string): string => {
  const { devDependencies: _, publishConfig, ...manifest } = Schema.decodeUnknownSync(Manifest)(text)
  const whole = JSON.stringify({ ...manifest, ...publishConfig })
  return whole
    .replaceAll('"workspace:*"', JSON.stringify(manifest.version))
    .replaceAll(/"workspace:([^"]+)"/g, '"$1"')
}

/** Packs a package of the workspace into a folder; answers its tarball's path. */
export const pack = (name: string, folder: string): string => {
  const from = join(packages, name)
  const place = join(folder, name)
  mkdirSync(place)
  for (const each of ["dist", "README.md"]) cpSync(join(from, each), join(place, each), { recursive: true })
  writeFileSync(join(place, "package.json"), published(readFileSync(join(from, "package.json"), "utf8")))
  const given = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]
  const told = execFileSync("npm", given, {
    cwd: place,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"]
  })
  const Told = Schema.parseJson(Schema.Tuple(Schema.Struct({ filename: Schema.String })))
  const [{ filename }] = Schema.decodeUnknownSync(Told)(told)
  return join(folder, filename)
}
