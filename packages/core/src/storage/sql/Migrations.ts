/**
 * Brings a database to the schema of this build. All pending migrations run in one transaction, so that a process
 * killed half-way leaves the old schema and the next boot does the whole again. History is checked before and after: a
 * skipped or altered migration stops the start, and so does one of a later build, unless it says that builds as old as
 * this one work beside it (docs/adr/0030).
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import type { Instant } from "../../domain/Instant.ts"
import type { Program, Row } from "../Program.ts"
import { all, get, run } from "../Program.ts"

/** The locks of PostgreSQL that a migration may take of a table that is there. SQLite has one, of the whole file. */
export type Lock =
  | "SHARE UPDATE EXCLUSIVE"
  | "SHARE"
  | "SHARE ROW EXCLUSIVE"
  | "EXCLUSIVE"
  | "ACCESS EXCLUSIVE"

/** The lock and the work of a migration on a table that was there before. */
export interface Taken {
  readonly table: string
  readonly lock: Lock
  /** Under that lock it changes the table's description alone, reads each of its rows, or writes each of them anew. */
  readonly work: "description" | "read" | "write"
}

export interface Migration {
  /** 1, 2, 3 … without a gap. */
  readonly id: number
  readonly name: string
  /**
   * Builds that end with this migration or a later one go on working, and may start, once it is applied. Without it no
   * earlier build does, and all of them have to be stopped first.
   */
  readonly compatibleFrom?: number
  /** Every table that it locks and does not make itself. Without it there is none. */
  readonly takes?: ReadonlyArray<Taken>
  /** Never altered once released: its checksum is kept. Must not begin or end transactions. */
  readonly statements: string
}

/** The parts that differ from database to database. */
export interface Driver {
  /** Creates the table of applied migrations when there is none. */
  readonly table: string
  /** Runs several statements, and answers whether the transaction is still open. */
  readonly apply: (statements: string) => Program<boolean>
  /**
   * Counts the connections of builds whose last migration is an earlier one, as far as can be seen. Gives those that are
   * ending some seconds.
   */
  readonly countOlder: (id: number) => Program<number>
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

export interface Named {
  readonly id: number
  readonly name: string
}

export interface Applied extends Named {
  readonly checksum: string
}

const refuse = ({ id, name }: Named, reason: string, cause?: unknown) =>
  new MigrationError({ migration: `${id} ${name}`, reason, ...(cause === undefined ? {} : { cause }) })

const checksum = (migration: Migration): string =>
  createHash("sha256").update(migration.statements).digest("hex")

export const compatibleFrom = (migration: Migration): number => migration.compatibleFrom ?? migration.id

/** The applied ones that this build knows have to be the head of its list, word for word. */
const check = (migrations: ReadonlyArray<Migration>, applied: ReadonlyArray<Applied>): void => {
  applied.slice(0, migrations.length).forEach((row, index) => {
    const migration = migrations[index]
    if (migration === undefined) return
    if (row.id !== migration.id) {
      throw refuse(migration, "the database lacks it and has a later one. Its history has a gap.")
    }
    if (row.name !== migration.name || row.checksum !== checksum(migration)) {
      throw refuse(
        migration,
        `the database has another one in its place ("${row.id} ${row.name}"). It is of a build before the first release, and no way leads from it to this one: give this build a new file or an empty database. Or the migration was altered: restore its text, and put the change in a new one.`
      )
    }
  })
}

/** Behind the end of the list are those that a later build added. */
const checkLater = (migrations: ReadonlyArray<Migration>, later: ReadonlyArray<Row>): void => {
  for (const row of later) {
    if (Number(row["compatible_from"]) <= migrations.length) continue
    throw refuse(
      { id: Number(row["id"]), name: String(row["name"]) },
      "the database has it, and this build is too old to work beside it. The database belongs to a newer build."
    )
  }
}

/** `compatible_from` is asked for apart: databases of the first builds lack it, and have to be refused in words. */
const history = "SELECT id, name, checksum FROM sendwright_migration ORDER BY id"
const addedLater = "SELECT id, name, compatible_from FROM sendwright_migration WHERE id > ? ORDER BY id"

/** Answers what is applied once it has checked that this build works with all of it. Throws {@link MigrationError}. */
export function* applied(migrations: ReadonlyArray<Migration>): Program<ReadonlyArray<Applied>> {
  const rows = (yield* all(history)).map((row) => ({
    id: Number(row["id"]),
    name: String(row["name"]),
    checksum: String(row["checksum"])
  }))
  check(migrations, rows)
  if (rows.length > migrations.length) checkLater(migrations, yield* all(addedLater, migrations.length))
  return rows
}

const note =
  "INSERT INTO sendwright_migration (id, name, checksum, compatible_from, applied_at) VALUES (?, ?, ?, ?, ?)"

/** To be run alone in a transaction. Throws {@link MigrationError}. */
export function* migrate(migrations: ReadonlyArray<Migration>, now: Instant, driver: Driver): Program<void> {
  migrations.forEach((migration, index) => {
    if (migration.id !== index + 1) throw refuse(migration, `its id should be ${index + 1}.`)
  })
  yield* run(driver.table)
  const before = yield* applied(migrations)
  const pending = migrations.slice(before.length)
  const [demanding] = [...pending].sort((a, b) => compatibleFrom(b) - compatibleFrom(a))
  if (demanding === undefined) return
  const older = yield* driver.countOlder(compatibleFrom(demanding))
  if (older > 0) {
    throw refuse(
      demanding,
      `${older} connection(s) of processes of an older build are open, which do not work beside it. Stop these processes (or end what a lost machine has left with pg_terminate_backend), then start this one again. Nothing was changed.`
    )
  }
  for (const migration of pending) {
    let open: boolean
    try {
      open = yield* driver.apply(migration.statements)
    } catch (cause) {
      throw refuse(migration, "its statements failed. Nothing was changed.", cause)
    }
    if (!open) throw refuse(migration, "it ended the transaction that it ran in.")
    const { id, name } = migration
    yield* run(note, id, name, checksum(migration), compatibleFrom(migration), now)
  }
}

/** To be run after the commit: whether all of them are there. Throws {@link MigrationError}. */
export function* verify(migrations: ReadonlyArray<Migration>): Program<void> {
  const after = yield* applied(migrations)
  const missing = migrations[after.length]
  if (missing !== undefined) throw refuse(missing, "it is not there after the migration.")
}

/**
 * To be run where nobody migrates: whether all of them are there. Throws {@link MigrationError}.
 *
 * @param hasHistory answers a row where the table of applied migrations is there
 */
export function* confirm(migrations: ReadonlyArray<Migration>, hasHistory: string): Program<void> {
  const isBegun = (yield* get(hasHistory)) !== undefined
  const missing = migrations[isBegun ? (yield* applied(migrations)).length : 0]
  if (missing === undefined) return
  throw refuse(
    missing,
    "the database lacks it, and is not the engine's to change. Call `migrate`, or run the SQL that `migrationSql` answers, then start this one again."
  )
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`

/**
 * The statements that {@link migrate} runs, as one text in a transaction of its own.
 *
 * @param words.now an expression of the time in milliseconds since 1970
 * @param words.after the last one that the database has
 */
export const sqlOf = (
  migrations: ReadonlyArray<Migration>,
  { after, now, table }: { readonly table: string; readonly now: string; readonly after: number }
): string => {
  const steps = migrations.slice(after).flatMap((migration) => {
    const { id, name, statements } = migration
    const values = [id, quoted(name), quoted(checksum(migration)), compatibleFrom(migration), now].join(", ")
    return [
      statements.trim(),
      `INSERT INTO sendwright_migration (id, name, checksum, compatible_from, applied_at)\n  VALUES (${values});`
    ]
  })
  return ["BEGIN;", `${table};`, ...steps, "COMMIT;", ""].join("\n\n")
}
