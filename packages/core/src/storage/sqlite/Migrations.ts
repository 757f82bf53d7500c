/** Migrations on any driver of SQLite: one `BEGIN IMMEDIATE` transaction, in one synchronous step. */
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Answer, Statement } from "../Program.ts"
import { perform, script } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import type { Driver, Migration } from "../sql/Migrations.ts"
import { MigrationError, migrate as migrateAll, sqlOf, verify } from "../sql/Migrations.ts"

/** An open database, as migrations need it. */
export interface Handle {
  /** Runs one statement. A `script` is several of them in one text. */
  readonly execute: (statement: Statement) => Answer
  /** Answers true between `BEGIN` and its end, as SQLite itself knows it. */
  readonly isInTransaction: () => boolean
}

const table =
  "CREATE TABLE IF NOT EXISTS sendwright_migration (id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, compatible_from INTEGER NOT NULL, applied_at INTEGER NOT NULL) STRICT"

const runAll = (
  { execute, isInTransaction }: Handle,
  migrations: ReadonlyArray<Migration>,
  now: Instant
): void => {
  const word = (text: string): void => perform(script(text), execute)
  word("BEGIN IMMEDIATE")
  try {
    const driver: Driver = {
      table,
      apply: function* (statements) {
        yield* script(statements)
        return isInTransaction()
      },
      // One process owns the file.
      countOlder: function* () {
        return 0
      }
    }
    perform(migrateAll(migrations, now, driver), execute)
    word("COMMIT")
  } finally {
    if (isInTransaction()) word("ROLLBACK")
  }
  perform(verify(migrations), execute)
}

/**
 * Brings a database to the schema of these migrations (`Schema.migrations` are this build's). Blocks the event loop: for
 * the start only. `now` is in milliseconds since 1970.
 */
export const migrate = (
  handle: Handle,
  migrations: ReadonlyArray<Migration>,
  now: Instant
): Effect.Effect<void, MigrationError | StorageError> =>
  Effect.try({
    try: () => runAll(handle, migrations, now),
    catch: (cause) =>
      cause instanceof MigrationError ? cause : new StorageError({ operation: "migrate", cause })
  })

/** Answers a row where the table of applied migrations is there. */
export const hasHistory = "SELECT 1 AS found FROM sqlite_schema WHERE name = 'sendwright_migration'"

/** The statements that {@link migrate} runs, as one text. */
export const migrationSql = (migrations: ReadonlyArray<Migration>, after = 0): string =>
  sqlOf(migrations, { table, now: "CAST(unixepoch('subsec') * 1000 AS INTEGER)", after })
