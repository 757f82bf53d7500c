/** The database's file, or memory: opened for this process alone, and set to sync. */
import { mkdirSync, realpathSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { StorageError } from "../StorageError.ts"

/** How long the driver may wait for a foreign lock: the wait is synchronous, so the whole process stands still. */
const busyTimeout = 250

const opening = <A>(step: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({ try: step, catch: (cause) => new StorageError({ operation: "open", cause }) })

/** Absolute and without links, so that two spellings of one file meet at one lock. */
const locate = (filename: string): string => {
  const path = resolve(filename)
  mkdirSync(dirname(path), { recursive: true })
  try {
    return realpathSync(path)
  } catch {
    return join(realpathSync(dirname(path)), basename(path))
  }
}

/**
 * Keeps other processes out for as long as this one lives. The lock is one of the operating system's, on a file
 * beside the database, so that kill -9 frees it and readers such as a backup still get at the database itself.
 * The file stays: removing it would let two processes lock two files of one name.
 */
const claim = (path: string): Effect.Effect<Sqlite.Database, StorageError> =>
  Effect.suspend(() => {
    const lock = new Sqlite(`${path}.lock`, { timeout: busyTimeout })
    try {
      lock.pragma("locking_mode = EXCLUSIVE")
      lock.exec("BEGIN EXCLUSIVE")
      return Effect.succeed(lock)
    } catch (cause) {
      lock.close()
      if (!(cause instanceof Sqlite.SqliteError) || !cause.code.startsWith("SQLITE_BUSY")) throw cause
      return Effect.fail(
        new StorageError({
          operation: "open a database that is already open",
          cause: new Error(
            `${path} is open in another process, or twice in this one. One process owns a SQLite database: stop the other, or give this one its own file.`,
            { cause }
          )
        })
      )
    }
  }).pipe(Effect.catchAllDefect((cause) => Effect.fail(new StorageError({ operation: "open", cause }))))

const connect = (path: string): Sqlite.Database => {
  const db = new Sqlite(path, { timeout: busyTimeout })
  const set = (pragma: string, value: string, expected: unknown): void => {
    db.pragma(`${pragma} = ${value}`)
    // The driver is compiled to lower `synchronous` at the first read of a WAL file: look after one.
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    const actual = db.pragma(pragma, { simple: true })
    if (actual !== expected)
      throw new Error(`SQLite refused ${pragma} = ${value} and keeps ${String(actual)}`)
  }
  try {
    if (!db.memory) set("journal_mode", "WAL", "wal")
    set("synchronous", "FULL", 2)
    set("foreign_keys", "ON", 1)
    // In KiB, taken as it is needed. The 2 MiB that are usual do not hold the pages that a deep backlog's windows touch.
    set("cache_size", "-32768", -32768)
    // In pages, 32 MiB. A checkpoint is made in the midst of somebody's commit, and copies each page once, however often it
    // was written since the last one: of the usual 1000 pages it takes five times as long in all.
    set("wal_autocheckpoint", "8000", 8000)
    return db
  } catch (cause) {
    db.close()
    throw cause
  }
}

const close = (db: Sqlite.Database): Effect.Effect<void> => Effect.sync(() => db.close())

/** For as long as the scope lasts. */
export const open = (filename: string): Effect.Effect<Sqlite.Database, StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    if (filename === ":memory:")
      return yield* Effect.acquireRelease(
        opening(() => connect(filename)),
        close
      )
    const path = yield* opening(() => locate(filename))
    yield* Effect.acquireRelease(claim(path), close)
    return yield* Effect.acquireRelease(
      opening(() => connect(path)),
      close
    )
  })
