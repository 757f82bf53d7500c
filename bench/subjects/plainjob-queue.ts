/** plainjob on SQLite, made to sync its commits as we do; by itself it does not. Given: the file. */
import Sqlite from "better-sqlite3"
import { better, defineQueue, defineWorker } from "plainjob"
import { expose } from "../Child.ts"
import { counter, inBatches, latenciesOf, payload, payloads, type Queue, stopwatch } from "./Queue.ts"

const [filename = ""] = process.argv.slice(2)
const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: console.error }
const db = new Sqlite(filename)
const queue = defineQueue({ connection: better(db), logger })
db.pragma("synchronous = FULL")
if (db.pragma("synchronous", { simple: true }) !== 2) throw new Error("SQLite does not sync its commits.")
const handled = counter()

const start = (pollIntervall: number) => {
  const worker = defineWorker(
    "send",
    async () => {
      handled.hit()
      // Its loop awaits nothing else that would let the process hear the harness.
      await new Promise((resolve) => setImmediate(resolve))
    },
    { queue, logger, pollIntervall }
  )
  worker.start()
  return worker
}

expose<Queue>({
  fill: (recipients) => inBatches(recipients, async () => queue.addMany("send", payloads)),
  drain: async (recipients) => {
    const done = handled.until(recipients)
    const taken = stopwatch()
    const worker = start(5)
    await done
    // Its stop waits for its poll, which is no part of the work.
    const drained = taken(recipients)
    await worker.stop()
    return drained
  },
  latencies: async (count) => {
    const worker = start(50)
    const latencies = await latenciesOf(count, handled, async (n) => queue.add("send", payload(n)))
    await worker.stop()
    return latencies
  }
})
