/** All stores in one SQLite file, and the standard SQL client over the same connection. */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqliteClient } from "@effect/sql-sqlite-node/SqliteClient"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { StorageError } from "../StorageError.ts"
import type * as Storage from "../Stores.ts"
import type { Inspection as Seen } from "../sql/Inspection.ts"
import type { MigrationError } from "../sql/Migrations.ts"
import * as Database from "./Database.ts"
import * as Inspection from "./Inspection.ts"
import { migrations } from "./Schema.ts"
import * as Stores from "./Stores.ts"

export interface Options {
  /** A path, whose folder is created, or `:memory:`. */
  readonly filename: string
}

/** Looks at a file beside the process that owns it. Changes nothing, and blocks the event loop. */
export const look = (filename: string): Effect.Effect<Seen, MigrationError | StorageError> =>
  Inspection.inspect(filename, migrations)

/**
 * Opens the file, brings it to this build's schema and answers the stores over it. A store's verb that is called
 * inside `sql.withTransaction` belongs to that transaction. Rate limits are kept in process memory (`Stores.ts`).
 */
export const layer = (
  options: Options
): Layer.Layer<Storage.Stores | SqlClient | SqliteClient, StorageError | MigrationError> =>
  Stores.layer.pipe(Layer.provideMerge(Database.layer({ filename: options.filename, migrations })))
