/** How fast recipients are written, by the stores' own verb against the driver alone. */
import { join } from "node:path"
import type { Part } from "../Bench.ts"
import { start } from "../Child.ts"
import { figure, rounds } from "../Harness.ts"
import type { Writer } from "../subjects/Writer.ts"

const ours = "sendwright"

const stores = [
  { title: "SQLite", driver: "better-sqlite3", target: 0.9, atOnce: 1 },
  { title: "PostgreSQL", driver: "pg, one UNNEST statement", target: 0.8, atOnce: 8 }
] as const

export const write: Part = {
  name: "write",
  run: async (bench) => {
    const writer = (name: string, ...given: ReadonlyArray<string>) =>
      start<Writer>(new URL(`../subjects/${name}-writer.js`, import.meta.url), given)
    const file = (name: string): string => join(bench.folder(name), "write.db")
    const writers = {
      SQLite: [await writer("sendwright", "sqlite", file("ours")), await writer("sqlite", file("direct"))],
      PostgreSQL: [
        await writer("sendwright", "postgres", (await bench.database()).url),
        await writer("postgres", (await bench.database()).url)
      ]
    } as const
    const figures = []
    for (const { atOnce, driver, target, title } of stores) {
      const [own, direct] = writers[title]
      const samples = await rounds(
        bench.rounds,
        [[ours, own] as const, [driver, direct] as const].map(([name, child]) => ({
          name,
          warmUp: () => child.write(bench.either(1000, 3000), atOnce),
          measure: async () => ({ value: await child.write(bench.seconds * 1000, atOnce) })
        }))
      )
      figures.push(
        figure({
          part: "write",
          title: `jobs of 250 written, ${title}, ${atOnce} at once`,
          unit: "recipients/s",
          better: "more",
          ours,
          samples,
          targets: [{ against: driver, value: target }],
          note: "Each job is one synced commit. Ours records usage, prices and what a later event needs, too."
        })
      )
      await own.end()
      await direct.end()
    }
    return figures
  }
}
