import Database from "better-sqlite3"
import { sqlite } from "sendwright/sqlite"
import { describe } from "vitest"
import { inMemory, onSqlite } from "./calendar.ts"
import { suite } from "./suite.ts"

describe("in memory", () => suite(() => ({ calendar: inMemory, close: () => {} })))

describe("on SQLite, in transactions of the app's", () =>
  suite(() => {
    const database = new Database(":memory:")
    return {
      store: sqlite({ database, migrate: true }),
      calendar: (session) => onSqlite(database, session),
      close: () => database.close()
    }
  }))
