/** Migrations over better-sqlite3. */
import type Sqlite from "better-sqlite3"
import type * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Answer, Row, SqlParameter, Statement } from "../Program.ts"
import type { StorageError } from "../StorageError.ts"
import type { Migration, MigrationError } from "../sql/Migrations.ts"
import * as Migrations from "./Migrations.ts"

/** Runs one statement after the other, whoever has begun a transaction. */
export const executeOn =
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

/** Blocks the event loop: for the start only. `now` is in milliseconds since 1970. */
export const migrate = (
  db: Sqlite.Database,
  migrations: ReadonlyArray<Migration>,
  now: Instant
): Effect.Effect<void, MigrationError | StorageError> =>
  Migrations.migrate({ execute: executeOn(db), isInTransaction: () => db.inTransaction }, migrations, now)
