import Database from "better-sqlite3"
import { sqlite } from "sendwright/sqlite"
import { describe } from "vitest"
import { suite } from "./suite.ts"

describe("in memory", () => suite(() => ({ close: () => {} })))

describe("on SQLite", () =>
  suite(() => {
    const database = new Database(":memory:")
    return { store: sqlite({ database, migrate: true }), close: () => database.close() }
  }))
