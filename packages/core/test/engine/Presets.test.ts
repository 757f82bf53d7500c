/** One layer for each store has all that an embedding needs, and asks for one secret. */
import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import { prepare } from "../../../../examples/support/prepare.ts"
import { freshDatabase, migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { layerMemory } from "../../src/preset/Memory.ts"
import { layerPostgres } from "../../src/preset/Postgres.ts"
import { layerSqlite } from "../../src/preset/Sqlite.ts"
import { layerSqliteHandle } from "../../src/preset/SqliteHandle.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"

const secretKey = Redacted.make(Buffer.alloc(32, 1).toString("base64"))
const sandbox = () => Sandbox.make({ latencyMs: 0, receiptDelayMs: 0 })
const phone = "34600001234"
const page = { limit: 25, after: null }

/** One message until it was delivered, by the loops. */
const oneMessage = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { caller, templateId } = yield* prepare(engine, [phone])
  const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
  const request = { templateId, recipients }
  const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1", request })
  return yield* engine.job(caller, jobId, { page }).pipe(
    Effect.delay("5 millis"),
    Effect.map(({ results }) => results.items[0]?.status),
    Effect.repeat({ until: (status) => status === "delivered" }),
    Effect.timeout("15 seconds")
  )
})

describe("a preset", () => {
  it.live("in memory needs no key, and takes senders that have a life of their own", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      expect(engine.senders.map(({ provider }) => provider)).toEqual(["sandbox", "http"])
      expect(yield* oneMessage).toBe("delivered")
    }).pipe(Effect.provide(layerMemory({ senders: [sandbox(), HttpGateway.make()] })))
  )

  it.live("that does not start accepts, and sends when it is drained", () =>
    Effect.gen(function* () {
      const engine = yield* Engine.Engine
      const { caller, templateId } = yield* prepare(engine, [phone])
      const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
      const request = { templateId, recipients }
      const { jobId } = yield* engine.send(caller, { idempotencyKey: "order-1", request })
      const status = Effect.map(engine.job(caller, jobId, { page }), ({ job }) => job.status)
      yield* Effect.sleep("20 millis")
      expect(yield* status).toBe("queued")
      yield* engine.drain
      expect(yield* status).toBe("completed")
    }).pipe(Effect.provide(layerMemory({ senders: [sandbox()], start: false })))
  )

  it.live("on SQLite, by its file or by a handle, and on PostgreSQL, by a URL or by a pool, sends", () =>
    Effect.gen(function* () {
      const senders = [sandbox()]
      const pool = yield* Effect.acquireRelease(
        Effect.map(freshDatabase, (url) => {
          const pool = new Pg.Pool({ connectionString: url })
          pool.on("error", () => {})
          return pool
        }),
        (pool) => Effect.promise(() => pool.end())
      )
      const url = Redacted.make(yield* migratedDatabase)
      const database = new Database(":memory:")
      const statuses = yield* Effect.all([
        Effect.provide(oneMessage, layerSqlite({ filename: ":memory:", senders, secretKey })),
        Effect.provide(oneMessage, layerSqliteHandle({ database, migrate: true, senders, secretKey })),
        Effect.provide(oneMessage, layerPostgres({ url, senders, secretKey })),
        Effect.provide(oneMessage, layerPostgres({ pool, migrate: true, senders, secretKey }))
      ])
      expect(statuses).toEqual(["delivered", "delivered", "delivered", "delivered"])
      expect([database.open, pool.ended]).toEqual([true, false])
    }).pipe(Effect.scoped)
  )

  it.live("takes its key from SECRET_KEY, and says what it has to be", () =>
    Effect.gen(function* () {
      const started = (settings: ReadonlyArray<readonly [string, string]>) =>
        Effect.scoped(Layer.build(layerSqlite({ filename: ":memory:", senders: [sandbox()] }))).pipe(
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(settings)))
        )
      yield* started([["SECRET_KEY", Redacted.value(secretKey)]])
      for (const wrong of ["", "too short", `${Redacted.value(secretKey)},x`]) {
        const error = yield* Effect.flip(started([["SECRET_KEY", wrong]]))
        expect(String(error)).toContain("32 bytes in base64")
        if (wrong !== "") expect(String(error)).not.toContain(wrong)
      }
      expect(String(yield* Effect.flip(started([])))).toContain("SECRET_KEY")
    })
  )
})
