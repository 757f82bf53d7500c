/** All stores in a PostgreSQL database that any number of processes share, and the standard SQL client over it. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { PgClient } from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EmbeddedCommits } from "../EmbeddedCommits.ts"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import type { StoreTime } from "../StoreTime.ts"
import type { MigrationError } from "../sql/Migrations.ts"
import * as SqlStores from "../sql/Stores.ts"
import type { Options, Place } from "./Config.ts"
import * as Database from "./Database.ts"
import * as HealthStore from "./HealthStore.ts"
import type { SeenServer } from "./Inspection.ts"
import * as Inspection from "./Inspection.ts"
import * as Migrator from "./Migrator.ts"
import * as RateLimitStore from "./RateLimitStore.ts"
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

/** What a database has, seen beside the processes that work on it. Changes nothing, and ends within seconds. */
export const look = (place: Place): Effect.Effect<SeenServer, MigrationError | StorageError> =>
  Inspection.inspect(place, migrations)

/**
 * The stores over a database that the engine connects to (`{ url }`), or over a pool of yours (`{ pool }`), which is neither
 * closed nor, unless told (`migrate: true`), migrated. A store's verb that is called inside `sql.withTransaction` belongs to
 * that transaction, and so does one inside {@link within}.
 */
export const layer = (
  options: Options
): Layer.Layer<Stores | StoreTime | EmbeddedCommits | SqlClient | PgClient, StorageError | MigrationError> =>
  Layer.mergeAll(SqlStores.layer(true), HealthStore.layer, RateLimitStore.layer).pipe(
    Layer.provideMerge(Database.layer({ ...options, migrations, watchesInstance: true }))
  )
