/** Appends events that no other store's change carries: an inbound message, once however often it comes. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Draft } from "../domain/Event.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { StorageError } from "./StorageError.ts"

/** Longer than a platform repeats what it could not deliver (whatsapp-cloud.md §1.8: 36 hours). */
export const rememberedMs = 7 * Time.day

export class EventLog extends Context.Tag("@sendwright/core/storage/EventLog")<
  EventLog,
  {
    readonly append: (command: {
      readonly accountId: string
      readonly drafts: ReadonlyArray<Draft>
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>
    /** The same unless something under this id was appended before, within {@link rememberedMs}; answers whether it was not. */
    readonly appendOnce: (command: {
      readonly id: string
      readonly accountId: string
      readonly drafts: ReadonlyArray<Draft>
      readonly now: Instant
    }) => Effect.Effect<boolean, StorageError>
  }
>() {}
