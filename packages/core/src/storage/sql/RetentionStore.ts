/** Deletes what is kept no longer. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import * as Retentions from "../policy/Retentions.ts"
import { momentOf, RetentionStore } from "../RetentionStore.ts"
import { Database } from "./Database.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as RetentionRows from "./RetentionRows.ts"

export const layer: Layer.Layer<RetentionStore, never, Database> = Layer.effect(
  RetentionStore,
  Effect.gen(function* () {
    const db = yield* Database
    const rows = RetentionRows.make(Jobs.make(db.dialect, Ids.make(yield* Ids.RandomBytes)))
    return {
      purge: (query) =>
        Effect.flatMap(Effect.clock, (clock) =>
          db.work("RetentionStore.purge", () => Retentions.purge(rows, query, momentOf(clock)))
        ),
      count: (query) => db.read("RetentionStore.count", () => Retentions.count(rows, query))
    }
  })
)
