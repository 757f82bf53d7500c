/**
 * graphile-worker with a local queue and completions in batches, which drains fastest, or "plain", as it comes. Given: the URL,
 * and which.
 */
import { Logger, makeWorkerUtils, type Runner, run } from "graphile-worker"
import Pg from "pg"
import { expose } from "../Child.ts"
import {
  counter,
  type Embedded,
  inBatches,
  latenciesOf,
  payload,
  payloads,
  type Queue,
  stopwatch
} from "./Queue.ts"

const [url = "", which = "batched"] = process.argv.slice(2)
const pgPool = new Pg.Pool({ connectionString: url, max: 20 })
const complain = (error: Error): void => console.error(error)
pgPool.on("error", complain)
pgPool.on("connect", (client) => client.on("error", complain))
const logger = new Logger(() => () => {})
const handled = counter()
const tools = await makeWorkerUtils({ pgPool, logger })
await tools.migrate()

const batched =
  which === "plain" ? {} : { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }

const start = (): Promise<Runner> =>
  run({
    pgPool,
    logger,
    noHandleSignals: true,
    taskList: { send: () => handled.hit() },
    preset: { worker: { concurrentJobs: 24, ...batched } }
  })

expose<Queue & Embedded>({
  fill: (recipients) =>
    inBatches(recipients, () => tools.addJobs(payloads.map((payload) => ({ identifier: "send", payload })))),
  drain: async (recipients) => {
    const done = handled.until(recipients)
    const taken = stopwatch()
    const runner = await start()
    await done
    await runner.stop()
    return taken(recipients)
  },
  latencies: async (count) => {
    const runner = await start()
    const latencies = await latenciesOf(count, handled, (n) => tools.addJob("send", payload(n)))
    await runner.stop()
    return latencies
  },
  commits: async (count) => {
    const runner = await start()
    const client = await pgPool.connect()
    const latencies = await latenciesOf(
      count,
      handled,
      () => client.query("COMMIT"),
      async (n) => {
        await client.query("BEGIN")
        await client.query("SELECT graphile_worker.add_job('send', $1::json)", [JSON.stringify(payload(n))])
      }
    )
    client.release()
    await runner.stop()
    return latencies
  }
})
