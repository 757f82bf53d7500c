/** How long it takes from the COMMIT of an app's transaction, in which a message was sent, to the call of the sender. */
import type { Part } from "../Bench.ts"
import { figure, rounds } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import { percentile } from "../Statistics.ts"

export const commit: Part = {
  name: "commit",
  run: async (bench) => {
    const queues = await Queues.embedded(bench)
    const samples = await rounds(
      bench.rounds,
      queues.map(([name, queue]) => ({
        name,
        warmUp: () => queue.commits(bench.either(40, 200)),
        measure: async () => {
          const latencies = await queue.commits(bench.either(15, 50))
          const [p50Ms, p99Ms] = [percentile(latencies, 0.5), percentile(latencies, 0.99)]
          return { value: p50Ms, p50Ms, p99Ms }
        }
      }))
    )
    for (const [, queue] of queues) await queue.end()
    return [
      figure({
        part: "commit",
        title: "the app's COMMIT to sender, idle, p50",
        unit: "ms",
        better: "less",
        ours: Queues.ours.postgres,
        samples,
        of: ({ p50Ms }) => p50Ms,
        targets: [
          { against: Queues.graphilePlain, value: 3 },
          { against: Queues.graphile, value: 3 }
        ],
        note: "From the call of COMMIT, which is synced to the disk."
      })
    ]
  }
}
