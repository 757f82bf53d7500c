/** The time of a simulation: a heap of sleepers and a wall clock, both moved by hand. No timer of the machine is used. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

export interface Time {
  readonly clock: Clock.Clock
  /** Milliseconds since 1970, as the simulated machines see it. */
  readonly now: () => number
  /** Lets so much time go by: who sleeps wakes in its turn, and does all it can before the next one wakes. */
  readonly pass: (ms: number) => Promise<void>
  /** Moves the wall clock, and nobody's sleep: as an operator or NTP does. */
  readonly jump: (ms: number) => void
  /** The clock of a machine whose wall clock is wrong by so much. */
  readonly clockOf: (wrongBy: { readonly ms: number }) => Clock.Clock
  /** Lets everything be done that needs no simulated time. */
  readonly settle: () => Promise<void>
  /** Work of the real world: no time passes until it is done. */
  readonly outside: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

interface Sleeper {
  readonly at: number
  readonly order: number
  readonly wake: () => void
}

export const make = (start: number): Time => {
  let elapsed = 0
  let wall = start
  let order = 0
  const sleepers = new Set<Sleeper>()
  let working = 0
  let resting: Array<() => void> = []
  const now = () => Math.floor(wall + elapsed)
  const nanos = () => BigInt(Math.round(elapsed * 1e6))
  const clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) =>
      Effect.async<void>((resume) => {
        order += 1
        const sleeper: Sleeper = {
          at: elapsed + Duration.toMillis(duration),
          order,
          wake: () => resume(Effect.void)
        }
        sleepers.add(sleeper)
        return Effect.sync(() => sleepers.delete(sleeper))
      })
  }
  /** Fibers go on in microtasks, and after many steps in a macrotask: two of those without work outside are a rest. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 2; turn++) {
      if (working > 0) {
        await new Promise<void>((resolve) => resting.push(resolve))
        turn = 0
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const begin = Effect.sync(() => {
    working += 1
  })
  const end = Effect.sync(() => {
    working -= 1
    if (working > 0) return
    for (const resume of resting) resume()
    resting = []
  })
  const first = (until: number): Sleeper | undefined => {
    let next: Sleeper | undefined
    for (const each of sleepers) {
      if (each.at > until) continue
      if (next === undefined || each.at < next.at || (each.at === next.at && each.order < next.order))
        next = each
    }
    return next
  }
  return {
    clock,
    clockOf: (wrongBy) => {
      const wrong = () => now() + wrongBy.ms
      return { ...clock, unsafeCurrentTimeMillis: wrong, currentTimeMillis: Effect.sync(wrong) }
    },
    now,
    settle,
    outside: (effect) =>
      Effect.acquireUseRelease(
        begin,
        () => effect,
        () => end
      ),
    jump: (ms) => {
      wall += ms
    },
    pass: async (ms) => {
      await settle()
      const until = elapsed + ms
      for (let next = first(until); next !== undefined; next = first(until)) {
        sleepers.delete(next)
        elapsed = Math.max(elapsed, next.at)
        next.wake()
        await settle()
      }
      elapsed = until
    }
  }
}
