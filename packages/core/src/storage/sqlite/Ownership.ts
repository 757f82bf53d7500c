/**
 * One process writes a database file, and only for as long as the file is the one that it opened.
 *
 * - The database file, its write-ahead log and the log's index are compared by device and inode with what was opened:
 *   what is written to a file that has no name any more is lost.
 * - The lock file keeps a second process out (`FileLock.ts`). One that was removed is made and locked again.
 * - A token in the database names its owner, and each transaction looks at it: where a second process came in between,
 *   the first one writes nothing more.
 *
 * A lost file stays lost until the next start: nobody can tell what became of it meanwhile.
 */
import { statSync } from "node:fs"
import Sqlite from "better-sqlite3"
import { filesOf } from "./FileLock.ts"

/** SQLite's own code for a database file that was moved; it looks for that only without a write-ahead log. */
const lostCode = "SQLITE_READONLY_DBMOVED"

/** The operation that a {@link StorageError} names. */
export const lostOperation = "use a database file that was removed or replaced, or taken by another process"

export const isLost = (cause: unknown): boolean =>
  cause instanceof Sqlite.SqliteError && cause.code === lostCode

/** How often the files are looked at, at most, in milliseconds. */
export const lookEveryMs = 1000

export interface Ownership {
  /** Throws once the file is lost. Looks at the files when that is due. */
  readonly check: () => void
  /** To be asked inside a transaction: throws when another process has taken the database. */
  readonly checkToken: () => void
  /** Looks at the files now. */
  readonly look: () => void
  /** Ends the use of the database, and throws. */
  readonly lose: (reason: string) => never
}

/** A database in memory is nobody else's. */
export const unshared: Ownership = {
  check: () => {},
  checkToken: () => {},
  look: () => {},
  lose: (reason) => {
    throw new Error(reason)
  }
}

/** Device and inode; null when there is none, undefined when that cannot be told now. */
const identityOf = (file: string): string | null | undefined => {
  try {
    const found = statSync(file, { bigint: true, throwIfNoEntry: false })
    return found === undefined ? null : `${found.dev} ${found.ino}`
  } catch {
    return undefined
  }
}

const table =
  "CREATE TABLE IF NOT EXISTS sendwright_owner (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL) STRICT"

const replaceOwner = `INSERT INTO sendwright_owner (id, token) VALUES (1, ?)
  ON CONFLICT (id) DO UPDATE SET token = excluded.token`

export interface Options {
  readonly path: string
  /** Tells this process from every other one. */
  readonly token: string
  /** Makes and locks the lock file again; throws when another process has it. */
  readonly relock: () => void
  /** Called once. */
  readonly onLost: (reason: string) => void
  readonly onRelocked: () => void
}

/** Takes the database over from whoever had it. */
export const make = (db: Sqlite.Database, options: Options): Ownership => {
  const { onLost, onRelocked, path, relock, token } = options
  const files = filesOf(path)
  db.exec(table)
  db.prepare(replaceOwner).run(token)
  const owner = db.prepare<[], string>("SELECT token FROM sendwright_owner WHERE id = 1").pluck()
  const opened = files.database.map((file) => [file, identityOf(file)] as const)
  let locked = identityOf(files.lock)
  let looked = performance.now()
  let lost: Error | undefined

  const lose = (reason: string): never => {
    lost = new Sqlite.SqliteError(
      `${reason} Nothing is read or written any more. Put the file in order, and start again.`,
      lostCode
    )
    onLost(lost.message)
    throw lost
  }

  const hasChanged = (file: string, before: string | null | undefined): boolean => {
    const now = identityOf(file)
    return now !== undefined && now !== before
  }

  const lookAtLock = (): void => {
    if (!hasChanged(files.lock, locked)) return
    try {
      relock()
    } catch {
      lose(`${files.lock} was removed, and another process has locked the database since.`)
    }
    locked = identityOf(files.lock)
    onRelocked()
  }

  const look = (): void => {
    if (lost !== undefined) throw lost
    looked = performance.now()
    for (const [file, before] of opened) {
      if (hasChanged(file, before)) lose(`${file} was removed or replaced while it was open.`)
    }
    lookAtLock()
  }

  return {
    look,
    lose,
    check: () => {
      if (lost !== undefined) throw lost
      if (performance.now() - looked >= lookEveryMs) look()
    },
    checkToken: () => {
      if (owner.get() !== token) lose(`Another process has taken ${path}.`)
    }
  }
}
