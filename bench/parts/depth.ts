/** Whether a drain is as fast with a million recipients behind it as with a thousand. */
import type { Part } from "../Bench.ts"
import { figure, rounds, type Variant } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import { batch } from "../subjects/Queue.ts"

const named = (depth: number): string => `${depth.toLocaleString("en-US")} queued`

export const depth: Part = {
  name: "depth",
  run: async (bench) => {
    const depths = bench.either([1000, 5000], [1000, 100_000, 1_000_000])
    // As much of each as the shallowest has, again and again, and then added again. With more behind it, what is in hand
    // at the end is done, too, and counted.
    const shallowest = 1000
    const turns = bench.either(1, 10)
    const figures = []
    for (const store of ["sqlite", "postgres"] as const) {
      const queues = []
      const variants: Array<Variant> = []
      for (const deep of depths) {
        const queue = await Queues.sendwright(bench, store)
        queues.push(queue)
        bench.say(`depth: filling ${named(deep)}, ${Queues.ours[store]}`)
        await queue.fill(deep, batch)
        variants.push({
          name: named(deep),
          measure: async () => {
            let [drained, took] = [0, 0]
            for (let turn = 0; turn < turns; turn++) {
              const { ms, recipients } = await queue.drain(shallowest)
              drained += recipients
              took += ms
              await queue.fill(Math.ceil(recipients / batch) * batch, batch)
            }
            return { value: (drained * 1000) / took }
          }
        })
      }
      const [shallow = "", ...deeper] = depths.map(named)
      const samples = await rounds(bench.rounds, variants)
      for (const name of deeper) {
        figures.push(
          figure({
            part: "depth",
            title: `drain with ${name}, ${store === "sqlite" ? "SQLite" : "PostgreSQL"}`,
            unit: "recipients/s",
            better: "more",
            ours: name,
            samples,
            targets: [{ against: shallow, value: 0.85 }]
          })
        )
      }
      for (const queue of queues) await queue.end()
    }
    return figures
  }
}
