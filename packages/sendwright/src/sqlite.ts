/** Sendwright in SQLite, and in the transactions of the app. A file of our own needs `better-sqlite3` and its Effect drivers. */
import type { Store, Transaction } from "./api/Sendwright.ts"
import type * as Api from "./api/Sqlite.ts"
import * as Migrating from "./inside/Migrating.ts"
import * as SqliteStore from "./inside/SqliteStore.ts"

export type * from "./api/Sqlite.ts"

/**
 * Everything in SQLite.
 *
 * @example
 * sqlite({ file: "./data/app.db" })            // a file of our own, synced at each commit
 * sqlite({ database: new Database("app.db") }) // yours: never closed, and migrated only when told
 */
export const sqlite: (options: Api.SqliteOptions) => Store = SqliteStore.sqlite

/** Brings the tables of a database of yours up to date. */
export const migrate: (options: Api.SqliteOptions) => Promise<void> = (options) =>
  Migrating.migrate(SqliteStore.sqlite(options))

/** The SQL of {@link migrate}. */
export const migrationSql: (after?: number) => string = SqliteStore.migrationSql

/**
 * `db.transaction(() => { session.sendSync(message, { tx: fromBetterSqlite3(db) }) })()`. One of a handle serves all its
 * transactions.
 */
export const fromBetterSqlite3: (database: Api.SqliteHandle) => Transaction = SqliteStore.fromBetterSqlite3

/** The same of Node's own SQLite, between BEGIN and COMMIT. */
export const fromNodeSqlite: (database: Api.SqliteHandle) => Transaction = SqliteStore.fromNodeSqlite

/** `db.transaction((tx) => { session.sendSync(message, { tx: fromDrizzle(tx) }) })`, over better-sqlite3. */
export const fromDrizzle: (tx: Api.DrizzleSqliteTransaction) => Transaction = SqliteStore.fromDrizzle
