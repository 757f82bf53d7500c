/**
 * Shares the event loop fairly. All work of a process runs in turns on one thread, and a request waits while a window
 * is written. Long work asks before each piece whether this turn has used its budget and, if so, waits for a later
 * turn, so that sockets and timers run in between.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Memo from "../domain/Memo.ts"
import * as Moment from "./Moment.ts"

/** The budget of long work per turn of the loop, in milliseconds. */
export const longestMs = 8
/**
 * The budget while requests come. It is smaller only then, since smaller pieces need more commits for the same work.
 */
const askedMs = 4
/** No request is expected after this time without one, in milliseconds. */
const expectedMs = 1000
/** No long work is in progress after this time without a piece of it, in milliseconds. */
const idleMs = 50

const live = Clock.make()

interface TurnOfClock {
  began: Moment.Moment | undefined
  /** Work that goes on in a later turn, in the order in which it came. */
  readonly waiting: Set<() => void>
  /** True while somebody resumes it. */
  isResumed: boolean
}

/**
 * When this turn's work began, by each clock: the time of a clock that is moved by hand says nothing about another
 * one's.
 */
const turnOf = Memo.ofObject(
  (_: Clock.Clock): TurnOfClock => ({ began: undefined, waiting: new Set(), isResumed: false })
)

// State of the process, as the event loop is: see docs/adr/0032.
let asked = Number.NEGATIVE_INFINITY
let worked = Number.NEGATIVE_INFINITY

/** Records that a request arrived. */
export const requestArrived = (): void => {
  asked = performance.now()
}

/** The budget of long work in this turn of the loop, in milliseconds. */
export const budgetMs = (now = performance.now()): number => (now - asked < expectedMs ? askedMs : longestMs)

/** True when this turn's budget is used. The time counts from the first call in a turn. */
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
 * Continues in the next turn, for a caller that has just done much work in one piece. A macrotask, because Effect's
 * own yield is a microtask, which timers and sockets never interrupt.
 */
export const nextTurn: Effect.Effect<void> = Effect.async((resume) => {
  const immediate = setImmediate(() => resume(Effect.void))
  return Effect.sync(() => clearImmediate(immediate))
})

/**
 * Resumes those that wait, in the order in which they came, as far as this turn's budget goes. One after the other: what
 * each does at once is over before the microtask that resumes the next one. If all asked again in each turn, asking
 * would cost more than the work.
 */
const resumeWaiting = (clock: Clock.Clock): void => {
  const turn = turnOf(clock)
  const [first] = turn.waiting
  turn.isResumed = first !== undefined
  if (first === undefined) return
  if (isSpent(budgetMs(), clock)) {
    setImmediate(resumeWaiting, clock)
    return
  }
  turn.waiting.delete(first)
  first()
  queueMicrotask(() => resumeWaiting(clock))
}

const waitForTurn = (clock: Clock.Clock): Effect.Effect<void> =>
  Effect.async((resume) => {
    const turn = turnOf(clock)
    const waiter = (): void => resume(Effect.void)
    turn.waiting.add(waiter)
    if (!turn.isResumed) setImmediate(resumeWaiting, clock)
    turn.isResumed = true
    return Effect.sync(() => turn.waiting.delete(waiter))
  })

/**
 * Continues in the first turn with some budget left. It uses the Clock of the running fiber: under a clock that is
 * moved by hand a turn takes no time, so that a simulation is the same on a slow machine.
 */
export const yieldIfSpent: Effect.Effect<void> = Effect.clockWith((clock) =>
  isSpent(budgetMs(), clock) ? waitForTurn(clock) : Effect.void
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

/** The same for background work, which no caller waits for. */
export const yieldIfSpentByWork: Effect.Effect<void> = Effect.suspend(() => {
  worked = performance.now()
  return yieldIfSpent
})

/** True while background work takes turns. A request that then runs later waits for that work's share of the turn. */
export const isShared = (now = performance.now()): boolean => now - worked < idleMs
