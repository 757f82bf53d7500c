import * as SqliteHandle from "../storage/sqlite/OverHandle.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/** The engine over a SQLite handle of yours, whose transactions are handed over by `SqliteHandle.within`. */
export const layerSqliteHandle = (options: EngineOptions & SqliteHandle.Options) =>
  layerOver(SqliteHandle.layer(options), options)
