/** The circuit of a session (decisions.md §10 "Dispatch"), without any store or platform. */
import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import * as Circuit from "../../src/domain/Circuit.ts"

const second = 1000
const runs = { numRuns: 500 }

/** The circuit after events, and after looks at a time. */
const circuitAfter = (
  ...steps: ReadonlyArray<readonly [event: Circuit.Event, times?: number] | readonly [lookedAt: number]>
): Circuit.Circuit => {
  let circuit = Circuit.idle
  for (const [step, times = 1] of steps) {
    for (let time = 0; time < times; time++)
      circuit = typeof step === "number" ? Circuit.look(circuit, step) : Circuit.next(circuit, step)
  }
  return circuit
}

/** Attempts one after the other. */
const attempts = (event: Circuit.Event, count: number, from: Circuit.Circuit = Circuit.idle) => {
  let circuit = from
  for (let time = 0; time < count; time++) {
    circuit = Circuit.next(Circuit.next(circuit, "Began"), event)
  }
  return circuit
}

describe("a closed circuit", () => {
  it("opens at the twentieth attempt in a row without an answer", () => {
    expect(attempts("Unanswered", 19)._tag).toBe("Closed")
    expect(attempts("Unanswered", 20)._tag).toBe("Open")
  })

  it("counts anew after any answer, and passes over what tells nothing", () => {
    const answered = attempts("Answered", 1, attempts("Unanswered", 19))
    expect(answered).toEqual(Circuit.idle)
    expect(attempts("Unanswered", 19, answered)._tag).toBe("Closed")
    const broken = attempts("Ended", 50, attempts("Unanswered", 19))
    expect(broken._tag).toBe("Closed")
    expect(attempts("Unanswered", 1, broken)._tag).toBe("Open")
  })

  it("opens after 30 seconds of something under way without an answer, from when that is seen first", () => {
    const until = 30 * second
    expect(circuitAfter(["Began"], [0], [until - 1])._tag).toBe("Closed")
    expect(circuitAfter(["Began"], [0], [until])._tag).toBe("Open")
    expect(circuitAfter(["Began", 2], [0], ["Unanswered"], [until])._tag).toBe("Open")
    expect(circuitAfter(["Began", 2], [0], ["Answered"], [20 * second], [49 * second])._tag).toBe("Closed")
    expect(circuitAfter(["Began", 2], [0], ["Answered"], [20 * second], [50 * second])._tag).toBe("Open")
  })

  it("is not opened by a lone message that is tried again after a quarter of an hour", () => {
    const minute = 60 * second
    const lone = circuitAfter(
      ["Began"],
      [0],
      ["Unanswered"],
      [10 * second],
      ["Began"],
      [15 * minute],
      ["Unanswered"],
      [20 * minute]
    )
    expect(lone).toEqual({ _tag: "Closed", underWay: 0, unanswered: 2, silentSince: null })
  })
})

describe("an open circuit", () => {
  const open = attempts("Unanswered", 20)

  it("stays open whatever has no answer, and closes with the first answer of any attempt", () => {
    for (const event of ["Unanswered", "Ended"] as const) expect(attempts(event, 40, open)._tag).toBe("Open")
    expect(Circuit.look(open, 1e9)).toBe(open)
    expect(attempts("Answered", 1, open)).toEqual(Circuit.idle)
    const older = circuitAfter(["Began", 25], ["Unanswered", 20])
    expect(Circuit.next(older, "Answered")).toEqual({ ...Circuit.idle, underWay: 4 })
  })
})

describe("any circuit", () => {
  const step = FastCheck.constantFrom<Circuit.Event | "Looked">(
    "Began",
    "Answered",
    "Unanswered",
    "Ended",
    "Looked"
  )
  const history = FastCheck.array(FastCheck.tuple(step, FastCheck.nat(20 * second)), { maxLength: 120 })

  it("knows how many attempts are under way, and opens for a reason only", () => {
    FastCheck.assert(
      FastCheck.property(history, (steps) => {
        let circuit = Circuit.idle
        let now = 0
        let underWay = 0
        let unanswered = 0
        let seenSince: number | null = null
        for (const [step, ms] of steps) {
          now += ms
          if (step !== "Began" && step !== "Looked" && underWay === 0) continue
          const before = circuit
          circuit = step === "Looked" ? Circuit.look(circuit, now) : Circuit.next(circuit, step)
          if (step === "Began") underWay += 1
          else if (step !== "Looked") underWay -= 1
          if (step === "Answered") unanswered = 0
          if (step === "Unanswered") unanswered += 1
          const isLong = seenSince !== null && now - seenSince >= Circuit.longestSilence
          if (step === "Answered" || underWay === 0) seenSince = null
          else if (step === "Looked") seenSince ??= now
          expect(circuit.underWay).toBe(underWay)
          if (before._tag === "Open") expect(circuit._tag).toBe(step === "Answered" ? "Closed" : "Open")
          else if (circuit._tag === "Open")
            expect(step === "Looked" ? isLong : unanswered >= Circuit.mostUnanswered).toBe(true)
          else expect([circuit.silentSince, circuit.unanswered]).toEqual([seenSince, unanswered])
          if (circuit._tag === "Open") seenSince = null
        }
      }),
      runs
    )
  })
})

describe("an outage", () => {
  it("is probed after a second, and after twice as long each time, at most a minute", () => {
    let outage = Circuit.begin(0)
    expect(Circuit.nextProbe(outage, 0)).toBe(second)
    const waits: Array<number> = []
    for (let probe = 0; probe < 9; probe++) {
      const now = Circuit.nextProbe(outage, outage.probeAt)
      outage = Circuit.probed(Circuit.probing(outage, now), true, now)
      waits.push((outage.probeAt - now) / second)
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60])
    expect(outage.since).toBe(0)
  })

  it("gives no second probe while one may be under way, and one at once after a probe that asked nobody", () => {
    const probing = Circuit.probing(Circuit.begin(0), second)
    expect(Circuit.isProbeDue(probing, 60 * second)).toBe(false)
    expect(Circuit.isProbeDue(probing, 61 * second)).toBe(true)
    const unused = Circuit.probed(probing, false, 2 * second)
    expect(Circuit.isProbeDue(unused, 2 * second)).toBe(true)
    expect(unused.intervalMs).toBe(second)
  })

  it("is probed within a minute by any clock, whatever clock wrote its time", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(), FastCheck.nat(), (written, now) => {
        const outage = Circuit.probing(Circuit.begin(written), written)
        expect(Circuit.nextProbe(outage, now) - now).toBeLessThanOrEqual(60 * second)
      }),
      runs
    )
  })
})
