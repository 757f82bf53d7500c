/** The engine over a SQLite handle of the app's, and sends in the app's own transactions (contract.md §11 "Embedding"). */
import { createRequire } from "node:module"
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import * as SqliteHandle from "../../src/storage/sqlite/OverHandle.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import * as Worker from "../../src/worker/Worker.ts"

const phones = Array.from({ length: 5 }, (_, n) => `3460000123${n}`)
const page = { limit: 100, after: null }

/** As `node:sqlite` shows a database: other names, statements that all answer rows, errors with a number. */
const asNode = (database: Sqlite.Database): SqliteHandle.Handle => {
  const told = <A>(step: () => A): A => {
    try {
      return step()
    } catch (cause) {
      if (!(cause instanceof Sqlite.SqliteError)) throw cause
      const errcode = cause.code.startsWith("SQLITE_CONSTRAINT") ? 1555 : 1
      throw Object.assign(new Error(cause.message), { code: "ERR_SQLITE_ERROR", errcode })
    }
  }
  return {
    get isTransaction() {
      return database.inTransaction
    },
    get isOpen() {
      return database.open
    },
    exec: (text) => told(() => database.exec(text)),
    prepare: (text) => {
      const statement = told(() => database.prepare<Array<unknown>, object>(text))
      return {
        setReadBigInts: () => {},
        all: (...values) =>
          told(() => {
            if (statement.reader) return statement.all(...values)
            statement.run(...values)
            return []
          }),
        run: (...values) => told(() => ({ changes: BigInt(statement.run(...values).changes) }))
      }
    }
  }
}

const opened: Effect.Effect<Sqlite.Database, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => new Sqlite(":memory:")),
  (database) => Effect.sync(() => database.close())
)

/** Node's own, in a Node that has it. */
const nodes: Effect.Effect<SqliteHandle.Handle> | undefined = (() => {
  try {
    const { DatabaseSync } = createRequire(import.meta.url)("node:sqlite")
    const handle: SqliteHandle.Handle = new DatabaseSync(":memory:")
    return handle.isTransaction === undefined ? undefined : Effect.sync(() => new DatabaseSync(":memory:"))
  } catch {
    return undefined
  }
})()

const handles: ReadonlyArray<readonly [string, Effect.Effect<SqliteHandle.Handle, never, Scope.Scope>]> = [
  ["better-sqlite3", opened],
  [
    "better-sqlite3 that reads all integers as bigints",
    Effect.tap(opened, (database) => database.defaultSafeIntegers(true))
  ],
  ["a handle as node:sqlite has it", Effect.map(opened, asNode)],
  ...(nodes === undefined ? [] : [["node:sqlite", nodes] as const])
]

const given = (database: SqliteHandle.Handle) =>
  Effect.gen(function* () {
    const sent: Array<string> = []
    const arrivals = new Map<string, Deferred.Deferred<void>>()
    const sender: Sender.Sender = {
      provider: "sandbox",
      deduplicates: true,
      send: ({ to }) =>
        Effect.suspend(() => {
          sent.push(to)
          const arrival = arrivals.get(to)
          const told = arrival === undefined ? Effect.void : Deferred.succeed(arrival, undefined)
          return Effect.as(told, Sender.accepted(null, "accepted"))
        })
    }
    const context = yield* Layer.build(
      Engine.layer().pipe(
        Layer.provideMerge(SqliteHandle.layer({ database, migrate: true })),
        Layer.provide(Sender.layer(sender)),
        Layer.provide(RecordingTransport.layer),
        Layer.provide(AddressPolicy.layer([])),
        Layer.provide(SecretBox.layerRandom)
      )
    )
    const engine = Context.get(context, Engine.Engine)
    const { caller, templateId } = yield* prepare(engine, phones)
    const send = (idempotencyKey: string, phone = phones[0] ?? "") =>
      engine.send(caller, {
        idempotencyKey,
        request: {
          templateId,
          recipients: [{ phone, variables: { "body.1": "Ana", "body.2": "tomorrow" } }]
        }
      })
    const within = SqliteHandle.within(database)
    /** A transaction of the app's that is over when this returns. */
    const transaction = <A>(body: () => A): A => {
      database.exec("BEGIN")
      try {
        const value = body()
        database.exec("COMMIT")
        return value
      } catch (cause) {
        database.exec("ROLLBACK")
        throw cause
      }
    }
    const sendSync = (idempotencyKey: string, phone?: string) =>
      Effect.runSync(within(send(idempotencyKey, phone)))
    const arrived = (phone: string) =>
      Effect.gen(function* () {
        const arrival = yield* Deferred.make<void>()
        arrivals.set(phone, arrival)
        if (!sent.includes(phone)) yield* Deferred.await(arrival)
      })
    const jobs = Effect.map(engine.jobs(caller, { page }), ({ items }) => items.length)
    return { arrived, caller, context, engine, jobs, send, sendSync, sent, transaction, within }
  })

describe.each(handles)("in a synchronous transaction of %s", (_, handle) => {
  it.live("a send is accepted at once, and is committed, or rolled back, with the app's row", () =>
    Effect.gen(function* () {
      const database = yield* handle
      const { engine, jobs, sendSync, sent, transaction } = yield* given(database)
      database.exec("CREATE TABLE purchase (id TEXT PRIMARY KEY)")
      const purchase = (id: string, phone?: string) =>
        transaction(() => {
          database.exec(`INSERT INTO purchase VALUES ('${id}')`)
          return sendSync(id, phone)
        })
      const rows = () => database.prepare("SELECT id FROM purchase").all().length
      const { jobId } = purchase("order-1", phones[0])
      expect(() =>
        transaction(() => {
          sendSync("order-2", phones[1])
          throw new Error("declined")
        })
      ).toThrow("declined")
      yield* engine.drain
      expect([rows(), yield* jobs, sent]).toEqual([1, 1, [phones[0]]])
      expect(transaction(() => sendSync("order-1"))).toMatchObject({ jobId, replayed: true })
      expect(transaction(() => sendSync("order-2")).replayed).toBe(false)
    }).pipe(Effect.scoped)
  )

  it.live(
    "its key twice is one send, a savepoint undoes one, and a refusal leaves the transaction whole",
    () =>
      Effect.gen(function* () {
        const database = yield* handle
        const { jobs, send, sendSync, transaction, within } = yield* given(database)
        const refused = transaction(() => {
          const first = sendSync("order-1")
          expect(sendSync("order-1")).toEqual({ ...first, replayed: true })
          database.exec("SAVEPOINT mine")
          sendSync("order-2")
          database.exec("ROLLBACK TO mine; RELEASE mine")
          return [
            Effect.runSync(Effect.flip(within(send("order-1", phones[1])))),
            Effect.runSync(Effect.flip(within(send("order-3", "34699999999"))))
          ]
        })
        expect(refused.map(({ _tag }) => _tag)).toEqual(["IdempotencyConflict", "ConsentRequired"])
        expect(yield* jobs).toBe(1)
      }).pipe(Effect.scoped)
  )

  it.live("it is attempted after the commit, and never before it", () =>
    Effect.gen(function* () {
      const database = yield* handle
      const { arrived, context, send, sendSync, sent, transaction, within } = yield* given(database)
      yield* Layer.build(Layer.provide(Worker.layerLoops, Layer.succeedContext(context)))
      const [first = "", second = "", third = ""] = phones
      transaction(() => sendSync("order-1", first))
      yield* arrived(first)
      // One that stays open over turns of the event loop.
      database.exec("BEGIN")
      yield* within(send("order-2", second))
      const other = yield* Effect.fork(send("order-3", third))
      yield* Effect.sleep("50 millis")
      expect([sent, (yield* Fiber.poll(other))._tag]).toEqual([[first], "None"])
      database.exec("COMMIT")
      yield* Effect.all([arrived(second), Fiber.join(other), arrived(third)])
      expect(sent).toHaveLength(3)
    }).pipe(Effect.scoped)
  )
})

describe("over a handle of the app's", () => {
  it.live(
    "a send outside of its transactions needs no turn of the event loop, and none falls into them",
    () =>
      Effect.gen(function* () {
        const database = yield* opened
        const { jobs, send, transaction } = yield* given(database)
        expect(Effect.runSync(send("order-1")).replayed).toBe(false)
        // Not handed over: it waits for the end, and is no part of the transaction.
        const late = Effect.runSync(Deferred.make<Engine.Acknowledgement, unknown>())
        const rolledBack = () =>
          transaction(() => {
            Effect.runFork(Deferred.complete(late, send("order-2")))
            throw new Error("declined")
          })
        expect(rolledBack).toThrow("declined")
        expect((yield* Deferred.await(late)).replayed).toBe(false)
        expect(yield* jobs).toBe(2)
      }).pipe(Effect.scoped)
  )

  it.live("what is handed over is refused with what to give: another handle, one without a transaction", () =>
    Effect.gen(function* () {
      const database = yield* opened
      const other = yield* opened
      const { caller, engine, jobs, send, within } = yield* given(database)
      expect((yield* Effect.flip(within(send("order-1")))).message).toContain("no transaction is open")
      other.exec("BEGIN")
      const wrong = yield* Effect.flip(SqliteHandle.within(other)(send("order-1")))
      expect(wrong.message).toContain("is not the one that the engine was given")
      database.exec("BEGIN")
      const direct = { idempotencyKey: "order-1", request: { to: phones[0] ?? "", message: "Hello" } }
      expect(yield* Effect.flip(within(engine.sendDirect(caller, direct)))).toMatchObject({
        _tag: "InsideTransaction"
      })
      const outlived = yield* within(Effect.forkDaemon(Effect.delay(send("order-1"), "20 millis")))
      expect(yield* Effect.flip(Fiber.join(outlived))).toMatchObject({ _tag: "ForeignTransaction" })
      database.exec("COMMIT")
      expect(yield* jobs).toBe(0)
    }).pipe(Effect.scoped)
  )

  it.live("the schema is there only once it was asked for, by the engine or by its SQL", () =>
    Effect.gen(function* () {
      const open = (database: SqliteHandle.Handle) =>
        Effect.scoped(Layer.build(SqliteHandle.layer({ database })))
      for (const tell of [
        SqliteHandle.migrate,
        (database: SqliteHandle.Handle) => Effect.sync(() => database.exec(SqliteHandle.migrationSql()))
      ]) {
        const database = yield* opened
        expect(yield* Effect.flip(open(database))).toMatchObject({ _tag: "MigrationError" })
        yield* tell(database)
        yield* open(database)
        yield* SqliteHandle.migrate(database)
        expect(database.open).toBe(true)
      }
    }).pipe(Effect.scoped)
  )

  it.live("one that was closed, and what is no handle, are a StorageError that says so", () =>
    Effect.gen(function* () {
      const database = yield* opened
      const { send } = yield* given(database)
      database.close()
      expect((yield* Effect.flip(send("order-1"))).message).toContain("handle was closed")
      const none: SqliteHandle.Handle = { exec: () => {}, prepare: () => Object(null) }
      const error = yield* Effect.flip(Layer.build(SqliteHandle.layer({ database: none })))
      expect(error.message).toContain("Give a Database of better-sqlite3")
    }).pipe(Effect.scoped)
  )
})
