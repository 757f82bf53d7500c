/** The database's file, or memory: opened for this process alone, and set to sync. */

import { realpathSync, statSync, unwatchFile, watchFile } from "node:fs"
import { dirname, resolve } from "node:path"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { RandomBytes } from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import * as Folder from "../../runtime/Folder.ts"
import { StorageError } from "../StorageError.ts"
import * as FileLock from "./FileLock.ts"
import * as Ownership from "./Ownership.ts"
import * as State from "./State.ts"

/** Says of the driver's binary that it is not there, or was compiled for another Node. */
const ofBinary = /bindings file|NODE_MODULE_VERSION|better_sqlite3\.node/

const mendOf = (cause: unknown, words: string): string => {
  if (ofBinary.test(words))
    return "The driver has no binary for this Node: run `npm rebuild better-sqlite3`, or install it again."
  return cause instanceof Sqlite.SqliteError && cause.code === "SQLITE_FULL"
    ? "Make room on its disk."
    : "Name a file in a folder that this process may write."
}

const failure = (path: string, cause: unknown): StorageError => {
  const words = cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause)
  const mend = mendOf(cause, words)
  return new StorageError({
    operation: "open",
    cause,
    reason: `The SQLite database ${path} cannot be opened: ${words}. ${mend}`
  })
}

const opening = <A>(path: string, step: () => A): Effect.Effect<A, StorageError> =>
  Effect.try({ try: step, catch: (cause) => failure(path, cause) })

/**
 * Absolute and without links, so that two spellings of one file meet at one lock. The file is made first where there is none:
 * a link that leads to none cannot be followed.
 */
const locate = (filename: string): string => {
  const path = resolve(filename)
  Folder.makePrivate(dirname(path))
  FileLock.makePrivate(path)
  const found = statSync(path)
  if (!found.isFile()) throw new Error(`it is ${found.isDirectory() ? "a folder" : "no file"}`)
  return realpathSync(path)
}

const lockConnection = (file: string): Sqlite.Database => new Sqlite(file, { timeout: FileLock.busyTimeout })

const connect = (path: string): Sqlite.Database => {
  const db = new Sqlite(path, { timeout: FileLock.busyTimeout })
  const set = (pragma: string, value: string, expected: unknown): void => {
    db.pragma(`${pragma} = ${value}`)
    // The driver is compiled to lower `synchronous` at the first read of a WAL file: look after one.
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    const actual = db.pragma(pragma, { simple: true })
    if (actual !== expected)
      throw new Error(`SQLite refused ${pragma} = ${value} and keeps ${String(actual)}`)
  }
  try {
    // Of a new file alone, and before anything is written: what a purge frees can be given back without a copy of the file.
    db.pragma("auto_vacuum = INCREMENTAL")
    if (!db.memory) {
      set("journal_mode", "WAL", "wal")
      // A log that filled the disk is emptied before this start writes to it.
      db.pragma("wal_checkpoint(TRUNCATE)")
    }
    set("synchronous", "FULL", 2)
    set("foreign_keys", "ON", 1)
    // Deleted content is overwritten, so that nothing of a person who was erased is left in the file.
    set("secure_delete", "ON", 1)
    // In KiB, taken as the file grows. The usual 2 MiB do not hold the pages that a deep backlog's batches touch; of more
    // than 8 MiB no benchmark gains, and a service's memory would grow for as long as it takes to fill them.
    set("cache_size", "-8192", -8192)
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

export interface File {
  readonly db: Sqlite.Database
  /** Makes this process the database's owner. To be called once, when what can refuse the start has not. */
  readonly own: Effect.Effect<Owned, StorageError, Scope.Scope>
}

export interface Owned {
  readonly ownership: Ownership.Ownership
  readonly state: State.State
}

/** Looks at the files while nobody uses the database, too; keeps no process alive. */
const watched = (path: string, { look }: Ownership.Ownership) => {
  const { database, lock } = FileLock.filesOf(path)
  const listener = (): void => {
    try {
      look()
    } catch {
      // The loss was told by `onLost`, and whoever uses the database next is told again.
    }
  }
  return Effect.acquireRelease(
    Effect.sync(() => {
      for (const file of [...database, lock]) {
        watchFile(file, { persistent: false, interval: Ownership.lookEveryMs }, listener)
      }
    }),
    () =>
      Effect.sync(() => {
        for (const file of [...database, lock]) unwatchFile(file, listener)
      })
  )
}

/** For as long as the scope lasts. */
export const open = (filename: string): Effect.Effect<File, StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    const path = filename === ":memory:" ? undefined : yield* opening(filename, () => locate(filename))
    if (path === undefined) {
      const db = yield* Effect.acquireRelease(
        opening(filename, () => connect(filename)),
        close
      )
      return { db, own: Effect.succeed({ ownership: Ownership.unshared, state: State.none }) }
    }
    yield* FileLock.claim(path, lockConnection, (cause) => failure(path, cause))
    const relocked: Array<Sqlite.Database> = []
    yield* Effect.addFinalizer(() => Effect.forEach(relocked, close, { discard: true }))
    const db = yield* Effect.acquireRelease(
      opening(path, () => connect(path)),
      close
    )
    const own = Effect.gen(function* () {
      const random = yield* RandomBytes
      const log = Runtime.runFork(yield* Effect.runtime())
      const ownership = yield* opening(path, () =>
        Ownership.make(db, {
          path,
          token: Buffer.from(random(16)).toString("hex"),
          relock: () => {
            relocked.push(FileLock.lock(path, lockConnection))
          },
          onLost: (reason) => {
            log(Effect.logError(reason))
          },
          onRelocked: () => {
            log(
              Effect.logWarning(`${FileLock.filesOf(path).lock} was removed, and is there and locked again.`)
            )
          }
        })
      )
      yield* watched(path, ownership)
      const { state: file } = FileLock.filesOf(path)
      const now = yield* Time.now
      const state = yield* Effect.acquireRelease(
        opening(path, () =>
          State.open(db, {
            file,
            now,
            newStore: Buffer.from(random(16)).toString("hex"),
            lose: ownership.lose,
            onUnwritten: (cause) => {
              log(
                Effect.logError(
                  `${file} cannot be written: a restore of the database may go unnoticed`,
                  cause
                )
              )
            },
            onWritten: () => {
              log(Effect.logInfo(`${file} is written again`))
            }
          })
        ),
        ({ close }) => Effect.sync(close)
      )
      return { ownership, state }
    })
    return { db, own }
  })
