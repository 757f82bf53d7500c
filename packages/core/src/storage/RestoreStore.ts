/**
 * The hold of a store that was restored (`domain/Restore`). While it lasts nothing is claimed and no direct message is
 * accepted, whichever process asks, since each of these commits looks at it. The stores that can tell by themselves that they
 * were restored place it before they answer anything.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Counts, Quarantine, Way } from "../domain/Restore.ts"
import type { StorageError } from "./StorageError.ts"

/** The result of opening a store that was held. */
export interface Opening {
  /** True when no job is left to open, and when the store is not held. */
  readonly isOver: boolean
  /** The way on by which the store is opened; null when it is not held. */
  readonly way: Way | null
}

export class RestoreStore extends Context.Tag("@sendwright/core/storage/RestoreStore")<
  RestoreStore,
  {
    /** Null while it is not held. */
    readonly quarantine: Effect.Effect<Quarantine | null, StorageError>
    /** Holds the store because an operator says so. One that is held stays as it is. */
    readonly place: (command: { readonly now: Instant }) => Effect.Effect<Quarantine, StorageError>
    /**
     * Opens some of the jobs that were there when the hold began, in one commit. What was interrupted goes on behind the last
     * job that was opened. All are opened in the way of the first; another way changes nothing and is told that one.
     */
    readonly open: (command: {
      readonly now: Instant
      readonly way: Way
    }) => Effect.Effect<Opening, StorageError>
    /** Counts what {@link open} would do, some jobs at a time; `next` is null behind the last of them. */
    readonly count: (query: {
      readonly way: Way
      readonly after: number | null
    }) => Effect.Effect<{ readonly counts: Counts; readonly next: number | null }, StorageError>
    /** Ends the hold once all is opened; answers it as it was. Null when there is none, or something is left to open. */
    readonly end: Effect.Effect<Quarantine | null, StorageError>
  }
>() {}
