/** How long an idle queue takes from a send's acceptance on to the call of the sender, in one process. */
import type { Part } from "../Bench.ts"
import { figure, rounds } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import { percentile } from "../Statistics.ts"

export const latency: Part = {
  name: "latency",
  run: async (bench) => {
    const count = bench.either(15, 150)
    const bullmqs = await Queues.bullmqs(bench)
    if (bullmqs.length === 0) bench.say(Queues.noRedis)
    const graphiles = bench.quick ? [] : await Queues.graphileWorker(bench)
    const queues = [
      [Queues.ours.sqlite, await Queues.sendwright(bench, "sqlite")],
      [Queues.ours.postgres, await Queues.sendwright(bench, "postgres")],
      ...bullmqs,
      ...graphiles
    ] as const
    const samples = await rounds(
      bench.rounds,
      queues.map(([name, { queue }]) => ({
        name,
        warmUp: () => queue.latencies(bench.either(40, 200)),
        measure: async () => {
          const latencies = await queue.latencies(count)
          const [p50Ms, p99Ms] = [percentile(latencies, 0.5), percentile(latencies, 0.99)]
          return { value: p50Ms, p50Ms, p99Ms }
        }
      }))
    )
    for (const [, { queue }] of queues) await queue.end()
    const note = "From the call of send (or add), its commit included: ours is synced to the disk."
    const of = (title: string, ratio: number) => ({
      part: "latency",
      title,
      unit: "ms",
      better: "less" as const,
      ours: Queues.ours.sqlite,
      samples,
      targets: [{ against: Queues.bullmq.everysec, value: ratio }],
      note
    })
    return [
      figure({ ...of("send to sender, idle, p50", 1.2), of: ({ p50Ms }) => p50Ms }),
      figure({ ...of("send to sender, idle, p99", 1), of: ({ p99Ms }) => p99Ms })
    ]
  }
}
