/** The engine over a PostgreSQL pool of the app's, and sends in the app's own transactions (contract.md §11 "Embedding"). */

import * as SqlClient from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import { prepare } from "../../../../examples/support/prepare.ts"
import { connection, freshDatabase, migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { EmbeddedCommits } from "../../src/storage/EmbeddedCommits.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Worker from "../../src/worker/Worker.ts"

const poolOf = (url: string, options: Pg.PoolConfig = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const pool = new Pg.Pool({ connectionString: url, ...options })
      pool.on("error", () => {})
      return pool
    }),
    (pool) => Effect.promise(() => pool.end())
  )

const phones = Array.from({ length: 5 }, (_, n) => `3460000123${n}`)
const page = { limit: 100, after: null }

/** The engine over a pool of the app's, with a platform that tells what it was sent. */
const given = (url: string, options: Pg.PoolConfig = {}) =>
  Effect.gen(function* () {
    const pool = yield* poolOf(url, options)
    const sent: Array<string> = []
    const heard = new Map<string, Deferred.Deferred<void>>()
    const arrived = (phone: string) =>
      Effect.gen(function* () {
        const deferred = yield* Deferred.make<void>()
        heard.set(phone, deferred)
        if (sent.includes(phone)) yield* Deferred.succeed(deferred, undefined)
        yield* Effect.timeoutFail(Deferred.await(deferred), {
          duration: "5 seconds",
          onTimeout: () => new Error(`${phone} was not sent`)
        })
      }).pipe(Effect.withClock(realClock))
    const sender: Sender.Sender = {
      provider: "sandbox",
      deduplicates: true,
      send: ({ to }) =>
        Effect.gen(function* () {
          sent.push(to)
          const waiting = heard.get(to)
          if (waiting !== undefined) yield* Deferred.succeed(waiting, undefined)
          return Sender.accepted(null, "accepted")
        })
    }
    const context = yield* Layer.build(
      Engine.layer().pipe(
        Layer.provideMerge(Postgres.layer({ pool })),
        Layer.provide(Sender.layer(sender)),
        Layer.provide(RecordingTransport.layer),
        Layer.provide(AddressPolicy.layer([])),
        Layer.provide(SecretBox.layerRandom)
      )
    )
    const engine = Context.get(context, Engine.Engine)
    const { caller, templateId } = yield* prepare(engine, phones)
    const send = (idempotencyKey: string, phone = phones[0] ?? "", name = "Ana") =>
      engine.send(caller, {
        idempotencyKey,
        request: {
          templateId,
          recipients: [{ phone, variables: { "body.1": name, "body.2": "tomorrow" } }]
        }
      })
    /** A transaction of the app's own, on its pool. */
    const transaction = <A, E>(
      body: (client: Pg.PoolClient, within: ReturnType<typeof Postgres.within>) => Effect.Effect<A, E>
    ) =>
      Effect.acquireUseRelease(
        Effect.promise(async () => {
          const client = await pool.connect()
          await client.query("BEGIN")
          return client
        }),
        (client) => body(client, Postgres.within(client)),
        (client, exit) =>
          Effect.promise(async () => {
            await client.query(exit._tag === "Success" ? "COMMIT" : "ROLLBACK")
            client.release()
          })
      )
    const jobs = Effect.map(engine.jobs(caller, { page }), ({ items }) => items.length)
    const query = (client: Pg.ClientBase | Pg.Pool, text: string) => Effect.promise(() => client.query(text))
    return { arrived, context, engine, caller, jobs, pool, query, send, sent, transaction }
  })

const realClock = Effect.runSync(Effect.clock)

describe("over a pool of the app's", () => {
  it.live("the engine works, closes nothing of it, and two engines share its connections", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const pool = yield* poolOf(url, { max: 2 })
      const accounts = Effect.flatMap(AccountStore, (store) =>
        Effect.zipRight(store.create(Fixtures.account()), store.list(page))
      )
      const layer = Postgres.layer({ pool })
      const both = Effect.all([Effect.provide(accounts, layer), Effect.provide(accounts, layer)], {
        concurrency: 2
      })
      yield* both
      yield* both
      expect((yield* Effect.provide(accounts, layer)).items).toHaveLength(5)
      expect(pool.ended).toBe(false)
      const { rows } = yield* Effect.promise(() =>
        pool.query("SELECT count(*)::int AS count FROM sendwright_account")
      )
      expect(rows).toEqual([{ count: 5 }])
    }).pipe(Effect.scoped)
  )

  it.live("it is not migrated until told: by the engine, or by its SQL", () =>
    Effect.gen(function* () {
      const opened = (pool: Pg.Pool, migrate?: boolean) =>
        Effect.scoped(Layer.build(Postgres.layer({ pool, migrate })))
      for (const tell of [
        (pool: Pg.Pool) => Postgres.migrate({ pool }),
        (pool: Pg.Pool) => Effect.promise(() => pool.query(Postgres.migrationSql())),
        (pool: Pg.Pool) => opened(pool, true)
      ]) {
        const pool = yield* poolOf(yield* freshDatabase)
        expect(yield* Effect.flip(opened(pool))).toMatchObject({
          _tag: "MigrationError",
          message: expect.stringContaining("Call `migrate`, or run the SQL that `migrationSql` answers")
        })
        yield* tell(pool)
        yield* opened(pool)
        // Nothing is left to do for who migrates at its start.
        yield* opened(pool, true)
      }
    }).pipe(Effect.scoped)
  )

  it.live("the SQL behind the last migration has nothing to do", () =>
    Effect.gen(function* () {
      const pool = yield* poolOf(yield* migratedDatabase)
      const { rows } = yield* Effect.promise(() =>
        pool.query("SELECT max(id) AS last FROM sendwright_migration")
      )
      yield* Effect.promise(() => pool.query(Postgres.migrationSql(Number(rows[0].last))))
      yield* Layer.build(Postgres.layer({ pool }))
    }).pipe(Effect.scoped)
  )

  it.live(
    "an app that has all its connections in transactions with new content doesn't wait for itself",
    () =>
      Effect.gen(function* () {
        const { jobs, send, transaction } = yield* given(yield* migratedDatabase, {
          max: 3,
          connectionTimeoutMillis: 2000
        })
        const all = [1, 2, 3].map((n) =>
          transaction((_, within) => within(send(`order-${n}`, phones[n], `Person ${n}`)))
        )
        yield* Effect.all(all, { concurrency: "unbounded" })
        expect(yield* jobs).toBe(3)
      }).pipe(Effect.scoped)
  )

  it.live("a connection that breaks in use is a StorageError, and the process goes on", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const pool = yield* poolOf(url, { max: 1 })
      const accounts = Context.get(yield* Layer.build(Postgres.layer({ pool })), AccountStore)
      const other = yield* connection(url)
      yield* Effect.promise(() => other.query("BEGIN; LOCK sendwright_account"))
      const stuck = yield* Effect.fork(Effect.flip(accounts.create(Fixtures.account())))
      const end = Effect.promise(() =>
        other.query<{ readonly ended: boolean }>(
          "SELECT pg_terminate_backend(pid) AS ended FROM pg_locks WHERE relation = 'sendwright_account'::regclass AND NOT granted"
        )
      )
      yield* Effect.repeat(Effect.delay(end, "20 millis"), { until: ({ rows }) => rows.length > 0 })
      expect(yield* stuck).toMatchObject({ _tag: "StorageError" })
      yield* Effect.promise(() => other.query("COMMIT"))
      yield* accounts.create(Fixtures.account())
    }).pipe(Effect.scoped)
  )
})

describe("a send in a transaction of the app's", () => {
  // No time passes for the engine, so its loops never look by themselves.
  it.effect("is attempted at the commit, and never before it or after a rollback", () =>
    Effect.gen(function* () {
      const { arrived, context, query, send, sent, transaction } = yield* given(yield* migratedDatabase)
      yield* Layer.build(Layer.provide(Worker.layerLoops, Layer.succeedContext(context)))
      const [first = "", second = "", third = "", fourth = ""] = phones
      yield* transaction((_, within) => within(send("order-1", first)))
      yield* arrived(first)
      yield* transaction((client, within) =>
        Effect.gen(function* () {
          yield* within(send("order-2", second))
          yield* query(client, "SAVEPOINT mine")
          yield* within(send("order-3", third))
          yield* query(client, "ROLLBACK TO SAVEPOINT mine")
          // Whoever commits meanwhile wakes the engine for this one in vain.
          yield* transaction((_, within) => within(send("order-4", fourth)))
          yield* arrived(fourth)
          expect(sent).not.toContain(second)
        })
      )
      yield* arrived(second)
      expect(sent).toEqual([first, fourth, second])
    }).pipe(Effect.scoped)
  )

  it.effect("is heard of again after the listening connection broke, with what was missed", () =>
    Effect.gen(function* () {
      const url = yield* migratedDatabase
      const { context, query, pool, send, transaction } = yield* given(url)
      const listen = Context.get(context, EmbeddedCommits)
      let count = 0
      const heard = (atLeast: number) =>
        Effect.withClock(
          Effect.repeat(Effect.sleep("5 millis"), { until: () => count >= atLeast }).pipe(
            Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => new Error(`Heard ${count} times`) })
          ),
          realClock
        )
      yield* Effect.forkScoped(
        Effect.withClock(
          listen?.(() => {
            count += 1
          }) ?? Effect.never,
          realClock
        )
      )
      yield* heard(1)
      yield* transaction((_, within) => within(send("order-1")))
      yield* heard(2)
      const listening = "query LIKE 'LISTEN %' AND datname = current_database()"
      yield* query(pool, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${listening}`)
      yield* heard(3)
      yield* transaction((_, within) => within(send("order-2")))
      yield* heard(4)
    }).pipe(Effect.scoped)
  )

  it.live(
    "with its key twice in it is one send; a refusal leaves it whole; another's key is answered after it",
    () =>
      Effect.gen(function* () {
        const { jobs, query, send, transaction } = yield* given(yield* migratedDatabase)
        const first = yield* transaction((client, within) =>
          Effect.gen(function* () {
            yield* query(client, "CREATE TABLE purchase (id TEXT)")
            const one = yield* within(send("order-1"))
            const again = yield* within(send("order-1"))
            expect([again.jobId, again.replayed]).toEqual([one.jobId, true])
            const conflict = yield* Effect.flip(within(send("order-1", phones[1])))
            expect(conflict._tag).toBe("IdempotencyConflict")
            const unknown = yield* Effect.flip(within(send("order-2", "34699999999")))
            expect(unknown._tag).toBe("ConsentRequired")
            yield* query(client, "INSERT INTO purchase VALUES ('order-1')")
            return one
          })
        )
        const later = yield* transaction((_, within) => within(send("order-1")))
        expect([later.jobId, later.replayed, yield* jobs]).toEqual([first.jobId, true, 1])
      }).pipe(Effect.scoped)
  )
})

describe("what is handed over", () => {
  const handles = Effect.gen(function* () {
    const url = yield* migratedDatabase
    const other = yield* poolOf(yield* freshDatabase)
    const pool = yield* poolOf(url)
    const closed = yield* Effect.promise(() => pool.connect())
    const failed = yield* Effect.promise(() => pool.connect())
    const elsewhere = yield* Effect.promise(() => other.connect())
    yield* Effect.addFinalizer(() =>
      Effect.promise(async () => {
        await failed.query("ROLLBACK")
        await elsewhere.query("ROLLBACK")
        for (const client of [closed, failed, elsewhere]) client.release()
      })
    )
    yield* Effect.promise(async () => {
      await closed.query("BEGIN; COMMIT")
      await failed.query("BEGIN")
      await failed.query("SELECT 1 / 0").catch(() => {})
      await elsewhere.query("BEGIN")
    })
    const accounts = Context.get(yield* Layer.build(Postgres.layer({ pool })), AccountStore)
    return { accounts, closed, elsewhere, failed, pool }
  })

  it.live(
    "is refused with what to give: a pool, a transaction that ended or failed, another database's",
    () =>
      Effect.gen(function* () {
        const { accounts, closed, elsewhere, failed, pool } = yield* handles
        const refusals: ReadonlyArray<readonly [Postgres.Queryable, string]> = [
          [pool, "no transaction is open on the client that was handed over"],
          [closed, "no transaction is open on the client that was handed over"],
          [failed, "an earlier statement of the transaction failed"],
          [elsewhere, "without the engine's tables"]
        ]
        for (const [handle, reason] of refusals) {
          const error = yield* Effect.flip(Postgres.within(handle)(accounts.create(Fixtures.account())))
          expect(error._tag).toBe("StorageError")
          expect(error.message).toContain(reason)
        }
        expect((yield* accounts.list(page)).items).toEqual([])
      }).pipe(Effect.scoped)
  )

  it.live(
    "is refused with what to give, and never waited for: nothing, a client of Effect, one that breaks",
    () =>
      Effect.gen(function* () {
        const pool = yield* poolOf(yield* migratedDatabase)
        const stores = yield* Layer.build(Postgres.layer({ pool }))
        const accounts = Context.get(stores, AccountStore)
        const breaking: object = {
          executeUnprepared: () => {
            throw new TypeError("It breaks.")
          }
        }
        const odd: ReadonlyArray<readonly [handle: object, reason: string]> = [
          [{}, "Hand over the client that the transaction was begun on"],
          [
            Context.get(stores, SqlClient.SqlClient),
            "its `TransactionConnection`, and not the client itself"
          ],
          [breaking, "failed"]
        ]
        for (const [handle, reason] of odd) {
          // @ts-expect-error Plain JavaScript can hand over anything.
          const joined = Postgres.within(handle)
          const error = yield* Effect.flip(joined(accounts.create(Fixtures.account())))
          expect(error).toMatchObject({ _tag: "StorageError", message: expect.stringContaining(reason) })
        }
        expect((yield* accounts.list(page)).items).toEqual([])
      }).pipe(Effect.scoped)
  )

  it.live("may answer rows alone, with bigints, and errors that wrap the server's", () =>
    Effect.gen(function* () {
      const { jobs, pool, send, transaction } = yield* given(yield* migratedDatabase)
      const least = (client: Pg.PoolClient): Postgres.Queryable => ({
        query: async (text, values) => {
          const types: Pg.CustomTypesConfig = {
            getTypeParser: (type, format) =>
              type === 20 ? (value: string) => BigInt(value) : Pg.types.getTypeParser(type, format)
          }
          try {
            const { rows } = await client.query<Record<string, unknown>>({ text, values, types })
            return rows
          } catch (cause) {
            throw new Error("The statement failed", { cause })
          }
        }
      })
      const twice = yield* transaction((client) =>
        Postgres.within(least(client))(Effect.all([send("order-1"), send("order-1"), send("order-2")]))
      )
      expect(twice.map(({ replayed }) => replayed)).toEqual([false, true, false])
      expect(yield* jobs).toBe(2)
      const closed = yield* Effect.promise(() => pool.connect())
      const error = yield* Effect.flip(Postgres.within(least(closed))(send("order-3")))
      closed.release()
      expect(error.message).toContain("no transaction is open")
    }).pipe(Effect.scoped)
  )
})

it.live("the engine's own database may be left as it is, too", () =>
  Effect.gen(function* () {
    const url = Redacted.make(yield* freshDatabase)
    const error = yield* Effect.flip(Layer.build(Postgres.layer({ url, migrate: false })))
    expect(error._tag).toBe("MigrationError")
  }).pipe(Effect.scoped)
)
