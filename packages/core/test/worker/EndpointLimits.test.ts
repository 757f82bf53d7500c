import { describe, expect, it } from "@effect/vitest"
import * as fc from "effect/FastCheck"
import * as EndpointLimits from "../../src/worker/EndpointLimits.ts"

const slots = 64
const ok = { delivered: true, durationMs: 10, pauseMs: null }
const failed = { delivered: false, durationMs: 10, pauseMs: null }
const second = 1000
const minute = 60 * second

/** One delivery after the other, each at once. */
const having = (
  receivers: EndpointLimits.EndpointLimits,
  outcomes: ReadonlyArray<EndpointLimits.Outcome>,
  now = 0
) => {
  for (const outcome of outcomes) {
    receivers.begin("a")
    receivers.end("a", outcome, now)
  }
  return receivers
}

describe("a receiver", () => {
  it("gets a little at first, more with each success that is not slow, and half with each failure", () => {
    const receivers = EndpointLimits.make(slots)
    expect(receivers.room("a")).toBe(EndpointLimits.firstWindow)
    const slow = { ...ok, durationMs: EndpointLimits.slowMs + 1 }
    /** How much it may have in hand after this, told by a success that adds one. */
    const window = (outcome: EndpointLimits.Outcome) => {
      having(receivers, [outcome, ok])
      return receivers.room("a") - 1
    }
    const outcomes = [ok, slow, ok, ok, failed, failed, failed]
    expect(outcomes.map(window)).toEqual([3, 4, 6, 8, 4, 2, 1])
    for (let n = 0; n < 100; n++) having(receivers, [ok])
    expect(receivers.room("a")).toBe(EndpointLimits.widestWindow)
  })

  it("is remembered for a minute after its last delivery, and for an hour when that failed", () => {
    const receivers = having(EndpointLimits.make(slots), [ok, ok, ok])
    receivers.full(minute)
    expect(receivers.room("a")).toBe(EndpointLimits.firstWindow + 3)
    receivers.full(minute + 10 * second)
    expect(receivers.room("a")).toBe(EndpointLimits.firstWindow)
    having(receivers, [failed])
    receivers.full(60 * minute)
    expect(receivers.room("a")).toBe(1)
    receivers.full(62 * minute)
    expect(receivers.room("a")).toBe(EndpointLimits.firstWindow)
  })

  it("is full when it has in hand what it may, and others are not", () => {
    const receivers = EndpointLimits.make(slots)
    for (let n = 0; n < EndpointLimits.firstWindow; n++) receivers.begin("a")
    receivers.begin("b")
    expect(receivers.full(0)).toEqual(["a"])
    receivers.end("a", ok, 0)
    expect(receivers.full(0)).toEqual([])
    expect(receivers.inFlight()).toBe(2)
  })

  it("is judged by what it was asked alone", () => {
    const receivers = EndpointLimits.make(8)
    receivers.begin("a")
    receivers.end("a", ok, 0)
    const room = receivers.room("a")
    for (let n = 0; n < 100; n++) {
      receivers.begin("a")
      receivers.release("a")
    }
    expect([receivers.inFlight(), receivers.room("a"), receivers.full(0)]).toEqual([0, room, []])
  })

  it("that only fails is asked ever less often, and once a minute at least", () => {
    const receivers = EndpointLimits.make(slots)
    const few = Array.from({ length: EndpointLimits.patience - 1 }, () => failed)
    having(receivers, few)
    expect(receivers.full(0)).toEqual([])
    having(receivers, [failed])
    expect([receivers.full(499), receivers.full(500)]).toEqual([["a"], []])
    expect(receivers.nextAt(0)).toBe(500)
    const pauseAt = (now: number) => (having(receivers, [failed], now).nextAt(now) ?? now) - now
    expect([minute, 3 * minute, 6 * minute, 60 * minute].map(pauseAt)).toEqual([
      10 * second,
      30 * second,
      minute,
      minute
    ])
    having(receivers, [ok], 2 * 60 * minute)
    expect(receivers.full(2 * 60 * minute)).toEqual([])
    having(receivers, [failed], 3 * 60 * minute)
    expect(receivers.nextAt(3 * 60 * minute)).toBeNull()
  })

  it("is held for as long as it asks, whatever it did before", () => {
    const receivers = having(EndpointLimits.make(slots), [ok, { ...failed, pauseMs: 5 * second }], 0)
    expect([receivers.full(4999), receivers.full(5000)]).toEqual([["a"], []])
    expect(receivers.nextAt(0)).toBe(5000)
    expect(receivers.nextAt(5000)).toBeNull()
  })
})

describe("receivers that fail or are slow", () => {
  it.each([failed, { ...ok, durationMs: EndpointLimits.slowMs + 1 }])(
    "share a quarter of the slots, in turn; one that is well again is free of the others",
    (outcome) => {
      const receivers = EndpointLimits.make(8)
      for (const id of ["a", "b", "c"]) {
        receivers.begin(id)
        receivers.end(id, outcome, 0)
      }
      // Two of eight slots: one claim takes no more, whoever waits.
      expect(receivers.full(0)).toEqual(["c"])
      expect(["a", "b"].map(receivers.room)).toEqual([1, 1])
      receivers.begin("a")
      receivers.end("a", outcome, 0)
      expect(receivers.full(0)).toEqual(["a"])
      receivers.begin("b")
      receivers.begin("c")
      expect(receivers.full(0)).toEqual(["a", "b", "c"])
      receivers.begin("d")
      expect(receivers.full(0)).not.toContain("d")
      receivers.end("b", ok, 0)
      expect(receivers.full(0)).toEqual(["c"])
    }
  )
})

describe("what is in hand", () => {
  it("is what was begun and has not ended, whatever came between, and never more than a window", () => {
    const step = fc.record({
      id: fc.constantFrom("a", "b", "c"),
      outcome: fc.record({
        delivered: fc.boolean(),
        durationMs: fc.nat(3000),
        pauseMs: fc.option(fc.nat(3000))
      }),
      begins: fc.boolean(),
      isAttempted: fc.boolean(),
      passes: fc.nat(2000)
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const receivers = EndpointLimits.make(slots)
        const inHand = new Map<string, number>()
        let now = 0
        for (const { begins, id, isAttempted, outcome, passes } of steps) {
          now += passes
          const count = inHand.get(id) ?? 0
          if (begins && !receivers.full(now).includes(id)) {
            expect(receivers.room(id)).toBeGreaterThan(0)
            receivers.begin(id)
            inHand.set(id, count + 1)
          } else if (!begins && count > 0) {
            if (isAttempted) receivers.end(id, outcome, now)
            else receivers.release(id)
            inHand.set(id, count - 1)
          }
          expect(inHand.get(id) ?? 0).toBeLessThanOrEqual(EndpointLimits.widestWindow)
          expect(receivers.inFlight()).toBe([...inHand.values()].reduce((sum, each) => sum + each, 0))
          const next = receivers.nextAt(now)
          if (next !== null) expect(next).toBeGreaterThan(now)
        }
      })
    )
  })
})
