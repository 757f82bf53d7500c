/** Where the audit log lives. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Entry, Query } from "../domain/Audit.ts"
import type { Between } from "../domain/DerivedEvent.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

export class AuditStore extends Context.Tag("@sendwright/core/storage/AuditStore")<
  AuditStore,
  {
    /**
     * Called inside a transaction: no other act on the target begins before its end, so that what is read before the act
     * is what it changes. Where acts cannot run side by side it does nothing.
     */
    readonly serialize: (target: string) => Effect.Effect<void, StorageError>
    /** Adds an entry, and deletes up to `Audit.prunedAtOnce` of the oldest ones that are older than `retainSince`. */
    readonly append: (command: {
      readonly entry: Entry
      readonly retainSince: Instant
    }) => Effect.Effect<void, StorageError>
    /** Newest first. */
    readonly list: (query: Query) => Effect.Effect<Paged<Entry>, StorageError>
    /** Newest first by their own time, of all operators. */
    readonly between: (
      query: Pick<Between, "from" | "limit" | "to">
    ) => Effect.Effect<ReadonlyArray<Entry>, StorageError>
  }
>() {}
