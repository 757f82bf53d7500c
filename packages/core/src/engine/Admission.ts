/**
 * Admission by backlog: limits how many sends may wait for their commit. A send over the limit is refused immediately
 * and asked to come again, since its answer would come after its client's timeout.
 */
import * as Effect from "effect/Effect"
import { Overloaded } from "../domain/Errors.ts"

/** About as many sends as are recorded in a second. */
export const mostWaiting = 1000

const retryAfterMs = 1000

export interface Admission {
  readonly admit: <A, E, R>(accept: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Overloaded, R>
}

export const make = (): Admission => {
  let waiting = 0
  const release = Effect.sync(() => {
    waiting -= 1
  })
  return {
    admit: <A, E, R>(accept: Effect.Effect<A, E, R>) =>
      Effect.suspend((): Effect.Effect<A, E | Overloaded, R> => {
        if (waiting >= mostWaiting) return new Overloaded({ waitingFor: "commit", retryAfterMs })
        waiting += 1
        return Effect.ensuring(accept, release)
      })
  }
}
