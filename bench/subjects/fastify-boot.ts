/** The least that a service on Fastify and SQLite is: it opens its database, listens and says so. Given: the file. */
import Sqlite from "better-sqlite3"
import Fastify from "fastify"

const [filename = ""] = process.argv.slice(2)
const db = new Sqlite(filename)
db.pragma("journal_mode = WAL")
const count = db.prepare("SELECT count(*) AS tables FROM sqlite_schema")
const app = Fastify({ logger: false })
app.get("/health/ready", async () => count.get())
await app.listen({ port: 0, host: "127.0.0.1" })
console.log("ready")
