/** Everything in a PostgreSQL database, that of the app or one apart. */
import { StorageError } from "@sendwright/core"
import { Postgres } from "@sendwright/core/postgres"
import * as Effect from "effect/Effect"
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

/** Core says why where the transaction itself takes no statement: it is over, has failed before, or is of another database. */
const within = (tx: PostgresTransaction): Within => {
  const join = Postgres.within(tx.handle)
  return (operations) =>
    Effect.mapError(join(operations), (error) =>
      error instanceof StorageError.StorageError && error.reason !== undefined
        ? noTransaction(`The transaction of \`tx\` takes no send: ${error.reason}`)
        : error
    )
}

export const postgres = (options: PostgresOptions): Store => {
  const place = placeOf(options)
  const { maxConnections } = "url" in options ? options : { maxConnections: undefined }
  const migrate = "pool" in options ? options.migrate : undefined
  return new MadeStore({
    name: "postgres",
    layer: Postgres.layer("url" in place ? { ...place, maxConnections } : { ...place, migrate }),
    within: (tx) => {
      if (tx instanceof PostgresTransaction) return within(tx)
      const message =
        "`tx` must come from fromPg, fromPostgresJs, fromDrizzle, fromKysely, fromKnex, fromPrisma or fromTypeorm of sendwright/postgres."
      throw noTransaction(message)
    },
    migrate: Postgres.migrate(place)
  })
}

export const migrationSql = (after?: number): string => Postgres.migrationSql(after)
