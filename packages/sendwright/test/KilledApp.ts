/**
 * An app that is killed: it opens a transaction by each library, writes a row and sends in it, tells the job's id and never
 * commits. By words: the database's URL, the session, the secret key, and the phone.
 */
import { createSendwright } from "sendwright"
import { postgres } from "sendwright/postgres"
import { libraries } from "./PostgresLibraries.ts"

const [url = "", sessionId = "", secretKey = "", phone = ""] = process.argv.slice(2)

const sw = await createSendwright({
  store: postgres({ url }),
  senders: [{ provider: "own", send: () => Promise.reject(new Error("It never sends.")) }],
  secretKey,
  logLevel: "none"
})

for (const [name, open] of Object.entries(libraries)) {
  void open(url).transaction(async ({ run, tx }) => {
    await run("INSERT INTO app VALUES (9)")
    const idempotencyKey = `killed-${name.replaceAll(" ", "-")}`
    const message = { template: "hello", language: "en", to: [{ phone }], idempotencyKey }
    const { jobId } = await sw.session(sessionId).send(message, { tx })
    process.stdout.write(`${JSON.stringify([name, jobId])}\n`)
    await new Promise(() => {})
  })
}
