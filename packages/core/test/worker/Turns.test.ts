/** Attempts begin in turn, and whatever ends one frees its slot for the next. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { SendResult } from "../../src/sender/Sender.ts"
import { InFlight } from "../../src/worker/AttemptQueue.ts"
import { attemptsOf, circuit, job, turnsOf } from "./Attempts.ts"

const accepted = Effect.succeed(SendResult.Accepted({ providerId: null, status: "accepted" }))
const never = () => Effect.never

describe("an attempt that is interrupted", () => {
  it.effect("ends unknown, or due again where a repetition does no harm", () =>
    Effect.gen(function* () {
      for (const [deduplicates, outcome] of [
        [false, "Unknown"],
        [true, "Released"]
      ] as const) {
        const { enter, inFlight, outcomes, turns } = yield* turnsOf(3)
        enter(attemptsOf({ send: never, deduplicates }, job(3)))
        turns.begin()
        yield* TestClock.adjust(1)
        yield* turns.interrupt(inFlight)
        expect(outcomes().map(({ _tag }) => _tag)).toEqual([outcome, outcome, outcome])
      }
    })
  )

  it.effect("wakes the next one, which may be another dispatcher's", () =>
    Effect.gen(function* () {
      const { bulkhead, enter, inFlight, outcomes, turns } = yield* turnsOf(2, null)
      const other = new InFlight(() => {})
      enter(attemptsOf({ send: never }, job(2)))
      turns.begin()
      enter(attemptsOf({ send: () => accepted }, job(3)), "other", other)
      // Both slots are taken, and nothing else tells that one is free.
      while (bulkhead.free > 0) {
        enter(attemptsOf({ send: never }, job(1)), `beside ${bulkhead.free}`)
        turns.begin()
      }
      yield* TestClock.adjust(1)
      turns.release(({ batch }) => batch.inFlight === inFlight)
      yield* turns.interrupt(inFlight)
      yield* TestClock.adjust(1)
      expect(outcomes(other).map(({ _tag }) => _tag)).toEqual(["Accepted", "Accepted", "Accepted"])
      expect([bulkhead.underWay, bulkhead.waiting, inFlight.isIdle]).toEqual([0, 0, true])
    })
  )

  it.effect("frees its slot, also when its fiber had not begun", () =>
    Effect.gen(function* () {
      const { bulkhead, enter, inFlight, outcomes, turns } = yield* turnsOf(2)
      enter(attemptsOf({ send: () => accepted }, job(2)))
      turns.begin()
      yield* turns.interrupt(inFlight)
      expect([bulkhead.underWay, outcomes().length]).toEqual([0, 2])
    })
  )
})

describe("an attempt whose sender breaks", () => {
  it.effect("frees its slot, however often that is", () =>
    Effect.gen(function* () {
      const { bulkhead, enter, inFlight, outcomes, turns } = yield* turnsOf(2)
      enter(
        attemptsOf(
          {
            send: () => {
              throw new Error("broken")
            }
          },
          job(20)
        )
      )
      turns.begin()
      yield* inFlight.awaitIdle
      expect([bulkhead.underWay, bulkhead.waiting]).toEqual([0, 0])
      expect(outcomes().map(({ _tag }) => _tag)).toEqual(Array(20).fill("Unknown"))
    })
  )

  it.effect("by a bug of ours frees its slot, and the next one begins", () =>
    Effect.gen(function* () {
      const { bulkhead, enter, inFlight, outcomes, turns } = yield* turnsOf(1)
      const broken = attemptsOf({ send: () => accepted }, job(1))
      enter({
        ...broken,
        settle: () => {
          throw new Error("a bug")
        }
      })
      enter(attemptsOf({ send: () => accepted }, job(1)))
      turns.begin()
      yield* inFlight.awaitIdle
      expect(bulkhead.underWay).toBe(0)
      expect(outcomes().map(({ _tag }) => _tag)).toEqual(["Unknown", "Accepted"])
    })
  )
})

describe("what waits for its turn", () => {
  it.effect("is given back after a second, and a suspect is not", () =>
    Effect.gen(function* () {
      const { enter, inFlight, outcomes, turns } = yield* turnsOf(1, null)
      enter(attemptsOf({ send: never }, job(3)))
      turns.begin()
      const { recipients, ...rest } = job(1)
      enter(
        attemptsOf(
          { send: never },
          { ...rest, recipients: recipients.map((each) => ({ ...each, crashCount: 2 })) }
        )
      )
      expect(turns.staleAt).toBe(1000)
      yield* TestClock.adjust(999)
      turns.releaseStale()
      expect(outcomes()).toEqual([])
      yield* TestClock.adjust(1)
      turns.releaseStale()
      expect(outcomes().map(({ _tag }) => _tag)).toEqual(["Released", "Released"])
      expect([turns.staleAt, inFlight.isIdle]).toEqual([null, false])
      yield* turns.interrupt(inFlight)
    })
  )

  it.effect("is given back when its platform does not answer any more", () =>
    Effect.gen(function* () {
      let isOpen = false
      const { bulkhead, enter, inFlight, outcomes, turns } = yield* turnsOf(2)
      const send = () =>
        Effect.suspend(() => {
          isOpen = true
          return accepted
        })
      enter(attemptsOf({ send }, job(9), { ...circuit, mayBegin: () => !isOpen }))
      turns.begin()
      yield* inFlight.awaitIdle
      expect([bulkhead.underWay, bulkhead.waiting]).toEqual([0, 0])
      expect(new Set(outcomes().map(({ _tag }) => _tag))).toEqual(new Set(["Accepted", "Released"]))
    })
  )

  it.effect("wakes its dispatcher with the first outcome since a collection, and with the last", () =>
    Effect.gen(function* () {
      const { enter, inFlight, turns, wakes } = yield* turnsOf(1)
      enter(attemptsOf({ send: () => Effect.delay(accepted, 10) }, job(4)))
      turns.begin()
      yield* TestClock.adjust(10)
      expect(wakes()).toBe(1)
      yield* TestClock.adjust(10)
      expect(wakes()).toBe(1)
      inFlight.collect()
      yield* TestClock.adjust(10)
      expect(wakes()).toBe(2)
      yield* TestClock.adjust(10)
      expect([wakes(), inFlight.isIdle]).toEqual([3, true])
    })
  )
})
