/** Nothing leaves from inside the embedder's own transaction (contract.md §10), on every store that has any. */
import { SqlClient, TransactionConnection } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as PgClient from "@effect/sql-pg/PgClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import Pg from "pg"
import { prepare } from "../../../../examples/support/prepare.ts"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Errors from "../../src/domain/Errors.ts"
import * as Acting from "../../src/engine/Acting.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import type * as Stores from "../../src/storage/Stores.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
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
        expect((yield* engine.admin.jobs.messages({ accountId, page })).items).toEqual([])
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
        const request = { templateId, recipients }
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
        const request = { templateId, recipients }
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
})

/** Tried in a transaction that the engine does not know, each is refused before it begins. */
const everywhere = (
  { accountId, caller, engine, templateId }: Parameters<Parameters<typeof run>[1]>[0],
  idempotencyKey = "order-1"
) => {
  const { id } = caller.session
  const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
  const request = { templateId, recipients }
  const hook = { method: "POST", headers: {}, query: {}, body: new Uint8Array() } as const
  const operations: Readonly<Record<string, Effect.Effect<unknown, unknown, Worker.Worker>>> = {
    "engine.send": engine.send(caller, { idempotencyKey, request }),
    "engine.sendDirect": engine.sendDirect(caller, direct(idempotencyKey)),
    "engine.jobs": engine.jobs(caller, { page }),
    "engine.receive": engine.receive([]),
    "engine.hook": engine.hook("http", id, hook),
    "engine.drain": engine.drain,
    "admin.accounts.find": engine.admin.accounts.find(accountId),
    "admin.sessions.connect": engine.admin.sessions.connect(id),
    "admin.templates.sync": engine.admin.templates.sync(id),
    "admin.secrets.reseal": engine.admin.secrets.reseal,
    "Worker.start": Effect.scoped(Layer.build(Worker.layerLoops))
  }
  return Object.entries(operations)
}

const foreignClients = Effect.gen(function* () {
  const url = yield* migratedDatabase
  const pg = yield* Effect.map(
    Layer.build(PgClient.layer({ url: Redacted.make(url) })),
    (context): SqlClient => Context.get(context, SqlClient)
  )
  const other = yield* Effect.map(Layer.build(sqlite), (context) => Context.get(context, SqlClient))
  return [pg, other]
})

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres]
] as const)("inside a transaction of another client, with the engine on %s,", (_, stores) => {
  it.live("every operation fails with ForeignTransaction, and nothing is sent, stored or asked", () =>
    run(stores, (given) =>
      Effect.gen(function* () {
        const { accountId, asked, caller, engine, sql } = given
        for (const client of yield* foreignClients) {
          for (const [operation, refused] of everywhere(given)) {
            const error = yield* Effect.flip(client.withTransaction(refused))
            expect(error).toMatchObject({ _tag: "ForeignTransaction", operation })
          }
          // Our own client's transactions are none inside another's.
          const nested = yield* Effect.flip(client.withTransaction(sql.withTransaction(Effect.void)))
          expect(nested).toMatchObject({ _tag: "SqlError", cause: { _tag: "ForeignTransaction" } })
        }
        expect(asked).toEqual({ sends: 0, checks: 0, templates: 0 })
        expect((yield* engine.jobs(caller, { page })).items).toEqual([])
        expect((yield* engine.admin.jobs.messages({ accountId, page })).items).toEqual([])
      }).pipe(Effect.scoped)
    )
  )

  it.live("stores fail with a StorageError that says so", () =>
    Effect.gen(function* () {
      const accounts = yield* AccountStore
      for (const client of yield* foreignClients) {
        for (const verb of [accounts.create(Fixtures.account()), accounts.find("none")]) {
          const error = yield* Effect.flip(client.withTransaction(verb))
          expect(error).toMatchObject({ _tag: "StorageError", cause: { _tag: "ForeignTransaction" } })
        }
      }
    }).pipe(Effect.provide(stores), Effect.scoped)
  )

  it.live("what leaves the context of the transaction is outside of it, on its own account", () =>
    run(stores, ({ asked, caller, engine }) =>
      Effect.gen(function* () {
        const [client] = yield* foreignClients
        const outside = Effect.mapInputContext(
          engine.sendDirect(caller, direct("order-1")),
          Context.omit(TransactionConnection)<never>
        )
        yield* client?.withTransaction(outside) ?? Effect.void
        expect(asked.sends).toBe(1)
      }).pipe(Effect.scoped)
    )
  )
})

const isSqlError = (error: unknown): error is SqlError => error instanceof SqlError

/** A transaction of the embedder's own client on the engine's database, which is handed over to the engine. */
type Own = <A, E, R>(
  body: (sql: (text: string) => Promise<unknown>) => Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/** By `pg`, or by any client that knows no more than it has to: text for 64 bits, no count, no fields, errors of its own. */
const ownTransactions = (url: string): Readonly<Record<string, Effect.Effect<Own, never, Scope.Scope>>> => {
  const connected = Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Pg.Client(url)
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  const transactionOf =
    (client: Pg.Client, handed: Postgres.Queryable): Own =>
    (body) =>
      Effect.acquireUseRelease(
        Effect.promise(() => client.query("BEGIN")),
        () => Postgres.within(handed)(body((text) => client.query(text))),
        (_, exit) => Effect.promise(() => client.query(Exit.isSuccess(exit) ? "COMMIT" : "ROLLBACK"))
      )
  const least = (client: Pg.Client): Postgres.Queryable => ({
    query: async (text, values) => {
      try {
        const { rows } = await client.query<Record<string, unknown>>(text, values)
        return { rows }
      } catch (cause) {
        const { code } = Object(cause)
        throw Object.assign(new Error("It was refused"), { code })
      }
    }
  })
  const effectful = Effect.gen(function* () {
    const client = yield* Effect.orDie(
      Effect.map(Layer.build(PgClient.layer({ url: Redacted.make(url) })), (context) =>
        Context.get(context, SqlClient)
      )
    )
    const own: Own = (body) =>
      client
        .withTransaction(
          Effect.flatMap(Effect.orDie(Effect.serviceOptional(TransactionConnection)), ([connection]) =>
            Postgres.within(connection)(
              body((text) => Effect.runPromise(connection.execute(text, [], undefined)))
            )
          )
        )
        .pipe(Effect.catchIf(isSqlError, Effect.die))
    return own
  })
  return {
    pg: Effect.map(connected, (client) => transactionOf(client, client)),
    "a client of the least that is needed": Effect.map(connected, (client) =>
      transactionOf(client, least(client))
    ),
    PgClient: effectful
  }
}

describe.each(["pg", "a client of the least that is needed", "PgClient"])(
  "inside a transaction of %s that was handed over",
  (name) => {
    const handedOver = <A, E>(
      test: (given: Parameters<Parameters<typeof run>[1]>[0], own: Own) => Effect.Effect<A, E, Worker.Worker>
    ) =>
      Effect.scoped(
        Effect.gen(function* () {
          const url = yield* migratedDatabase
          const own = yield* ownTransactions(url)[name] ?? Effect.die(`There is no ${name}`)
          return yield* run(Postgres.layer({ url: Redacted.make(url) }), (given) => test(given, own))
        })
      )

    it.live(
      "a send is rolled back with the embedder's row: no order, no message; or sent once after the commit",
      () =>
        handedOver(({ asked, caller, engine, rows, templateId }, own) =>
          Effect.gen(function* () {
            const recipients = [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
            const request = { templateId, recipients }
            const order = (end: Effect.Effect<void, string>) =>
              own((query) =>
                Effect.gen(function* () {
                  yield* Effect.promise(() => query("INSERT INTO purchase (id) VALUES ('order-1')"))
                  const { replayed } = yield* engine.send(caller, { idempotencyKey: "order-1", request })
                  yield* Effect.forkDaemon(engine.drain).pipe(
                    Effect.mapInputContext(Context.omit(TransactionConnection)<never>),
                    Effect.flatMap(Fiber.join)
                  )
                  expect([replayed, asked.sends]).toEqual([false, 0])
                  yield* end
                })
              )
            const jobs = Effect.map(engine.jobs(caller, { page }), ({ items }) => items.length)
            expect(yield* Effect.flip(order(Effect.fail("declined")))).toBe("declined")
            yield* engine.drain
            expect([yield* rows, yield* jobs, asked.sends]).toEqual([0, 0, 0])
            yield* order(Effect.void)
            yield* engine.drain
            yield* engine.drain
            expect([yield* rows, yield* jobs, asked.sends]).toEqual([1, 1, 1])
          })
        )
    )

    it.live("what acts outside the database is refused, and acts of an operator belong to it", () =>
      handedOver((given, own) =>
        Effect.gen(function* () {
          const { asked, engine } = given
          const acting = ["engine.sendDirect", "engine.hook", "engine.drain", "admin.sessions.connect"]
          const outside = [...acting, "admin.templates.sync", "Worker.start"]
          for (const [operation, refused] of everywhere(given)) {
            if (!outside.includes(operation)) continue
            const error = yield* Effect.flip(own(() => refused))
            expect(error).toMatchObject({ _tag: "InsideTransaction", operation })
          }
          expect(asked).toEqual({ sends: 0, checks: 0, templates: 0 })
          const asAna = Acting.as({ operator: "ana", address: "203.0.113.7", requestId: "request-1" })
          const made = (plan: string) =>
            asAna(
              engine.admin.operators
                .create({ name: plan, role: "read" })
                .pipe(
                  Effect.zipRight(engine.admin.operators.list(page)),
                  Effect.zipLeft(engine.admin.audit.list({ page }))
                )
            )
          const names = Effect.map(engine.admin.operators.list(page), ({ items }) =>
            items.map((each) => each.name)
          )
          yield* Effect.flip(own(() => Effect.zipRight(made("ben"), Effect.fail("declined"))))
          expect(yield* names).toEqual([])
          yield* own(() => made("ben"))
          expect(yield* names).toEqual(["ben"])
          const failed = own(() => Effect.zipRight(Effect.flip(made("ben")), made("cem")))
          yield* failed
          expect((yield* names).toSorted()).toEqual(["ben", "cem"])
        })
      )
    )

    it.live(
      "a fiber that outlives the hand-over is in a foreign one, since nobody can say that it ended",
      () =>
        handedOver(({ asked, caller, engine }, own) =>
          Effect.gen(function* () {
            const ended = yield* Deferred.make<void>()
            const send = Effect.zipRight(Deferred.await(ended), engine.sendDirect(caller, direct("order-1")))
            const late = yield* own(() => Effect.forkDaemon(send))
            yield* Deferred.succeed(ended, undefined)
            expect(yield* Effect.flip(Fiber.join(late))).toBeInstanceOf(Errors.ForeignTransaction)
            expect(asked.sends).toBe(0)
          })
        )
    )
  }
)

it.live("a client that has no transaction open, or answers no rows, is refused", () =>
  Effect.gen(function* () {
    const url = yield* migratedDatabase
    const context = yield* Layer.build(Postgres.layer({ url: Redacted.make(url) }))
    const accounts = Context.get(context, AccountStore)
    const client = new Pg.Client(url)
    yield* Effect.promise(() => client.connect())
    const rowless = { query: () => Promise.resolve(Object({})) }
    for (const handed of [client, rowless]) {
      const error = yield* Effect.flip(Postgres.within(handed)(accounts.create(Fixtures.account())))
      expect(error).toMatchObject({ _tag: "StorageError" })
    }
    yield* Effect.promise(() => client.end())
    expect((yield* accounts.list(page)).items).toEqual([])
  }).pipe(Effect.scoped)
)
