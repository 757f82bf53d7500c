import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OverHandle from "../../../src/storage/sqlite/OverHandle.ts"
import * as StorageSuite from "../../../src/testing/StorageSuite/index.ts"

const handle = Effect.acquireRelease(
  Effect.sync(() => new Sqlite(":memory:")),
  (database) => Effect.sync(() => database.close())
)

StorageSuite.suite(
  "SQLite over an app's handle",
  Layer.unwrapScoped(Effect.map(handle, (database) => OverHandle.layer({ database, migrate: true })))
)
