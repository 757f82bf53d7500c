/** The stores that are simulated. A simulation has one of its own, and looks at it after so many steps. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { RandomBytes } from "../../packages/core/src/domain/Ids.ts"
import * as Memory from "../../packages/core/src/storage/memory/Memory.ts"
import { MemoryDatabase } from "../../packages/core/src/storage/memory/MemoryDatabase.ts"
import type { Stores } from "../../packages/core/src/storage/Stores.ts"
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
  open: Effect.map(Layer.build(Memory.layer), (stores) => ({
    stores,
    look: () => Effect.sync(() => Views.ofMemory(Context.get(stores, MemoryDatabase)))
  })),
  lookEvery: 1
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
