/** The circuit of a session (contract.md §10 "Dispatch"), without any store or platform. */

import * as FastCheck from "effect/FastCheck"
import { describe, expect, it } from "vitest"
import * as Time from "../../../src/domain/Instant.ts"
import * as Circuit from "../../../src/domain/session/Circuit.ts"

const second = Time.at(1000)
const runs = { numRuns: 500 }

/** The circuit after events at their times, and after looks at theirs. */
const circuitAfter = (
  ...steps: ReadonlyArray<readonly [at: number, step: Circuit.Event | "Looked" | "Thawed", times?: number]>
): Circuit.Circuit => {
  let circuit = Circuit.idle
  for (const [at, step, times = 1] of steps) {
    for (let time = 0; time < times; time++) {
      if (step === "Looked") circuit = Circuit.look(circuit, at)
      else if (step === "Thawed") circuit = Circuit.thawed(circuit)
      else circuit = Circuit.next(circuit, step, () => at)
    }
  }
  return circuit
}

/** Attempts one after the other, at one time. */
const attempts = (event: Circuit.Event, count: number, from: Circuit.Circuit = Circuit.idle) => {
  let circuit = from
  for (let time = 0; time < count; time++) {
    circuit = Circuit.next(
      Circuit.next(circuit, "Began", () => 0),
      event,
      () => 0
    )
  }
  return circuit
}

/** A lone message that is refused at once, at each of these seconds. */
const refusedAt = (...seconds: ReadonlyArray<number>): Circuit.Circuit =>
  circuitAfter(
    ...seconds.flatMap((at) => [[at * second, "Began"] as const, [at * second, "Unanswered"] as const])
  )

describe("a closed circuit", () => {
  it("opens at the twentieth attempt in a row without an answer", () => {
    expect(attempts("Unanswered", 19)._tag).toBe("Closed")
    expect(attempts("Unanswered", 20)._tag).toBe("Open")
  })

  it("starts its count again after any answer, and ignores attempts that say nothing of the platform", () => {
    const answered = attempts("Answered", 1, attempts("Unanswered", 19))
    expect(answered).toEqual(Circuit.idle)
    expect(attempts("Unanswered", 19, answered)._tag).toBe("Closed")
    const broken = attempts("Ended", 50, attempts("Unanswered", 19))
    expect(broken._tag).toBe("Closed")
    expect(attempts("Unanswered", 1, broken)._tag).toBe("Open")
  })

  it("opens 30 seconds after an attempt in progress without an answer was first seen", () => {
    const until = 30 * second
    expect(circuitAfter([0, "Began"], [0, "Looked"], [until - 1, "Looked"])._tag).toBe("Closed")
    expect(circuitAfter([0, "Began"], [0, "Looked"], [until, "Looked"])._tag).toBe("Open")
    const unanswered = [
      [0, "Began", 2],
      [0, "Looked"],
      [second, "Unanswered"]
    ] as const
    expect(circuitAfter(...unanswered, [until, "Looked"])._tag).toBe("Open")
    const answered = [
      [0, "Began", 2],
      [0, "Looked"],
      [second, "Answered"],
      [20 * second, "Looked"]
    ] as const
    expect(circuitAfter(...answered, [49 * second, "Looked"])._tag).toBe("Closed")
    expect(circuitAfter(...answered, [50 * second, "Looked"])._tag).toBe("Open")
  })

  it("opens after 30 seconds of attempts without an answer, also of few", () => {
    expect(refusedAt(0, 1, 3, 7, 15, 29)._tag).toBe("Closed")
    expect(refusedAt(0, 1, 3, 7, 15, 30)._tag).toBe("Open")
    const answered = circuitAfter([0, "Began"], [0, "Unanswered"], [15_000, "Began"], [15_000, "Answered"])
    expect(answered).toEqual(Circuit.idle)
    const silent = Circuit.next(answered, "Began", () => 20_000)
    expect(Circuit.next(silent, "Unanswered", () => 40_000)._tag).toBe("Closed")
  })

  it("is not opened by messages with more than half a minute between them", () => {
    expect(refusedAt(0, 30)._tag).toBe("Open")
    expect(refusedAt(0, 31)._tag).toBe("Closed")
    expect(refusedAt(0, 31, 62, 93, 124)._tag).toBe("Closed")
    const minute = 60 * second
    const lone = circuitAfter(
      [0, "Began"],
      [0, "Looked"],
      [second, "Unanswered"],
      [10 * second, "Looked"],
      [14 * minute, "Began"],
      [15 * minute - second, "Looked"],
      [15 * minute, "Unanswered"],
      [20 * minute, "Looked"]
    )
    expect(lone).toMatchObject({ _tag: "Closed", underWay: 0, unanswered: 2 })
  })

  it("does not count attempts that were in progress while its process was frozen", () => {
    const frozen = circuitAfter([0, "Began", 25], [0, "Looked"], [600 * second, "Thawed"])
    const thawed = (event: Circuit.Event, times: number) => {
      let circuit = frozen
      for (let time = 0; time < times; time++) circuit = Circuit.next(circuit, event, () => 600 * second)
      return circuit
    }
    expect(Circuit.look(frozen, 700 * second)._tag).toBe("Closed")
    expect(thawed("Unanswered", 25)).toEqual(Circuit.idle)
    expect(attempts("Unanswered", 20, thawed("Unanswered", 25))._tag).toBe("Open")
    expect(thawed("Answered", 25)).toEqual(Circuit.idle)
  })
})

describe("an open circuit", () => {
  const open = attempts("Unanswered", 20)

  it("stays open whatever has no answer, and closes with the first answer of any attempt", () => {
    for (const event of ["Unanswered", "Ended"] as const) expect(attempts(event, 40, open)._tag).toBe("Open")
    expect(Circuit.look(open, 1e9)).toBe(open)
    expect(Circuit.thawed(open)).toBe(open)
    expect(attempts("Answered", 1, open)).toEqual(Circuit.idle)
    const older = circuitAfter([0, "Began", 25], [0, "Unanswered", 20])
    expect(Circuit.next(older, "Answered", () => 0)).toEqual({ ...Circuit.idle, underWay: 4 })
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
        /** When the platform was asked last, and the earliest time from which on it may count as silent. */
        let [askedAt, silentSince] = [0, 0]
        for (const [step, ms] of steps) {
          now += ms
          if (step !== "Began" && step !== "Looked" && underWay === 0) continue
          const before = circuit
          const at = now
          circuit = step === "Looked" ? Circuit.look(circuit, now) : Circuit.next(circuit, step, () => at)
          if (underWay === 0 && now - askedAt > Circuit.longestPause) silentSince = now
          if (step === "Began") underWay += 1
          else if (step !== "Looked") underWay -= 1
          if (step === "Answered") [unanswered, silentSince] = [0, now]
          if (step === "Unanswered") unanswered += 1
          if (step !== "Looked") askedAt = now
          expect(circuit.underWay).toBe(underWay)
          if (before._tag === "Open") {
            expect(circuit._tag).toBe(step === "Answered" ? "Closed" : "Open")
          } else if (circuit._tag === "Open") {
            const isLong = now - silentSince >= Circuit.longestSilence
            expect([isLong, unanswered >= Circuit.mostUnanswered]).toContain(true)
            expect(["Looked", "Unanswered"]).toContain(step)
          } else expect([circuit.unanswered, circuit.frozen]).toEqual([unanswered, 0])
        }
      }),
      runs
    )
  })
})

describe("an outage", () => {
  it("is probed after a second, and after twice as long each time, at most a minute", () => {
    let outage = Circuit.begin(Time.at(0))
    expect(Circuit.nextProbe(outage, Time.at(0))).toBe(second)
    const waits: Array<number> = []
    for (let probe = 0; probe < 9; probe++) {
      const now = Circuit.nextProbe(outage, outage.probeAt)
      outage = Circuit.probed(Circuit.probing(outage, now), true, now)
      waits.push((outage.probeAt - now) / second)
    }
    expect(waits).toEqual([2, 4, 8, 16, 32, 60, 60, 60, 60])
    expect(outage.since).toBe(0)
  })

  it("grants no second probe while one may be in progress, and another immediately after one that was not sent", () => {
    const probing = Circuit.probing(Circuit.begin(Time.at(0)), second)
    expect(Circuit.isProbeDue(probing, Time.at(60 * second))).toBe(false)
    expect(Circuit.isProbeDue(probing, Time.at(61 * second))).toBe(true)
    const unused = Circuit.probed(probing, false, Time.at(2 * second))
    expect(Circuit.isProbeDue(unused, Time.at(2 * second))).toBe(true)
    expect(unused.intervalMs).toBe(second)
  })

  it("is asked again no later than a minute after its last probe began, however long that took", () => {
    const outage = { since: Time.at(0), probeAt: Time.at(0), intervalMs: 60 * second }
    const ended = (tookMs: Time.Instant) =>
      Circuit.probed(Circuit.probing(outage, Time.at(0)), true, tookMs).probeAt
    expect([0, 15, 59, 60].map((seconds) => ended(Time.at(seconds * second)) / second)).toEqual([
      60, 60, 60, 60
    ])
    expect(ended(Time.at(90 * second))).toBe(90 * second)
  })

  it("grants one probe to workers whose clocks differ slightly", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: -1000, max: 59_000 }), FastCheck.nat(), (later, at) => {
        const probing = Circuit.probing(Circuit.begin(Time.at(at)), Time.after(Time.at(at), second))
        expect(Circuit.isProbeDue(probing, Time.after(Time.at(at), second + later))).toBe(false)
        expect(Circuit.mayProbeDirectly(probing, Time.after(Time.at(at), second + later))).toBe(false)
      }),
      runs
    )
  })

  it("lets a direct message come half an interval early every other time, and never amid a probe", () => {
    const outage = { since: Time.at(0), probeAt: Time.at(0), intervalMs: 8 * second }
    const ended = (at: Time.Instant) => Circuit.probed(Circuit.probing(outage, at), true, at)
    expect(Circuit.mayProbeDirectly(ended(Time.at(1000)), Time.at(1000 + 15 * second))).toBe(false)
    expect(Circuit.mayProbeDirectly(ended(Time.at(1000)), Time.at(1000 + 16 * second))).toBe(true)
    expect(Circuit.mayProbeDirectly(ended(Time.at(1001)), Time.at(1001 + 8 * second - 1))).toBe(false)
    expect(Circuit.mayProbeDirectly(ended(Time.at(1001)), Time.at(1001 + 8 * second))).toBe(true)
    expect(Circuit.isProbeDue(ended(Time.at(1001)), Time.at(1001 + 16 * second - 1))).toBe(false)
    const turns = [1000, 1001].map((at) =>
      Circuit.probing({ ...outage, intervalMs: 60 * second }, Time.at(at))
    )
    for (const probing of turns)
      expect(Circuit.mayProbeDirectly(probing, Time.at(1001 + 59 * second))).toBe(false)
  })

  it("is probed within a minute by any clock, whatever clock wrote its time", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(), FastCheck.nat(), (written, now) => {
        const outage = Circuit.probing(Circuit.begin(Time.at(written)), Time.at(written))
        // Clocks that are a second apart count as right.
        expect(Circuit.nextProbe(outage, Time.at(now)) - now).toBeLessThanOrEqual(61 * second)
      }),
      runs
    )
  })
})
