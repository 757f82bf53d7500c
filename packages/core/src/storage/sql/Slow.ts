/** Says in the log which verb kept the database busy for long: by its name, without its statements' values. */
import * as Effect from "effect/Effect"

/** From here on it is said, in milliseconds. */
export const slowMs = 1000

/** The answer of a verb that began at this moment of `performance.now()`, its first statement's. */
export const answer = <A>(operation: string, began: number, value: A): Effect.Effect<A> => {
  const ms = Math.round(performance.now() - began)
  return ms <= slowMs
    ? Effect.succeed(value)
    : Effect.logWarning(`${operation} took ${ms} ms in the database`).pipe(
        Effect.annotateLogs({ operation, ms }),
        Effect.as(value)
      )
}
