import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as FiberPool from "../../src/runtime/FiberPool.ts"

describe("pooled fibers", () => {
  it.scoped("run all submitted work concurrently, and are idle when the last item is done", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const hands = yield* FiberPool.make<number>(
        (ms) => Effect.map(Effect.sleep(ms), () => void done.push(ms)),
        () => Effect.void
      )
      yield* hands.awaitIdle
      for (const ms of [30, 10, 20]) hands.submit(ms)
      const idle = yield* Effect.fork(hands.awaitIdle)
      yield* TestClock.adjust(29)
      expect(done).toEqual([10, 20])
      // One that is done takes the next, and the others are not waited for.
      hands.submit(2)
      yield* TestClock.adjust(1)
      expect(done).toEqual([10, 20, 30])
      expect(idle.unsafePoll()).toBeNull()
      yield* TestClock.adjust(1)
      yield* Fiber.join(idle)
      expect(done).toEqual([10, 20, 30, 2])
    })
  )

  it.scoped("go on with the next item when one dies, and report which did", () =>
    Effect.gen(function* () {
      const done: Array<number> = []
      const broken: Array<number> = []
      const hands = yield* FiberPool.make<number>(
        (n) => (n % 2 === 0 ? Effect.sync(() => void done.push(n)) : Effect.die("odd")),
        (n) => Effect.sync(() => void broken.push(n))
      )
      for (const pair of [
        [1, 2],
        [3, 5],
        [4, 6]
      ]) {
        for (const n of pair) hands.submit(n)
        yield* hands.awaitIdle
      }
      expect(done).toEqual([2, 4, 6])
      expect(broken).toEqual([1, 3, 5])
    })
  )

  it.effect("interrupt work in progress when their scope ends", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const released: Array<string> = []
      const hands = yield* Scope.extend(
        FiberPool.make<string>(
          (name) => Effect.onInterrupt(Effect.never, () => Effect.sync(() => released.push(name))),
          () => Effect.void
        ),
        scope
      )
      hands.submit("first")
      yield* Effect.yieldNow()
      yield* Scope.close(scope, Exit.void)
      expect(released).toEqual(["first"])
    })
  )
})
