/**
 * Shares the event loop fairly. All work of a process runs in turns on one thread. Long work asks before each piece whether
 * this turn has used its budget and, if so, goes on in a later one, so that sockets, timers and requests come in between.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Memo from "../domain/Memo.ts"
import * as Moment from "./Moment.ts"
import * as Timers from "./Timers.ts"

/** The budget of long work in a turn of the loop, in milliseconds. */
export const turnMs = 4
/** After this time without a turn that used its budget no long work is in progress, in milliseconds. */
const idleMs = 50

/** The clock of callers outside a fiber. */
const live = Clock.make()

/**
 * When this turn's work began, by each clock. Under a clock that is moved by hand a turn takes no time, so that a simulation
 * is the same on a slow machine.
 */
const turnOf = Memo.ofObject((_: Clock.Clock): { began: Moment.Moment | null } => ({ began: null }))

// State of the process, as the event loop is: see docs/adr/0014.
let spentAt = Number.NEGATIVE_INFINITY

/** True when this turn's budget is used. Its time counts from the first call in the turn. */
export const isSpent = (clock = live, budget = turnMs): boolean => {
  const turn = turnOf(clock)
  const now = Moment.unsafeNow(clock)
  if (turn.began === null) {
    turn.began = now
    Timers.setImmediate(() => {
      turn.began = null
    })
  }
  if (now - turn.began <= budget) return false
  spentAt = performance.now()
  return true
}

/** True while long work takes turns. A request that runs in a later turn waits for that work's share of it. */
export const isShared = (now = performance.now()): boolean => now - spentAt < idleMs

/** Continues in the next turn. A macrotask, since timers and sockets never come between Effect's own yields. */
export const nextTurn: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = Timers.setImmediate(() => resume(Effect.void))
  return Effect.sync(() => Timers.clearImmediate(immediate))
})

/** Continues in the first turn with some budget left; in the order in which turns were asked for. */
export const yieldIfSpent: Effect.Effect<void> = Effect.clockWith((clock) =>
  isSpent(clock) ? Effect.zipRight(nextTurn, yieldIfSpent) : Effect.void
)

/** Milliseconds of small pieces between two checks of the budget. */
const atOnceMs = 1

/** Runs a generator's pieces within the budget; a piece ends where the generator yields. */
export const runInPieces = <A>(pieces: Iterator<void, A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const until = performance.now() + atOnceMs
    do {
      const { done, value } = pieces.next()
      if (done !== true) continue
      // One piece may have taken as long as thousands do, and the work after it may be long, too.
      return performance.now() > until ? Effect.as(yieldIfSpent, value) : Effect.succeed(value)
    } while (performance.now() <= until)
    return Effect.zipRight(yieldIfSpent, runInPieces(pieces))
  })
