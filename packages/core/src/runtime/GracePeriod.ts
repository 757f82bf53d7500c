/** How much longer work in progress may run when a process stops or a drain is interrupted. */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Moment from "./Moment.ts"

export interface GracePeriod {
  /** Starts the grace period, which may be shorter than was said when it was made. A second call changes nothing. */
  readonly begin: (atMostMs?: number) => Effect.Effect<void>
  readonly hasBegun: () => boolean
  /** The rest of the grace period, in milliseconds; infinite before it begins. */
  readonly remainingAt: (now: Moment.Moment) => number
  /**
   * Waits for the effect, at most for the rest of the grace period. Works in fibers that are being interrupted, too.
   */
  readonly within: (effect: Effect.Effect<unknown>) => Effect.Effect<void>
}

/** @param outer the process's grace period, which also ends this one */
export const make = (graceMs: number, outer?: GracePeriod): GracePeriod => {
  let since: Moment.Moment | undefined
  let lengthMs = graceMs
  const begin = (atMostMs = graceMs) =>
    Effect.map(Moment.now, (now) => {
      if (since !== undefined) return
      since = now
      lengthMs = Math.min(graceMs, atMostMs)
    })
  const remainingAt = (now: Moment.Moment): number => {
    const remaining = since === undefined ? Number.POSITIVE_INFINITY : Math.max(0, since + lengthMs - now)
    return outer === undefined ? remaining : Math.min(remaining, outer.remainingAt(now))
  }
  return {
    begin,
    hasBegun: () => since !== undefined || outer?.hasBegun() === true,
    remainingAt,
    within: (effect) =>
      Effect.gen(function* () {
        yield* begin()
        const race = Effect.raceFirst(effect, Effect.sleep(remainingAt(yield* Moment.now)))
        // The race runs in a fiber of its own, since the waiting fiber may have been interrupted already.
        yield* Effect.flatMap(Effect.fork(Effect.interruptible(race)), Fiber.await)
      })
  }
}
