/** Sendwright in SQLite, and in the transactions of the app. A file of our own needs `better-sqlite3` and its Effect drivers. */
import type { Transaction } from "./api/Messages.ts"
import type { Store } from "./api/Sendwright.ts"
import type * as Api from "./api/Sqlite.ts"
import * as Migrating from "./inside/Migrating.ts"
import * as SqliteStore from "./inside/SqliteStore.ts"

export type * from "./api/Sqlite.ts"

/**
 * Everything in SQLite.
 *
 * @example
 * ```ts
 * import Database from "better-sqlite3"
 * import { sqlite } from "sendwright/sqlite"
 *
 * const ours = sqlite({ file: "./data/sendwright.db" }) // a file of our own, synced at each commit
 * const yours = sqlite({ database: new Database("app.db") }) // never closed, migrated only when told
 * ```
 */
export const sqlite: (options: Api.SqliteOptions) => Store = SqliteStore.sqlite

/**
 * Brings the tables of a database of yours up to date.
 *
 * @example
 * ```ts
 * import Database from "better-sqlite3"
 * import { migrate } from "sendwright/sqlite"
 *
 * await migrate({ database: new Database("app.db") })
 * ```
 */
export const migrate: (options: Api.SqliteOptions) => Promise<void> = (options) =>
  Migrating.migrate(SqliteStore.sqlite(options))

/**
 * The SQL of {@link migrate}.
 *
 * @example
 * ```ts
 * import Database from "better-sqlite3"
 * import { migrationSql } from "sendwright/sqlite"
 *
 * new Database("app.db").exec(migrationSql())
 * ```
 */
export const migrationSql: (after?: number) => string = SqliteStore.migrationSql

/**
 * The open transaction of a handle of better-sqlite3. One of a handle serves all its transactions.
 *
 * @example
 * ```ts
 * import type { Database } from "better-sqlite3"
 * import type { Send, Session } from "sendwright"
 * import { fromBetterSqlite3 } from "sendwright/sqlite"
 *
 * export const confirm = (db: Database, session: Session, message: Send) =>
 *   db.transaction(() => {
 *     db.prepare("UPDATE orders SET confirmed = 1 WHERE id = ?").run(message.idempotencyKey)
 *     session.sendSync(message, { tx: fromBetterSqlite3(db) })
 *   })()
 * ```
 */
export const fromBetterSqlite3: (database: Api.SqliteHandle) => Transaction = SqliteStore.fromBetterSqlite3

/**
 * The same of Node's own SQLite, between BEGIN and COMMIT.
 *
 * @example
 * ```ts
 * import type { Send, Session } from "sendwright"
 * import { fromNodeSqlite, type SqliteHandle } from "sendwright/sqlite"
 *
 * // `db` is a `DatabaseSync` of `node:sqlite`.
 * export const confirm = (db: SqliteHandle, session: Session, message: Send) => {
 *   db.exec("BEGIN")
 *   try {
 *     db.prepare("UPDATE orders SET confirmed = 1 WHERE id = ?").run(message.idempotencyKey)
 *     session.sendSync(message, { tx: fromNodeSqlite(db) })
 *     db.exec("COMMIT")
 *   } catch (error) {
 *     db.exec("ROLLBACK")
 *     throw error
 *   }
 * }
 * ```
 */
export const fromNodeSqlite: (database: Api.SqliteHandle) => Transaction = SqliteStore.fromNodeSqlite

/**
 * The `tx` of Drizzle's `db.transaction`, over better-sqlite3.
 *
 * @example
 * ```ts
 * import { sql } from "drizzle-orm"
 * import type { BetterSQLite3Database } from "drizzle-orm/better-sqlite3"
 * import type { Send, Session } from "sendwright"
 * import { fromDrizzle } from "sendwright/sqlite"
 *
 * export const confirm = (db: BetterSQLite3Database, session: Session, message: Send) =>
 *   db.transaction((tx) => {
 *     tx.run(sql`UPDATE orders SET confirmed = 1 WHERE id = ${message.idempotencyKey}`)
 *     session.sendSync(message, { tx: fromDrizzle(tx) })
 *   })
 * ```
 */
export const fromDrizzle: (tx: Api.DrizzleSqliteTransaction) => Transaction = SqliteStore.fromDrizzle
