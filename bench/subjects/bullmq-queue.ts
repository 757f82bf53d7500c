/** BullMQ on Redis, jobs forgotten once they are done. Given: the port. */
import { Queue as Jobs, Worker } from "bullmq"
import { expose } from "../Child.ts"
import { counter, inBatches, latenciesOf, payload, payloads, type Queue, stopwatch } from "./Queue.ts"

const [port = ""] = process.argv.slice(2)
const name = "bench"
const connection = { host: "127.0.0.1", port: Number(port), maxRetriesPerRequest: null }
const forget = { removeOnComplete: true, removeOnFail: true }
const jobs = new Jobs(name, { connection })
const handled = counter()

/** The concurrency that drains fastest. */
const concurrency = 100

const worker = async (): Promise<Worker> => {
  const worker = new Worker(name, async () => handled.hit(), { connection, concurrency })
  await worker.waitUntilReady()
  return worker
}

await jobs.waitUntilReady()
expose<Queue>({
  fill: (recipients) =>
    inBatches(recipients, () => jobs.addBulk(payloads.map((data) => ({ name: "send", data, opts: forget })))),
  drain: async (recipients) => {
    const done = handled.until(recipients)
    const taken = stopwatch()
    const running = await worker()
    await done
    await running.close()
    return taken(recipients)
  },
  latencies: async (count) => {
    const running = await worker()
    const latencies = await latenciesOf(count, handled, (n) => jobs.add("send", payload(n), forget))
    await running.close()
    return latencies
  }
})
