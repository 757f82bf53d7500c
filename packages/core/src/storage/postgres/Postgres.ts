/** All stores in a PostgreSQL database that any number of processes share, and the standard SQL client over it. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimit from "../../domain/account/RateLimit.ts"
import type { EmbeddedCommits } from "../EmbeddedCommits.ts"
import { HealthStore } from "../HealthStore.ts"
import { get, run } from "../Program.ts"
import { RateLimitStore } from "../RateLimitStore.ts"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import type { StoreTime } from "../StoreTime.ts"
import type { MigrationError } from "../sql/Migrations.ts"
import { real } from "../sql/RowReader.ts"
import * as SqlStores from "../sql/Stores.ts"
import type { Options, Place } from "./Config.ts"
import * as Database from "./Database.ts"
import type { SeenServer } from "./Inspection.ts"
import * as Inspection from "./Inspection.ts"
import * as Migrator from "./Migrator.ts"
import { migrations } from "./Schema.ts"

export type { Options, OptionsByPool, OptionsByUrl, Place } from "./Config.ts"
export type { SeenServer, Server } from "./Inspection.ts"
export { migrationSql } from "./MigrationSql.ts"
export { type Queryable, within } from "./Within.ts"

/**
 * Brings a database to this build's schema, on a connection of its own. `Postgres.layer({ url })` does so by itself. Processes
 * may start together: one migrates, the others wait.
 */
export const migrate = (place: Place): Effect.Effect<void, MigrationError | StorageError> =>
  Effect.asVoid(Migrator.migrate(place, migrations))

/** Looks at a database beside the processes that work on it. Changes nothing, and ends within seconds. */
export const look = (place: Place): Effect.Effect<SeenServer, MigrationError | StorageError> =>
  Inspection.inspect(place, migrations)

// One statement is one commit: no process that hangs can hold the row's lock against the probes of others.
const probe = "UPDATE sendwright_probe SET probes = probes + 1 RETURNING probes"

const health: Layer.Layer<HealthStore, never, Database.Pool> = Layer.effect(
  HealthStore,
  Effect.map(Database.Pool, ({ alone, hasRoom }) => ({
    probe: Effect.zipRight(
      hasRoom("HealthStore.probe"),
      alone("HealthStore.probe", function* () {
        yield* get(probe)
      })
    )
  }))
)

// `RateLimit.decide` as one statement: it writes when the request is allowed, and answers nothing when it is not.
const consume = `INSERT INTO sendwright_rate AS rate (key, arrival) VALUES (?, ?)
  ON CONFLICT (key) DO UPDATE SET arrival = greatest(rate.arrival, ?) + ?
  WHERE greatest(rate.arrival, ?) + ? <= ?
  RETURNING arrival`

const find = "SELECT arrival FROM sendwright_rate WHERE key = ?"

// Kept, so that the wait passes with the time.
const cut = "UPDATE sendwright_rate SET arrival = ? WHERE key = ? AND arrival > ?"

/** Rate limits that hold over all nodes: one statement, which the row's lock makes exact. */
const rateLimits: Layer.Layer<RateLimitStore, never, Database.Pool> = Layer.effect(
  RateLimitStore,
  Effect.map(Database.Pool, (pool) => ({
    consume: ({ key, limit, now, periodMs }) =>
      pool.alone("RateLimitStore.consume", function* () {
        const rule = { limit, periodMs }
        const interval = periodMs / limit
        const latest = RateLimit.latest(rule, now)
        const row = yield* get(consume, key, now + interval, now, interval, now, interval, latest)
        if (row !== undefined) return RateLimit.decisionOf(true, real(row, "arrival"), rule, now)
        const found = yield* get(find, key)
        const arrival = found === undefined ? now : real(found, "arrival")
        if (arrival > latest) yield* run(cut, latest, key, latest)
        return RateLimit.decisionOf(false, Math.min(arrival, latest), rule, now)
      })
  }))
)

/**
 * The stores over a database that the engine connects to (`{ url }`), or over a pool of yours (`{ pool }`), which is neither
 * closed nor, unless told (`migrate: true`), migrated. A store's verb that is called inside `sql.withTransaction` belongs to
 * that transaction, and so does one inside {@link within}.
 */
export const layer = (
  options: Options
): Layer.Layer<Stores | StoreTime | EmbeddedCommits | SqlClient | PgClient, StorageError | MigrationError> =>
  Layer.mergeAll(SqlStores.layer(true), health, rateLimits).pipe(
    Layer.provideMerge(Database.layer({ ...options, migrations, watchesInstance: true }))
  )
