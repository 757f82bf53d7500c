import * as Sqlite from "../storage/sqlite/Sqlite.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/**
 * The engine on a SQLite file of its own, with the standard `SqlClient` for your tables beside it.
 *
 * @example
 * ```ts
 * import { Sandbox } from "@sendwright/core"
 * import { layerSqlite } from "@sendwright/core/sqlite"
 *
 * const layer = layerSqlite({ filename: "./app.db", senders: [Sandbox.make()] })
 * ```
 */
export const layerSqlite = (options: EngineOptions & Sqlite.Options) =>
  layerOver(Sqlite.layer(options), options)
