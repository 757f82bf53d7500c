/** The one transaction that a handle can have. */
import Sqlite from "better-sqlite3"
import { afterFullDisk } from "./Driver.ts"
import type { Ownership } from "./Ownership.ts"
import type { State } from "./State.ts"

export interface Transaction {
  /** Rolls back what is still open: a failed COMMIT leaves it so, and whoever wrote next would be lost with it. */
  readonly abandon: () => void
  /** The same, and throws why it could not. Outside of transactions this ends one whose own rollback failed. */
  readonly rollback: () => void
  readonly begin: () => void
  readonly commit: () => void
  /** To be told what failed in it: after a full disk the log is emptied before anything is begun. */
  readonly failed: (cause: unknown) => void
  /** Throws once the database is no longer this process's own. */
  readonly check: () => void
}

/** SQLite ends a transaction by itself on a full disk and the like; what follows must not commit on its own. */
export const lostError = () => new Sqlite.SqliteError("The transaction is no longer open", "SQLITE_ABORT")

export const make = (db: Sqlite.Database, ownership: Ownership, state: State): Transaction => {
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  const changes = db.prepare<[], number>("SELECT total_changes()").pluck()
  let before: number | undefined
  const undo = (): void => {
    if (db.inTransaction) rollback.run()
  }
  const fullDisk = afterFullDisk(() => db.pragma("wal_checkpoint(TRUNCATE)"))
  const abandon = (): void => {
    try {
      undo()
    } catch {
      // The next BEGIN tries again, and fails if it is still open.
    }
  }
  return {
    abandon,
    rollback: undo,
    begin: () => {
      abandon()
      ownership.check()
      fullDisk.beforeWrite()
      begin.run()
      try {
        ownership.checkToken()
        before = changes.get()
      } catch (cause) {
        abandon()
        throw cause
      }
    },
    commit: () => {
      ownership.check()
      // Outside of it the count would be a commit of its own, which the next one takes for another process's.
      if (!db.inTransaction) throw lostError()
      // A transaction that changed nothing, such as a claim that found nothing, waits for no disk.
      const hasChanged = changes.get() !== before
      if (hasChanged) state.count()
      commit.run()
      if (hasChanged) state.committed()
    },
    failed: fullDisk.failed,
    check: ownership.check
  }
}
