import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as EventLoopBudget from "../../src/runtime/EventLoopBudget.ts"

/** How many turns the event loop has made since, for as long as it is asked. */
const turns = Effect.acquireRelease(
  Effect.sync(() => {
    const counter = { count: 0, over: false }
    const turn = (): void => {
      counter.count += 1
      if (!counter.over) setImmediate(turn)
    }
    setImmediate(turn)
    return counter
  }),
  (counter) =>
    Effect.sync(() => {
      counter.over = true
    })
)

const work = (ms: number): void => {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe("a turn of the event loop", () => {
  it.scopedLive("gives its share to one, and the next turn to another, in the order in which they came", () =>
    Effect.gen(function* () {
      const counter = yield* turns
      const done: Array<readonly [name: number, turn: number]> = []
      const piece = (name: number) =>
        Effect.map(EventLoopBudget.yieldIfSpent, () => {
          work(EventLoopBudget.longestMs + 2)
          done.push([name, counter.count])
        })
      yield* Effect.forEach([0, 1, 2, 3], piece, { concurrency: "unbounded" })
      expect(done.map(([name]) => name)).toEqual([0, 1, 2, 3])
      const at = done.map(([, turn]) => turn)
      expect(new Set(at).size).toBe(4)
    })
  )

  it.scopedLive(
    "gives a smaller share while requests come, and the whole one when none came for a while",
    () =>
      Effect.gen(function* () {
        yield* Effect.async<void>((resume) => {
          setImmediate(() => resume(Effect.void))
        })
        EventLoopBudget.requestArrived()
        const now = performance.now()
        const share = EventLoopBudget.budgetMs(now)
        expect(share).toBeLessThan(EventLoopBudget.longestMs)
        expect(EventLoopBudget.budgetMs(now + 60_000)).toBe(EventLoopBudget.longestMs)
        expect(EventLoopBudget.isSpent()).toBe(false)
        work(share + 1)
        expect(EventLoopBudget.isSpent()).toBe(true)
      })
  )

  it.scopedLive("is shared while background work runs in pieces, and not by the steps of requests", () =>
    Effect.gen(function* () {
      yield* EventLoopBudget.yieldIfSpent
      expect(EventLoopBudget.isShared()).toBe(false)
      yield* EventLoopBudget.yieldIfSpentByWork
      expect(EventLoopBudget.isShared()).toBe(true)
      expect(EventLoopBudget.isShared(performance.now() + 60_000)).toBe(false)
    })
  )

  it.scopedLive("is counted by each clock for itself", () =>
    Effect.gen(function* () {
      yield* EventLoopBudget.nextTurn
      const [mine, other] = [Clock.make(), Clock.make()]
      expect(EventLoopBudget.isSpent(1, mine)).toBe(false)
      work(2)
      expect(EventLoopBudget.isSpent(1, mine)).toBe(true)
      expect(EventLoopBudget.isSpent(1, other)).toBe(false)
    })
  )

  it.scopedLive("is asked for once by each that waits, however many wait for however many turns", () =>
    Effect.gen(function* () {
      let asked = 0
      let now = 0n
      const live = Clock.make()
      const unsafeCurrentTimeNanos = (): bigint => {
        asked += 1
        return now
      }
      const clock: Clock.Clock = Object.create(live, {
        unsafeCurrentTimeNanos: { value: unsafeCurrentTimeNanos }
      })
      const done: Array<number> = []
      const piece = (name: number) =>
        Effect.map(EventLoopBudget.yieldIfSpent, () => {
          // Two or three of them fill a turn.
          now += 4_000_000n
          done.push(name)
        })
      const names = Array.from({ length: 300 }, (_, name) => name)
      yield* Effect.withClock(Effect.forEach(names, piece, { concurrency: "unbounded" }), clock)
      expect(done).toEqual(names)
      expect(asked).toBeLessThan(names.length * 4)
    })
  )

  it.scopedLive("is given to none that was interrupted while it waited", () =>
    Effect.gen(function* () {
      const waiting = Effect.gen(function* () {
        yield* EventLoopBudget.yieldIfSpent
        work(EventLoopBudget.longestMs + 2)
        yield* EventLoopBudget.yieldIfSpent
      })
      const fibers = yield* Effect.replicateEffect(Effect.fork(waiting), 3)
      yield* Effect.yieldNow()
      for (const fiber of fibers.slice(0, 2)) yield* Fiber.interrupt(fiber)
      yield* Effect.forEach(fibers.slice(2), Fiber.join)
      yield* waiting
    })
  )

  it.scopedLive("has room for many small pieces", () =>
    Effect.gen(function* () {
      const counter = yield* turns
      yield* Effect.yieldNow()
      const before = counter.count
      yield* Effect.replicateEffect(EventLoopBudget.yieldIfSpent, 100)
      expect(counter.count - before).toBeLessThan(5)
    })
  )

  it.scopedLive("ends after a long piece, even if there were only a few", () =>
    Effect.gen(function* () {
      const counter = yield* turns
      function* pieces(): Generator<void, number> {
        work(EventLoopBudget.longestMs + 2)
        yield
        return counter.count
      }
      // The turn is counted from where it is first asked for.
      yield* EventLoopBudget.yieldIfSpent
      const first = yield* EventLoopBudget.runInPieces(pieces())
      const second = yield* EventLoopBudget.runInPieces(pieces())
      const third = yield* EventLoopBudget.runInPieces(pieces())
      expect(new Set([first, second, third]).size).toBe(3)
    })
  )
})
