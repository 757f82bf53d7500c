/** The stores that are simulated. A simulation has one of its own, and looks at it after so many steps. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { RandomBytes } from "../../packages/core/src/domain/Ids.ts"
import type { Stores } from "../../packages/core/src/storage/Stores.ts"
import * as Memory from "../../packages/core/src/storage/sqlite/Memory.ts"
import * as SqliteHandle from "../../packages/core/src/storage/sqlite/OverHandle.ts"
import * as Sqlite from "../../packages/core/src/storage/sqlite/Sqlite.ts"
import type { View } from "./View.ts"
import * as Views from "./View.ts"

export interface Opened {
  readonly stores: Context.Context<Stores>
  readonly look: (accountIds: ReadonlyArray<string>) => Effect.Effect<View, unknown>
}

export interface Store {
  readonly open: Effect.Effect<Opened, unknown, RandomBytes | Scope.Scope>
  /** To look costs as many statements as there are jobs. */
  readonly lookEvery: number
}

export const memory: Store = {
  open: Effect.suspend(() => {
    const database = Memory.open()
    return Effect.map(Layer.build(SqliteHandle.layer({ database, migrate: true })), (stores) => ({
      stores,
      look: (accountIds: ReadonlyArray<string>) =>
        Effect.map(Views.ofStores(stores, accountIds), (view) => Views.ofRows(database, view))
    }))
  }),
  lookEvery: 4
}

/** A store that is looked at through its own verbs. */
export const database = (layer: Layer.Layer<Stores, unknown>, lookEvery: number): Store => ({
  open: Effect.map(Layer.build(layer), (stores) => ({
    stores,
    look: (accountIds) => Views.ofStores(stores, accountIds)
  })),
  lookEvery
})

export const sqlite: Store = database(Sqlite.layer({ filename: ":memory:" }), 8)
