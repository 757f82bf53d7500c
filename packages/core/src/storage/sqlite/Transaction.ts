/** The one transaction that a handle can have. */
import Sqlite from "better-sqlite3"

export interface Transaction {
  /** Rolls back what is still open: a failed COMMIT leaves it so, and whoever wrote next would be lost with it. */
  readonly abandon: () => void
  readonly begin: () => void
  readonly commit: () => void
}

/** SQLite ends a transaction by itself on a full disk and the like; what follows must not commit on its own. */
export const lostError = () => new Sqlite.SqliteError("The transaction is no longer open", "SQLITE_ABORT")

export const make = (db: Sqlite.Database): Transaction => {
  const begin = db.prepare("BEGIN IMMEDIATE")
  const commit = db.prepare("COMMIT")
  const rollback = db.prepare("ROLLBACK")
  const abandon = (): void => {
    try {
      if (db.inTransaction) rollback.run()
    } catch {
      // The next BEGIN tries again, and fails if it is still open.
    }
  }
  return {
    abandon,
    begin: () => {
      abandon()
      begin.run()
    },
    commit: () => {
      commit.run()
    }
  }
}
