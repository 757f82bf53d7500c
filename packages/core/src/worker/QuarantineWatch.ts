/** Tells of a store that is held after a restore: who asks is answered, and what changes is logged, once in each process. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Quarantine } from "../domain/Restore.ts"
import * as Restore from "../domain/Restore.ts"
import { RestoreStore } from "../storage/RestoreStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

export class QuarantineWatch extends Context.Tag("@sendwright/core/worker/QuarantineWatch")<
  QuarantineWatch,
  {
    /** The hold as it is now; null while there is none. To be asked every few seconds by a process that dispatches. */
    readonly look: Effect.Effect<Quarantine | null, StorageError>
  }
>() {}

export const layer: Layer.Layer<QuarantineWatch, StorageError, RestoreStore> = Layer.effect(
  QuarantineWatch,
  Effect.gen(function* () {
    const store = yield* RestoreStore
    let since: number | null = null
    const look = Effect.tap(store.quarantine, (quarantine) => {
      const was = since
      since = quarantine?.since ?? null
      if (was === since) return Effect.void
      return quarantine === null
        ? Effect.logWarning("The store is held no more: what is due is sent")
        : Effect.logError(Restore.describe(quarantine))
    })
    // Before anything is dispatched.
    yield* look
    return { look }
  })
)
