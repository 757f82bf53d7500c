/** How long what is under way may still take when a process stops. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Moment from "../loop/Moment.ts"

export interface Grace {
  /** It runs from here. A second call changes nothing. */
  readonly begin: Effect.Effect<void>
  readonly hasBegun: () => boolean
  /** Waits for the effect, and no longer than what is left. For fibers that are being interrupted, too. */
  readonly within: (effect: Effect.Effect<unknown>) => Effect.Effect<void>
}

export const make = (graceMs: number): Grace => {
  let since: Moment.Moment | undefined
  const begin = Effect.map(Moment.now, (now) => {
    since ??= now
    return since
  })
  return {
    begin: Effect.asVoid(begin),
    hasBegun: () => since !== undefined,
    within: (effect) =>
      Effect.gen(function* () {
        const left = (yield* begin) + graceMs - (yield* Moment.now)
        const race = Effect.raceFirst(effect, Effect.sleep(Math.max(0, left)))
        // A fiber of its own: the one that waits may have been interrupted already.
        yield* Effect.flatMap(Effect.fork(Effect.interruptible(race)), Fiber.await)
      })
  }
}
