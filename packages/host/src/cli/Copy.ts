/**
 * `sendwright copy`: all rows of the configured SQLite database go to an empty PostgreSQL database, in one transaction there.
 * Both have the same tables, so that a row is copied as it is, whatever it says. Nobody works on either meanwhile. The SQLite
 * database is held before the transaction ends, so that a copy that is cut anywhere leaves at most one that sends.
 */
import { existsSync } from "node:fs"
import { Instant, type StorageError } from "@sendwright/core"
import { everyTable, type MigrationError } from "@sendwright/core/sql"
import { RestoreStore } from "@sendwright/core/storage"
import Sqlite from "better-sqlite3"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import Pg from "pg"
import * as HostConfig from "../HostConfig.ts"
import * as StartFailure from "../StartFailure.ts"
import { type Refused, told } from "./Refused.ts"

export interface Copy {
  readonly rows: number
  readonly jobs: number
  readonly held: string
  /** Where this machine has the key, beside the SQLite database; null where SECRET_KEY gives it. */
  readonly key_file: string | null
  readonly next_step: string
}

const rowsAtATime = 500

/** The names of the columns are the same in both, and PostgreSQL reads each value by the type of its column. */
const insert = (table: string): string =>
  `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT * FROM json_populate_recordset(NULL::${table}, $1)`

/** PostgreSQL's text has no NUL, which a platform may have written: its stores keep U+FFFD in its place, too. */
const withoutNul = (_: string, value: unknown): unknown =>
  typeof value === "string" ? value.replaceAll("\0", "\ufffd") : value

const identity = `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attidentity <> ''`

/** A number that named a row is not given to another one. */
const continueNumbers = async (table: string, from: Sqlite.Database, to: Pg.Client): Promise<void> => {
  const { rows } = await to.query<{ readonly name: string }>(identity, [table])
  for (const { name } of rows) {
    const last = from
      .prepare<[string], number | null>(
        `SELECT max(last) FROM (SELECT max(${name}) AS last FROM ${table}
          UNION ALL SELECT seq FROM sqlite_sequence WHERE name = ?)`
      )
      .pluck()
      .get(table)
    if (last != null) await to.query("SELECT setval(pg_get_serial_sequence($1, $2), $3)", [table, name, last])
  }
}

const countIn = async (table: string, to: Pg.Client): Promise<number> =>
  Number((await to.query<{ readonly count: string }>(`SELECT count(*) FROM ${table}`)).rows[0]?.count)

const copyTable = async (table: string, from: Sqlite.Database, to: Pg.Client): Promise<number> => {
  let batch: Array<unknown> = []
  let rows = 0
  const flush = async () => {
    if (batch.length > 0) await to.query(insert(table), [JSON.stringify(batch, withoutNul)])
    rows += batch.length
    batch = []
  }
  for (const row of from.prepare(`SELECT * FROM ${table}`).iterate())
    if (batch.push(row) === rowsAtATime) await flush()
  await flush()
  await continueNumbers(table, from, to)
  const found = await countIn(table, to)
  if (found !== rows) throw new Error(`Of ${rows} rows of ${table} ${found} have come.`)
  return rows
}

const names = everyTable.map(({ name }) => name)

/** Nothing that is there is ever mixed with what comes. */
const refuseUsed = async (to: Pg.Client): Promise<void> => {
  for (const table of names)
    if ((await countIn(table, to)) > 0)
      throw new Error(
        `The PostgreSQL database has rows of Sendwright already (${table}). Name an empty one: a copy is never mixed with what is there.`
      )
}

/** All rows, before they are there for others; answers how many of each table. */
const copyAll = async (from: Sqlite.Database, to: Pg.Client): Promise<ReadonlyMap<string, number>> => {
  // Whoever waits for an answer is told.
  to.on("error", () => {})
  await to.connect()
  await to.query("BEGIN; SET LOCAL lock_timeout = '10s'; SET LOCAL statement_timeout = 0")
  // A host that starts there waits, and then finds all of it.
  await to.query(`LOCK TABLE ${names.join(", ")} IN ACCESS EXCLUSIVE MODE`)
  await refuseUsed(to)
  from.exec("BEGIN")
  const copied = new Map<string, number>()
  for (const table of names) copied.set(table, await copyTable(table, from, to))
  return copied
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const perhapsOpen =
  " The copy is made while nobody works on the database: stop the host, or the app that has it open."

const refused = (error: StartFailure.StartFailure): Refused => told(StartFailure.reason(error, perhapsOpen))

const unreached = (error: MigrationError | StorageError.StorageError): Refused =>
  told(
    `Nothing was copied. ${(error._tag === "StorageError" ? error.reason : error.message) ?? StartFailure.causeOf(error)}`
  )

/** @param hold what holds the SQLite database */
const between = (filename: string, url: Redacted.Redacted, hold: Effect.Effect<unknown, Refused>) =>
  Effect.acquireUseRelease(
    Effect.sync(() => ({
      from: new Sqlite(filename, { readonly: true, fileMustExist: true }),
      to: new Pg.Client({ connectionString: Redacted.value(url), application_name: "sendwright copy" })
    })),
    ({ from, to }) =>
      Effect.tryPromise({
        try: () => copyAll(from, to),
        catch: (cause) => told(`Nothing was copied. ${messageOf(cause)}`)
      }).pipe(
        Effect.zipLeft(hold),
        Effect.zipLeft(
          Effect.tryPromise({
            try: () => to.query("COMMIT"),
            catch: (cause) =>
              told(
                `The copy may be stored or not, and the SQLite database is held. ${messageOf(cause)} Copy again: if the PostgreSQL database has rows then, the copy is whole, and the hosts may start on it.`
              )
          })
        )
      ),
    ({ from, to }) =>
      Effect.promise(async () => {
        from.close()
        await to.end().catch(() => {})
      })
  )

/** Copies the configured database to the one at `url`. */
export const perform = (
  url: Redacted.Redacted
): Effect.Effect<{ readonly ok: true; readonly copy: Copy }, Refused> =>
  Effect.gen(function* () {
    const database = yield* Effect.mapError(HostConfig.database, refused)
    if (database.kind !== "sqlite" || database.filename === ":memory:")
      return yield* told("A copy is made of a SQLite database: its file is what DATABASE_URL names.")
    if (HostConfig.databaseOf(Redacted.value(url))?.kind !== "postgres")
      return yield* told(
        "A copy goes to PostgreSQL: name the database as postgres://<user>:<password>@<host>/<name>."
      )
    const { filename } = database
    if (!existsSync(filename)) return yield* told(`There is no database ${filename}.`)
    const { Sqlite: SqliteStores } = yield* Effect.promise(() => import("@sendwright/core/sqlite"))
    const { Postgres } = yield* Effect.promise(() => import("@sendwright/core/postgres"))
    // Migrated, and nobody else's.
    const stores = yield* Effect.mapError(Layer.build(SqliteStores.layer({ filename })), refused)
    yield* Effect.mapError(Postgres.migrate({ url }), unreached)
    const now = yield* Instant.now
    const hold = Context.get(stores, RestoreStore.RestoreStore).place({ now })
    const copied = yield* between(filename, url, Effect.mapError(hold, refused))
    const key = existsSync(`${filename}.key`) ? `${filename}.key` : null
    const secret = key === null ? "the same SECRET_KEY" : `SECRET_KEY as ${key} has it`
    const wasHeld = (copied.get("sendwright_quarantine") ?? 0) > 0
    const copy: Copy = {
      rows: [...copied.values()].reduce((sum, rows) => sum + rows, 0),
      jobs: copied.get("sendwright_job") ?? 0,
      held: filename,
      key_file: key,
      next_step: [
        `Start the hosts on the PostgreSQL database, with ${secret}.`,
        ...(wasHeld ? ["The store was held before, and so is the copy: `sendwright restore` opens it."] : []),
        "The SQLite database sends nothing any more; keep it as a backup."
      ].join(" ")
    }
    return { ok: true, copy } as const
  }).pipe(Effect.scoped)
