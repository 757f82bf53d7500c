/**
 * An app that is killed: it opens a transaction by each library on a file of its own, writes a row and sends in it, tells the
 * job and never commits. By words: the secret key, and each library's name with its file.
 */
import { createSendwright } from "sendwright"
import { sqlite } from "sendwright/sqlite"
import { libraries, type Open } from "./SqliteLibraries.ts"

const [secretKey = "", ...given] = process.argv.slice(2)
const opens: Readonly<Record<string, Open>> = libraries
const phone = "34600001234"
const components = [{ type: "BODY", text: "Hello" }]
const template = { name: "hello", language: "en", category: "UTILITY", status: "APPROVED", components }

for (const each of given) {
  const [name, file]: readonly [string, string] = JSON.parse(each)
  const library = opens[name]?.(file)
  if (library === undefined) throw new Error(`There is no library ${name}.`)
  const sw = await createSendwright({
    store: sqlite({ database: library.database, migrate: true }),
    senders: [{ provider: "own", send: () => Promise.reject(new Error("It never sends.")) }],
    secretKey,
    logLevel: "none"
  })
  const account = await sw.admin.accounts.create({
    name: "Shop",
    currency: "EUR"
  })
  const { id } = await sw.admin.sessions.create({ accountId: account.id, name: "main", provider: "own" })
  await sw.admin.sessions.connect({ id })
  await sw.admin.templates.import({ sessionId: id, templates: [template] })
  await sw.admin.consents.record({ accountId: account.id, consents: [{ phone, source: "test" }] })
  library.database.exec("BEGIN IMMEDIATE")
  library.database.exec("INSERT INTO app VALUES (9)")
  const message = { template: "hello", language: "en", to: [{ phone }], idempotencyKey: "killed" }
  const sent = await sw.session(id).send(message, { tx: library.made() })
  process.stdout.write(`${JSON.stringify([name, sent])}\n`)
}
setInterval(() => {}, 60_000)
