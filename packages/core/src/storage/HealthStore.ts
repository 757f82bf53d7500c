/** Can the store be written now? */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StorageError } from "./StorageError.ts"

export class HealthStore extends Context.Tag("@sendwright/core/storage/HealthStore")<
  HealthStore,
  {
    /** Commits a small write as requests do, and leaves nothing of it. */
    readonly probe: Effect.Effect<void, StorageError>
  }
>() {}
