/** The stores that are compared, each open and cleared between two histories. */
import * as Client from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as SqliteHandle from "../../src/storage/sqlite/OverHandle.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import type { Subject } from "./Compare.ts"

export type Opened = Effect.Effect<Subject, unknown, Scope.Scope>

const kept = ["sendwright_migration", "sendwright_keyring"]

const tablesOfSqlite = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'sendwright_%'"

/** By another driver than the one of a file, and by commits of its own. */
export const memory: Opened = Effect.gen(function* () {
  const database = Memory.open()
  const stores = yield* Layer.build(SqliteHandle.layer({ database, migrate: true }))
  const tables = database
    .prepare(tablesOfSqlite)
    .all()
    .map((row) => String(Object(row).name))
    .filter((table) => !kept.includes(table))
  const clear = Effect.sync(() => database.exec(tables.map((table) => `DELETE FROM ${table};`).join("")))
  return { name: "memory", stores, clear }
})

/** Empties the tables that a history writes. */
const emptying = (name: string, list: string) =>
  Effect.fnUntraced(function* (stores: Context.Context<Client.SqlClient>) {
    const sql = Context.get(stores, Client.SqlClient)
    const rows = yield* sql.unsafe<{ readonly name: string }>(list)
    const tables = rows.map(({ name }) => name).filter((table) => !kept.includes(table))
    if (tables.length < 10) return yield* Effect.dieMessage(`${name} has too few tables to be cleared.`)
    return sql.withTransaction(
      Effect.forEach(tables, (table) => sql.unsafe(`DELETE FROM ${table}`), { discard: true })
    )
  })

export const sqlite: Opened = Effect.gen(function* () {
  const stores = yield* Layer.build(Sqlite.layer({ filename: ":memory:" }))
  return { name: "SQLite", stores, clear: yield* emptying("SQLite", tablesOfSqlite)(stores) }
})

export const postgres: Opened = Effect.gen(function* () {
  const stores = yield* Layer.build(Postgres.layer({ url: Redacted.make(yield* migratedDatabase) }))
  const list =
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND tablename LIKE 'sendwright_%'"
  const empty = yield* emptying("PostgreSQL", list)(stores)
  const sql = Context.get(stores, Client.SqlClient)
  // Plans follow what is known of the tables, which a server finds out by itself in a run of some minutes only.
  return { name: "PostgreSQL", stores, clear: Effect.zipRight(sql.unsafe("ANALYZE"), empty) }
})
