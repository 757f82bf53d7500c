/** Writes figures into the documents, between the marks that are there for them. */
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Figure } from "./Harness.ts"
import { markdown, type Results } from "./Report.ts"

const between = (page: string, mark: string, text: string): string => {
  const [begin, end] = [`<!-- ${mark} -->`, `<!-- /${mark} -->`]
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`The page has no ${begin} … ${end}.`)
  return `${page.slice(0, from + begin.length)}\n\n${text}\n\n${page.slice(to)}`
}

const secondsPerDay = 86_400
/** What an operator plans with: a rate that is kept for all of a day leaves nothing for the hour that is busiest. */
const planned = 1 / 4

const rounded = (value: number): string => {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(value)) - 1)
  return (Math.floor(value / unit) * unit).toLocaleString("en-US")
}

const rate = (figures: ReadonlyArray<Figure>, part: string, title: string): number | undefined => {
  const found = figures.find((figure) => figure.part === part && figure.title.startsWith(title))
  return found?.variants.find(({ name }) => name === found.ours)?.value.median
}

/** What one core carries, by store. */
const capacity = (results: ReadonlyArray<Results>): string => {
  const figures = results.flatMap((each) => each.figures)
  const rows = ["SQLite", "PostgreSQL"].flatMap((store) => {
    const sent = rate(figures, "whole", `whole sends on one core with gateway and load, ${store}`)
    const drained = rate(figures, "drain", `drain, 250 per job, ${store}`)
    return sent === undefined
      ? []
      : [
          [
            store,
            rounded(sent),
            drained === undefined ? "–" : rounded(drained),
            rounded(sent * secondsPerDay),
            rounded(sent * secondsPerDay * planned)
          ]
        ]
  })
  const header = [
    "store",
    "messages a second, whole",
    "without a platform",
    "a day, at that rate",
    "a day, to plan with"
  ]
  return [header, header.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n")
}

/** Writes `docs/figures.md` and the capacity of `docs/performance.md` below `root`. */
export const write = (root: URL, results: ReadonlyArray<Results>): void => {
  const written = {
    figures: ["figures", markdown(results)],
    performance: ["capacity", capacity(results)]
  } as const
  for (const [name, [mark, text]] of Object.entries(written)) {
    const page = new URL(`docs/${name}.md`, root)
    writeFileSync(page, between(readFileSync(page, "utf8"), mark, text))
    // Tables have their columns aligned, as everywhere in the documents.
    const biome = fileURLToPath(new URL("node_modules/@biomejs/biome/bin/biome", root))
    spawnSync(process.execPath, [biome, "format", "--write", fileURLToPath(page)], { stdio: "inherit" })
  }
}
