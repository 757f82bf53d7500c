/**
 * Brings a database to the schema of this build. All pending migrations run in one transaction, so that a process
 * killed half-way leaves the old schema and the next boot does the whole again. History is checked before and
 * after: a skipped, altered or unknown migration stops the start instead of being passed over.
 */
import { createHash } from "node:crypto"
import * as Data from "effect/Data"
import type { Instant } from "../../domain/Instant.ts"
import type { Program } from "./Program.ts"
import { all, run } from "./Program.ts"

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

interface Named {
  readonly id: number
  readonly name: string
}

interface Applied extends Named {
  readonly checksum: string
}

const refuse = ({ id, name }: Named, reason: string, cause?: unknown) =>
  new MigrationError({ migration: `${id} ${name}`, reason, ...(cause === undefined ? {} : { cause }) })

const checksum = (migration: Migration): string =>
  createHash("sha256").update(migration.statements).digest("hex")

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

const history = "SELECT id, name, checksum FROM sendwright_migration ORDER BY id"

function* applied(): Program<ReadonlyArray<Applied>> {
  return (yield* all(history)).map((row) => ({
    id: Number(row["id"]),
    name: String(row["name"]),
    checksum: String(row["checksum"])
  }))
}

const note = "INSERT INTO sendwright_migration (id, name, checksum, applied_at) VALUES (?, ?, ?, ?)"

/**
 * To be run alone in a transaction. Throws {@link MigrationError}.
 *
 * @param table creates `sendwright_migration` when there is none
 * @param script runs several statements, and answers whether the transaction is still open
 */
export function* migrate(
  migrations: ReadonlyArray<Migration>,
  now: Instant,
  table: string,
  script: (statements: string) => Program<boolean>
): Program<void> {
  migrations.forEach((migration, index) => {
    if (migration.id !== index + 1) throw refuse(migration, `its id should be ${index + 1}.`)
  })
  yield* run(table)
  const before = yield* applied()
  check(migrations, before)
  for (const migration of migrations.slice(before.length)) {
    let open: boolean
    try {
      open = yield* script(migration.statements)
    } catch (cause) {
      throw refuse(migration, "its statements failed. Nothing was changed.", cause)
    }
    if (!open) throw refuse(migration, "it ended the transaction that it ran in.")
    yield* run(note, migration.id, migration.name, checksum(migration), now)
  }
}

/** To be run after the commit: whether all of them are there. Throws {@link MigrationError}. */
export function* verify(migrations: ReadonlyArray<Migration>): Program<void> {
  const after = yield* applied()
  check(migrations, after)
  const missing = migrations[after.length]
  if (missing !== undefined) throw refuse(missing, "it is not there after the migration.")
}
