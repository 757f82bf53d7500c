/**
 * Embed the engine on SQLite, next to your own tables: your row and the send are one transaction, so that an order
 * is never stored without its confirmation, nor the other way round. Background loops deliver.
 *
 *   SECRET_KEY=$(openssl rand -base64 32) npx tsx examples/embed-sqlite.ts
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Engine, Sandbox } from "@sendwright/core"
import { layerSqlite } from "@sendwright/core/sqlite"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { isMain } from "./support/isMain.ts"
import { prepare } from "./support/prepare.ts"

/**
 * `SECRET_KEY` is the same at every start: keep it where your other secrets are. The database remembers which key it was begun
 * with, and a start with another one fails with `WrongMasterKey`.
 */
export const layer = (filename: string) => layerSqlite({ filename, senders: [Sandbox.make()] })

export const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS purchase (id TEXT PRIMARY KEY, job_id TEXT NOT NULL)`
  const { caller, templateId } = yield* prepare(engine, ["34600001234"])

  const purchase = (id: string) =>
    Effect.gen(function* () {
      const { jobId } = yield* engine.send(caller, {
        idempotencyKey: id,
        request: {
          templateId,
          recipients: [{ phone: "34600001234", variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
        }
      })
      yield* sql`INSERT INTO purchase (id, job_id) VALUES (${id}, ${jobId})`
      return jobId
    }).pipe(sql.withTransaction)

  const jobId = yield* purchase("order-1001")

  // A failed transaction takes the send with it: this order leaves no job behind.
  const refused = yield* purchase("order-1002").pipe(
    Effect.zipRight(Effect.fail("the payment was declined")),
    sql.withTransaction,
    Effect.flip
  )
  const jobs = yield* engine.jobs(caller, { page: { limit: 25, after: null } })

  const settled = yield* engine
    .job(caller, jobId, { page: { limit: 250, after: null } })
    .pipe(
      Effect.delay("20 millis"),
      Effect.repeat({ until: ({ job }) => job.counts.delivered === job.recipients }),
      Effect.timeout("10 seconds")
    )
  return { status: settled.job.status, jobs: jobs.items.length, refused }
})

if (isMain(import.meta.url)) {
  const shown = Effect.flatMap(program, (result) => Console.log(JSON.stringify(result, null, 2)))
  Effect.runPromise(Effect.provide(shown, layer(":memory:")))
}
