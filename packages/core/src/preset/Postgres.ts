import * as Postgres from "../storage/postgres/Postgres.ts"
import { type EngineOptions, layerOver } from "./Over.ts"

/**
 * The engine on PostgreSQL, over connections of its own (`{ url }`) or over a pool of yours (`{ pool }`).
 *
 * @example
 * ```ts
 * import { WhatsApp } from "@sendwright/core"
 * import { layerPostgres } from "@sendwright/core/postgres"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const layer = Layer.unwrapScoped(
 *   Effect.gen(function* () {
 *     const url = yield* Config.redacted("DATABASE_URL")
 *     return layerPostgres({ url, senders: [yield* WhatsApp.make()] })
 *   })
 * )
 * ```
 */
export const layerPostgres = (options: EngineOptions & Postgres.Options) =>
  layerOver(Postgres.layer(options), options)
