/**
 * Transactions that the embedder opens on the stores' own database. A store's verb inside one belongs to it, so an
 * operation that also acts outside the database has to know where it is.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

export class Transactions extends Context.Tag("@sendwright/core/storage/Transactions")<
  Transactions,
  {
    /**
     * True while the running fiber is in an open transaction of the embedder, nested ones included. A fiber that was
     * forked inside one and outlives it is outside again.
     */
    readonly isInside: Effect.Effect<boolean>
  }
>() {}
