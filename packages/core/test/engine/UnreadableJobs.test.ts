/** A job whose stored content was damaged, as its sender and the operator see it, over each SQL store. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { prepare } from "../../../../examples/support/prepare.ts"
import { emptyDatabase } from "../../../../test/support/Postgres.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

const phone = "34600001234"
const page = { limit: 10, after: null }

const sqlite = Sqlite.layer({ filename: ":memory:" })
const postgres = Layer.unwrapScoped(
  Effect.map(emptyDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
)

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("a job whose content was damaged (%s)", (_, stores) => {
  const engineLayer = Engine.layer().pipe(
    Layer.provideMerge(stores),
    Layer.provide(Sender.layer(Sandbox.make({ latencyMs: 0 }))),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(AddressPolicy.layer([])),
    Layer.provide(SecretBox.layerRandom)
  )

  it.live("is read with its template's name, waits for its content and can be canceled", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const sql = yield* SqlClient
      const { accountId, caller, templateId } = yield* prepare(engine, [phone])
      const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
      const request = { templateId, recipients }
      const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1", request })
      yield* sql`UPDATE sendwright_snapshot SET body = ''`
      // Its replay asks for no content.
      expect(yield* engine.send(caller, { idempotencyKey: "order-1", request })).toMatchObject({
        jobId,
        replayed: true
      })
      yield* engine.drain
      const seen = {
        job: { id: jobId, status: "queued", content: { kind: "template", templateId } },
        template: { name: "order_shipped", language: "en" },
        results: { items: [{ address: phone, status: "queued" }] },
        actualCost: null,
        waitingFor: { limiter: "content", until: null }
      }
      expect(yield* engine.job(caller, jobId, { page })).toMatchObject(seen)
      expect(yield* engine.admin.jobs.find(jobId, { page })).toMatchObject(seen)
      expect((yield* engine.admin.jobs.list({ accountId, page })).items).toMatchObject([seen.job])
      expect(yield* engine.cancel(caller, jobId)).toMatchObject({ status: "canceled" })
      const { items } = yield* engine.jobs(caller, { page })
      expect(items).toMatchObject([{ id: jobId, status: "canceled", counts: { canceled: 1 } }])
    }).pipe(Effect.provide(engineLayer))
  )
})
