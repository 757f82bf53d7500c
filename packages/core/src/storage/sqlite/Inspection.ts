/** A SQLite file, seen beside the process that owns it: one reading transaction on a connection that cannot write. */
import { existsSync } from "node:fs"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import { get, perform } from "../Program.ts"
import { StorageError } from "../StorageError.ts"
import type { Inspection } from "../sql/Inspection.ts"
import { inspect as lookAt } from "../sql/Inspection.ts"
import type { Eyes } from "../sql/MigrationPlan.ts"
import type { Migration } from "../sql/Migrations.ts"
import { MigrationError } from "../sql/Migrations.ts"
import { integer } from "../sql/RowReader.ts"
import { hasHistory } from "./Migrations.ts"
import { executeOn } from "./Migrator.ts"

/** A file that is locked for longer is somebody's trouble. */
const busyTimeout = 1000

/** Counting more rows takes longer than who asks will wait. */
const mostCounted = 10_000_000

const eyes: Eyes = {
  hasHistory,
  rowsOf: function* (table) {
    const row = yield* get(`SELECT count(*) AS count FROM (SELECT 1 FROM ${table} LIMIT ${mostCounted + 1})`)
    const count = integer(row ?? {}, "count")
    return count > mostCounted ? null : count
  },
  // One process owns the file.
  countOlder: function* () {
    return 0
  }
}

const seen = (filename: string, migrations: ReadonlyArray<Migration>, now: Instant): Inspection => {
  // A file that is not there is seen as the empty one that a start would make.
  const db = existsSync(filename)
    ? new Sqlite(filename, { readonly: true, fileMustExist: true, timeout: busyTimeout })
    : new Sqlite(":memory:")
  try {
    return db.transaction(() => perform(lookAt(migrations, eyes, now), executeOn(db)))()
  } finally {
    db.close()
  }
}

/** Blocks the event loop for as long as it takes. */
export const inspect = (
  filename: string,
  migrations: ReadonlyArray<Migration>
): Effect.Effect<Inspection, StorageError | MigrationError> =>
  Effect.flatMap(Time.now, (now) =>
    Effect.try({
      try: () => seen(filename, migrations, now),
      catch: (cause) =>
        cause instanceof MigrationError ? cause : new StorageError({ operation: "look", cause })
    })
  )
