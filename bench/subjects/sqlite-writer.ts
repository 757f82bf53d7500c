/** better-sqlite3 alone: a job and its recipients in one transaction. Given: the file. */
import { randomUUID } from "node:crypto"
import * as Store from "../baselines/Store.ts"
import { expose } from "../Child.ts"
import { payloads } from "./Queue.ts"
import { during, type Writer } from "./Writer.ts"

const [filename = ""] = process.argv.slice(2)
const write = Store.writer(filename)
const request = { template_id: 1, recipients: payloads }

expose<Writer>({
  write: (ms, atOnce) =>
    during(ms, atOnce, async () => {
      const idempotencyKey = randomUUID()
      write({ key: "pk_bench", idempotencyKey, fingerprint: idempotencyKey, request })
    })
})
