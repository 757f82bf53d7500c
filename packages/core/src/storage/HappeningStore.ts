/** Keeps what no other row tells (`domain/Happening`). The stores of what happens write it in the same commit. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Happening } from "../domain/Happening.ts"
import type { Instant } from "../domain/Instant.ts"
import type { StorageError } from "./StorageError.ts"

export interface HappeningQuery {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  /** Inclusive. */
  readonly from: Instant
  /** Exclusive. */
  readonly to: Instant
  readonly limit: number
}

export class HappeningStore extends Context.Tag("@sendwright/core/storage/HappeningStore")<
  HappeningStore,
  {
    /** For what happens outside of a store's verbs, as to processes. */
    readonly note: (happening: Happening) => Effect.Effect<void, StorageError>
    /** The newest between two times, newest first. */
    readonly between: (query: HappeningQuery) => Effect.Effect<ReadonlyArray<Happening>, StorageError>
  }
>() {}
