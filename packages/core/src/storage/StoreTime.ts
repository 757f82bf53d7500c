/**
 * The time of a store that several processes share: their instants are compared with each other's, so their own clocks
 * will not do (docs/adr/0021). Asked by `worker/StoreClock`.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { StorageError } from "./StorageError.ts"

/** Asks the store for its time; null where that is the process's own, as of a store with one process. */
export class StoreTime extends Context.Reference<StoreTime>()("@sendwright/core/storage/StoreTime", {
  defaultValue: (): Effect.Effect<Instant, StorageError> | null => null
}) {}
