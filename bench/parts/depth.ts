/** Whether a drain is as fast with a million recipients behind it as with a thousand. */
import type { Bench, Part } from "../Bench.ts"
import { figure, rounds, type Variant } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import { batch, lead, overshoot } from "../subjects/Queue.ts"

const named = (depth: number): string => `${depth.toLocaleString("en-US")} behind`

/**
 * The same work amid each backlog, by loops that run before and after: what is measured is the drain, and neither how
 * its loops begin nor how they end.
 */
const variantOf = async (bench: Bench, store: Queues.Store, depth: number) => {
  const drained = bench.either(5000, 20_000)
  const { queue } = await Queues.sendwright(bench, store)
  const full = lead + overshoot + drained + depth
  let queued = 0
  const fill = async (): Promise<void> => {
    const missing = Math.ceil((full - queued) / batch) * batch
    await queue.fill(missing, batch)
    queued += missing
  }
  bench.say(`depth: filling ${named(depth)}, ${Queues.ours[store]}`)
  await fill()
  const variant: Variant = {
    name: named(depth),
    measure: async () => {
      const turn = await queue.drainAmid(drained)
      queued -= turn.sent
      await fill()
      const { cpuUs, ms, recipients } = turn.drained
      return { value: (recipients * 1000) / ms, cpuUs: cpuUs / recipients }
    }
  }
  return { queue, variant }
}

export const depth: Part = {
  name: "depth",
  run: async (bench) => {
    const depths = bench.either([1000, 5000], [1000, 100_000, 1_000_000])
    const figures = []
    for (const store of ["sqlite", "postgres"] as const) {
      const made = []
      for (const deep of depths) made.push(await variantOf(bench, store, deep))
      const [shallow = "", ...deeper] = depths.map(named)
      const samples = await rounds(
        bench.rounds,
        made.map(({ variant }) => variant)
      )
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
      for (const { queue } of made) await queue.end()
    }
    return figures
  }
}
