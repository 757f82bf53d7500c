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
          work(EventLoopBudget.turnMs + 2)
          done.push([name, counter.count])
        })
      yield* Effect.forEach([0, 1, 2, 3], piece, { concurrency: "unbounded" })
      expect(done.map(([name]) => name)).toEqual([0, 1, 2, 3])
      const at = done.map(([, turn]) => turn)
      expect(new Set(at).size).toBe(4)
    })
  )

  it.scopedLive("is shared while work uses up its share of turns, and for a moment after", () =>
    Effect.gen(function* () {
      yield* EventLoopBudget.nextTurn
      expect(EventLoopBudget.isShared(performance.now() + 60_000)).toBe(false)
      yield* EventLoopBudget.yieldIfSpent
      work(EventLoopBudget.turnMs + 2)
      yield* EventLoopBudget.yieldIfSpent
      expect(EventLoopBudget.isShared()).toBe(true)
      expect(EventLoopBudget.isShared(performance.now() + 60_000)).toBe(false)
    })
  )

  it.scopedLive("is counted by each clock for itself", () =>
    Effect.gen(function* () {
      yield* EventLoopBudget.nextTurn
      const [mine, other] = [Clock.make(), Clock.make()]
      expect(EventLoopBudget.isSpent(mine)).toBe(false)
      work(EventLoopBudget.turnMs + 1)
      expect(EventLoopBudget.isSpent(mine)).toBe(true)
      expect(EventLoopBudget.isSpent(other)).toBe(false)
    })
  )

  it.scopedLive("is given to none that was interrupted while it waited", () =>
    Effect.gen(function* () {
      const waiting = Effect.gen(function* () {
        yield* EventLoopBudget.yieldIfSpent
        work(EventLoopBudget.turnMs + 2)
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
        work(EventLoopBudget.turnMs + 2)
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
