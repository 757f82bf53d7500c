/**
 * Fair shares of the event loop. All that a process does takes turns on one thread, and a request waits for as long as
 * a window is written. Who has much to do asks before each piece of it whether this turn of the loop has had its share
 * of such work, and waits for a later one if it has: sockets and timers come between.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Memo from "../domain/Memo.ts"
import * as Moment from "./Moment.ts"

/** How long such work may keep a turn of the loop, in milliseconds. */
export const longestMs = 8
/** The same while requests come. Smaller pieces share fewer commits, which nobody pays for while nobody asks. */
const askedMs = 4
/** After so long without a request none is expected, in milliseconds. */
const expectedMs = 1000
/** After so long without a piece of work there is none, in milliseconds. */
const idleMs = 50

const live = Clock.make()

/** When this turn's work began, by each clock: a clock that is moved by hand tells nothing of another one's time. */
const turnOf = Memo.ofObject((_: Clock.Clock): { began: Moment.Moment | undefined } => ({ began: undefined }))

// Of the process, as the loop is: see docs/adr/0032.
let asked = Number.NEGATIVE_INFINITY
let worked = Number.NEGATIVE_INFINITY

/** Says that a request came. */
export const requestArrived = (): void => {
  asked = performance.now()
}

/** How long such work may keep a turn of the loop now, in milliseconds. */
export const budgetMs = (now = performance.now()): number => (now - asked < expectedMs ? askedMs : longestMs)

/** True when this turn has given its share. Counts from the first time that it is asked in a turn. */
export const isSpent = (budget = budgetMs(), clock = live): boolean => {
  const turn = turnOf(clock)
  const now = Moment.unsafeNow(clock)
  if (turn.began !== undefined) return now - turn.began > budget
  turn.began = now
  setImmediate(() => {
    turn.began = undefined
  })
  return false
}

/**
 * The next turn: for who has just done much at once and goes on with more. A macrotask, since Effect's own yield is a
 * microtask, which timers and sockets never get between.
 */
export const nextTurn: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/**
 * Goes on in the first turn that has something left for it. It asks the Clock of whoever runs it: a clock that is moved
 * by hand says that a turn takes no time, so that a simulation goes the same way on a slow machine.
 */
export const yieldIfSpent: Effect.Effect<void> = Effect.clockWith((clock) =>
  isSpent(budgetMs(), clock) ? Effect.zipRight(nextTurn, yieldIfSpent) : Effect.void
)

/** Milliseconds for which pieces of some microseconds each are done before the turn is asked for again. */
const atOnceMs = 1

/** Goes through what is done piece by piece, in turns; a piece ends where the generator yields. */
export const runInPieces = <A>(pieces: Iterator<void, A>): Effect.Effect<A> =>
  Effect.suspend(() => {
    const until = performance.now() + atOnceMs
    do {
      const { done, value } = pieces.next()
      if (done !== true) continue
      // One of a few pieces may have been as much as thousands are; what follows may be, too.
      return performance.now() > until ? Effect.as(yieldIfSpent, value) : Effect.succeed(value)
    } while (performance.now() <= until)
    return Effect.zipRight(yieldIfSpent, runInPieces(pieces))
  })

/** The same for a piece of what nobody waits for. */
export const yieldIfSpentByWork: Effect.Effect<void> = Effect.suspend(() => {
  worked = performance.now()
  return yieldIfSpent
})

/** True when such pieces take their turns now: a request that lets them go first waits for their share. */
export const isShared = (now = performance.now()): boolean => now - worked < idleMs
