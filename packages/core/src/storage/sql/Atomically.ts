/** Several verbs in one transaction of the standard client, which the stores' verbs belong to. */
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { StorageError } from "../StorageError.ts"

/** Runs an effect in a transaction, whose beginning and commit fail like a store's verb. */
export const over =
  ({ withTransaction }: Pick<SqlClient, "withTransaction">) =>
  <A, E, R>(operation: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageError, R> =>
    Effect.catchAll(withTransaction(operation), (error) =>
      Effect.fail(
        error instanceof SqlError ? new StorageError({ operation: "transaction", cause: error.cause }) : error
      )
    )
