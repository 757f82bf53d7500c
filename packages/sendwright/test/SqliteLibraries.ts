/** The libraries by which apps have transactions on SQLite, each in the same few words. */
import { createRequire } from "node:module"
import Database from "better-sqlite3"
import { sql as drizzleSql } from "drizzle-orm"
import { drizzle } from "drizzle-orm/better-sqlite3"
import type { Transaction } from "sendwright"
import { fromBetterSqlite3, fromDrizzle, fromNodeSqlite, type SqliteHandle } from "sendwright/sqlite"

/** An open transaction: what an adapter makes of it, a row of the app's own, and a savepoint within it. */
export interface Opened {
  readonly tx: Transaction
  readonly insert: () => void
  readonly savepoint: (body: (inner: Transaction) => void) => void
}

export interface Library {
  readonly database: SqliteHandle
  /** Commits what the body did, or rolls it back where it throws. */
  readonly transaction: <A>(body: (open: Opened) => A) => A
  /** What the adapter makes of the handle, whether a transaction is open on it or not. */
  readonly made: () => Transaction
  /** How many rows the app has. */
  readonly rows: () => number
  readonly close: () => void
}

/** Opens a file, with a table of the app's in it. */
export type Open = (file: string) => Library

const create = "CREATE TABLE IF NOT EXISTS app (n INTEGER)"
const insert = "INSERT INTO app VALUES (1)"
const count = "SELECT n FROM app"

const betterSqlite3: Open = (file) => {
  const database = new Database(file)
  database.exec(create)
  const made = () => fromBetterSqlite3(database)
  return {
    database,
    made,
    transaction: (body) =>
      database.transaction(() =>
        body({
          tx: made(),
          insert: () => database.exec(insert),
          savepoint: (inner) => database.transaction(() => inner(made()))()
        })
      )(),
    rows: () => database.prepare(count).all().length,
    close: () => database.close()
  }
}

const drizzleOnIt: Open = (file) => {
  const database = new Database(file)
  database.exec(create)
  const db = drizzle(database)
  return {
    database,
    made: () => fromBetterSqlite3(database),
    transaction: (body) =>
      db.transaction((tx) =>
        body({
          tx: fromDrizzle(tx),
          insert: () => void tx.run(drizzleSql.raw(insert)),
          savepoint: (inner) => tx.transaction((nested) => inner(fromDrizzle(nested)))
        })
      ),
    rows: () => database.prepare(count).all().length,
    close: () => database.close()
  }
}

type NodeHandle = SqliteHandle & { readonly close: () => void }

const DatabaseSync: (new (file: string) => NodeHandle) | undefined = (() => {
  try {
    const module = createRequire(import.meta.url)("node:sqlite")
    return new module.DatabaseSync(":memory:").isTransaction === undefined ? undefined : module.DatabaseSync
  } catch {
    return undefined
  }
})()

const nodeSqlite =
  (Handle: new (file: string) => NodeHandle): Open =>
  (file) => {
    const database = new Handle(file)
    database.exec(create)
    const made = () => fromNodeSqlite(database)
    const within = <A>(begin: string, end: string, undo: string, body: () => A): A => {
      database.exec(begin)
      try {
        const found = body()
        database.exec(end)
        return found
      } catch (error) {
        database.exec(undo)
        throw error
      }
    }
    return {
      database,
      made,
      transaction: (body) =>
        within("BEGIN", "COMMIT", "ROLLBACK", () =>
          body({
            tx: made(),
            insert: () => void database.exec(insert),
            savepoint: (inner) =>
              within("SAVEPOINT app", "RELEASE app", "ROLLBACK TO app; RELEASE app", () => inner(made()))
          })
        ),
      rows: () => database.prepare(count).all().length,
      close: () => database.close()
    }
  }

export const libraries = {
  "better-sqlite3": betterSqlite3,
  "Drizzle over better-sqlite3": drizzleOnIt,
  ...(DatabaseSync === undefined ? {} : { "node:sqlite": nodeSqlite(DatabaseSync) })
} satisfies Readonly<Record<string, Open>>

/** Which this Node does not have, and why. */
export const missing: Readonly<Record<string, string>> =
  DatabaseSync === undefined
    ? {
        "node:sqlite": `Node 22.16 and later have one that says whether it is in a transaction, not ${process.version}`
      }
    : {}
