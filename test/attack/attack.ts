/**
 * Attacks a host of its own and prints what that cost it. It exits with 1 when a figure is over its limit.
 *
 *   npm run attack -- [flood] [soak] [--minutes 10] [--quick]
 */
import { parseArgs } from "node:util"
import type { Attack } from "./Figures.ts"
import { flood } from "./Flood.ts"
import { soak } from "./Soak.ts"

const attacks: ReadonlyArray<Attack> = [flood, soak]

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: "string", default: "10" }, quick: { type: "boolean", default: false } }
})

const unknown = positionals.find((name) => attacks.every((attack) => attack.name !== name))
if (unknown !== undefined) {
  throw new Error(`There is no attack ${unknown}; there are ${attacks.map(({ name }) => name).join(", ")}.`)
}
const minutes = Number(values.minutes)
if (!(minutes > 0)) throw new Error("--minutes must be a number above 0.")

const chosen = attacks.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const rows: Array<ReadonlyArray<string>> = [["attack", "figure", "measured", "limit", ""]]
for (const { name, run } of chosen) {
  process.stderr.write(`${name} …\n`)
  for (const figure of await run({ size: values.quick ? "short" : "full", minutes })) {
    rows.push([name, figure.name, figure.measured, figure.limit, figure.isMet ? "" : "OVER"])
    if (!figure.isMet) process.exitCode = 1
  }
}

const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
for (const row of rows) {
  process.stdout.write(
    `${row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd()}\n`
  )
}
