/** How long what is under way may still take when a process stops, or a drain is interrupted. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Moment from "./Moment.ts"

export interface GracePeriod {
  /** It runs from here. A second call changes nothing. */
  readonly begin: Effect.Effect<void>
  readonly hasBegun: () => boolean
  /** What is left of it, in milliseconds; infinite while it has not begun. */
  readonly remainingAt: (now: Moment.Moment) => number
  /** Waits for the effect, and no longer than what is left. For fibers that are being interrupted, too. */
  readonly within: (effect: Effect.Effect<unknown>) => Effect.Effect<void>
}

/** @param outer the grace of the process, in which that of a part of it ends at the latest */
export const make = (graceMs: number, outer?: GracePeriod): GracePeriod => {
  let since: Moment.Moment | undefined
  const begin = Effect.map(Moment.now, (now) => {
    since ??= now
  })
  const remainingAt = (now: Moment.Moment): number => {
    const remaining = since === undefined ? Number.POSITIVE_INFINITY : Math.max(0, since + graceMs - now)
    return outer === undefined ? remaining : Math.min(remaining, outer.remainingAt(now))
  }
  return {
    begin,
    hasBegun: () => since !== undefined || outer?.hasBegun() === true,
    remainingAt,
    within: (effect) =>
      Effect.gen(function* () {
        yield* begin
        const race = Effect.raceFirst(effect, Effect.sleep(remainingAt(yield* Moment.now)))
        // A fiber of its own: the one that waits may have been interrupted already.
        yield* Effect.flatMap(Effect.fork(Effect.interruptible(race)), Fiber.await)
      })
  }
}
