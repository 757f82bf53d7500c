/** Says how large the store is, remembers it day by day, and gives back what is free of its file. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Measure, Noted, Size } from "../domain/Size.ts"
import type { StorageError } from "./StorageError.ts"

export class SizeStore extends Context.Tag("@sendwright/core/storage/SizeStore")<
  SizeStore,
  {
    /** Costs a few pages, however large it is. */
    readonly measure: Effect.Effect<Measure, StorageError>
    /** Notes the size of a day, once, and forgets days before a time. */
    readonly note: (command: {
      readonly noted: Noted
      readonly before: Instant
    }) => Effect.Effect<void, StorageError>
    /** The first size that was noted at a time or later; null when none was. */
    readonly firstSince: (at: Instant) => Effect.Effect<Noted | null, StorageError>
    /** The newest day that was noted, or time of a job or an event, that is before a time; null when there is none. */
    readonly newest: (before: Instant) => Effect.Effect<Instant | null, StorageError>
    readonly oldest: Effect.Effect<Size["oldest"], StorageError>
    /**
     * Gives back so many free pages of the file at most, where it can do so beside all others, unless there are few; `ms` is
     * how long this kept the writer. Answers whether there are more.
     */
    readonly shrink: (command: {
      readonly pages: number
    }) => Effect.Effect<{ readonly hasMore: boolean; readonly ms: number }, StorageError>
  }
>() {}
