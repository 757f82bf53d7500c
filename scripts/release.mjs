// What has to be so before a version is published, beside the gate: licences, a bill of materials in each package, and
// no known vulnerability. Some registries answer no audit; that is told, and is no failure.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const scripts = dirname(fileURLToPath(import.meta.url))
const root = join(scripts, "..")
const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))

for (const step of ["licenses.mjs", "sbom.mjs"]) {
  const { status } = spawnSync(process.execPath, [join(scripts, step)], { cwd: root, stdio: "inherit" })
  if (status !== 0) process.exit(status ?? 1)
}

const audit = spawnSync("npx", ["--yes", packageManager, "audit", "--prod", "--json"], {
  cwd: root,
  encoding: "utf8",
  timeout: 120_000
})

const answer = (() => {
  try {
    return JSON.parse(audit.stdout)
  } catch {
    return undefined
  }
})()

const counts = answer?.metadata?.vulnerabilities
if (counts === undefined) {
  console.error(`The registry answers no audit (${answer?.error?.code ?? "nothing"}): ask one that does.`)
} else {
  console.log(`Known vulnerabilities: ${JSON.stringify(counts)}`)
  if (counts.moderate + counts.high + counts.critical > 0) process.exitCode = 1
}
