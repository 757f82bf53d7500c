/** contract.md §10, "Keys and secrets": a process whose loops fail or have ended is not ready. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Loops from "../../src/worker/Loops.ts"

const broken = new StorageError({
  operation: "JobStore.settleAndClaim",
  cause: new Error("10.0.0.7 refused")
})

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

describe("a loop", () => {
  it.effect(
    "that fails for ten seconds is a fault that names the operation alone, until a step succeeds",
    () =>
      Effect.gen(function* () {
        const loops = Loops.make()
        let fails = true
        const step = Effect.suspend(() => (fails ? Effect.fail(broken) : Effect.sleep("1 second")))
        const fiber = yield* Effect.fork(loops.run("Dispatch", step))
        yield* TestClock.adjust("9 seconds")
        expect(yield* loops.fault).toBeNull()
        yield* TestClock.adjust("2 seconds")
        expect(yield* loops.fault).toBe("Dispatch: the last 12 steps failed (JobStore.settleAndClaim).")
        fails = false
        yield* TestClock.adjust("2 seconds")
        expect(yield* loops.fault).toBeNull()
        yield* Fiber.interrupt(fiber)
        expect(yield* loops.fault).toBeNull()
      }).pipe(quiet)
  )

  it.effect("that no message waits for is no fault, however long it fails", () =>
    Effect.gen(function* () {
      const loops = Loops.make()
      yield* Effect.fork(loops.tend("Housekeeping", Effect.fail(broken)))
      yield* TestClock.adjust("1 minute")
      expect(yield* loops.fault).toBeNull()
    }).pipe(quiet)
  )

  it.effect("that fails for long does not fill the log, which tells it ever more seldom", () =>
    Effect.gen(function* () {
      const lines: Array<unknown> = []
      const told = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => {
          lines.push(...(Array.isArray(message) ? message : [message]))
        })
      )
      const step = Effect.fail(broken)
      yield* Effect.fork(Effect.provide(Loops.make().run("Dispatch", step), told))
      yield* TestClock.adjust("10 seconds")
      expect(lines).toEqual([
        "Dispatch failed",
        "Dispatch failed 2 times in a row",
        "Dispatch failed 4 times in a row",
        "Dispatch failed 8 times in a row"
      ])
      yield* TestClock.adjust("1 hour")
      expect(lines.length).toBe(12)
    })
  )

  it.effect("that fails now and then is none", () =>
    Effect.gen(function* () {
      const loops = Loops.make()
      let steps = 0
      const step = Effect.suspend(() => (steps++ % 2 === 0 ? Effect.fail(broken) : Effect.sleep("1 second")))
      yield* Effect.fork(loops.run("Dispatch", step))
      yield* TestClock.adjust("1 minute")
      expect(yield* loops.fault).toBeNull()
    }).pipe(quiet)
  )

  it.effect("with a bug goes on, and tells that it is one", () =>
    Effect.gen(function* () {
      const loops = Loops.make()
      yield* Effect.fork(loops.run("Rescue", Effect.die("secret")))
      yield* TestClock.adjust("11 seconds")
      expect(yield* loops.fault).toBe("Rescue: the last 12 steps failed (a bug that the log tells).")
    }).pipe(quiet)
  )
})
