/** How fast what was accepted is sent, by a sender that does nothing, and recorded as sent. */
import type { Part } from "../Bench.ts"
import type { Child } from "../Child.ts"
import { figure, rounds, type Variant, withCpu } from "../Harness.ts"
import * as Queues from "../Queues.ts"
import type { Queue } from "../subjects/Queue.ts"

const targets = {
  sqlite: {
    250: [
      { against: Queues.bullmq.everysec, value: 10 },
      { against: Queues.graphile, value: 5 }
    ],
    1: [
      { against: Queues.bullmq.everysec, value: 5 },
      { against: Queues.graphile, value: 2.5 }
    ]
  },
  postgres: {
    250: [{ against: Queues.graphile, value: 3 }],
    1: [{ against: Queues.graphile, value: 1.2 }]
  }
} as const

const variant = (name: string, queue: Child<Queue>, recipients: number, perJob: number): Variant => ({
  name,
  measure: async () => {
    await queue.fill(recipients, perJob)
    const { answer, cpuUs } = await withCpu(
      queue.pid,
      () => queue.drain(recipients),
      () => recipients
    )
    return { value: (recipients / answer) * 1000, cpuUs }
  }
})

export const drain: Part = {
  name: "drain",
  run: async (bench) => {
    const recipients = bench.either(2500, 20_000)
    const own = {
      sqlite: await Queues.sendwright(bench, "sqlite"),
      postgres: await Queues.sendwright(bench, "postgres")
    }
    const bullmqs = await Queues.bullmqs(bench)
    if (bullmqs.length === 0) bench.say(Queues.noRedis)
    const sqlitePeers = await Queues.onSqlite(bench)
    const fast = [...bullmqs, ...(await Queues.onPostgres(bench))]
    const peers = [
      ...fast.map(([name, queue]) => variant(name, queue, recipients, 1)),
      // One commit for each of its jobs: a tenth of them is enough.
      ...sqlitePeers.map(([name, queue]) => variant(name, queue, recipients / 10, 1))
    ]
    const figures = []
    for (const perJob of [250, 1] as const) {
      const ours = (["sqlite", "postgres"] as const).map((store) =>
        variant(Queues.ours[store], own[store], recipients, perJob)
      )
      const samples = await rounds(bench.rounds, [...ours, ...peers])
      for (const store of ["sqlite", "postgres"] as const) {
        const other = store === "sqlite" ? "postgres" : "sqlite"
        figures.push(
          figure({
            part: "drain",
            title: `drain of ${recipients.toLocaleString("en-US")}, ${perJob} per job, ${store === "sqlite" ? "SQLite" : "PostgreSQL"}`,
            unit: "recipients/s",
            better: "more",
            ours: Queues.ours[store],
            samples: new Map([...samples].filter(([name]) => name !== Queues.ours[other])),
            targets: targets[store][perJob],
            note: "The peers keep a job for each recipient; Sendwright keeps a send and records each recipient's result."
          })
        )
      }
    }
    for (const queue of [own.sqlite, own.postgres, ...[...fast, ...sqlitePeers].map(([, queue]) => queue)]) {
      await queue.end()
    }
    return figures
  }
}
