/** What holds of PostgreSQL alone: nodes that start together, connections that break, the embedder's transaction. */

import { inspect } from "node:util"
import * as Client from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { describe, expect, it, vi } from "@effect/vitest"
import * as Arr from "effect/Array"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import Pg from "pg"
import * as Logged from "../../../../../test/support/Logged.ts"
import { connection, emptyDatabase, freshDatabase } from "../../../../../test/support/Postgres.ts"
import * as Time from "../../../src/domain/Instant.ts"
import { AccountStore } from "../../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../../src/storage/ApiKeyStore.ts"
import { AuditStore } from "../../../src/storage/AuditStore.ts"
import { ConsentStore } from "../../../src/storage/ConsentStore.ts"
import { InboundStore } from "../../../src/storage/InboundStore.ts"
import { JobStore, Outcome } from "../../../src/storage/JobStore.ts"
import { KeyringStore } from "../../../src/storage/KeyringStore.ts"
import { OperatorStore } from "../../../src/storage/OperatorStore.ts"
import type { Program } from "../../../src/storage/Program.ts"
import { all, get, run, script } from "../../../src/storage/Program.ts"
import * as Database from "../../../src/storage/postgres/Database.ts"
import * as DiskSpace from "../../../src/storage/postgres/DiskSpace.ts"
import * as Postgres from "../../../src/storage/postgres/Postgres.ts"
import { migrations } from "../../../src/storage/postgres/Schema.ts"
import { RateCardStore } from "../../../src/storage/RateCardStore.ts"
import { RateLimitStore } from "../../../src/storage/RateLimitStore.ts"
import { SessionStore } from "../../../src/storage/SessionStore.ts"
import { fullDisk, StorageError } from "../../../src/storage/StorageError.ts"
import { integer, textOrNull } from "../../../src/storage/sql/Columns.ts"
import * as Stores from "../../../src/storage/sql/Database.ts"
import type { Migration } from "../../../src/storage/sql/Migrations.ts"
import { MigrationError } from "../../../src/storage/sql/Migrations.ts"
import { impersonal } from "../../../src/storage/sql/Personal.ts"
import { TemplateStore } from "../../../src/storage/TemplateStore.ts"
import { WebhookStore } from "../../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"
import * as StorageSuite from "../../StorageSuite/index.ts"
import { owner, writeSegment } from "../../StorageSuite/Setup.ts"

const stores = (url: string) => Postgres.layer({ url: Redacted.make(url) })

StorageSuite.suite("postgres", Layer.unwrapScoped(Effect.map(emptyDatabase, stores)))

const query = (client: Pg.Client, text: string) =>
  Effect.promise(() => client.query<Readonly<Record<string, unknown>>>(text)).pipe(
    Effect.map(({ rows }) => rows)
  )

const table: Migration = {
  id: 1,
  name: "items",
  statements: `CREATE TABLE item (id INTEGER PRIMARY KEY, body TEXT);
    CREATE TABLE child (item INTEGER REFERENCES item (id) DEFERRABLE INITIALLY DEFERRED)`
}

const opened = (url: string, list: ReadonlyArray<Migration> = [table]) =>
  Layer.build(Database.layer({ url: Redacted.make(url), migrations: list }))

/** Over a connection that lives on: the server is not told the statement, and the client that it failed. */
const onceFailing = <A, E, R>(text: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    Effect.sync(() => {
      const query: (...given: ReadonlyArray<unknown>) => unknown = Pg.Client.prototype.query
      const canceled = Object.assign(new Error("canceling statement due to user request"), { code: "57014" })
      const spy = vi.spyOn(Pg.Client.prototype, "query").mockImplementation(function (
        this: Pg.Client,
        ...given: ReadonlyArray<unknown>
      ) {
        if (given[0] !== text) return Reflect.apply(query, this, given)
        spy.mockRestore()
        const answer = given.at(-1)
        return typeof answer === "function" ? answer(canceled) : Promise.reject(canceled)
      })
      return spy
    }),
    () => effect,
    (spy) => Effect.sync(() => spy.mockRestore())
  )

const database = Effect.gen(function* () {
  const url = yield* freshDatabase
  const context = yield* opened(url)
  return {
    url,
    db: Context.get(context, Stores.Database),
    sql: Context.get(context, Client.SqlClient),
    other: yield* connection(url)
  }
})

const insert = (id: number) => () => run("INSERT INTO item (id, body) VALUES (?, 'x')", id)

const ids = function* () {
  return (yield* all("SELECT id FROM item ORDER BY id")).map((row) => row["id"])
}

describe("an address", () => {
  const refusal = (url: string) => Effect.flip(Effect.scoped(Layer.build(stores(url))))

  it.live("that no server has is told with what, where and what to do, and without the password", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const database = yield* freshDatabase
        const other = (change: (url: URL) => void) => {
          const url = new URL(database)
          url.password = "hunter2-secret"
          change(url)
          return url.href
        }
        const { hostname, port } = new URL(database)
        const cases: ReadonlyArray<readonly [string, string]> = [
          [
            other((url) => {
              url.port = "1"
            }),
            `PostgreSQL at ${hostname}:1 (database ${new URL(database).pathname.slice(1)}, user postgres) cannot be opened: connect ECONNREFUSED ${hostname}:1. Nothing listens there: start PostgreSQL, or correct host and port.`
          ],
          [
            other((url) => {
              url.pathname = "/nowhere"
              url.password = new URL(database).password
            }),
            `PostgreSQL at ${hostname}:${port} (database nowhere, user postgres) cannot be opened: database "nowhere" does not exist. Create the database, or correct its name.`
          ],
          [
            other(() => {}),
            `cannot be opened: password authentication failed for user "postgres". Correct user and password.`
          ],
          ["postgres://ana:hunter2-secret@host:port/x", "The address of the database cannot be read."]
        ]
        for (const [url, told] of cases) {
          const error = yield* refusal(url)
          expect(error).toMatchObject({ _tag: "StorageError" })
          expect(error.message).toContain(told)
          expect(inspect(error, { depth: 10 })).not.toContain("hunter2")
        }
      })
    )
  )
})

describe("nodes that start together on an empty database", () => {
  // The long form is run by `BOOTS=100`.
  const rounds = Number(process.env["BOOTS"] ?? 5)
  it.scopedLive(
    "are all up, and it is migrated once",
    () =>
      Effect.repeatN(
        Effect.scoped(
          Effect.gen(function* () {
            const url = yield* freshDatabase
            const nodes = yield* Effect.forEach([1, 2, 3, 4], () => Effect.exit(Layer.build(stores(url))), {
              concurrency: "unbounded"
            })
            expect(nodes.map(Exit.isSuccess)).toEqual([true, true, true, true])
            const [row] = yield* query(yield* connection(url), "SELECT count(*) FROM sendwright_migration")
            expect(Number(row?.["count"])).toBe(migrations.length)
          })
        ),
        rounds - 1
      ),
    rounds * 5000
  )
})

describe("a migration", () => {
  const second: Migration = { id: 2, name: "more", statements: "CREATE TABLE more (id INTEGER)" }
  const third: Migration = { id: 3, name: "last", statements: "CREATE TABLE last (id INTEGER)" }
  const refused = (url: string, list: ReadonlyArray<Migration>) =>
    Effect.map(Effect.flip(Effect.scoped(opened(url, list))), (error) =>
      error instanceof MigrationError ? error.message : "another error"
    )

  it.scopedLive("that was altered, skipped or is unknown stops the start", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.scoped(opened(url, [table, second]))
      expect(yield* refused(url, [table, { ...second, statements: "SELECT 1" }])).toContain("altered")
      expect(yield* refused(url, [table])).toContain("newer build")
      const other = yield* connection(url)
      yield* query(other, "DELETE FROM sendwright_migration WHERE id = 1")
      expect(yield* refused(url, [table, second, third])).toContain("gap")
      expect(yield* refused(url, [table, third])).toContain("its id should be 2")
    })
  )

  it.scopedLive("of a later build lets those start that it works beside, and no older ones", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.scoped(opened(url, [table, second, { ...third, compatibleFrom: 2 }]))
      yield* Effect.scoped(opened(url, [table, second]))
      expect(yield* refused(url, [table])).toContain("too old")
    })
  )

  it.scopedLive("waits for the end of builds that do not work beside it, and for no others", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const other = yield* connection(url)
      const running = yield* Scope.make()
      const context = yield* Scope.extend(opened(url), running)
      const read = Context.get(context, Stores.Database).read("ids", ids)
      yield* read
      expect(yield* refused(url, [table, second])).toContain("of an older build are open")
      expect(yield* query(other, "SELECT to_regclass('more') AS there")).toEqual([{ there: null }])
      yield* Effect.scoped(opened(url, [table, { ...second, compatibleFrom: 1 }]))
      expect(yield* read).toEqual([])
      expect(yield* refused(url, [table, { ...second, compatibleFrom: 1 }, third])).toContain("older build")
      yield* Scope.close(running, Exit.void)
      yield* Effect.scoped(opened(url, [table, { ...second, compatibleFrom: 1 }, third]))
    })
  )

  it.scopedLive("that is applied lets a boot pass while somebody reads the history", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      yield* Effect.scoped(opened(url))
      const reader = yield* connection(url)
      yield* query(reader, "BEGIN")
      yield* query(reader, "SELECT * FROM sendwright_migration")
      yield* Effect.scoped(opened(url))
    })
  )

  it.scopedLive(
    "that a reader keeps out holds up nobody else, and is applied when the reader has ended",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const context = yield* opened(url)
        const running = Context.get(context, Stores.Database)
        const reader = yield* connection(url)
        const other = yield* connection(url)
        yield* query(reader, "BEGIN")
        yield* query(reader, "SELECT * FROM item")
        const wider: Migration = {
          id: 2,
          name: "wider",
          statements: "ALTER TABLE item ADD COLUMN later TEXT",
          compatibleFrom: 1
        }
        const boot = yield* Effect.fork(Effect.scoped(opened(url, [table, wider])))
        const waiting = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = 'item'::regclass"
        yield* query(other, waiting).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))
        // It would fail after the 5 s that a verb waits for a lock.
        yield* running.write("insert", insert(1))
        yield* query(reader, "COMMIT")
        yield* boot
        expect(yield* query(other, "SELECT id, later FROM item")).toEqual([{ id: 1, later: null }])
      })
  )

  it.scopedLive("that fails or ends its transaction leaves nothing of the boot", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const broken: Migration = { id: 2, name: "broken", statements: "CREATE TABLE half (id INTEGER); SELEC" }
      expect(yield* refused(url, [table, broken])).toContain("its statements failed")
      const other = yield* connection(url)
      const tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
      expect(yield* query(other, tables)).toEqual([])
      const ending: Migration = {
        id: 2,
        name: "ending",
        statements: "CREATE TABLE half (id INTEGER); COMMIT"
      }
      expect(yield* refused(url, [table, ending])).toContain("ended the transaction")
    })
  )

  it.scopedLive("whose process was killed is done by the next boot", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const other = yield* connection(url)
      const slow: Migration = {
        id: 2,
        name: "slow",
        statements: "CREATE TABLE slow (id INTEGER); SELECT pg_sleep(60)"
      }
      const boot = yield* Effect.fork(Effect.exit(Effect.scoped(opened(url, [table, slow]))))
      const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`
      yield* query(other, kill).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))
      expect(Exit.isFailure(yield* boot.await.pipe(Effect.flatten))).toBe(true)
      const context = yield* opened(url, [table, { ...slow, statements: "CREATE TABLE slow (id INTEGER)" }])
      expect(yield* Context.get(context, Stores.Database).read("ids", ids)).toEqual([])
    })
  )
})

describe("a verb", () => {
  it.scopedLive("fails typed when its COMMIT fails, and leaves nothing open", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const orphan = db.write("orphan", () => run("INSERT INTO child (item) VALUES (99)"))
      expect(yield* Effect.flip(orphan)).toBeInstanceOf(StorageError)
      yield* db.write("insert", insert(1))
      expect(yield* db.read("ids", ids)).toEqual([1])
    })
  )

  it.scopedLive("is planned once for all parameters, by its indexes, and not compiled", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const settings = db.write("settings", () =>
        all(
          "SELECT current_setting('jit') AS jit, current_setting('plan_cache_mode') AS plans, current_setting('enable_seqscan') AS scans"
        )
      )
      expect(yield* settings).toEqual([{ jit: "off", plans: "force_generic_plan", scans: "off" }])
    })
  )

  it.scopedLive(
    "finds by its indexes in tables that were empty when they were last analyzed",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const client = yield* connection(url)
        yield* Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          const fill = Effect.forEach(Arr.range(1, 26), () =>
            jobs.accept(Fixtures.send(who, { phones: 4000 }))
          )
          yield* fill
          for (const table of ["recipient", "progress", "job"]) {
            yield* query(client, `DELETE FROM sendwright_${table}`)
            yield* query(client, `ANALYZE sendwright_${table}`)
          }
          yield* fill
          // A statement that read the whole of a table for each of its rows would be cut after 10 seconds.
          yield* writeSegment
          const [written] = yield* query(client, "SELECT count(*)::int AS n FROM sendwright_segment_key")
          expect(written).toEqual({ n: 200_000 })
        }).pipe(Effect.provide(stores(url)))
      }),
    60_000
  )

  it.scopedLive(
    "has what is set for it from its connection, and nothing of it is left on one of the embedder's pool",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const plans = () => get("SELECT current_setting('plan_cache_mode') AS plans")
        const pool = yield* Effect.acquireRelease(
          Effect.sync(() => new Pg.Pool({ connectionString: url, max: 2 })),
          (pool) => Effect.promise(() => pool.end())
        )
        for (const [options, alone] of [
          [{ url: Redacted.make(url) }, "force_generic_plan"],
          [{ pool }, "auto"]
        ] as const) {
          const context = yield* Layer.build(Database.layer({ ...options, migrations: [table] }))
          const db = Context.get(context, Stores.Database)
          expect(yield* db.write("plans", plans)).toEqual({ plans: "force_generic_plan" })
          expect(yield* db.read("plans", plans)).toEqual({ plans: alone })
        }
      })
  )

  it.scopedLive("tells a full disk as one", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const failing = db.write("failing", () =>
        script("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$")
      )
      expect((yield* Effect.flip(failing)).message).toContain("the disk of its database is full")
    })
  )

  it.scoped("is remembered for ten seconds where it met a full disk: a probe may find room in a page", () =>
    Effect.gen(function* () {
      const room = DiskSpace.make()
      const full = new StorageError({ operation: "write", cause: null, reason: fullDisk })
      const { work } = room.watched({ ...(yield* database).db, work: () => Effect.fail(full) })
      const isFull = Effect.isFailure(room.check("probe"))
      expect(yield* isFull).toBe(false)
      yield* Effect.ignore(work("write", () => run("SELECT 1")))
      expect(yield* isFull).toBe(true)
      yield* TestClock.adjust("10 seconds")
      expect(yield* isFull).toBe(false)
    })
  )

  it.scopedLive("tells what the database never takes from what it may take later", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const failing = (code: string) =>
        Effect.map(
          Effect.flip(
            db.write("failing", () => script(`DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '${code}'; END $$`))
          ),
          ({ fault }) => fault
        )
      for (const code of ["22001", "23505", "54000"])
        expect([code, yield* failing(code)]).toEqual([code, "content"])
      for (const code of ["55P03", "40001", "40P01"])
        expect([code, yield* failing(code)]).toEqual([code, "collision"])
      for (const code of ["57014", "40003", "53100", "25006"])
        expect([code, yield* failing(code)]).toEqual([code, "unavailable"])
      expect(yield* failing("XX000")).toBeUndefined()
    })
  )

  it.scopedLive("dies of a bug, with nothing of it written", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const bug = new TypeError("a bug")
      const broken = db.write("bug", function* () {
        yield* insert(1)()
        throw bug
      })
      expect(yield* Effect.exit(broken)).toEqual(Exit.die(bug))
      expect(yield* db.read("ids", ids)).toEqual([])
    })
  )

  it.scopedLive("stores what a platform answered, NUL or not", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      yield* db.write("nul", () => run("INSERT INTO item (id, body) VALUES (?, ?)", 1, "a\0b"))
      const read = db.read("body", function* () {
        return (yield* get("SELECT body FROM item"))?.["body"]
      })
      expect(yield* read).toBe("a\ufffdb")
    })
  )

  it.scopedLive("is run again when it waited in a circle with another", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      yield* db.write("insert", function* () {
        yield* insert(1)()
        yield* insert(2)()
      })
      let runs = 0
      const both = (first: number, second: number) =>
        db.write("both", function* () {
          runs += 1
          yield* get("SELECT id FROM item WHERE id = ? FOR UPDATE", first)
          yield* get("SELECT pg_sleep(0.2)")
          yield* get("SELECT id FROM item WHERE id = ? FOR UPDATE", second)
        })
      yield* Effect.all([both(1, 2), both(2, 1)], { concurrency: "unbounded" })
      expect(runs).toBeGreaterThan(2)
    })
  )

  it.scopedLive("fails typed when its connection is cut, and the next one works", () =>
    Effect.gen(function* () {
      const { db, other } = yield* database
      const waiting = yield* Effect.fork(
        Effect.flip(
          db.write("cut", function* () {
            yield* insert(1)()
            yield* get("SELECT pg_sleep(60)")
          })
        )
      )
      const kill = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`
      yield* query(other, kill).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))
      expect(yield* waiting.await.pipe(Effect.flatten)).toBeInstanceOf(StorageError)
      yield* db.write("insert", insert(2))
      expect(yield* db.read("ids", ids)).toEqual([2])
    })
  )
})

describe("reads of one turn of the event loop", () => {
  const askPid = function* () {
    return (yield* get("SELECT pg_backend_pid() AS pid"))?.["pid"]
  }
  const together = <A, E>(effects: ReadonlyArray<Effect.Effect<A, E>>) =>
    Effect.all(effects.map(Effect.exit), { concurrency: "unbounded" })

  it.scopedLive("share a connection, and one that fails, or is interrupted, leaves the others theirs", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const ask = db.read("ask", askPid)
      const broken = db.read("divide", () => get("SELECT 1 / 0 AS x"))
      const interrupted = Effect.flatMap(Effect.fork(ask), Fiber.interrupt)
      const exits = yield* together<unknown, unknown>([ask, broken, ask, interrupted, ask])
      expect(exits.map(Exit.isSuccess)).toEqual([true, false, true, true, true])
      const [first, , third, , fifth] = exits.map(Exit.getOrElse(() => undefined))
      expect([third, fifth]).toEqual([first, first])
    })
  )

  it.scopedLive("fail together when their connection is cut, and the next ones work", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const ask = db.read("ask", askPid)
      const cut = db.read("cut", () => get("SELECT pg_terminate_backend(pg_backend_pid())"))
      expect((yield* together<unknown, unknown>([cut, ask, ask])).map(Exit.isFailure)).toEqual([
        true,
        true,
        true
      ])
      expect((yield* together([ask, ask])).map(Exit.isSuccess)).toEqual([true, true])
    })
  )

  it.scopedLive("wait for nothing that an earlier turn asked for", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const slow = yield* Effect.fork(db.read("slow", () => get("SELECT pg_sleep(2)")))
      yield* Effect.sleep(50)
      yield* db
        .read("ask", askPid)
        .pipe(Effect.timeoutFail({ duration: "1 second", onTimeout: () => "late" }))
      expect(slow.unsafePoll()).toBeNull()
    })
  )
})

describe("verbs that may share a commit", () => {
  const together = Effect.map(database, ({ db }) => ({
    ids: db.read("ids", ids),
    commits: db.read("commits", function* () {
      return (yield* get("SELECT count(DISTINCT xmin::text) AS commits FROM item"))?.["commits"]
    }),
    write: (verb: () => Program<void>) => db.write("insert", verb, "group")
  }))

  it.scopedLive("gather while one is under way", () =>
    Effect.gen(function* () {
      const { commits, write } = yield* together
      yield* Effect.forEach([1, 2, 3, 4, 5], (id) => write(insert(id)), { concurrency: "unbounded" })
      expect(yield* commits).toBeLessThan(4)
    })
  )

  it.scopedLive("are each whole or not at all, whatever the others do", () =>
    Effect.gen(function* () {
      const { ids, write } = yield* together
      const bug = function* () {
        yield* insert(9)()
        throw new TypeError("a bug")
      }
      const outcomes = yield* Effect.forEach(
        [insert(1), insert(2), insert(2), bug, insert(3)],
        (verb) => Effect.exit(write(verb)),
        { concurrency: "unbounded" }
      )
      expect(outcomes.map(Exit.isSuccess)).toEqual([true, true, false, false, true])
      expect(yield* ids).toEqual([1, 2, 3])
    })
  )

  it.scopedLive("never run when they are interrupted before their turn, and end when after it", () =>
    Effect.gen(function* () {
      const { ids, write } = yield* together
      const begun = yield* Deferred.make<void>()
      const slow = function* () {
        Deferred.unsafeDone(begun, Effect.void)
        yield* get("SELECT pg_sleep(0.2)")
        yield* insert(1)()
      }
      const first = yield* Effect.fork(write(slow))
      yield* Deferred.await(begun)
      const second = yield* Effect.fork(write(insert(2)))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      expect(yield* ids).toEqual([1])
    })
  )
})

describe("the embedder's client", () => {
  it.scopedLive("has none of our limits: its statements take as long as they take", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* database
      const names = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
      const limits = Effect.forEach(names, (name) =>
        Effect.map(sql<{ value: string }>`SELECT current_setting(${name}) AS value`, ([row]) => row?.value)
      )
      expect(yield* limits).toEqual(["0", "0", "0"])
      expect(yield* sql.withTransaction(limits)).toEqual(["0", "0", "0"])
      const driver = { connectionParameters: { query_timeout: false } }
      expect(yield* sql.reserve).toMatchObject({ pg: driver })
      const ours = function* () {
        return (yield* get("SELECT current_setting('statement_timeout') AS value"))?.["value"]
      }
      expect(yield* db.write("ours", ours)).toBe("10s")
    })
  )
})

describe("the embedder's transaction", () => {
  it.scopedLive("takes in a store's verb, and undoes it with itself", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      const both = Effect.gen(function* () {
        yield* sql`INSERT INTO item (id) VALUES (1)`
        yield* db.write("insert", insert(2))
        expect(yield* db.read("ids", ids)).toEqual([1, 2])
        return yield* query(other, "SELECT id FROM item")
      })
      expect(yield* sql.withTransaction(both)).toEqual([])
      expect(yield* db.read("ids", ids)).toEqual([1, 2])
      const undone = Effect.zipRight(db.write("insert", insert(3)), Effect.fail("no"))
      expect(yield* Effect.flip(sql.withTransaction(undone))).toBe("no")
      expect(yield* db.read("ids", ids)).toEqual([1, 2])
    })
  )

  it.scopedLive.each(["SERIALIZABLE", "REPEATABLE READ"])(
    "of %s takes a send, and nothing that decides after a lock",
    (isolation) =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        const other = yield* connection(url)
        const program = Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          const command = Fixtures.send(who)
          yield* query(other, `BEGIN ISOLATION LEVEL ${isolation}`)
          yield* query(other, "SELECT count(*) FROM sendwright_job")
          // Its content is new, and is written apart from the transaction.
          const sent = Postgres.within(other)(jobs.accept({ ...command, isEmbedded: true }))
          expect(yield* sent).toMatchObject({ _tag: "Accepted" })
          const consents = yield* ConsentStore
          const refused = Postgres.within(other)(consents.record({ accountId: who.accountId, records: [] }))
          expect(yield* Effect.flip(refused)).toMatchObject({
            _tag: "StorageError",
            reason: expect.stringMatching(/isolation level is not READ COMMITTED/)
          })
          yield* query(other, "COMMIT")
          expect(yield* jobs.find(command.jobId)).toMatchObject({ id: command.jobId, status: "queued" })
        })
        yield* Effect.provide(program, stores(url))
      })
  )

  it.scopedLive("outlives a verb that fails, without a trace of it", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* database
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* db.write("insert", insert(1))
          const faulty = db.write("faulty", function* () {
            yield* insert(2)()
            yield* insert(1)()
          })
          expect(yield* Effect.flip(faulty)).toBeInstanceOf(StorageError)
          yield* db.write("insert", insert(3))
        })
      )
      expect(yield* db.read("ids", ids)).toEqual([1, 3])
    })
  )

  it.scopedLive("undoes no earlier verb when a later one cannot begin in it", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      const duplicate = sql`INSERT INTO item (id) VALUES (1)`
      const broken = Effect.gen(function* () {
        yield* db.write("insert", insert(1))
        yield* Effect.ignore(duplicate)
        expect(yield* Effect.flip(db.write("insert", insert(2)))).toBeInstanceOf(StorageError)
      })
      // It cannot be committed then: half of what was answered would be.
      expect(yield* Effect.flip(sql.withTransaction(broken))).toBeInstanceOf(SqlError)
      expect(yield* db.read("ids", ids)).toEqual([])

      yield* query(other, "BEGIN")
      yield* Postgres.within(other)(db.write("insert", insert(1)))
      yield* Effect.promise(() => other.query("INSERT INTO item (id) VALUES (1)").catch(() => {}))
      expect(yield* Effect.flip(Postgres.within(other)(db.write("insert", insert(2))))).toBeInstanceOf(
        StorageError
      )
      const { command } = yield* Effect.promise(() => other.query("COMMIT"))
      expect(command).toBe("ROLLBACK")
      expect(yield* db.read("ids", ids)).toEqual([])
    })
  )

  it.scopedLive("is not entered by a fiber that has outlived another one on its connection", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const context = yield* Layer.build(
        Database.layer({ url: Redacted.make(url), migrations: [table], maxConnections: 1 })
      )
      const db = Context.get(context, Stores.Database)
      const sql = Context.get(context, Client.SqlClient)
      const inTransaction: ReadonlyArray<Effect.Effect<unknown, SqlError | StorageError>> = [
        db.atomically(db.write("insert", insert(1))),
        sql.withTransaction(sql`INSERT INTO item (id) VALUES (2)`)
      ]
      for (const operation of inTransaction) {
        const begun = yield* Deferred.make<void>()
        const outliving = Effect.zipRight(Deferred.await(begun), operation)
        const late = yield* sql.withTransaction(Effect.zipRight(sql`SELECT 1`, Effect.forkDaemon(outliving)))
        const stranger = Effect.gen(function* () {
          yield* sql`SELECT 1`
          yield* Deferred.succeed(begun, undefined)
          // It waits for the only connection until this one ends.
          yield* Effect.yieldNow()
          yield* sql`SELECT 1`
          return yield* Effect.fail("no")
        })
        expect(yield* Effect.flip(sql.withTransaction(stranger))).toBe("no")
        yield* Fiber.join(late)
      }
      expect(yield* db.read("ids", ids)).toEqual([1, 2])
    })
  )

  it.scopedLive("keeps what a verb wrote when another beside it fails, and what a statement did", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      yield* db.write("insert", insert(0))
      const faulty = db.write("faulty", function* () {
        for (let asked = 0; asked < 10; asked += 1) yield* get("SELECT 1 AS one")
        yield* insert(0)()
      })
      const beside = (first: number) =>
        Effect.all(
          [
            Effect.flip(faulty),
            db.write("insert", insert(first)),
            db.atomically(db.write("insert", insert(first + 1)))
          ],
          { concurrency: "unbounded" }
        )
      yield* sql.withTransaction(
        Effect.all([beside(1), sql`INSERT INTO item (id) VALUES (3)`], { concurrency: "unbounded" })
      )
      expect(yield* db.read("ids", ids)).toEqual([0, 1, 2, 3])
      // Handed over twice, it is one transaction still.
      yield* query(other, "BEGIN")
      yield* Effect.all([Postgres.within(other)(beside(4)), Postgres.within(other)(beside(6))], {
        concurrency: "unbounded"
      })
      yield* query(other, "COMMIT")
      expect(yield* db.read("ids", ids)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
    })
  )

  it.scopedLive("tells a slow verb in it, as one outside", () =>
    Effect.gen(function* () {
      const { db, other } = yield* database
      let ms = 0
      const moment = vi.spyOn(performance, "now").mockImplementation(() => ms)
      yield* Effect.addFinalizer(() => Effect.sync(() => moment.mockRestore()))
      const slow = (operation: string) =>
        db.write(operation, function* () {
          ms += 1500
          yield* run("SELECT 1")
        })
      yield* query(other, "BEGIN")
      const flow = Effect.zipRight(slow("outside"), Postgres.within(other)(slow("inside")))
      const lines = yield* Logged.during(flow)
      yield* query(other, "COMMIT")
      expect(lines.map(({ text }) => text)).toEqual([
        "outside took 1500 ms in the database",
        "inside took 1500 ms in the database"
      ])
    })
  )

  it.scopedLive("waits for no verb of its own", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      yield* query(other, "BEGIN")
      const again = Postgres.within(other)(db.write("insert", insert(1)))
      yield* Postgres.within(other)(
        sql.withTransaction(Effect.zipRight(again, db.write("insert", insert(2))))
      )
      yield* query(other, "COMMIT")
      expect(yield* db.read("ids", ids)).toEqual([1, 2])
    })
  )

  it.scopedLive("streams rows to who writes others in it", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      yield* Effect.forEach([1, 2, 3], (id) => db.write("insert", insert(id)))
      const copy = (from: number) =>
        Stream.runForEach(
          sql<{ id: number }>`SELECT id FROM item WHERE id > ${from} AND id <= ${from} + 3 ORDER BY id`
            .stream,
          ({ id }) => db.write("insert", insert(id + 3))
        )
      yield* sql.withTransaction(copy(0))
      yield* query(other, "BEGIN")
      yield* Postgres.within(other)(copy(3))
      yield* query(other, "COMMIT")
      expect(yield* db.read("ids", ids)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
      const all = sql<{ id: number }>`SELECT generate_series(1, 1000)::int AS id`.stream
      const sum = Stream.runFold(all, 0, (total, { id }) => total + id)
      expect(yield* sql.withTransaction(Effect.all([sum, sum], { concurrency: 2 }))).toEqual([
        500_500, 500_500
      ])
      expect(yield* Effect.flip(sql.withTransaction(Stream.runDrain(sql`SELEC`.stream)))).toBeInstanceOf(
        SqlError
      )
    })
  )

  it.scopedLive("ends after what a fiber has begun that was forked inside", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      const forked = (begun: Deferred.Deferred<void>, id: number) =>
        Effect.forkDaemon(
          sql.withTransaction(
            Effect.zipRight(
              Deferred.succeed(begun, undefined),
              Effect.delay(db.write("insert", insert(id)), 20)
            )
          )
        )
      const around = (id: number) =>
        Effect.gen(function* () {
          const begun = yield* Deferred.make<void>()
          return yield* Effect.zipLeft(forked(begun, id), Deferred.await(begun))
        })
      yield* Fiber.join(yield* sql.withTransaction(around(1)))
      yield* query(other, "BEGIN")
      const fiber = yield* Postgres.within(other)(around(2))
      yield* query(other, "ROLLBACK")
      yield* Fiber.join(fiber)
      expect(yield* db.read("ids", ids)).toEqual([1])
    })
  )

  it.scopedLive("gives its connection back only when it has ended for certain", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const context = yield* Layer.build(
        Database.layer({ url: Redacted.make(url), migrations: [table], maxConnections: 1 })
      )
      const db = Context.get(context, Stores.Database)
      const sql = Context.get(context, Client.SqlClient)
      const failing = Effect.zipRight(sql`INSERT INTO item (id) VALUES (1)`, Effect.fail("no"))
      const faulty = db.write("faulty", function* () {
        yield* insert(1)()
        yield* get("SELEC")
      })
      const undone: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        Effect.flip(sql.withTransaction(failing)),
        Effect.flip(faulty)
      ]
      for (const each of undone) {
        yield* onceFailing("ROLLBACK", each)
        yield* sql.withTransaction(sql`INSERT INTO item (id) VALUES (2)`)
        expect(yield* db.read("ids", ids)).toEqual([2])
        yield* sql`DELETE FROM item`
      }
      yield* onceFailing("COMMIT", Effect.flip(sql.withTransaction(sql`INSERT INTO item (id) VALUES (1)`)))
      yield* sql.withTransaction(sql`INSERT INTO item (id) VALUES (2)`)
      expect(yield* db.read("ids", ids)).toEqual([2])
    })
  )

  it.scopedLive("is not entered by the statement of a fiber that has outlived it", () =>
    Effect.gen(function* () {
      const { db, other, sql } = yield* database
      const ended = yield* Deferred.make<void>()
      const outliving = Effect.zipRight(Deferred.await(ended), sql`INSERT INTO item (id) VALUES (1)`)
      const late = yield* sql.withTransaction(Effect.zipRight(sql`SELECT 1`, Effect.forkDaemon(outliving)))
      const stranger = Effect.gen(function* () {
        yield* sql`SELECT 1`
        yield* Deferred.succeed(ended, undefined)
        yield* Fiber.join(late)
        return yield* Effect.fail("no")
      })
      expect(yield* Effect.flip(sql.withTransaction(stranger))).toBe("no")
      expect(yield* db.read("ids", ids)).toEqual([1])

      yield* query(other, "BEGIN")
      const over = yield* Postgres.within(other)(
        Effect.forkDaemon(Effect.zipRight(Effect.sleep(10), sql`INSERT INTO item (id) VALUES (2)`))
      )
      expect(yield* Effect.flip(Fiber.join(over))).toMatchObject({ cause: { _tag: "ForeignTransaction" } })
      yield* query(other, "COMMIT")
      expect(yield* db.read("ids", ids)).toEqual([1])
    })
  )

  it.scopedLive("waits for locks as long as the embedder says, and in a verb as long as ours do", () =>
    Effect.gen(function* () {
      const { db, sql } = yield* database
      const setting = function* () {
        return (yield* get("SELECT current_setting('lock_timeout') AS value"))?.["value"]
      }
      const outsideVerbs = Effect.map(
        sql<{ value: string }>`SELECT current_setting('lock_timeout') AS value`,
        ([row]) => row?.value
      )
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SET LOCAL lock_timeout = '7min'`
          expect(yield* db.write("read", setting)).toBe("5s")
          expect(yield* db.write("read", setting, "something")).toBe("5s")
          expect(yield* outsideVerbs).toBe("7min")
          yield* Effect.flip(db.write("faulty", () => run("SELEC")))
          expect(yield* outsideVerbs).toBe("7min")
        })
      )
    })
  )

  it.scopedLive("takes in a whole send", () =>
    Effect.gen(function* () {
      const context = yield* Layer.build(stores(yield* freshDatabase))
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const sql = yield* Client.SqlClient
        const command = Fixtures.send(yield* owner, { phones: 3 })
        const undone = Effect.zipRight(jobs.accept(command), Effect.fail("no"))
        yield* Effect.flip(sql.withTransaction(undone))
        expect(yield* jobs.find(command.jobId)).toBeNull()
        yield* sql.withTransaction(jobs.accept(command))
        expect((yield* jobs.find(command.jobId))?.counts.queued).toBe(3)
      }).pipe(Effect.provide(context))
    })
  )
})

describe("a later build that adds columns", () => {
  it.scopedLive("leaves the statements working that this one has prepared", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const context = yield* Layer.build(stores(url))
      const other = yield* connection(url)
      const { now } = Fixtures
      const page = { limit: 10, after: null }
      yield* Effect.gen(function* () {
        const { accountId, publicKey, sessionId } = yield* owner
        const [accounts, sessions, keys] = [yield* AccountStore, yield* SessionStore, yield* ApiKeyStore]
        const [operators, audit, consents] = [yield* OperatorStore, yield* AuditStore, yield* ConsentStore]
        const [cards, templates, webhooks] = [yield* RateCardStore, yield* TemplateStore, yield* WebhookStore]
        const [jobs, inbound, keyring] = [yield* JobStore, yield* InboundStore, yield* KeyringStore]
        const endpoint = Fixtures.endpoint(accountId)
        const [phone, userId] = ["34600000001", "user"]
        const { jobId } = Fixtures.send({ accountId, publicKey, sessionId })
        yield* operators.create(Fixtures.operator("root"))
        yield* audit.append({ entry: Fixtures.auditEntry(), retainSince: Time.at(0) })
        yield* consents.record({ accountId, records: [Fixtures.consent(phone)] })
        yield* cards.add(Fixtures.rateCard())
        yield* templates.importAll({ accountId, sessionId, contents: [Fixtures.template()], now })
        yield* webhooks.create(endpoint)
        const verbs: ReadonlyArray<Effect.Effect<unknown, StorageError>> = [
          accounts.find(accountId),
          accounts.list(page),
          accounts.change({ id: accountId, change: {}, now }),
          sessions.find(sessionId),
          sessions.list({ accountId, page }),
          sessions.change({ id: sessionId, change: {}, now }),
          sessions.unblock({ now }),
          keys.list({ sessionId, page }),
          keys.identify(publicKey),
          keys.change({ publicKey, change: {} }),
          operators.find("root"),
          operators.list(page),
          operators.revoke("root"),
          audit.list({ page }),
          consents.history({ accountId, phone }),
          consents.history({ accountId, userId }),
          consents.evidence({ accountId, phones: [phone], purpose: "utility" }),
          inbound.unattributed({ accountId, page }),
          cards.list(page),
          cards.inForce({ currency: "EUR", now }),
          templates.findNamed({ sessionId, name: "greeting", language: "en" }),
          templates.listApproved({ sessionId, page }),
          webhooks.find(endpoint.id),
          webhooks.list({ accountId, page }),
          webhooks.change({ id: endpoint.id, change: {}, now }),
          webhooks.deliveries({ endpointId: endpoint.id, page }),
          keyring.apiKeys(page),
          jobs.accept(Fixtures.send({ accountId, publicKey, sessionId })),
          jobs.settleAndClaim({ now, settlements: [], claim: { worker: "worker", limit: 1 } }),
          jobs.find(jobId),
          jobs.results({ jobId, page })
        ]
        yield* Effect.all(verbs)
        const tables = "SELECT tablename FROM pg_tables WHERE tablename LIKE 'sendwright%'"
        for (const { tablename } of yield* query(other, tables))
          yield* query(other, `ALTER TABLE ${String(tablename)} ADD COLUMN later TEXT`)
        yield* Effect.all(verbs)
      }).pipe(Effect.provide(context))
    })
  )
})

describe("a window that one node took", () => {
  it.scopedLive("is not settled over what another node was told meanwhile", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const context = yield* Layer.build(stores(url))
      const other = Context.get(yield* Layer.build(stores(url)), JobStore)
      yield* Effect.gen(function* () {
        const jobs = yield* JobStore
        const { now } = Fixtures
        const command = Fixtures.send(yield* owner, { phones: 2 })
        const { jobId } = command
        yield* jobs.accept(command)
        const claim = { worker: "worker", limit: 250 }
        const { claimed } = yield* jobs.settleAndClaim({ now, settlements: [], claim })
        const messageId = `${jobId.slice(0, -3)}001`
        const report = {
          messageId,
          status: "delivered",
          at: Time.after(now, 1),
          failure: null,
          providerId: "p"
        } as const
        yield* other.receive({ now: Time.after(now, 2), reports: [report] })
        const outcome = Outcome.Accepted({ providerId: null, status: "sent" })
        const settlements = claimed.flatMap(({ fence, recipients }) =>
          recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
        )
        expect(
          (yield* jobs.settleAndClaim({ now: Time.after(now, 3), settlements, claim: null })).settled
        ).toBe(2)
        const { items } = yield* jobs.results({ jobId, page: { limit: 2, after: null } })
        expect(items.map(({ deliveredAt, status }) => [status, deliveredAt])).toContainEqual([
          "delivered",
          now + 1
        ])
      }).pipe(Effect.provide(context))
    })
  )
})

describe("an acceptance", () => {
  it.scopedLive("is decided on what other nodes accepted for the account, however many decide at once", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const first = yield* Layer.build(stores(url))
      const nodes = [first, yield* Layer.build(stores(url))].map((node) => Context.get(node, JobStore))
      const { accountId, publicKey, sessionId } = yield* Effect.provide(owner, first)
      const demand = { units: 1, dailyLimit: 5, minimumWaitMs: 0 }
      const results = yield* Effect.forEach(
        Array.from({ length: 10 }, () => nodes).flat(),
        ({ accept }) => accept(Fixtures.send({ accountId, publicKey, sessionId }, { demand })),
        { concurrency: "unbounded" }
      )
      const accepted = results.filter(({ _tag }) => _tag === "Accepted")
      expect([accepted.length, results.length]).toEqual([5, 20])
    })
  )
})

describe("rows that are written together", () => {
  it.scopedLive("hold what was given, whatever it looks like", () =>
    Effect.gen(function* () {
      const { db } = yield* database
      const { dialect } = db
      const columns = [textOrNull("body", impersonal), integer("seq", impersonal)]
      const bodies = ["", "NULL", null, "{a,b}", '"\\"', "\\", " a ", "ñ 🙂", "a\nb", "?", "$1"]
      yield* db.write("update", function* () {
        yield* script("ALTER TABLE item RENAME id TO seq")
        for (const seq of bodies.keys()) yield* run("INSERT INTO item (seq, body) VALUES (?, 'before')", seq)
        yield* dialect.update("item", columns)(bodies.map((body, seq) => [body, seq]))
      })
      const read = yield* db.read("bodies", function* () {
        return (yield* all("SELECT body FROM item ORDER BY seq")).map((row) => row["body"])
      })
      expect(read).toEqual(bodies)
    })
  )
})

describe("a rate limit over two nodes", () => {
  // The long form is run by `RATE_KEYS=100 RATE_MINUTES=60`.
  const keys = Number(process.env["RATE_KEYS"] ?? 4)
  const minutes = Number(process.env["RATE_MINUTES"] ?? 5)

  it.scopedLive(
    "is never over the burst and the rate, and wastes nothing of the allowance",
    () =>
      Effect.gen(function* () {
        const url = yield* freshDatabase
        const nodes = yield* Effect.forEach([1, 2], () =>
          Effect.map(Layer.build(stores(url)), (context) => Context.get(context, RateLimitStore))
        )
        const allowed = yield* Effect.forEach(
          Array.from({ length: keys }, (_, key) => `key ${key}`),
          (key) =>
            Effect.gen(function* () {
              let count = 0
              for (let ms = 0; ms <= minutes * 60_000; ms += 700) {
                const ask = { key, limit: 60, periodMs: 60_000, now: Time.at(1_700_000_000_000 + ms) }
                const asked = yield* Effect.forEach(nodes, (node) => node.consume(ask), {
                  concurrency: "unbounded"
                })
                count += asked.filter((decision) => decision.allowed).length
              }
              return count
            }),
          { concurrency: 10 }
        )
        for (const count of allowed) {
          expect(count).toBeLessThanOrEqual(60 + 60 * minutes)
          expect(count).toBeGreaterThanOrEqual(0.99 * (60 + 60 * minutes))
        }
      }),
    60_000 + keys * minutes * 1000
  )

  it.scopedLive("locks nobody out where two nodes are told times that are apart", () =>
    Effect.gen(function* () {
      const url = yield* freshDatabase
      const context = yield* Layer.build(stores(url))
      const limits = Context.get(context, RateLimitStore)
      const now = 1_700_000_000_000
      const ask = (skew: number) =>
        limits.consume({ key: "k", limit: 2, periodMs: 60_000, now: Time.after(Time.at(now), skew) })
      const decisions = yield* Effect.forEach([600_000, 600_000, -600_000, 600_000], ask)
      expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false, true])
      expect(decisions.map(({ retryAfterMs }) => retryAfterMs)).toEqual([0, 30_000, 30_000, 0])
    })
  )
})
