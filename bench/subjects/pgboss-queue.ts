/** pg-boss, fetched and completed by hand in large batches, which drains faster than its own loops. Given: the URL. */
import PgBoss from "pg-boss"
import { expose } from "../Child.ts"
import { counter, inBatches, latenciesOf, payload, payloads, type Queue, stopwatch } from "./Queue.ts"

const [url = ""] = process.argv.slice(2)
const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
boss.on("error", (error) => console.error(error))
await boss.start()
const name = "send"
await boss.createQueue(name)
const handled = counter()

const loops = 4
const batchSize = 500

expose<Queue>({
  fill: (recipients) => inBatches(recipients, () => boss.insert(payloads.map((data) => ({ name, data })))),
  drain: async (recipients) => {
    let left = recipients
    const taken = stopwatch()
    await Promise.all(
      Array.from({ length: loops }, async () => {
        while (left > 0) {
          const jobs = await boss.fetch(name, { batchSize })
          if (jobs.length > 0) {
            await boss.complete(
              name,
              jobs.map(({ id }) => id)
            )
          }
          left -= jobs.length
        }
      })
    )
    return taken(recipients)
  },
  latencies: async (count) => {
    const options = { batchSize, pollingIntervalSeconds: 0.5 }
    await boss.work(name, options, async (jobs) => handled.hit(jobs.length))
    const latencies = await latenciesOf(count, handled, (n) => boss.send(name, payload(n)))
    await boss.offWork(name)
    return latencies
  }
})
