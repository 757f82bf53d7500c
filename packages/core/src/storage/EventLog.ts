/** Appends events that no other store's change carries. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Draft } from "../domain/Event.ts"
import type { Instant } from "../domain/Instant.ts"
import type { StorageError } from "./StorageError.ts"

export class EventLog extends Context.Tag("@sendwright/core/storage/EventLog")<
  EventLog,
  {
    readonly append: (command: {
      readonly accountId: string
      readonly drafts: ReadonlyArray<Draft>
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>
  }
>() {}
