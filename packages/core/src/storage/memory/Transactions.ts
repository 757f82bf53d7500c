/**
 * Memory has no transactions to be in. What is done in one is at least not interrupted, and its verbs make their checks
 * before their writes, so that only a defect could leave half of it.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transactions } from "../Transactions.ts"

export const layer: Layer.Layer<Transactions> = Layer.succeed(Transactions, {
  isEmbedded: Effect.succeed(false),
  isForeign: Effect.succeed(false),
  atomically: Effect.uninterruptible
})
