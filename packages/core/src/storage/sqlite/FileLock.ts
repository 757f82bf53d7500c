/**
 * One engine uses a SQLite database at a time, whether it opened the file itself (`Open.ts`) or was given a handle of the
 * app's (`OverHandle.ts`): the second one is refused before it touches anything (contract.md §13 "Databases").
 */
import { closeSync, existsSync, openSync, statSync } from "node:fs"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Folder from "../../runtime/Folder.ts"
import { StorageError } from "../StorageError.ts"
import * as Driver from "./Driver.ts"

/** How long the driver may wait for a foreign lock: the wait is synchronous, so the whole process stands still. */
export const busyTimeout = 250

/** The files that make up an open database, the lock, and the file of its state (`State.ts`). */
export const filesOf = (path: string) => ({
  database: [path, `${path}-wal`, `${path}-shm`],
  lock: `${path}.lock`,
  state: `${path}.state`
})

/** A connection that can hold a lock. */
export interface Connection {
  exec(text: string): unknown
  close(): unknown
}

/**
 * Makes a file that its owner alone reads, where there is none: the driver would make it readable for all. The log and its
 * index get the mode of their database. A file that is there keeps its mode, which somebody may have chosen.
 */
export const makePrivate = (file: string): void => {
  if (existsSync(file)) return
  try {
    closeSync(openSync(file, "a", 0o600))
  } catch (cause) {
    throw Folder.whyNot(file, cause)
  }
}

/**
 * Keeps other processes out for as long as this one lives. The lock is one of the operating system's, on a file
 * beside the database, so that kill -9 frees it and readers such as a backup still get at the database itself.
 * The file stays: removing it would let two processes lock two files of one name.
 */
export const lock = <C extends Connection>(path: string, connect: (file: string) => C): C => {
  const file = filesOf(path).lock
  makePrivate(file)
  const held = connect(file)
  try {
    held.exec("PRAGMA locking_mode = EXCLUSIVE")
    held.exec("BEGIN EXCLUSIVE")
    return held
  } catch (cause) {
    held.close()
    throw cause
  }
}

const taken = (name: string, cause: unknown): StorageError =>
  new StorageError({
    operation: "open a database that is already open",
    cause,
    reason: `${name} is open in another process, or twice in this one. One process owns a SQLite database: stop the other, or give this one its own file.`
  })

const inUseKey = Symbol.for("@sendwright/core/storage/sqlite/inUse")

/**
 * The lock files and the handles in memory that this process's engines use, those of other copies of this package included. Two
 * builds of SQLite in one process do not see each other's locks.
 */
const inUse = (): Set<unknown> => {
  const known: unknown = Reflect.get(globalThis, inUseKey)
  if (known instanceof Set) return known
  const made = new Set<unknown>()
  Reflect.set(globalThis, inUseKey, made)
  return made
}

/** Makes this engine the one user of a database in this process, for as long as the scope lasts. */
export const claimHere = (key: unknown, name: string): Effect.Effect<void, StorageError, Scope.Scope> =>
  Effect.suspend(() => {
    const used = inUse()
    if (used.has(key)) return taken(name, null)
    return Effect.acquireRelease(
      Effect.sync(() => used.add(key)),
      () => Effect.sync(() => used.delete(key))
    )
  })

/** Device and inode of the lock file: one that was removed and made again is another. */
const keyOf = (path: string): string => {
  const file = filesOf(path).lock
  makePrivate(file)
  // A bundler that follows this call would take the whole project along.
  const { dev, ino } = statSync(/* turbopackIgnore: true */ file, { bigint: true })
  return `${dev} ${ino}`
}

/** Names of one file: each would have a lock file of its own. */
export const namesOf = (path: string): number => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found?.isFile() ? found.nlink : 1
}

/**
 * Makes this engine the one user of a file, for as long as the scope lasts.
 *
 * @param path without links, so that two spellings of one file meet at one lock
 * @param failed what an operating system that gives no lock is told as
 */
export const claim = <C extends Connection>(
  path: string,
  connect: (file: string) => C,
  failed: (cause: unknown) => StorageError
): Effect.Effect<C, StorageError, Scope.Scope> =>
  Effect.gen(function* () {
    const names = yield* Effect.try({ try: () => namesOf(path), catch: failed })
    if (names > 1)
      return yield* new StorageError({
        operation: "open a database file that has several names",
        cause: null,
        reason: `${path} has ${names} names (hard links). Remove the others, or open a copy: by each name another process could own it.`
      })
    const key = yield* Effect.try({ try: () => keyOf(path), catch: failed })
    yield* claimHere(key, path)
    return yield* Effect.acquireRelease(
      Effect.try({
        try: () => lock(path, connect),
        catch: (cause) =>
          Driver.codeOf(cause)?.startsWith("SQLITE_BUSY") === true ? taken(path, cause) : failed(cause)
      }),
      (held) => Effect.sync(() => held.close())
    )
  })
