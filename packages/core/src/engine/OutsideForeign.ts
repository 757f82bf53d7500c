/**
 * No operation of the engine runs inside a transaction that is not the engine's and was not handed over (contract.md §11):
 * its commit would be another one, and its rollback would leave what the operation did.
 */
import * as Effect from "effect/Effect"
import { ForeignTransaction } from "../domain/Errors.ts"
import { Transactions } from "../storage/Transactions.ts"
import { everyOperation } from "./EveryOperation.ts"

type Guarded<Operation> = Operation extends (...args: infer Args) => Effect.Effect<infer A, infer E, infer R>
  ? (...args: Args) => Effect.Effect<A, E | ForeignTransaction, R>
  : Operation extends Effect.Effect<infer A, infer E, infer R>
    ? Effect.Effect<A, E | ForeignTransaction, R>
    : Operation

/** Groups of operations, each of which fails inside a foreign transaction. */
export type OutsideForeign<Groups> = {
  readonly [Group in keyof Groups]: {
    readonly [Operation in keyof Groups[Group]]: Guarded<Groups[Group][Operation]>
  }
}

/** Wraps operations, whose names begin with that of their owner. */
export const make = Effect.map(
  Transactions,
  ({ isForeign }) =>
    <S extends object>(owner: string, service: S): S =>
      everyOperation(
        service,
        (name) => (effect) =>
          Effect.if(isForeign, {
            onTrue: () => new ForeignTransaction({ operation: `${owner}.${name}` }),
            onFalse: () => effect
          })
      )
)
