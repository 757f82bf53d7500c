/** The result of a transaction whose end failed: a failure and no defect, since a database that stops is nobody's bug. */
import type { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/**
 * The body's exit, unless the commit or the rollback that it called for failed. That failure comes first then: what the
 * body says is not true of a transaction that nobody committed or undid.
 */
export const ended = <A, E>(
  settled: Effect.Effect<unknown, SqlError>,
  exit: Exit.Exit<A, E>
): Effect.Effect<A, E | SqlError> =>
  Effect.matchCauseEffect(settled, {
    onFailure: (cause) =>
      Effect.failCause(Exit.isFailure(exit) ? Cause.sequential<SqlError, E>(cause, exit.cause) : cause),
    onSuccess: () => exit
  })
