/**
 * Deletes what accounts keep no longer (`domain/Retention`), a slice with each commit and in an order that leaves nothing
 * dangling: a process that dies amid a purge has lost nothing, and the next one goes on.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Place, Share, Walk } from "../domain/Retention.ts"
import type { StorageError } from "./StorageError.ts"

/** The monotonic clock, in milliseconds. */
export const momentOf = (clock: Clock.Clock) => (): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

export interface SliceQuery {
  readonly walk: Walk
  /** Where the walk goes on; null from the first row on. */
  readonly after: Place | null
  /** The rows that go with one slice; more are looked at. One job goes whole, however many recipients it has. */
  readonly limit: number
  readonly now: Instant
}

export interface Counted {
  readonly shares: ReadonlyArray<Share>
  /** Where the walk goes on; null when nothing more can be due. */
  readonly next: Place | null
}

export type Slice =
  | (Counted & {
      readonly _tag: "Purged"
      /** The first row that stayed and may be due later: a later walk begins before it. */
      readonly kept: Place | null
      /** How long the slice kept the writer, without its commit. */
      readonly ms: number
    })
  /** Another process purges, or the store is held (`RestoreStore`): nothing was done. */
  | { readonly _tag: "Busy" }

export class RetentionStore extends Context.Tag("@sendwright/core/storage/RetentionStore")<
  RetentionStore,
  {
    /** One slice of a walk. */
    readonly purge: (query: SliceQuery) => Effect.Effect<Slice, StorageError>
    /** Says what a purge would do, and does nothing. */
    readonly count: (query: SliceQuery) => Effect.Effect<Counted, StorageError>
  }
>() {}
