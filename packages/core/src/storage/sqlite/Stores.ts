/**
 * All stores over one SQLite database, whichever driver runs its statements.
 *
 * Rate limits are kept in process memory: one process owns the file, so memory is as exact, and a disk sync for
 * every authenticated request would cost more than the request. A restart gives each key a full allowance.
 */
import * as Layer from "effect/Layer"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import type { Database } from "../sql/Database.ts"
import * as SqlStores from "../sql/Stores.ts"
import * as HealthStore from "./HealthStore.ts"
import * as RateLimitStore from "./RateLimitStore.ts"

export const layer: Layer.Layer<Stores, StorageError, Database> = Layer.mergeAll(
  SqlStores.layer(false),
  HealthStore.layer,
  RateLimitStore.layer
)
