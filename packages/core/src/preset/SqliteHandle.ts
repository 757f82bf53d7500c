import * as SqliteHandle from "../storage/sqlite/OverHandle.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/**
 * The engine over a SQLite handle of yours, whose transactions are handed over by `SqliteHandle.within`.
 *
 * @example
 * ```ts
 * import { Sandbox } from "@sendwright/core"
 * import { layerSqliteHandle } from "@sendwright/core/sql"
 * import Database from "better-sqlite3"
 *
 * const database = new Database("app.db")
 * const layer = layerSqliteHandle({ database, migrate: true, senders: [Sandbox.make()] })
 * ```
 */
export const layerSqliteHandle = (options: EngineOptions & SqliteHandle.Options) =>
  layerOver(SqliteHandle.layer(options), options)
