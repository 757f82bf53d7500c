/** Tells of a store that is held after a restore: who asks is answered, and what changes is logged, once in each process. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
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

const gauge = Metric.gauge("sendwright_store_held", {
  description: "1 while nothing is sent, since the store was restored; else 0."
})

export const layer: Layer.Layer<QuarantineWatch, StorageError, RestoreStore> = Layer.effect(
  QuarantineWatch,
  Effect.gen(function* () {
    const store = yield* RestoreStore
    let since: number | null = null
    const look = Effect.tap(store.quarantine, (quarantine) => {
      const was = since
      since = quarantine?.since ?? null
      const report =
        was === since
          ? Effect.void
          : quarantine === null
            ? Effect.logWarning("The store is held no more: what is due is sent")
            : Effect.logError(Restore.describe(quarantine))
      return Effect.zipRight(Metric.set(gauge, quarantine === null ? 0 : 1), report)
    })
    // Before anything is dispatched.
    yield* look
    return { look }
  })
)
