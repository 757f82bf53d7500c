/**
 * `sendwright backup`: a SQLite database as it is at one moment, beside the host that works on it. SQLite's own `VACUUM INTO`
 * copies it in one reading transaction, so that no commit has to wait and none is there by half; then the copy is opened and
 * looked through, and only then it has its name.
 */
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Instant } from "@sendwright/core"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as HostConfig from "../HostConfig.ts"
import { type Refused, told } from "./Refused.ts"

/** A copy that was made and looked through. */
export interface Backup {
  readonly file: string
  readonly bytes: number
  readonly made_at: string
  readonly jobs: number
  /** The ids of the keys without which its secrets cannot be read. */
  readonly secret_keys: ReadonlyArray<string>
  /** Where this machine has the key, beside the database; null where SECRET_KEY gives it. */
  readonly key_file: string | null
}

/** A backup holds people's numbers: its owner alone reads it. */
const mode = 0o600

const sync = (path: string): void => {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

const opened = <A>(file: string, use: (db: Sqlite.Database) => A): A => {
  const db = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: 5000 })
  try {
    return use(db)
  } finally {
    db.close()
  }
}

/** Looks through every page and every index of a copy, and answers what is in it. */
const lookThrough = (file: string): { readonly jobs: number; readonly keys: ReadonlyArray<string> } =>
  opened(file, (db) => {
    const found = db.pragma("integrity_check", { simple: true })
    if (found !== "ok")
      throw new Error(`The copy is damaged, and so is the database, probably: ${String(found)}`)
    const keys = db
      .prepare("SELECT id FROM sendwright_master_key WHERE retired_at IS NULL ORDER BY seq")
      .pluck()
    const jobs = Number(db.prepare("SELECT count(*) FROM sendwright_job").pluck().get())
    return { jobs, keys: keys.all().map(String) }
  })

const copy = (database: string, file: string, at: Instant.Instant): Backup => {
  if (!existsSync(database)) throw new Error(`There is no database ${database}.`)
  if (existsSync(file)) throw new Error(`${file} is there already, and a backup replaces nothing.`)
  const unfinished = `${file}.unfinished`
  rmSync(unfinished, { force: true })
  closeSync(openSync(unfinished, "wx", mode))
  try {
    opened(database, (db) => db.prepare("VACUUM INTO ?").run(unfinished))
    const { jobs, keys } = lookThrough(unfinished)
    sync(unfinished)
    renameSync(unfinished, file)
    sync(dirname(file))
    return {
      file,
      bytes: statSync(file).size,
      made_at: Instant.format(at),
      jobs,
      secret_keys: keys,
      key_file: existsSync(`${database}.key`) ? `${database}.key` : null
    }
  } catch (cause) {
    for (const end of ["", "-journal", "-wal", "-shm"]) rmSync(unfinished + end, { force: true })
    throw cause
  }
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Makes the backup of the configured database. */
export const perform = (to: string): Effect.Effect<{ readonly ok: true; readonly backup: Backup }, Refused> =>
  Effect.gen(function* () {
    const database = yield* Effect.mapError(HostConfig.database, ({ message }) => told(message))
    if (database.kind === "postgres")
      return yield* told(
        "PostgreSQL makes its backups itself: pg_dump, or a base backup with its log (docs/backup.md, Backups)."
      )
    if (database.filename === ":memory:")
      return yield* told("A database in memory ends with its process: there is nothing to keep.")
    const now = yield* Instant.now
    const backup = yield* Effect.try({
      try: () => copy(database.filename, resolve(to), now),
      catch: (cause) => told(`The backup was not made. ${messageOf(cause)}`)
    })
    return { ok: true, backup } as const
  })
