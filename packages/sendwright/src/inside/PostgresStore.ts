/** Everything in a PostgreSQL database, that of the app or one apart. */
import type { Postgres } from "@sendwright/core/postgres"
import { PostgresMigrations } from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Pool } from "pg"
import type { PgPool, PostgresOptions, Query } from "../api/Postgres.ts"
import type { Store } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Stores from "./Stores.ts"
import * as Transactions from "./Transactions.ts"

const isPool = (pool: PgPool): pool is PgPool & Pool =>
  typeof pool === "object" &&
  pool !== null &&
  Transactions.isFunction(pool.connect) &&
  typeof pool.options === "object"

const placeOf = (options: PostgresOptions): Postgres.Place => {
  if ("url" in options && typeof options.url === "string") return { url: Redacted.make(options.url) }
  if ("pool" in options && isPool(options.pool)) return { pool: options.pool }
  throw new SendwrightError("invalid_options", "postgres takes `{ url }`, or `{ pool }` with a pool of `pg`.")
}

const loaded = Stores.drivers(() => import("@sendwright/core/postgres"), "postgres(…) needs its driver", "pg")

const within =
  (transaction: Query): Stores.Within =>
  (operations) =>
    Transactions.explained(Effect.flatMap(loaded, ({ Postgres }) => Postgres.within(transaction)(operations)))

export const postgres = (options: PostgresOptions): Store => {
  const place = placeOf(options)
  const { maxConnections } = "url" in options ? options : { maxConnections: undefined }
  const migrate = "pool" in options ? options.migrate : undefined
  return Stores.made({
    name: "postgres",
    layer: Layer.unwrapEffect(
      Effect.map(loaded, ({ Postgres }) =>
        Postgres.layer("url" in place ? { ...place, maxConnections } : { ...place, migrate })
      )
    ),
    within: (tx) => {
      const transaction = Transactions.postgres.of(tx)
      if (transaction !== undefined) return within(transaction)
      const message =
        "`tx` must come from fromPg, fromPostgresJs, fromDrizzle, fromKysely, fromKnex, fromPrisma or fromTypeorm of sendwright/postgres."
      throw Stores.noTransaction(message)
    },
    migrate: Effect.flatMap(loaded, ({ Postgres }) => Postgres.migrate(place))
  })
}

export const migrationSql = (after?: number): string => PostgresMigrations.migrationSql(after)
