import * as Postgres from "../storage/postgres/Postgres.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/** The engine on PostgreSQL, over connections of its own (`{ url }`) or over a pool of yours (`{ pool }`). */
export const layerPostgres = (options: EngineOptions & Postgres.Options) =>
  layerOver(Postgres.layer(options), options)
