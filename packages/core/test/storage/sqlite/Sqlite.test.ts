import * as Sqlite from "../../../src/storage/sqlite/Sqlite.ts"
import * as StorageSuite from "../../StorageSuite/index.ts"

StorageSuite.suite("SQLite", Sqlite.layer({ filename: ":memory:" }))
