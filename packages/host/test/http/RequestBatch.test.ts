import { describe, expect, it } from "@effect/vitest"
import * as RequestBatch from "../../src/http/RequestBatch.ts"

/** Runs what was put off when it is told to. */
const putOff = () => {
  const runs: Array<() => void> = []
  return {
    later: (run: () => void) => void runs.push(run),
    next: () => runs.shift()?.(),
    count: () => runs.length
  }
}

describe("tasks that come together", () => {
  it("are done later, in their order, and put off once", () => {
    const { count, later, next } = putOff()
    const done: Array<number> = []
    const together = RequestBatch.make(later)
    for (const n of [1, 2, 3]) together(() => done.push(n))
    expect(done).toEqual([])
    expect(count()).toBe(1)
    next()
    expect(done).toEqual([1, 2, 3])
    expect(count()).toBe(0)
  })

  it("are done at most 16 at once; the rest waits for another turn", () => {
    const { later, next } = putOff()
    const done: Array<number> = []
    const together = RequestBatch.make(later)
    for (let n = 0; n < 40; n++) together(() => done.push(n))
    const counts = [1, 2, 3].map(() => {
      next()
      return done.length
    })
    expect(counts).toEqual([16, 32, 40])
    expect(done).toEqual(Array.from({ length: 40 }, (_, n) => n))
  })

  it("that come while others are done wait for the next turn, and are not forgotten", () => {
    const { count, later, next } = putOff()
    const done: Array<string> = []
    const together = RequestBatch.make(later)
    together(() => {
      done.push("first")
      together(() => done.push("second"))
    })
    next()
    expect(done).toEqual(["first"])
    expect(count()).toBe(1)
    next()
    expect(done).toEqual(["first", "second"])
  })

  it("are in their order though what came before was put off and what comes now is not", () => {
    const { later, next } = putOff()
    let isPutOff = true
    const done: Array<number> = []
    const together = RequestBatch.make((run) => (isPutOff ? later(run) : run()), later)
    for (let n = 0; n < 20; n++) together(() => done.push(n))
    isPutOff = false
    next()
    expect(done).toHaveLength(16)
    together(() => done.push(20))
    next()
    expect(done).toEqual(Array.from({ length: 21 }, (_, n) => n))
    together(() => done.push(21))
    expect(done).toHaveLength(22)
  })

  it("are done though one of them throws", () => {
    const { later, next } = putOff()
    const done: Array<number> = []
    const together = RequestBatch.make(later)
    together(() => done.push(0))
    together(() => {
      throw new Error("thrown")
    })
    together(() => done.push(2))
    expect(next).toThrow("thrown")
    next()
    expect(done).toEqual([0, 2])
  })

  it("come before those that may wait, of which one at least is done with each go", () => {
    const { later, next } = putOff()
    const done: Array<string> = []
    const together = RequestBatch.make(later)
    for (let n = 0; n < 3; n++) together(() => done.push("patient"), true)
    for (let n = 0; n < 16; n++) together(() => done.push("urgent"))
    next()
    expect(done).toEqual([...Array.from({ length: 16 }, () => "urgent"), "patient"])
    next()
    expect(done.slice(17)).toEqual(["patient", "patient"])
  })
})
