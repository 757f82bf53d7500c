/** The stores that are compared, each open and cleared between two histories. */
import * as Client from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { migratedDatabase } from "../../../../test/support/Postgres.ts"
import * as Memory from "../../src/storage/memory/Memory.ts"
import { MemoryDatabase } from "../../src/storage/memory/MemoryDatabase.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import type { Subject } from "./Compare.ts"

export type Opened = Effect.Effect<Subject, unknown, Scope.Scope>

export const memory: Opened = Effect.map(Layer.build(Memory.layer), (stores) => ({
  name: "memory",
  stores,
  clear: Effect.sync(() => {
    for (const table of Object.values(Context.get(stores, MemoryDatabase))) {
      if (table instanceof Map || table instanceof Set) table.clear()
      else if (Array.isArray(table)) table.length = 0
    }
  })
}))

const kept = ["sendwright_migration", "sendwright_keyring"]

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
  const list = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'sendwright_%'"
  return { name: "SQLite", stores, clear: yield* emptying("SQLite", list)(stores) }
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
