/** What a store is to the inside: core's layer, and how a transaction of the app is joined. */
import type { Stores } from "@sendwright/core"
import { Memory } from "@sendwright/core"
import type * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type { Store, Transaction } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"

/** Runs core's operations inside a transaction of the app. */
export type Within = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | SendwrightError>

export interface Parts {
  readonly name: Store["name"]
  readonly layer: Layer.Layer<Stores.Stores, unknown>
  /** Throws for a transaction that is not of this store. */
  readonly within: (tx: Transaction) => Within
  /** Brings the tables up to date; null where opening the store does that. */
  readonly migrate: Effect.Effect<void, unknown> | null
}

/** A store that this package made. */
export class MadeStore implements Store {
  readonly name: Store["name"]
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.name = parts.name
    this.#parts = parts
  }

  static partsOf(store: Store): Parts {
    if (store instanceof MadeStore) return store.#parts
    const message =
      "`store` must be memory(), sqlite(…) of sendwright/sqlite, or postgres(…) of sendwright/postgres."
    throw new SendwrightError("invalid_options", message)
  }
}

export const noTransaction = (message: string): SendwrightError =>
  new SendwrightError("transaction_unsupported", message)

export const memory = (): Store =>
  new MadeStore({
    name: "memory",
    layer: Memory.layer,
    within: () => {
      throw noTransaction(
        "memory() has no transactions of yours. Leave `tx` out, or take `sqlite({ database })` or `postgres(…)`, also as the test kit's `store`."
      )
    },
    migrate: null
  })
