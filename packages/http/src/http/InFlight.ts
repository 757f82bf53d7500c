/** Counts operations in progress, so that a stop can wait for their end. */
import * as Effect from "effect/Effect"

export interface InFlight {
  readonly count: () => number
  readonly begin: () => void
  readonly end: () => void
  readonly during: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Returns once nothing is under way. */
  readonly none: Effect.Effect<void>
}

export const make = (): InFlight => {
  const idle = Effect.unsafeMakeLatch(true)
  let count = 0
  const begin = (): void => {
    count += 1
    idle.unsafeClose()
  }
  const end = (): void => {
    count -= 1
    if (count === 0) idle.unsafeOpen()
  }
  return {
    count: () => count,
    begin,
    end,
    during: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(begin),
        () => effect,
        () => Effect.sync(end)
      ),
    none: idle.await
  }
}
