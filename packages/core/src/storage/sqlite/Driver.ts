/** One face for the SQLite handles that an app may have: better-sqlite3's, and that of Node itself. Imports neither. */

import type { Answer, Row, Statement } from "../Program.ts"
import { fullDisk, type StorageError } from "../StorageError.ts"

/** Of a statement, what is used. Methods, so that each library's own types fit. */
interface Prepared {
  readonly reader?: boolean
  all(...parameters: ReadonlyArray<unknown>): ReadonlyArray<unknown>
  run(...parameters: ReadonlyArray<unknown>): { readonly changes: number | bigint }
  safeIntegers?(on: boolean): unknown
  setReadBigInts?(on: boolean): unknown
}

/** A `Database` of better-sqlite3, or a `DatabaseSync` of `node:sqlite` (Node 22.16 and later). */
export interface Handle {
  readonly inTransaction?: boolean
  readonly isTransaction?: boolean
  readonly open?: unknown
  readonly isOpen?: boolean
  exec(text: string): unknown
  prepare(text: string): Prepared
}

export interface Driver {
  readonly execute: (statement: Statement) => Answer
  /** Runs words of a transaction. */
  readonly say: (text: string) => void
  readonly isInTransaction: () => boolean
  readonly isClosed: () => boolean
}

const isRows = (rows: ReadonlyArray<unknown>): rows is ReadonlyArray<Row> =>
  rows.every((row) => typeof row === "object" && row !== null)

/** SQLite's own names of the primary codes, as far as they are told apart. */
const names: Readonly<Record<number, string>> = {
  5: "BUSY",
  6: "LOCKED",
  7: "NOMEM",
  8: "READONLY",
  10: "IOERR",
  13: "FULL",
  14: "CANTOPEN",
  15: "PROTOCOL",
  18: "TOOBIG",
  19: "CONSTRAINT",
  20: "MISMATCH"
}

/** The code of an error of the database; undefined for any other error. */
export const codeOf = (cause: unknown): string | undefined => {
  const { code, errcode } = Object(cause)
  if (typeof code !== "string") return undefined
  if (code === "ERR_SQLITE_ERROR") return `SQLITE_${names[Number(errcode) & 0xff] ?? "ERROR"}`
  return code.startsWith("SQLITE_") ? code : undefined
}

/** As `StorageError.fault`. */
export const faultOf = (code: string): StorageError["fault"] => {
  if (/^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG)/.test(code)) return "content"
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return "collision"
  return /^SQLITE_(CANTOPEN|FULL|IOERR|NOMEM|PROTOCOL|READONLY)/.test(code) ? "unavailable" : undefined
}

/** As `StorageError.reason`: what waiting does not change. */
export const reasonOf = (code: string): string | undefined => {
  if (code === "SQLITE_FULL") return fullDisk
  return code.startsWith("SQLITE_READONLY")
    ? "the database's handle takes no writes: it is read only, or `query_only` is on."
    : undefined
}

/** Throws where the handle is none of those that are known. */
export const make = (handle: Handle): Driver => {
  const isInTransaction = (): boolean => {
    const answer = handle.inTransaction ?? handle.isTransaction
    if (answer !== undefined) return answer
    throw new TypeError(
      "The database is no handle that says whether it is in a transaction. Give a Database of better-sqlite3, or a DatabaseSync of node:sqlite from Node 22.16 on."
    )
  }
  isInTransaction()
  const kept = new Map<string, Prepared>()
  const prepared = (text: string): Prepared => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const statement = handle.prepare(text)
    // Whatever the app has made its handle's default.
    statement.safeIntegers?.(false)
    statement.setReadBigInts?.(false)
    kept.set(text, statement)
    return statement
  }
  return {
    isInTransaction,
    isClosed: () => handle.open === false || handle.isOpen === false,
    say: (text) => {
      handle.exec(text)
    },
    execute: ({ parameters, text, wants }) => {
      if (wants === "script") {
        handle.exec(text)
        return { rows: [], changes: 0 }
      }
      const statement = prepared(text)
      const asks = wants === "row" || wants === "rows"
      if (!asks && statement.reader !== true)
        return { rows: [], changes: Number(statement.run(...parameters).changes) }
      const rows = asks && statement.reader === false ? [] : statement.all(...parameters)
      if (!isRows(rows)) throw new TypeError("The database's handle answered rows that are no objects")
      return { rows, changes: 0 }
    }
  }
}

/** Gives the room that is found after a full disk to the database and not to its log. */
export interface AfterFullDisk {
  /** To be told each failure. */
  readonly failed: (cause: unknown) => void
  /** Empties the log where the disk was full, before anything else is written; throws while it still is. */
  readonly beforeWrite: () => void
}

/**
 * The write-ahead log grows to several times the database that it is of. On a full disk nothing could be copied into the
 * database, so what is written next would lengthen the log until the new room is gone, too.
 */
export const afterFullDisk = (emptyLog: () => void): AfterFullDisk => {
  let isFull = false
  const failed = (cause: unknown): void => {
    if (codeOf(cause) === "SQLITE_FULL") isFull = true
  }
  return {
    failed,
    beforeWrite: () => {
      if (!isFull) return
      isFull = false
      try {
        emptyLog()
      } catch (cause) {
        failed(cause)
        throw cause
      }
    }
  }
}
