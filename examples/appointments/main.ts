/**
 * The app on the sandbox, which delivers to nobody.
 *
 *   npx tsx examples/appointments/main.ts
 */
import Database from "better-sqlite3"
import { createSendwright, sandbox } from "sendwright"
import { sqlite } from "sendwright/sqlite"
import { makeApp } from "./app.ts"
import { onSqlite } from "./calendar.ts"
import { prepare } from "./setup.ts"

const database = new Database(process.env["DATABASE"] ?? "appointments.db")
database.pragma("journal_mode = WAL")
// Yours comes from the environment (`openssl rand -base64 32`), and stays the same for a database.
const secretKey = process.env["SECRET_KEY"] ?? Buffer.alloc(32, "example").toString("base64")
const store = sqlite({ database, migrate: true })
const sw = await createSendwright({ store, senders: [sandbox()], secretKey })

/** The first start makes the account and its session. */
const first = async <A>(items: AsyncIterable<A>): Promise<A | undefined> => {
  for await (const item of items) return item
  return undefined
}
const account =
  (await first(sw.admin.accounts.list())) ?? (await sw.admin.accounts.create({ name: "Practice" }))
const accountId = account.id
const session =
  (await first(sw.admin.sessions.list({ accountId }))) ??
  (await sw.admin.sessions.create({ accountId, name: "main", provider: "sandbox" }))
await prepare(sw, session.id)

const calendar = onSqlite(database, sw.session(session.id))
const http = makeApp({ calendar, sw, accountId, sessionId: session.id })
await sw.start()
console.log(await http.listen({ port: Number(process.env["PORT"] ?? 3000) }))

const stop = async () => {
  await http.close()
  await sw.stop()
  database.close()
}
process.once("SIGINT", stop).once("SIGTERM", stop)
