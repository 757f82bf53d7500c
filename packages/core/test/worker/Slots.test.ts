import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as BatchSize from "../../src/worker/BatchSize.ts"
import * as Slots from "../../src/worker/Slots.ts"

const [a, b, c, d] = [Symbol("a"), Symbol("b"), Symbol("c"), Symbol("d")]

const use = (slots: Slots.Slots, lane: symbol, count: number, rests: boolean, claimed = count): void =>
  slots.use(lane, { slots: count, claimed, rests })

const attempts = ({ loan, slots }: Slots.Free) => ({ slots, loan })

/** Four lanes of 16, all at rest. */
const make = () => {
  const slots = Slots.make(4, 16)
  for (const lane of [a, b, c, d]) use(slots, lane, 0, true)
  return slots
}

describe("the slots of a process", () => {
  it("are a lane's own, and those of resting lanes but for the last quarter", () => {
    const slots = make()
    use(slots, a, 0, false)
    expect(attempts(slots.free(a))).toEqual({ slots: 16, loan: 32 })
    use(slots, a, 10, false)
    expect(attempts(slots.free(a))).toEqual({ slots: 6, loan: 32 })
  })

  it("are not lent by lanes that work", () => {
    const slots = make()
    for (const lane of [a, b, c]) use(slots, lane, 0, false)
    expect(attempts(slots.free(a))).toEqual({ slots: 16, loan: 16 })
    use(slots, d, 12, true)
    expect(attempts(slots.free(a))).toEqual({ slots: 16, loan: 4 })
  })

  it("are borrowed by one lane, not by two", () => {
    const slots = make()
    for (const lane of [a, b]) use(slots, lane, 0, false)
    const { loan, slots: own } = slots.free(a)
    use(slots, a, own + loan, false)
    expect(attempts(slots.free(b))).toEqual({ slots: 16, loan: 0 })
  })

  it("are there for a lane that wakes", () => {
    const slots = make()
    use(slots, a, 48, false)
    expect(attempts(slots.free(b))).toEqual({ slots: 16, loan: 0 })
    use(slots, b, 16, false)
    expect(attempts(slots.free(c))).toEqual({ slots: 0, loan: 0 })
    use(slots, a, 40, false)
    expect(attempts(slots.free(c))).toEqual({ slots: 8, loan: 0 })
  })

  it("are never more than there are, however lanes take and return what they may", () => {
    const lane = FastCheck.constantFrom(a, b, c, d)
    const step = FastCheck.tuple(lane, FastCheck.nat(64), FastCheck.boolean(), FastCheck.boolean())
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { maxLength: 60 }), (steps) => {
        const slots = make()
        const used = new Map<symbol, number>()
        for (const [lane, wish, borrows, returns] of steps) {
          const before = used.get(lane) ?? 0
          const { loan, slots: own } = slots.free(lane)
          const after = returns ? Math.min(before, wish) : before + Math.min(wish, own + (borrows ? loan : 0))
          use(slots, lane, after, after === 0)
          used.set(lane, after)
          expect([...used.values()].reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(64)
        }
      })
    )
  })

  it.effect("wake who waits for one that is free", () =>
    Effect.gen(function* () {
      const slots = make()
      use(slots, a, 16, false)
      const waiting = yield* Effect.fork(slots.awaitFreed)
      yield* Effect.yieldNow()
      use(slots, b, 3, false)
      yield* Effect.yieldNow()
      expect(waiting.unsafePoll()).toBeNull()
      use(slots, a, 15, false)
      yield* Fiber.join(waiting)
    })
  )

  it.effect(
    "are of no use to a lane without room beside two full batches and all attempts, until one is stored",
    () =>
      Effect.gen(function* () {
        const slots = make()
        const attempted = 64
        use(slots, a, 16, false, BatchSize.largest + attempted)
        expect(slots.free(b).room).toBe(BatchSize.largest)
        use(slots, b, 16, false, BatchSize.largest)
        expect(slots.free(c)).toMatchObject({ slots: 16, room: 0 })
        const waiting = yield* Effect.fork(slots.awaitFreed)
        yield* Effect.yieldNow()
        use(slots, a, 16, false, BatchSize.largest + attempted - 1)
        yield* Fiber.join(waiting)
        expect(slots.free(c).room).toBe(1)
      })
  )

  it("leave room for two full batches however many others hang", () => {
    const slots = Slots.make(4, 375)
    slots.use(a, { slots: 1125, claimed: 1125, rests: false })
    slots.use(b, { slots: 375, claimed: BatchSize.largest, rests: false })
    expect(slots.free(c).room).toBeGreaterThanOrEqual(BatchSize.largest)
  })
})
