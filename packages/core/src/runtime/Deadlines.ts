/**
 * Time limits for many operations at a very low cost each. Limits of the same length end in the order in which they
 * began, so that they form one line, and one fiber sleeps until the first ends.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/**
 * Calls `end` after the given time, unless the returned function was called before.
 *
 * @param end must not throw
 */
export type Deadlines = (milliseconds: number, end: () => void) => () => void

interface Waiting {
  /** The start by the monotonic clock, in nanoseconds, so that setting the clock ends nothing. */
  readonly began: bigint
  readonly end: () => void
}

/** Deadlines whose limits are dropped when the scope ends. */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const fork = yield* FiberSet.makeRuntime<never, void>()
  const lines = new Map<number, Set<Waiting>>()

  /**
   * Sleeps until the first limit of a line ends. It is not woken if that limit is canceled, so that it wakes in vain
   * at most once per limit.
   */
  const watch = (milliseconds: number, line: Set<Waiting>): Effect.Effect<void> =>
    Effect.suspend(() => {
      const now = clock.unsafeCurrentTimeNanos()
      for (const waiting of line) {
        const left = milliseconds - Number(now - waiting.began) / 1e6
        if (left > 0) {
          return Effect.zipRight(Effect.sleep(left), watch(milliseconds, line))
        }
        line.delete(waiting)
        waiting.end()
      }
      lines.delete(milliseconds)
      return Effect.void
    })

  return (milliseconds, end) => {
    const waiting = { began: clock.unsafeCurrentTimeNanos(), end }
    const line = lines.get(milliseconds)
    if (line === undefined) {
      const first = new Set([waiting])
      lines.set(milliseconds, first)
      // The fiber that built these deadlines may be uninterruptible, and a fork inherits that.
      fork(Effect.interruptible(watch(milliseconds, first)))
      return () => first.delete(waiting)
    }
    line.add(waiting)
    return () => line.delete(waiting)
  }
})
