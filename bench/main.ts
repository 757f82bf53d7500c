/**
 * The benchmark suite. `npm run bench` measures everything, `npm run bench -- accept drain` some parts, `--quick` in
 * rounds that are short and few, `--write-docs` writes the figures into docs/figures.md and docs/performance.md.
 */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { type Part, withBench } from "./Bench.ts"
import * as Docs from "./Docs.ts"
import { accept } from "./parts/accept.ts"
import { commit } from "./parts/commit.ts"
import { depth } from "./parts/depth.ts"
import { drain } from "./parts/drain.ts"
import { draining } from "./parts/draining.ts"
import { host } from "./parts/host.ts"
import { latency } from "./parts/latency.ts"
import { outbound } from "./parts/outbound.ts"
import { startup } from "./parts/startup.ts"
import { whole } from "./parts/whole.ts"
import { write } from "./parts/write.ts"
import * as Report from "./Report.ts"

const parts: ReadonlyArray<Part> = [
  accept,
  write,
  drain,
  depth,
  latency,
  commit,
  outbound,
  whole,
  host,
  startup,
  draining
]

const { positionals, values: options } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, "write-docs": { type: "boolean", default: false } }
})

const unknown = positionals.filter((name) => parts.every((part) => part.name !== name))
if (unknown.length > 0) {
  console.error(
    `There is no part ${unknown.join(", ")}. There are ${parts.map(({ name }) => name).join(", ")}.`
  )
  process.exit(2)
}

/** One core for all: two cores of a virtual machine are seldom two, and waking the other one costs more than the work. */
const pinnedBy = "SENDWRIGHT_BENCH_PINNED"
if (process.env[pinnedBy] === undefined) {
  const again = [process.execPath, fileURLToPath(import.meta.url), ...process.argv.slice(2)]
  const run = (command: string, given: ReadonlyArray<string>, pinned: string) =>
    spawnSync(command, given, { stdio: "inherit", env: { ...process.env, [pinnedBy]: pinned } })
  const pinned = run("taskset", ["-c", "0", ...again], "yes")
  const ended = pinned.error === undefined ? pinned : run(process.execPath, again.slice(1), "no")
  process.exit(ended.status ?? 1)
}

const root = new URL("../../../", import.meta.url)
const folder = new URL("bench/results/", root)
mkdirSync(folder, { recursive: true })

const fileOf = (part: string): URL => new URL(`${part}.json`, folder)

/** What was measured last, of each part. */
const kept = (): ReadonlyArray<Report.Results> =>
  parts.flatMap(({ name }) =>
    existsSync(fileOf(name)) ? [JSON.parse(readFileSync(fileOf(name), "utf8"))] : []
  )

const machine = Report.machine(process.env[pinnedBy] === "yes")
if (!machine.pinned)
  console.log("There is no taskset here: nothing is pinned, and ratios vary more than they would.\n")

let failures = 0
await withBench(options, async (bench) => {
  for (const part of parts) {
    if (positionals.length > 0 && !positionals.includes(part.name)) continue
    console.log(`${part.name} …`)
    const began = performance.now()
    // One that fails keeps its last figures, and the others have theirs.
    const figures = await part.run(bench).catch((error: unknown) => {
      failures += 1
      console.error(error)
      return undefined
    })
    if (figures === undefined) continue
    for (const figure of figures) console.log(Report.terminal(figure))
    console.log(`${part.name} took ${((performance.now() - began) / 1000).toFixed(0)} s\n`)
    const { quick, rounds } = bench
    const results: Report.Results = {
      part: part.name,
      at: new Date().toISOString(),
      quick,
      rounds,
      machine,
      figures
    }
    writeFileSync(fileOf(part.name), `${JSON.stringify(results, null, 2)}\n`)
  }
})

const results = kept()
const chart = new URL("chart.svg", folder)
writeFileSync(chart, Report.chart(results))
if (options["write-docs"]) Docs.write(root, results)
const short = results
  .flatMap(({ figures }) => figures.flatMap(({ targets }) => targets))
  .filter(({ passed }) => !passed)
console.log(
  `${short.length} target(s) are short, of all that were measured so far. ${fileURLToPath(folder)} has it all.`
)
process.exit(failures > 0 ? 1 : 0)
