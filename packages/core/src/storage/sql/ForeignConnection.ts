/**
 * Transactions that another client of `@effect/sql` has begun. All of its clients put their connections into one place of a
 * fiber's context, so that they are seen; those of other libraries are not (contract.md §11).
 */
import type { TransactionConnection as Tag } from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"

/** The place's tag by its name, so that a store over a handle needs no `@effect/sql` beside it. */
const TransactionConnection = Context.GenericTag<Tag, readonly [connection: Connection, depth: number]>(
  "@effect/sql/SqlClient/TransactionConnection"
)

/** That of the innermost transaction, of whichever client, that the fiber is in or has outlived. */
export const around = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>
): readonly [connection: Connection, depth: number] | undefined =>
  Option.getOrUndefined(Context.getOption(fiber.currentContext, TransactionConnection))

/** @param isOurs tells the connections of the database's own client */
export const isAround = (
  fiber: Fiber.RuntimeFiber<unknown, unknown>,
  isOurs: (connection: Connection) => boolean = () => false
): boolean => {
  const transaction = around(fiber)
  return transaction !== undefined && !isOurs(transaction[0])
}

/** The same of the running fiber. */
export const isAroundThis = (isOurs?: (connection: Connection) => boolean): Effect.Effect<boolean> =>
  Effect.withFiberRuntime((fiber) => Effect.succeed(isAround(fiber, isOurs)))
