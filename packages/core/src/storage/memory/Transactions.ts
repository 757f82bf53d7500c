/** Memory has no transactions to be in. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transactions } from "../Transactions.ts"

export const layer: Layer.Layer<Transactions> = Layer.succeed(Transactions, {
  isInside: Effect.succeed(false)
})
