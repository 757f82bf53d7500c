import * as Sqlite from "../storage/sqlite/Sqlite.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/** The engine on a SQLite file of its own, with the standard `SqlClient` for your tables beside it. */
export const layerSqlite = (options: EngineOptions & Sqlite.Options) =>
  layerOver(Sqlite.layer(options), options)
