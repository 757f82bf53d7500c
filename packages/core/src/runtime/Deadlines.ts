/**
 * Time limits for many things at once, for next to nothing each. What has the same length ends in the order in which
 * it began: it waits in one line, and one fiber sleeps until the first of the line is over.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/**
 * Calls `end` when so many milliseconds have passed, unless what it answers was called before.
 *
 * @param end must not throw
 */
export type Deadlines = (milliseconds: number, end: () => void) => () => void

interface Waiting {
  /** By the steady clock, in nanoseconds: a clock that is set ends nothing. */
  readonly began: bigint
  readonly end: () => void
}

/** They are nobody's any more when the scope ends. */
export const make: Effect.Effect<Deadlines, never, Scope.Scope> = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const fork = yield* FiberSet.makeRuntime<never, void>()
  const lines = new Map<number, Set<Waiting>>()

  /** It is not woken when its first is done before: at most one in vain per time limit. */
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
      // Whoever made us may have been uninterruptible.
      fork(Effect.interruptible(watch(milliseconds, first)))
      return () => first.delete(waiting)
    }
    line.add(waiting)
    return () => line.delete(waiting)
  }
})
