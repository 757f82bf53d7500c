/** Nothing leaves from inside the embedder's own transaction (decisions.md §10), on every store that has any. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { prepare } from "../../../../examples/support/prepare.ts"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Errors from "../../src/domain/Errors.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type * as Stores from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Worker from "../../src/worker/Worker.ts"

const sqlite = Sqlite.layer({ filename: ":memory:" })
const postgres = Layer.unwrapScoped(
  Effect.map(migratedDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))
)

const phone = "34600001234"

/** A platform that counts what it is asked. */
const platform = () => {
  const asked = { sends: 0, checks: 0, templates: 0 }
  const sender: Sender.Sender = {
    provider: "sandbox",
    deduplicates: true,
    check: () =>
      Effect.sync(() => {
        asked.checks += 1
        return null
      }),
    templates: () =>
      Effect.sync(() => {
        asked.templates += 1
        return []
      }),
    send: () =>
      Effect.sync(() => {
        asked.sends += 1
        return Sender.accepted(null, "accepted")
      })
  }
  return { asked, sender }
}

const run = <A, E, E2>(
  stores: Layer.Layer<Stores.Stores | SqlClient, E2>,
  test: (given: {
    readonly engine: typeof Engine.Engine.Service
    readonly sql: SqlClient
    readonly asked: ReturnType<typeof platform>["asked"]
    readonly caller: Engine.Caller
    readonly accountId: string
    readonly templateId: number
    readonly rows: Effect.Effect<number>
  }) => Effect.Effect<A, E, Worker.Worker>
) => {
  const { asked, sender } = platform()
  const layer = Engine.layer().pipe(
    Layer.provideMerge(stores),
    Layer.provide(Sender.layer(sender)),
    Layer.provide(RecordingTransport.layer),
    Layer.provide(AddressPolicy.layer([])),
    Layer.provide(SecretBox.layerRandom)
  )
  return Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const sql = yield* SqlClient
    yield* sql`CREATE TABLE purchase (id TEXT PRIMARY KEY)`
    const prepared = yield* prepare(engine, [phone])
    Object.assign(asked, { sends: 0, checks: 0, templates: 0 })
    const rows = Effect.orDie(Effect.map(sql`SELECT id FROM purchase`, (found) => found.length))
    return yield* test({ engine, sql, asked, rows, ...prepared })
  }).pipe(Effect.provide(layer))
}

const direct = (idempotencyKey: string) => ({ idempotencyKey, request: { to: phone, message: "Hello" } })

const page = { limit: 100, after: null }

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("inside the embedder's transaction on %s", (_, stores) => {
  it.live("a direct message is refused, and nothing is sent or stored", () =>
    run(stores, ({ accountId, asked, caller, engine, rows, sql }) =>
      Effect.gen(function* () {
        const send = engine.sendDirect(caller, direct("order-1"))
        const purchase = Effect.zipRight(sql`INSERT INTO purchase (id) VALUES ('order-1')`, send)
        expect(yield* Effect.flip(sql.withTransaction(purchase))).toBeInstanceOf(Errors.InsideTransaction)
        const refused = yield* sql.withTransaction(Effect.flip(sql.withTransaction(send)))
        expect(refused).toMatchObject({ _tag: "InsideTransaction", operation: "engine.sendDirect" })
        expect(asked.sends).toBe(0)
        expect((yield* engine.admin.jobs.messages(accountId, page)).items).toEqual([])
        expect(yield* rows).toBe(0)
        // Its Idempotency-Key is free.
        expect((yield* send).replayed).toBe(false)
        expect(asked.sends).toBe(1)
      })
    )
  )

  it.live("`drain` is refused, and sends nothing", () =>
    run(stores, ({ asked, caller, engine, sql, templateId }) =>
      Effect.gen(function* () {
        const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
        const request = { template_id: templateId, recipients }
        yield* engine.send(caller, { idempotencyKey: "order-1", request })
        expect(yield* Effect.flip(sql.withTransaction(engine.drain))).toBeInstanceOf(Errors.InsideTransaction)
        expect(asked.sends).toBe(0)
        yield* engine.drain
        expect(asked.sends).toBe(1)
      })
    )
  )

  it.live("hooks, the connecting of a session and the sync of templates are refused before they begin", () =>
    run(stores, ({ asked, caller, engine, sql }) =>
      Effect.gen(function* () {
        const { id } = caller.session
        const request = { method: "POST", headers: {}, query: {}, body: new Uint8Array() } as const
        const hook = engine.hook("http", id, request)
        const refusals: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>]> = [
          ["engine.hook", hook],
          ["admin.sessions.connect", engine.admin.sessions.connect(id)],
          ["admin.templates.sync", engine.admin.templates.sync(id)]
        ]
        for (const [operation, refused] of refusals) {
          const error = yield* Effect.flip(sql.withTransaction(refused))
          expect(error).toMatchObject({ _tag: "InsideTransaction", operation })
        }
        expect(asked).toEqual({ sends: 0, checks: 0, templates: 0 })
        expect(yield* Effect.flip(hook)).toBeInstanceOf(Errors.NotFound)
        yield* engine.admin.sessions.connect(id)
        yield* engine.admin.templates.sync(id)
        expect(asked).toEqual({ sends: 0, checks: 1, templates: 1 })
      })
    )
  )

  it.live("the worker's loops do not start", () =>
    run(stores, ({ sql }) =>
      Effect.gen(function* () {
        const built = sql.withTransaction(Effect.scoped(Layer.build(Worker.layerLoops)))
        expect(yield* Effect.flip(built)).toMatchObject({
          _tag: "InsideTransaction",
          operation: "Worker.start"
        })
      })
    )
  )

  it.live("a fiber that was forked inside is refused while it lasts, and sends once it has outlived it", () =>
    run(stores, ({ asked, caller, engine, sql }) =>
      Effect.gen(function* () {
        const ended = yield* Deferred.make<void>()
        const send = engine.sendDirect(caller, direct("order-1"))
        const late = yield* sql.withTransaction(
          Effect.gen(function* () {
            const inside = yield* Effect.flip(Fiber.join(yield* Effect.fork(send)))
            expect(inside).toBeInstanceOf(Errors.InsideTransaction)
            return yield* Effect.forkDaemon(Effect.zipRight(Deferred.await(ended), send))
          })
        )
        expect(asked.sends).toBe(0)
        yield* Deferred.succeed(ended, undefined)
        expect((yield* Fiber.join(late)).status).toBe("accepted")
        expect(asked.sends).toBe(1)
      })
    )
  )

  it.live("a send is part of it, and is rolled back or committed with the embedder's row", () =>
    run(stores, ({ caller, engine, rows, sql, templateId }) =>
      Effect.gen(function* () {
        const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
        const request = { template_id: templateId, recipients }
        const purchase = Effect.zipRight(
          sql`INSERT INTO purchase (id) VALUES ('order-1')`,
          engine.send(caller, { idempotencyKey: "order-1", request })
        )
        const jobs = Effect.map(engine.jobs(caller, { page }), ({ items }) => items.length)
        yield* Effect.flip(sql.withTransaction(Effect.zipRight(purchase, Effect.fail("declined"))))
        expect([yield* rows, yield* jobs]).toEqual([0, 0])
        const { replayed } = yield* sql.withTransaction(purchase)
        expect([replayed, yield* rows, yield* jobs]).toEqual([false, 1, 1])
      })
    )
  )

  it.live("of another database a direct message is sent, by statements of its own database", () =>
    run(stores, ({ accountId, asked, caller, engine }) =>
      Effect.gen(function* () {
        const other = yield* Effect.map(Layer.build(sqlite), (context) => Context.get(context, SqlClient))
        yield* other.withTransaction(engine.sendDirect(caller, direct("order-1")))
        expect(asked.sends).toBe(1)
        expect((yield* engine.admin.jobs.messages(accountId, page)).items.length).toBe(1)
      }).pipe(Effect.scoped)
    )
  )
})
