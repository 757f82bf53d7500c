/** Keeps what no other row tells (`domain/Happening`). The stores of what happens write it in the same commit. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Between } from "../domain/DerivedEvent.ts"
import type { Happening, Type } from "../domain/Happening.ts"
import type { StorageError } from "./StorageError.ts"

export interface HappeningQuery extends Between {
  /** All of them where it is left out. */
  readonly types?: ReadonlyArray<Type> | undefined
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
