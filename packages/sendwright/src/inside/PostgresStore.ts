/** Everything in a PostgreSQL database, that of the app or one apart. */
import { StorageError } from "@sendwright/core"
import type { Postgres } from "@sendwright/core/postgres"
import { PostgresMigrations } from "@sendwright/core/sql"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { Pool } from "pg"
import type { PgPool, PostgresOptions } from "../api/Postgres.ts"
import type { Store } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import { PostgresTransaction } from "./PostgresTransactions.ts"
import { MadeStore, noTransaction, type Within } from "./Stores.ts"
import { isFunction } from "./Transactions.ts"

const isPool = (pool: PgPool): pool is PgPool & Pool =>
  typeof pool === "object" && pool !== null && isFunction(pool.connect) && typeof pool.options === "object"

const placeOf = (options: PostgresOptions): Postgres.Place => {
  if ("url" in options && typeof options.url === "string") return { url: Redacted.make(options.url) }
  if ("pool" in options && isPool(options.pool)) return { pool: options.pool }
  throw new SendwrightError("invalid_options", "postgres takes `{ url }`, or `{ pool }` with a pool of `pg`.")
}

/** The drivers are loaded where the store is opened, so that whoever has not installed them is told of it. */
const loaded = Effect.tryPromise({
  try: () => import("@sendwright/core/postgres"),
  catch: (cause) =>
    new SendwrightError(
      "invalid_options",
      'postgres(…) needs its drivers: npm install pg "@effect/sql@^0.52" "@effect/sql-pg@^0.53" "@effect/platform@^0.97" "@effect/experimental@^0.61"',
      { cause }
    )
})

/** Core says why where the transaction itself takes no statement: it is over, has failed before, or is of another database. */
const within =
  (tx: PostgresTransaction): Within =>
  (operations) =>
    Effect.flatMap(loaded, ({ Postgres }) => Postgres.within(tx.handle)(operations)).pipe(
      Effect.mapError((error) =>
        error instanceof StorageError.StorageError && error.reason !== undefined
          ? noTransaction(`The transaction of \`tx\` takes no send: ${error.reason}`)
          : error
      )
    )

export const postgres = (options: PostgresOptions): Store => {
  const place = placeOf(options)
  const { maxConnections } = "url" in options ? options : { maxConnections: undefined }
  const migrate = "pool" in options ? options.migrate : undefined
  return new MadeStore({
    name: "postgres",
    layer: Layer.unwrapEffect(
      Effect.map(loaded, ({ Postgres }) =>
        Postgres.layer("url" in place ? { ...place, maxConnections } : { ...place, migrate })
      )
    ),
    within: (tx) => {
      if (tx instanceof PostgresTransaction) return within(tx)
      const message =
        "`tx` must come from fromPg, fromPostgresJs, fromDrizzle, fromKysely, fromKnex, fromPrisma or fromTypeorm of sendwright/postgres."
      throw noTransaction(message)
    },
    migrate: Effect.flatMap(loaded, ({ Postgres }) => Postgres.migrate(place))
  })
}

export const migrationSql = (after?: number): string => PostgresMigrations.migrationSql(after)
