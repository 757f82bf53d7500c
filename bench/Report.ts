/** What is told of the figures: a table for the terminal, one for the documents, a chart, and JSON. */
import { cpus, totalmem } from "node:os"
import type { Compared, Figure } from "./Harness.ts"
import type { Spread } from "./Statistics.ts"

/** Where and how the figures were taken. */
export interface Machine {
  readonly node: string
  readonly cpu: string
  readonly memoryGiB: number
  readonly platform: string
  readonly pinned: boolean
}

export const machine = (pinned: boolean): Machine => ({
  node: process.version,
  cpu: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown"}`,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  platform: `${process.platform} ${process.arch}`,
  pinned
})

/** One part's figures, as they are kept in a file. */
export interface Results {
  readonly part: string
  readonly at: string
  readonly quick: boolean
  readonly rounds: number
  readonly machine: Machine
  readonly figures: ReadonlyArray<Figure>
}

const number = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en-US") : value.toFixed(2)

const within = ({ max, min }: Spread): string => `[${number(min)}..${number(max)}]`

const sign = ({ better }: Figure): string => (better === "more" ? "≥" : "≤")

const wanted = (figure: Figure, { against, value }: Compared): string =>
  against === null
    ? `${sign(figure)} ${number(value)} ${figure.unit}`
    : `${sign(figure)} ${value.toFixed(2)} × ${against}`

const verdict = ({ passed }: Compared): string => (passed ? "pass" : "short")

const columns = (rows: ReadonlyArray<ReadonlyArray<string>>): ReadonlyArray<string> => {
  const widths = rows.reduce<ReadonlyArray<number>>(
    (known, row) => row.map((cell, place) => Math.max(known[place] ?? 0, cell.length)),
    []
  )
  return rows.map((row) =>
    row
      .map((cell, place) => cell.padEnd(widths[place] ?? 0))
      .join("  ")
      .trimEnd()
  )
}

const msOrNone = (name: string, value: number | null): string =>
  value === null || Number.isNaN(value) ? "" : `${name} ${value.toFixed(2)} ms`

/** Ratios first; what they were made of below. */
export const terminal = (figure: Figure): string => {
  const targets = figure.targets.map((target) => [
    `  ${verdict(target)}`,
    number(target.ratio.median),
    within(target.ratio),
    wanted(figure, target),
    target.cpuRatio === null ? "" : `cpu ${number(target.cpuRatio.median)}`
  ])
  const variants = figure.variants.map(({ cpuUs, name, p50Ms, p99Ms, value }) => [
    `  ${name}`,
    `${number(value.median)} ${figure.unit}`,
    within(value),
    msOrNone("p50", p50Ms),
    msOrNone("p99", p99Ms),
    cpuUs === null ? "" : `${cpuUs.toFixed(1)} µs cpu each`
  ])
  return [
    `${figure.part}: ${figure.title}`,
    ...columns(targets),
    ...columns(variants),
    ...(figure.note === null ? [] : [`  ${figure.note}`]),
    ""
  ].join("\n")
}

const described = ({ at, machine, quick, rounds }: Results): string =>
  `${machine.cpu}, ${machine.memoryGiB} GiB, Node ${machine.node}, ${machine.pinned ? "pinned to one core" : "not pinned"}, ${rounds} rounds${quick ? ", quick" : ""}, ${at.slice(0, 10)}`

/** For the documents. */
export const markdown = (results: ReadonlyArray<Results>): string => {
  const header = ["", "what is measured", "ratio", "lowest to highest", "target", "Sendwright", "the other"]
  const rows = results.flatMap(({ figures }) =>
    figures.flatMap((figure) => {
      const own = figure.variants.find(({ name }) => name === figure.ours)
      return figure.targets.map((target) => {
        const other = figure.variants.find(({ name }) => name === target.against)
        return [
          target.passed ? "pass" : "short",
          `${figure.part}: ${figure.title}`,
          `**${number(target.ratio.median)}**`,
          `${number(target.ratio.min)} to ${number(target.ratio.max)}`,
          wanted(figure, target),
          own === undefined ? "" : `${number(own.value.median)} ${figure.unit}`,
          other === undefined ? "" : `${number(other.value.median)} ${figure.unit}`
        ]
      })
    })
  )
  const table = [header, header.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`)
  const taken = [...new Set(results.map(described))].join("; ")
  return [`Taken on ${taken}.`, "", ...table].join("\n")
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const row = { height: 22, label: 760, bar: 360, value: 110 }
const decades = 2

/** How far right of the line that is the target: one bar length for a hundredth to a hundredfold. */
const reach = (share: number): number =>
  Math.min(1, Math.max(0, (Math.log10(share) + decades) / (2 * decades))) * row.bar

/** A bar for each target: how much of it is reached, on a logarithmic scale, with the line where it is met. */
export const chart = (results: ReadonlyArray<Results>): string => {
  const bars = results.flatMap(({ figures }) =>
    figures.flatMap((figure) =>
      figure.targets.map((target) => ({
        label: `${figure.part}: ${figure.title}, ${wanted(figure, target)}`,
        share:
          figure.better === "more" ? target.ratio.median / target.value : target.value / target.ratio.median,
        value: number(target.ratio.median),
        passed: target.passed
      }))
    )
  )
  const [width, height] = [row.label + row.bar + row.value, (bars.length + 2) * row.height]
  const line = row.label + reach(1)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text x="${line}" y="${row.height - 7}" text-anchor="middle" fill="#333">target met</text>`,
    ...bars.flatMap(({ label, passed, share, value }, place) => {
      const top = (place + 1) * row.height
      return [
        `<text x="${row.label - 8}" y="${top + 15}" text-anchor="end" fill="#333">${escaped(label)}</text>`,
        `<rect x="${row.label}" y="${top + 3}" width="${reach(share).toFixed(1)}" height="${row.height - 6}" fill="${passed ? "#2a7f62" : "#c8553d"}"/>`,
        `<text x="${row.label + row.bar + 8}" y="${top + 15}" fill="#333">${escaped(value)}</text>`
      ]
    }),
    `<line x1="${line}" x2="${line}" y1="${row.height}" y2="${height - row.height}" stroke="#333" stroke-dasharray="3 3"/>`,
    "</svg>",
    ""
  ].join("\n")
}
