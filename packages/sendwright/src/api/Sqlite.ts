/** What `sendwright/sqlite` takes: shapes of other libraries, none of which is imported. */

/** A statement that was prepared. */
interface SqliteStatement {
  readonly reader?: boolean
  all(...values: ReadonlyArray<unknown>): ReadonlyArray<unknown>
  run(...values: ReadonlyArray<unknown>): { readonly changes: number | bigint }
  safeIntegers?(on: boolean): unknown
  setReadBigInts?(on: boolean): unknown
}

/** A `Database` of better-sqlite3, or a `DatabaseSync` of `node:sqlite` (Node 22.16 and later). */
export interface SqliteHandle {
  readonly inTransaction?: boolean
  readonly isTransaction?: boolean
  readonly open?: unknown
  readonly isOpen?: boolean
  exec(text: string): unknown
  prepare(text: string): SqliteStatement
}

/** Where the database is: a file of our own, or a handle of yours, which is never closed. */
export type SqliteOptions =
  | {
      /** A path, whose folder is made, or `:memory:`. One process owns it. */
      readonly file: string
    }
  | {
      readonly database: SqliteHandle
      /** True to bring the tables up to date here. Otherwise say `migrate`, or run `migrationSql()`. */
      readonly migrate?: boolean | undefined
    }

/** The `tx` of `db.transaction((tx) => …)`, of Drizzle over better-sqlite3. */
export interface DrizzleSqliteTransaction {
  readonly rollback: () => never
  readonly run: (query: never) => unknown
}
