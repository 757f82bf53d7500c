/** How do I send in my transaction? */
import Database from "better-sqlite3"
import { fromBetterSqlite3, sqlite } from "sendwright/sqlite"
import { createTestSendwright } from "sendwright/testing"

const database = new Database(":memory:")
database.exec("CREATE TABLE orders (id TEXT PRIMARY KEY)")
const t = await createTestSendwright({ store: sqlite({ database, migrate: true }) })
await t.template("order_shipped", "Hello {{1}}, your order is on its way.")
await t.consent("34600001234")

/** The order and its message are one commit. */
const order = database.transaction((id: string, isPaid: boolean) => {
  database.prepare("INSERT INTO orders (id) VALUES (?)").run(id)
  const to = { phone: "34600001234", variables: { "body.1": "Ana" } }
  const message = { template: "order_shipped", to, idempotencyKey: `order-${id}` }
  t.session.sendSync(message, { tx: fromBetterSqlite3(database) })
  if (!isPaid) throw new Error("The card was declined.")
})

order("1", true)
try {
  order("2", false)
} catch (error) {
  console.log(`order 2: ${error instanceof Error ? error.message : error}`)
}
await t.advance("1 min")
const orders = database.prepare("SELECT id FROM orders").all()
console.log(`${orders.length} order, ${t.person("34600001234").inbox.length} message`)
await t.stop()

//> order 2: The card was declined.
//> 1 order, 1 message
