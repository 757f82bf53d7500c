/** The clock of all processes over a store (docs/adr/0021). */

import { describe, expect, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import { value } from "../../../../test/support/Metered.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import { StoreTime } from "../../src/storage/StoreTime.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import { learn, StoreClock, timeAt } from "../../src/worker/StoreClock.ts"

const day = 86_400_000

/** The process's clock under a test: the test's, and by how much it is wrong. */
const wrong = Effect.map(Effect.clock, (clock) => {
  let by = 0
  const now = () => clock.unsafeCurrentTimeMillis() + by
  const process: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    currentTimeMillis: Effect.sync(now),
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeNanos: clock.currentTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  return {
    process,
    set: (ms: number) => {
      by = ms
    },
    /** The time as it is. */
    truth: () => Time.unsafeNow(clock)
  }
})

const started = Effect.fnUntraced(function* (
  process: Clock.Clock,
  ask: Effect.Effect<Time.Instant, StorageError>
) {
  const context = yield* Layer.build(
    StoreClock.layer.pipe(Layer.provide(Layer.succeed(StoreTime, ask)))
  ).pipe(Effect.withClock(process))
  return Context.get(context, StoreClock)
})

describe("an estimate of the store's time", () => {
  it.prop(
    "is never further off than the fastest answer took, and moves no further than an answer proves",
    {
      offset: FastCheck.integer({ min: -2 * day, max: 2 * day }),
      answers: FastCheck.array(
        FastCheck.record({ there: FastCheck.nat(300), back: FastCheck.nat(300), pause: FastCheck.nat(9000) }),
        { minLength: 1, maxLength: 20 }
      )
    },
    ({ answers, offset }) => {
      let moment = 5000
      let fastest = Number.POSITIVE_INFINITY
      let estimate: ReturnType<typeof learn> | undefined
      for (const { back, pause, there } of answers) {
        const asked = moment
        const time = asked + there + offset
        moment += there + back
        const believed = estimate === undefined ? undefined : timeAt(estimate, moment)
        estimate = learn(estimate, { asked, arrived: moment, time })
        fastest = Math.min(fastest, there + back)
        const truth = moment + offset
        expect(Math.abs(timeAt(estimate, moment) - truth)).toBeLessThanOrEqual(fastest)
        if (believed !== undefined) {
          // It comes nearer or stays.
          expect(Math.abs(estimate.time - truth)).toBeLessThanOrEqual(Math.abs(believed - truth))
        }
        moment += pause
      }
    }
  )
})

describe("a process whose store tells the time", () => {
  it.scoped("goes by it, however wrong its clock is and whenever that is set", () =>
    Effect.gen(function* () {
      const { process, set, truth } = yield* wrong
      set(day)
      const { within } = yield* started(process, Effect.sync(truth))
      const now = within(Time.now)
      yield* TestClock.adjust("1 second")
      expect(yield* now).toBe(truth())
      for (const ms of [-day, 300_000, -300_000, 0]) {
        set(ms)
        expect(yield* now).toBe(truth())
        yield* TestClock.adjust("700 millis")
        expect(yield* now).toBe(truth())
      }
    })
  )

  it.scoped("follows the store's own clock within seconds, and sleeps by none", () =>
    Effect.gen(function* () {
      const { process, truth } = yield* wrong
      let by = 0
      const { within } = yield* started(
        process,
        Effect.sync(() => Time.after(truth(), by))
      )
      by = -day
      const sleeping = yield* Effect.fork(within(Effect.sleep("3 seconds")))
      yield* TestClock.adjust("3 seconds")
      yield* sleeping.await
      expect(yield* within(Time.now)).toBe(truth() - day)
    })
  )

  it.scoped("says how far its clock is off, once when that begins and once when it ends", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.label} ${String(message)}`))
      )
      const { process, set, truth } = yield* wrong
      set(day)
      const told = Effect.gen(function* () {
        const { health } = yield* started(process, Effect.sync(truth))
        yield* TestClock.adjust("1 minute")
        expect(yield* health).toMatchObject({ differenceMs: -day, uncertain: false })
        expect(yield* value("clock_difference_seconds")).toBe(-day / 1000)
        set(-500)
        yield* TestClock.adjust("1 minute")
        expect(yield* health).toMatchObject({ differenceMs: 500 })
      })
      yield* Effect.provide(told, logger)
      expect(lines).toEqual([
        expect.stringMatching(/^WARN This process's clock is 86400000 ms ahead of the database's/),
        "INFO This process's clock agrees with the database's again"
      ])
    })
  )

  it.scoped(
    "is uncertain when it was told nothing for 5 seconds, or too late, and goes on by what it knows",
    () =>
      Effect.gen(function* () {
        const { process, set, truth } = yield* wrong
        let mode: "well" | "gone" | "slow" = "well"
        const ask = Effect.suspend(() => {
          if (mode === "gone") return new StorageError({ operation: "StoreTime", cause: "gone" })
          return Effect.delay(Effect.sync(truth), mode === "slow" ? "6 seconds" : 0)
        })
        const { health, within } = yield* started(process, ask)
        const uncertain = Effect.map(health, (told) => told.uncertain)
        expect(yield* uncertain).toBe(false)
        mode = "gone"
        yield* TestClock.adjust("5 seconds")
        expect(yield* uncertain).toBe(false)
        yield* TestClock.adjust("1 second")
        expect(yield* uncertain).toBe(true)
        set(day)
        expect(yield* within(Time.now)).toBe(truth())
        mode = "slow"
        yield* TestClock.adjust("20 seconds")
        expect(yield* uncertain).toBe(true)
        mode = "well"
        yield* TestClock.adjust("20 seconds")
        expect(yield* uncertain).toBe(false)
      })
  )

  it.scoped("has every operation of its engine done by it, the operator's too", () =>
    Effect.gen(function* () {
      const { process, set, truth } = yield* wrong
      set(day)
      const layer = TestEngine.layer.pipe(Layer.provide(Layer.succeed(StoreTime, Effect.sync(truth))))
      const context = yield* Effect.withClock(Layer.build(layer), process)
      const engine = Context.get(context, Engine.Engine)
      const account = yield* Effect.withClock(engine.admin.accounts.create({ name: "a" }), process)
      expect(account.createdAt).toBe(truth())
      expect(yield* Effect.withClock(engine.clock.health, process)).toMatchObject({ differenceMs: -day })
    })
  )
})

describe("a process whose store tells no time", () => {
  it.effect("goes by its own clock, and is certain of it", () =>
    Effect.gen(function* () {
      const { clock } = yield* Engine.Engine
      expect(yield* clock.health).toEqual({ differenceMs: 0, measuredAt: 0, uncertain: false })
    }).pipe(Effect.provide(TestEngine.layer))
  )
})
