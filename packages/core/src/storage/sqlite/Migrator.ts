/** Migrations on SQLite: one `BEGIN IMMEDIATE` transaction, in one synchronous step. */
import type Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import { StorageError } from "../StorageError.ts"
import type { Driver, Migration } from "../sql/Migrations.ts"
import { MigrationError, migrate as migrateAll, verify } from "../sql/Migrations.ts"
import type { Answer, Row, SqlParameter, Statement } from "../sql/Program.ts"
import { perform, script } from "../sql/Program.ts"

const table =
  "CREATE TABLE IF NOT EXISTS sendwright_migration (id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"

const hasColumn = "SELECT name FROM pragma_table_info('sendwright_migration') WHERE name = 'compatible_from'"

const executeOn =
  (db: Sqlite.Database) =>
  ({ parameters, text, wants }: Statement): Answer => {
    if (wants === "script") {
      db.exec(text)
      return { rows: [], changes: 0 }
    }
    const statement = db.prepare<Array<SqlParameter>, Row>(text)
    return statement.reader
      ? { rows: statement.all(...parameters), changes: 0 }
      : { rows: [], changes: statement.run(...parameters).changes }
  }

const runAll = (db: Sqlite.Database, migrations: ReadonlyArray<Migration>, now: Instant): void => {
  const execute = executeOn(db)
  db.exec("BEGIN IMMEDIATE")
  try {
    const driver: Driver = {
      table,
      hasColumn,
      apply: function* (statements) {
        yield* script(statements)
        return db.inTransaction
      },
      // One process owns the file.
      countOlder: function* () {
        return 0
      }
    }
    perform(migrateAll(migrations, now, driver), execute)
    db.exec("COMMIT")
  } finally {
    if (db.inTransaction) db.exec("ROLLBACK")
  }
  perform(verify(migrations), execute)
}

/** Blocks the event loop: for the start only. `now` is in milliseconds since 1970. */
export const migrate = (
  db: Sqlite.Database,
  migrations: ReadonlyArray<Migration>,
  now: Instant
): Effect.Effect<void, MigrationError | StorageError> =>
  Effect.try({
    try: () => runAll(db, migrations, now),
    catch: (cause) =>
      cause instanceof MigrationError ? cause : new StorageError({ operation: "migrate", cause })
  })
