/**
 * Brings a database to the schema of this build. All pending migrations run in one `BEGIN IMMEDIATE` transaction,
 * so that a process killed half-way leaves the old schema and the next boot does the whole again. History is
 * checked before and after: a skipped, altered or unknown migration stops the start instead of being passed over.
 */
import { createHash } from "node:crypto"
import type Sqlite from "better-sqlite3"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { StorageError } from "../StorageError.ts"

export interface Migration {
  /** 1, 2, 3 … without a gap. */
  readonly id: number
  readonly name: string
  /** Never altered once released: its checksum is kept. Must not begin or end transactions. */
  readonly statements: string
}

export class MigrationError extends Data.TaggedError("MigrationError")<{
  /** Id and name, such as `3 outbox`. */
  readonly migration: string
  readonly reason: string
  readonly cause?: unknown
}> {
  override get message(): string {
    return `Migration "${this.migration}": ${this.reason}`
  }
}

interface Applied {
  readonly id: number
  readonly name: string
  readonly checksum: string
}

const label = (migration: { readonly id: number; readonly name: string }): string =>
  `${migration.id} ${migration.name}`

const refuse = (migration: { readonly id: number; readonly name: string }, reason: string, cause?: unknown) =>
  new MigrationError({ migration: label(migration), reason, ...(cause === undefined ? {} : { cause }) })

const checksum = (migration: Migration): string =>
  createHash("sha256").update(migration.statements).digest("hex")

const history = (db: Sqlite.Database): ReadonlyArray<Applied> =>
  db.prepare<[], Applied>("SELECT id, name, checksum FROM sendwright_migration ORDER BY id").all()

/** What is applied has to be the head of the list, word for word. */
const check = (migrations: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>): void => {
  applied.forEach((row, index) => {
    const migration = migrations[index]
    if (migration === undefined) {
      throw refuse(row, "the database has it, this build does not. The database belongs to a newer build.")
    }
    if (row.id !== migration.id) {
      throw refuse(migration, "the database lacks it and has a later one. Its history has a gap.")
    }
    if (row.name !== migration.name || row.checksum !== checksum(migration)) {
      throw refuse(
        migration,
        "it was altered after it was applied. Restore it, and put the change in a new one."
      )
    }
  })
}

const apply = (db: Sqlite.Database, migration: Migration, now: number): void => {
  try {
    db.exec(migration.statements)
  } catch (cause) {
    throw refuse(migration, "its statements failed. Nothing was changed.", cause)
  }
  if (!db.inTransaction) throw refuse(migration, "it ended the transaction that it ran in.")
  db.prepare("INSERT INTO sendwright_migration (id, name, checksum, applied_at) VALUES (?, ?, ?, ?)").run(
    migration.id,
    migration.name,
    checksum(migration),
    now
  )
}

const run = (db: Sqlite.Database, migrations: ReadonlyArray<Migration>, now: number): void => {
  migrations.forEach((migration, index) => {
    if (migration.id !== index + 1) throw refuse(migration, `its id should be ${index + 1}.`)
  })
  db.exec("BEGIN IMMEDIATE")
  try {
    db.exec(
      "CREATE TABLE IF NOT EXISTS sendwright_migration (id INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT"
    )
    const applied = history(db)
    check(migrations, applied)
    for (const migration of migrations.slice(applied.length)) apply(db, migration, now)
    db.exec("COMMIT")
  } finally {
    if (db.inTransaction) db.exec("ROLLBACK")
  }
  const after = history(db)
  check(migrations, after)
  const missing = migrations[after.length]
  if (missing !== undefined) throw refuse(missing, "it is not there after the migration.")
}

/** Blocks the event loop: for the start only. `now` is in milliseconds since 1970. */
export const migrate = (
  db: Sqlite.Database,
  migrations: ReadonlyArray<Migration>,
  now: number
): Effect.Effect<void, MigrationError | StorageError> =>
  Effect.try({
    try: () => run(db, migrations, now),
    catch: (cause) =>
      cause instanceof MigrationError ? cause : new StorageError({ operation: "migrate", cause })
  })
