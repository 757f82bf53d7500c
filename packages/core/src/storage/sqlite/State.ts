/**
 * A count of starts and commits in the database, and the same in a file beside it: a database that is older than its file was
 * restored (docs/adr/0036). The file is written after each commit, and before anything is done that the commit allows. So a
 * process that dies between the two leaves a file that is behind, which says nothing; and what was sent, answered or recorded
 * has a count that the file knows.
 *
 * The write is not synced at once: a dead process needs no sync. A machine that loses its power may keep the file of some
 * seconds ago, and a backup of just those seconds is not told apart.
 */
import {
  closeSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync
} from "node:fs"
import { dirname } from "node:path"
import type Sqlite from "better-sqlite3"
import type { Instant } from "../../domain/Instant.ts"
import type { Counted } from "../../domain/Restore.ts"
import * as Restore from "../../domain/Restore.ts"
import { perform } from "../Program.ts"
import * as QuarantineRows from "../sql/QuarantineRows.ts"
import { executeOn } from "./Migrator.ts"

export interface State {
  /** To be called inside a transaction before its COMMIT. Throws when the database is not as this process left it. */
  readonly count: () => void
  /** To be called after it. */
  readonly committed: () => void
  readonly close: () => void
}

/** A database in memory is nowhere else. */
export const none: State = { count: () => {}, committed: () => {}, close: () => {} }

/** How often the file is synced, and looked for, at most. */
const syncEveryMs = 1000

// Two places, written in turn: a write that is cut leaves the other. The count stands before and behind the store's id, so
// that a cut is seen.
const digits = 14
const placeBytes = 64

const written = ({ commits, store }: Counted): string => {
  const count = String(commits).padStart(digits, "0")
  return `${count} ${store} ${count}`.padEnd(placeBytes - 1).concat("\n")
}

const read = (place: string): Counted | null => {
  const [, before, store, after] = /^(\d{14}) ([0-9a-f]{32}) (\d{14}) *\n?$/.exec(place) ?? []
  return store === undefined || before !== after ? null : { store, commits: Number(before) }
}

/** The newest count of a file; null when there is none, and when it cannot be read. */
export const parse = (content: string): Counted | null => {
  const first = read(content.slice(0, placeBytes))
  const second = read(content.slice(placeBytes))
  if (first === null || second === null) return first ?? second
  return first.commits > second.commits ? first : second
}

/** The errors of a file that is not there are no errors. */
const ifThere = <A>(step: () => A): A | null => {
  try {
    return step()
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null
    throw cause
  }
}

const write = (fd: number, counted: Counted): void => {
  writeSync(fd, written(counted), (counted.commits % 2) * placeBytes)
}

/** Makes the file, as a whole or not at all, so that it is there after a power cut, too. Its owner alone reads it. */
const create = (file: string, counted: Counted): number => {
  const fresh = `${file}.new`
  const fd = openSync(fresh, "w+", 0o600)
  try {
    write(fd, counted)
    fsyncSync(fd)
    renameSync(fresh, file)
    const folder = openSync(dirname(file), "r")
    try {
      fsyncSync(folder)
    } finally {
      closeSync(folder)
    }
    return fd
  } catch (cause) {
    closeSync(fd)
    rmSync(fresh, { force: true })
    throw cause
  }
}

const isThere = (file: string, fd: number): boolean => {
  const found = ifThere(() => statSync(file, { bigint: true }))
  const ours = fstatSync(fd, { bigint: true })
  return found !== null && found.dev === ours.dev && found.ino === ours.ino
}

export interface Options {
  readonly file: string
  /** The id of a store that has none yet: 32 hexadecimal digits. */
  readonly newStore: string
  readonly now: Instant
  /** Ends the use of the database. */
  readonly lose: (reason: string) => never
  /** Called when the file cannot be written, or made again; then not until {@link onWritten}. */
  readonly onUnwritten: (cause: unknown) => void
  readonly onWritten: () => void
}

const hasTable = "SELECT 1 FROM sqlite_schema WHERE name = 'sendwright_state'"
const find = "SELECT store, commits FROM sendwright_state WHERE id = 1"
const save = `INSERT INTO sendwright_state (id, store, commits) VALUES (1, ?, ?)
  ON CONFLICT (id) DO UPDATE SET commits = excluded.commits`

/** Compares the database with its file, holds it where they disagree, and counts from here on. */
export const open = (db: Sqlite.Database, options: Options): State => {
  const { file, lose, newStore, now, onUnwritten, onWritten } = options
  if (db.prepare(hasTable).get() === undefined) return none
  const content = ifThere(() => readFileSync(file, "latin1"))
  const inFile = content === null ? null : parse(content)
  const inDatabase = db.prepare<[], Counted>(find).get() ?? null
  const reason = Restore.compareCounts(inFile, inDatabase)
  const store = inDatabase?.store ?? inFile?.store ?? newStore
  const before = Math.max(inFile?.commits ?? 0, inDatabase?.commits ?? 0)

  // A new store's file comes first: without it the database's first commit would look as if it had been brought here.
  let fd = inDatabase === null && inFile === null ? create(file, { store, commits: 0 }) : null
  let known = before + 1
  db.transaction(() => {
    db.prepare<[string, number]>(save).run(store, known)
    if (reason !== null) perform(QuarantineRows.place(reason, now), executeOn(db))
  }).immediate()
  fd ??= inFile === null ? create(file, { store, commits: known }) : openSync(file, "r+")
  write(fd, { store, commits: known })
  fdatasyncSync(fd)

  const next = db
    .prepare<[], number>("UPDATE sendwright_state SET commits = commits + 1 WHERE id = 1 RETURNING commits")
    .pluck()
  let opened = fd
  /** The count of a commit whose end is not known. */
  let pending: number | undefined
  let synced = performance.now()
  let isSyncing = false
  let isWritten = true

  const sync = (): void => {
    const moment = performance.now()
    if (isSyncing || moment - synced < syncEveryMs) return
    synced = moment
    if (!isThere(file, opened)) {
      // A closed file must not be written to: its number may be another file's by then.
      const made = create(file, { store, commits: known })
      closeSync(opened)
      opened = made
    }
    if (!isWritten) onWritten()
    isWritten = true
    isSyncing = true
    fdatasync(opened, () => {
      isSyncing = false
    })
  }

  return {
    count: () => {
      const count = next.get()
      const isExpected = count === known + 1 || (pending !== undefined && count === pending + 1)
      if (count === undefined || !isExpected)
        lose(`${file} is of another state of the database, which was overwritten while it was open.`)
      else pending = count
    },
    committed: () => {
      if (pending === undefined) return
      known = pending
      pending = undefined
      try {
        write(opened, { store, commits: known })
        sync()
      } catch (cause) {
        if (isWritten) onUnwritten(cause)
        isWritten = false
      }
    },
    close: () => {
      try {
        fdatasyncSync(opened)
      } finally {
        closeSync(opened)
      }
    }
  }
}
