/** Transactions, as the database's own client knows them. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transactions } from "../Transactions.ts"
import { Database } from "./Database.ts"
import * as ForeignConnection from "./ForeignConnection.ts"

export const layer: Layer.Layer<Transactions, never, Database> = Layer.effect(
  Transactions,
  Effect.map(Database, ({ atomically, isEmbedded, isForeign }) => ({
    atomically,
    isEmbedded,
    isForeign: isForeign ?? ForeignConnection.isAroundThis()
  }))
)
