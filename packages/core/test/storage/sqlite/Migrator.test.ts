import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Time from "../../../src/domain/Instant.ts"
import { StorageError } from "../../../src/storage/StorageError.ts"
import { type Migration, MigrationError } from "../../../src/storage/sql/Migrations.ts"
import * as Database from "../../../src/storage/sqlite/Database.ts"
import { migrate } from "../../../src/storage/sqlite/Migrator.ts"

const one: Migration = {
  id: 1,
  name: "people",
  statements: "CREATE TABLE person (id INTEGER); CREATE TABLE pet (id INTEGER)"
}
const two: Migration = { id: 2, name: "cars", statements: "CREATE TABLE car (id INTEGER)" }
const three: Migration = { id: 3, name: "boats", statements: "CREATE TABLE boat (id INTEGER)" }

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const handle = (filename = ":memory:", timeout = 50) =>
  Effect.acquireRelease(
    Effect.sync(() => new Sqlite(filename, { timeout })),
    (db) => Effect.sync(() => db.close())
  )

const tables = (db: Sqlite.Database) =>
  db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sendwright@_%' ESCAPE '@' ORDER BY name"
    )
    .pluck()
    .all()

const refusal = (error: unknown): MigrationError => {
  if (error instanceof MigrationError) return error
  throw new Error(`Not a MigrationError: ${String(error)}`)
}

describe("Migrator", () => {
  it.scoped("applies what is pending once, in order, and keeps when", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      yield* migrate(db, [one], Time.at(1000))
      yield* migrate(db, [one, two, three], Time.at(2000))
      yield* migrate(db, [one, two, three], Time.at(3000))
      assert.deepStrictEqual(tables(db), ["boat", "car", "person", "pet"])
      assert.deepStrictEqual(
        db.prepare("SELECT id, name, applied_at FROM sendwright_migration ORDER BY id").raw().all(),
        [
          [1, "people", 1000],
          [2, "cars", 2000],
          [3, "boats", 2000]
        ]
      )
    })
  )

  it.scoped("refuses a list with a gap or out of order", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      for (const list of [
        [one, three],
        [two, one],
        [one, one]
      ]) {
        const error = refusal(yield* Effect.flip(migrate(db, list, Time.at(0))))
        assert.include(error.message, "its id should be")
      }
      assert.deepStrictEqual(tables(db), [])
    })
  )

  it.scoped("refuses a database whose history has a gap, instead of skipping it for ever", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      yield* migrate(db, [one, two, three], Time.at(0))
      db.exec("DELETE FROM sendwright_migration WHERE id = 2; DROP TABLE car")
      const error = refusal(yield* Effect.flip(migrate(db, [one, two, three], Time.at(0))))
      assert.strictEqual(error.migration, "2 cars")
      assert.include(error.message, "gap")
    })
  )

  it.scoped("refuses a database of a newer build and leaves it as it is", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      yield* migrate(db, [one, two], Time.at(0))
      const error = refusal(yield* Effect.flip(migrate(db, [one], Time.at(0))))
      assert.strictEqual(error.migration, "2 cars")
      assert.include(error.message, "newer build")
      assert.deepStrictEqual(tables(db), ["car", "person", "pet"])
    })
  )

  it.scoped("takes a database of a newer build that says it works beside this one", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      const added = { ...three, compatibleFrom: 2 }
      yield* migrate(db, [one, two, added], Time.at(0))
      yield* migrate(db, [one, two], Time.at(0))
      const error = refusal(yield* Effect.flip(migrate(db, [one], Time.at(0))))
      assert.strictEqual(error.migration, "2 cars")
      assert.include(error.message, "too old")
    })
  )

  it.scoped("refuses a newer database for one migration that it does not work beside", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      const four = { id: 4, name: "carts", statements: "DROP TABLE car" }
      const five = { id: 5, name: "planes", statements: "CREATE TABLE plane (id INTEGER)", compatibleFrom: 3 }
      yield* migrate(db, [one, two, three, four, five], Time.at(0))
      const error = refusal(yield* Effect.flip(migrate(db, [one, two, three], Time.at(0))))
      assert.strictEqual(error.migration, "4 carts")
    })
  )

  it.scoped("refuses a database of a build before the first release, and says what to do", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      yield* migrate(db, [{ ...one, name: "initial" }, two, three], Time.at(0))
      // The first builds did not say what works beside them.
      for (const alter of ["SELECT 1", "ALTER TABLE sendwright_migration DROP COLUMN compatible_from"]) {
        db.exec(alter)
        for (const list of [[one], [one, two, three]]) {
          const error = refusal(yield* Effect.flip(migrate(db, list, Time.at(0))))
          assert.include(error.message, '"1 initial"')
          assert.include(error.message, "give this build a new file or an empty database")
        }
      }
      assert.deepStrictEqual(tables(db), ["boat", "car", "person", "pet"])
    })
  )

  it.scoped("refuses an altered migration, by its text and by its name", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      yield* migrate(db, [one], Time.at(0))
      for (const altered of [
        { ...one, statements: `${one.statements};` },
        { ...one, name: "folks" }
      ]) {
        const error = refusal(yield* Effect.flip(migrate(db, [altered, two], Time.at(0))))
        assert.include(error.message, "altered")
      }
      assert.deepStrictEqual(tables(db), ["person", "pet"])
    })
  )

  it.scoped("takes all back when one fails, names it, and succeeds once it is mended", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      const broken = { ...two, statements: "CREATE TABLE car (id INTEGER); CREATE TABLE person (id INTEGER)" }
      const error = refusal(yield* Effect.flip(migrate(db, [one, broken, three], Time.at(0))))
      assert.strictEqual(error.migration, "2 cars")
      assert.instanceOf(error.cause, Sqlite.SqliteError)
      assert.isFalse(db.inTransaction)
      assert.deepStrictEqual(tables(db), [])
      yield* migrate(db, [one, two, three], Time.at(0))
      assert.deepStrictEqual(tables(db), ["boat", "car", "person", "pet"])
    })
  )

  it.scoped("refuses a migration that ends its transaction", () =>
    Effect.gen(function* () {
      const db = yield* handle()
      const error = refusal(
        yield* Effect.flip(migrate(db, [{ ...one, statements: "CREATE TABLE a (b); COMMIT" }], Time.at(0)))
      )
      assert.include(error.message, "ended the transaction")
    })
  )

  it.scoped("fails while somebody else writes, and does not claim to have migrated", () =>
    Effect.gen(function* () {
      const path = join(yield* folder, "a.db")
      const other = yield* handle(path)
      const db = yield* handle(path)
      db.pragma("journal_mode = WAL")
      other.exec("BEGIN IMMEDIATE")
      assert.instanceOf(yield* Effect.flip(migrate(db, [one], Time.at(0))), StorageError)
      other.exec("ROLLBACK")
      yield* migrate(db, [one], Time.at(0))
      assert.deepStrictEqual(tables(db), ["person", "pet"])
    })
  )

  it.scoped("runs when the layer opens, and its refusal is the layer's", () =>
    Effect.gen(function* () {
      const filename = join(yield* folder, "deep", "a.db")
      const opened = (migrations: ReadonlyArray<Migration>) =>
        Effect.scoped(Layer.build(Database.layer({ filename, migrations })))
      yield* opened([one, two])
      const exit = yield* Effect.exit(opened([one]))
      assert.isTrue(Exit.isFailure(exit))
      const error = refusal(yield* Effect.flip(opened([one])))
      assert.strictEqual(error.migration, "2 cars")
      yield* opened([one, two, three])
      assert.deepStrictEqual(tables(yield* handle(filename)), ["boat", "car", "person", "pet"])
    })
  )
})
