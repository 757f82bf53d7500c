/** Where the database is, and how the engine's own connections to it are opened. */
import * as Redacted from "effect/Redacted"
import type Pg from "pg"
import type { OnFailover } from "../../domain/Restore.ts"

/** A database, for connections of the engine's own; `pool` says by its options where it is. */
export type Place = { readonly url: Redacted.Redacted } | { readonly pool: Pg.Pool }

interface Behaviour {
  /**
   * Whether the schema is brought to this build's at the start. It is where the engine opens the database itself, and is not
   * in one of yours: call `Postgres.migrate`, or run `Postgres.migrationSql`.
   */
  readonly migrate?: boolean | undefined
  /**
   * What a new timeline of the server alone is taken for: a failover, which is logged (`tell`, the default), or a restore to
   * a point in time, for which the store is held (`hold`).
   */
  readonly onFailover?: OnFailover | undefined
}

/** The engine opens connections of its own. */
export interface OptionsByUrl extends Behaviour {
  /** `postgres://user:password@host:port/database`, with libpq's parameters such as `sslmode`. */
  readonly url: Redacted.Redacted
  /** Connections of the stores at the most. The `SqlClient` opens up to as many of its own, when it is used. */
  readonly maxConnections?: number | undefined
}

/** The engine works over a pool of yours, which stays open. */
export interface OptionsByPool extends Behaviour {
  /**
   * Has to leave the engine connections beside your own transactions. Two more are opened by its options: one that listens
   * for your commits, one for what is true whatever becomes of your transactions.
   */
  readonly pool: Pg.Pool
}

export type Options = OptionsByUrl | OptionsByPool

/** How long a connection may take to be there, in milliseconds. */
export const connectTimeout = 5_000

/** @param name by which the server shows the connection */
export const configOf = (place: Place, name: string): Pg.PoolConfig => {
  const by: Pg.PoolConfig =
    "pool" in place ? place.pool.options : { connectionString: Redacted.value(place.url) }
  return {
    ...by,
    // A pool keeps it out of the list of its members.
    ...(by.password === undefined ? {} : { password: by.password }),
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout,
    application_name: name
  }
}
