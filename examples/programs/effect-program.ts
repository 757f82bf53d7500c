/** How do I send from an Effect program, in its transaction? */
import * as SqlClient from "@effect/sql/SqlClient"
import { Engine, Sandbox } from "@sendwright/core"
import { layerSqlite } from "@sendwright/core/sqlite"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

const template = { name: "hi", language: "en", category: "UTILITY", status: "APPROVED" }
const components = [{ type: "BODY", text: "Your order is on its way." }]
const phone = "34600001234"

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE purchase (id TEXT PRIMARY KEY)`
  const account = yield* engine.admin.accounts.create({ name: "Shop" })
  const session = yield* engine.admin.sessions.create(account.id, { name: "main", provider: "sandbox" })
  const { templates } = yield* engine.admin.templates.importAll(session.id, [{ ...template, components }])
  const { templateId } = yield* Effect.fromNullable(templates[0])
  yield* engine.admin.consents.record(account.id, [{ phone, source: "form" }])
  const caller = yield* engine.callerOf(session.id)

  const order = (id: string) =>
    Effect.zipRight(
      sql`INSERT INTO purchase (id) VALUES (${id})`,
      engine.send(caller, { idempotencyKey: id, request: { templateId, recipients: [{ phone }] } })
    )
  yield* sql.withTransaction(order("1"))
  const declined = Effect.zipRight(order("2"), Effect.fail("The card was declined."))
  const reason = yield* Effect.flip(sql.withTransaction(declined))
  const { items } = yield* engine.jobs(caller, { page: { limit: 25, after: null } })
  yield* Console.log(`${reason} ${(yield* sql`SELECT id FROM purchase`).length} order, ${items.length} job`)
})

const layer = layerSqlite({ filename: ":memory:", senders: [Sandbox.make()] })
const keys = ConfigProvider.fromMap(new Map([["SECRET_KEY", Buffer.alloc(32, "any").toString("base64")]]))
await Effect.runPromise(Effect.withConfigProvider(Effect.provide(program, layer), keys))

//> The card was declined. 1 order, 1 job
