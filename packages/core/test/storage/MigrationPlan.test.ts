/** What a migration would do is told before it is done, and what it says of itself is true. */

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type Pg from "pg"
import { connection, emptyDatabase, freshDatabase } from "../../../../test/support/Postgres.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as PostgresLook from "../../src/storage/postgres/Inspection.ts"
import * as PostgresMigrator from "../../src/storage/postgres/Migrator.ts"
import { migrations as ofPostgres } from "../../src/storage/postgres/Schema.ts"
import type { Plan } from "../../src/storage/sql/MigrationPlan.ts"
import { isBesideOlder, lasts } from "../../src/storage/sql/MigrationPlan.ts"
import type { Migration } from "../../src/storage/sql/Migrations.ts"
import * as SqliteLook from "../../src/storage/sqlite/Inspection.ts"
import * as SqliteMigrator from "../../src/storage/sqlite/Migrator.ts"
import { migrations as ofSqlite } from "../../src/storage/sqlite/Schema.ts"

/** As a later build may have it: beside it the builds of before go on. */
const later = (released: ReadonlyArray<Migration>): Migration => ({
  id: released.length + 1,
  name: "wider",
  compatibleFrom: released.length,
  takes: [
    { table: "sendwright_consent", lock: "SHARE", work: "read" },
    { table: "sendwright_job", lock: "ACCESS EXCLUSIVE", work: "description" }
  ],
  statements: `ALTER TABLE sendwright_job ADD COLUMN of_later TEXT NOT NULL DEFAULT 'later';
    CREATE INDEX sendwright_consent_later ON sendwright_consent (id);
    CREATE TABLE sendwright_later (id INTEGER PRIMARY KEY)`
})

/** One that ends earlier builds. */
const ending = (released: ReadonlyArray<Migration>): Migration => ({
  id: released.length + 1,
  name: "gone",
  takes: [{ table: "sendwright_probe", lock: "ACCESS EXCLUSIVE", work: "description" }],
  statements: "DROP TABLE sendwright_probe"
})

const consents = (count: number) =>
  `INSERT INTO sendwright_consent (account, person, occurred_at, seq, id, purpose, status, source, recorded_at)
    VALUES ${Array.from({ length: count }, (_, n) => `('a', 'p${n}', 0, 0, 'c${n}', 'all', 'granted', 's', 0)`).join(", ")}`

const steps = ({ pending }: Plan) =>
  pending.map(({ id, locks, name }) => ({ id, name, rows: locks.map(({ rows, table }) => [table, rows]) }))

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-plan-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

describe("a plan on SQLite", () => {
  const filled = Effect.gen(function* () {
    const file = join(yield* folder, "a.db")
    const db = yield* Effect.acquireRelease(
      Effect.sync(() => new Sqlite(file)),
      (db) => Effect.sync(() => db.close())
    )
    yield* SqliteMigrator.migrate(db, ofSqlite, Time.at(0))
    db.exec(consents(7))
    return { db, file }
  })

  it.scoped("names what is pending with the rows of each table, and changes nothing", () =>
    Effect.gen(function* () {
      const { db, file } = yield* filled
      const before = db.serialize()
      const { content, plan } = yield* SqliteLook.inspect(file, [...ofSqlite, later(ofSqlite)])
      assert.deepStrictEqual(steps(plan), [
        {
          id: ofSqlite.length + 1,
          name: "wider",
          rows: [
            ["sendwright_consent", 7],
            ["sendwright_job", 0]
          ]
        }
      ])
      assert.isNull(content)
      assert.isTrue(isBesideOlder(plan))
      assert.deepStrictEqual(db.serialize(), before)
    })
  )

  it.scoped("is empty of a database that is up to date, and whole of one that is not there", () =>
    Effect.gen(function* () {
      const { file } = yield* filled
      const done = yield* SqliteLook.inspect(file, ofSqlite)
      assert.deepStrictEqual(done.plan, { has: ofSqlite.length, pending: [], olderConnections: 0 })
      assert.isNotNull(done.content)
      const none = yield* SqliteLook.inspect(join(yield* folder, "none.db"), ofSqlite)
      assert.deepStrictEqual([none.plan.has, none.plan.pending.length], [0, ofSqlite.length])
    })
  )

  it.scoped(
    "the way back: an earlier build opens a later one's file where that says so, or refuses in words",
    () =>
      Effect.gen(function* () {
        const { db } = yield* filled
        yield* SqliteMigrator.migrate(db, [...ofSqlite, later(ofSqlite)], Time.at(0))
        yield* SqliteMigrator.migrate(db, ofSqlite, Time.at(0))
        db.exec("INSERT INTO sendwright_busy VALUES ('of the earlier build', 'normal')")
        const list = [...ofSqlite, later(ofSqlite)]
        yield* SqliteMigrator.migrate(db, [...list, ending(list)], Time.at(0))
        const error = yield* Effect.flip(SqliteMigrator.migrate(db, ofSqlite, Time.at(0)))
        assert.include(error.message, "this build is too old to work beside it")
        assert.include(error.message, "The database belongs to a newer build")
      })
  )
})

describe("a plan on PostgreSQL", () => {
  const opened = Effect.gen(function* () {
    const url = yield* emptyDatabase
    const place = { url: Redacted.make(url) }
    yield* PostgresMigrator.migrate(place, ofPostgres)
    const client = yield* connection(url)
    const query = (sql: string) => Effect.promise(() => client.query(sql))
    return { client, place, query, url }
  })

  it.scoped("names what is pending with the rows of each table, as the server estimates them", () =>
    Effect.gen(function* () {
      const { place, query } = yield* opened
      yield* query(consents(7))
      yield* query("ANALYZE sendwright_consent")
      const { content, plan, server } = yield* PostgresLook.inspect(place, [...ofPostgres, later(ofPostgres)])
      assert.deepStrictEqual(steps(plan), [
        {
          id: ofPostgres.length + 1,
          name: "wider",
          rows: [
            ["sendwright_consent", 7],
            ["sendwright_job", 0]
          ]
        }
      ])
      assert.isNull(content)
      assert.deepStrictEqual(server.closedTables, [])
      const { rows } = yield* query("SELECT to_regclass('sendwright_later') AS found")
      assert.deepStrictEqual(rows, [{ found: null }])
    })
  )

  it.scoped("counts the processes of earlier builds for which the start would be refused", () =>
    Effect.gen(function* () {
      const { client, place, query } = yield* opened
      const asked = (last: Migration) =>
        Effect.map(PostgresLook.inspect(place, [...ofPostgres, last]), ({ plan }) => plan)
      yield* query(`SET application_name = '${PostgresMigrator.applicationName(ofPostgres)}'`)
      assert.isTrue((yield* asked(ending(ofPostgres))).olderConnections >= 1)
      assert.isFalse(isBesideOlder(yield* asked(ending(ofPostgres))))
      assert.strictEqual((yield* asked(later(ofPostgres))).olderConnections, 0)
      assert.isDefined(client)
    })
  )

  /** The strongest lock of each table that was there before, as the server has it. */
  const locksOf = (client: Pg.Client, { statements }: Migration) =>
    Effect.promise(async () => {
      await client.query("BEGIN")
      const { rows: there } = await client.query<{ readonly oid: number; readonly name: string }>(
        "SELECT oid, relname AS name FROM pg_class WHERE relkind = 'r' AND relname LIKE 'sendwright%'"
      )
      await client.query(statements)
      const { rows } = await client.query<{ readonly oid: number; readonly mode: string }>(
        `SELECT DISTINCT relation AS oid, mode FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'
          AND mode NOT IN ('AccessShareLock', 'RowShareLock', 'RowExclusiveLock')`
      )
      await client.query("ROLLBACK")
      return there
        .flatMap(({ name, oid }) => rows.flatMap((row) => (row.oid === oid ? [`${name} ${row.mode}`] : [])))
        .toSorted()
    })

  const declared = ({ takes = [] }: Migration): ReadonlyArray<string> =>
    takes.map(({ lock, table }) => {
      const words = lock
        .toLowerCase()
        .split(" ")
        .map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)
      return `${table} ${words.join("")}Lock`
    })

  it.scoped("says the truth: each migration takes the locks that it declares, and no other", () =>
    Effect.gen(function* () {
      const client = yield* connection(yield* freshDatabase)
      for (const migration of [...ofPostgres, later(ofPostgres), ending(ofPostgres)]) {
        assert.deepStrictEqual(
          yield* locksOf(client, migration),
          declared(migration).toSorted(),
          migration.name
        )
        if (migration.id <= ofPostgres.length) yield* Effect.promise(() => client.query(migration.statements))
      }
    })
  )
})

describe("a lock", () => {
  it("lasts by what is done under it, and nobody knows how long where the rows are not counted", () => {
    const lock = { table: "t", lock: "SHARE" as const }
    assert.strictEqual(lasts({ ...lock, work: "description", rows: null }), 0)
    assert.isNull(lasts({ ...lock, work: "read", rows: null }))
    assert.isTrue(
      (lasts({ ...lock, work: "write", rows: 2_000_000 }) ?? 0) >
        (lasts({ ...lock, work: "read", rows: 2_000_000 }) ?? 0)
    )
  })
})
