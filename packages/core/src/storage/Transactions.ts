/**
 * Transactions on the stores' own database, the engine's and those that the embedder opens. A store's verb inside one belongs to it, so an
 * operation that also acts outside the database has to know where it is.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StorageError } from "./StorageError.ts"

export class Transactions extends Context.Tag("@sendwright/core/storage/Transactions")<
  Transactions,
  {
    /**
     * True while the running fiber is in an open transaction of the embedder, nested ones included. A fiber that was
     * forked inside one and outlives it is outside again.
     */
    readonly isEmbedded: Effect.Effect<boolean>
    /**
     * True while the running fiber is in a transaction of another client, which was not handed over. It could end in any way
     * without what the engine did in it, so nothing is done in it. Not all are seen (docs/transactions.md).
     */
    readonly isForeign: Effect.Effect<boolean>
    /**
     * Makes one commit of all verbs of an operation, which is undone as a whole when it fails or is interrupted. Inside an
     * open transaction it belongs to that. Nothing may act outside the database in it.
     */
    readonly atomically: <A, E, R>(operation: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StorageError, R>
  }
>() {}

/**
 * True in what the engine does of itself, which can wait for the end of somebody's transaction for as long as it takes. What a
 * caller awaits may be inside that very transaction.
 */
export class InBackground extends Context.Reference<InBackground>()("@sendwright/core/storage/InBackground", {
  defaultValue: () => false
}) {}
