/** The plan of a migration: tells the work of a migration before it is done. Changes nothing. */

import type { Program } from "../Program.ts"
import { get } from "../Program.ts"
import type { Migration, Taken } from "./Migrations.ts"
import { applied, compatibleFrom } from "./Migrations.ts"

/** A table that is locked, and on how many rows: null where nobody has counted them. */
export interface Locked extends Taken {
  readonly rows: number | null
}

export interface Step {
  readonly id: number
  readonly name: string
  /** The last migration of the oldest build that works beside it. */
  readonly compatibleFrom: number
  readonly locks: ReadonlyArray<Locked>
}

export interface Plan {
  /** How many migrations the database has; 0 of one that is empty. */
  readonly has: number
  /** The steps that this build would apply, all in one transaction. */
  readonly pending: ReadonlyArray<Step>
  /** Connections of processes that do not work beside it, for which a start would be refused. */
  readonly olderConnections: number
}

/** The parts that differ from database to database. */
export interface Eyes {
  /** Answers a row where the table of applied migrations is there. */
  readonly hasHistory: string
  /** Rows of a table, as far as can be told at once. */
  readonly rowsOf: (table: string) => Program<number | null>
  /** Counts the connections of builds whose last migration is an earlier one. */
  readonly countOlder: (id: number) => Program<number>
}

function* locksOf({ takes = [] }: Migration, eyes: Eyes): Program<ReadonlyArray<Locked>> {
  const locks: Array<Locked> = []
  for (const taken of takes) locks.push({ ...taken, rows: yield* eyes.rowsOf(taken.table) })
  return locks
}

/** Throws `MigrationError` where the database is not one that this build works with. */
export function* plan(migrations: ReadonlyArray<Migration>, eyes: Eyes): Program<Plan> {
  const isBegun = (yield* get(eyes.hasHistory)) !== undefined
  const has = isBegun ? (yield* applied(migrations)).length : 0
  const pending: Array<Step> = []
  for (const migration of migrations.slice(has)) {
    const { id, name } = migration
    const locks = has === 0 ? [] : yield* locksOf(migration, eyes)
    pending.push({ id, name, compatibleFrom: compatibleFrom(migration), locks })
  }
  const oldest = Math.max(0, ...pending.map((step) => step.compatibleFrom))
  const olderConnections = has > 0 && oldest > 0 ? yield* eyes.countOlder(oldest) : 0
  return { has, pending, olderConnections }
}

/** True when processes of the build that the database is of go on beside it, and may be started again after it. */
export const isBesideOlder = ({ has, pending }: Plan): boolean =>
  pending.every((step) => step.compatibleFrom <= has)

/**
 * For a million recipients, in milliseconds, as measured on a busy machine of two processors: an index is made, or each row is
 * written anew with two indexes.
 */
const perMillion: Readonly<Record<Taken["work"], number>> = { description: 0, read: 3000, write: 11_000 }

/** How long a lock lasts, at a guess: by the rows; null where nobody has counted them. */
export const lasts = ({ rows, work }: Locked): number | null =>
  work === "description" ? 0 : rows === null ? null : Math.ceil((rows / 1_000_000) * perMillion[work])
