/**
 * Outside effects never happen inside somebody's transaction (contract.md §10): its rollback would forget them, and
 * whoever repeats the operation would do them twice.
 */
import * as Effect from "effect/Effect"
import { ForeignTransaction, InsideTransaction } from "../domain/Errors.ts"
import { Transactions } from "../storage/Transactions.ts"

/** Runs an operation that acts outside the database, or refuses it by its name. */
export type OutsideTransaction = (
  operation: string
) => <A, E, R>(
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<A, E | ForeignTransaction | InsideTransaction, R>

export const make: Effect.Effect<OutsideTransaction, never, Transactions> = Effect.map(
  Transactions,
  ({ isEmbedded, isForeign }): OutsideTransaction =>
    (operation) =>
    (effect) =>
      Effect.if(isForeign, {
        onTrue: () => new ForeignTransaction({ operation }),
        onFalse: () =>
          Effect.if(isEmbedded, {
            onTrue: () => new InsideTransaction({ operation }),
            onFalse: () => effect
          })
      })
)
