/** How fast what was accepted is sent, by a sender that does nothing, and recorded as sent. */
import type { Bench, Part } from "../Bench.ts"
import { figure, rounds, type Variant } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import { batch, type Queue } from "../subjects/Queue.ts"

const targets = {
  sqlite: {
    250: [
      { against: Queues.bullmq.everysec, value: 10 },
      { against: Queues.graphile, value: 5 }
    ],
    1: [
      { against: Queues.bullmq.everysec, value: 5 },
      { against: Queues.graphile, value: 1.5 }
    ]
  },
  postgres: {
    250: [{ against: Queues.graphile, value: 2.5 }],
    1: [{ against: Queues.graphile, value: 1.2 }]
  }
} as const

/**
 * Every queue has done so much before it is measured: V8 compiles for so long the code that runs for each recipient. A slow
 * queue does as much as it can in the time.
 */
const warm = { recipients: 150_000, leastSeconds: 12, mostSeconds: 90 }
const warmQuickly = { recipients: 0, leastSeconds: 1, mostSeconds: 1 }

/**
 * As much as fits a turn, from what the last one took: the slowest is a thousand times slower than the fastest. Filling
 * may take longer, up to this many turns: a drain of a few thousand would mostly measure how the loops start.
 */
const turnsToFill = 15

const variant = (
  bench: Bench,
  name: string,
  { database, queue }: Queues.Measured<Queue>,
  perJob: number
): Variant => {
  let recipients = 2 * batch
  let done = 0
  const measure = async () => {
    const count = recipients
    const began = performance.now()
    await queue.fill(count, perJob)
    const fillMs = performance.now() - began
    // For all alike: graphile-worker falls to a tenth where the planner knows nothing of what was just added.
    await database?.vacuum()
    const serverBefore = await database?.serverCpuUs()
    const { cpuUs, ms: drainMs } = await queue.drain(count)
    const serverAfter = await database?.serverCpuUs()
    done += count
    const turnMs = bench.seconds * 1000
    const fitting = count * Math.min(turnMs / drainMs, (turnsToFill * turnMs) / fillMs)
    recipients = batch * Math.min(400, Math.max(1, Math.round(fitting / batch)))
    return {
      value: (count / drainMs) * 1000,
      cpuUs: cpuUs / count,
      serverCpuUs:
        serverBefore === undefined || serverAfter === undefined
          ? undefined
          : (serverAfter - serverBefore) / count
    }
  }
  return {
    name,
    measure,
    warmUp: async () => {
      const began = performance.now()
      const passed = () => (performance.now() - began) / 1000
      const until = bench.either(warmQuickly, warm)
      while (passed() < until.leastSeconds || (done < until.recipients && passed() < until.mostSeconds))
        await measure()
    }
  }
}

export const drain: Part = {
  name: "drain",
  run: async (bench) => {
    const own = {
      sqlite: await Queues.sendwright(bench, "sqlite"),
      postgres: await Queues.sendwright(bench, "postgres")
    }
    const bullmqs = await Queues.bullmqs(bench)
    if (bullmqs.length === 0) bench.say(Queues.noRedis)
    const others = [...bullmqs, ...(await Queues.graphileWorker(bench)), ...(await Queues.others(bench))]
    const cases = (["sqlite", "postgres"] as const).flatMap((store) =>
      ([250, 1] as const).map((perJob) => ({
        name: `${Queues.ours[store]}, ${perJob} per job`,
        store,
        perJob
      }))
    )
    const samples = await rounds(bench.rounds, [
      ...cases.map(({ name, perJob, store }) => variant(bench, name, own[store], perJob)),
      ...others.map(([name, queue]) => variant(bench, name, queue, 1))
    ])
    const figures = cases.map(({ name, perJob, store }) =>
      figure({
        part: "drain",
        title: `drain, ${perJob} per job, ${store === "sqlite" ? "SQLite" : "PostgreSQL"}`,
        unit: "recipients/s",
        better: "more",
        ours: name,
        samples: new Map(
          [...samples].filter(([each]) => each === name || others.some(([peer]) => peer === each))
        ),
        targets: targets[store][perJob],
        note: "The peers keep a job for each recipient; Sendwright keeps a send and records each recipient's result."
      })
    )
    const onPostgres = [Queues.ours.postgres, Queues.graphile, Queues.pgBoss]
    figures.push(
      figure({
        part: "drain",
        title: "the server's CPU for each job of 1, PostgreSQL",
        unit: "µs",
        better: "less",
        ours: `${Queues.ours.postgres}, 1 per job`,
        samples: new Map([...samples].filter(([each]) => onPostgres.some((name) => each.startsWith(name)))),
        of: ({ serverCpuUs }) => serverCpuUs,
        targets: [{ against: null, value: 20 }]
      })
    )
    for (const { queue } of [own.sqlite, own.postgres, ...others.map(([, measured]) => measured)]) {
      await queue.end()
    }
    return figures
  }
}
