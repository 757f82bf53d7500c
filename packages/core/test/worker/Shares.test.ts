import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Shares from "../../src/worker/Shares.ts"

/** 64 slots, of which a window has 16 at most. */
const make = () => Shares.make(64, 16)

describe("sessions whose platform keeps us waiting", () => {
  it("have no more than three quarters of the slots together", () => {
    const shares = make()
    shares.judge("a", true)
    shares.judge("b", true)
    shares.hold("a", 16)
    shares.hold("b", 16)
    expect(shares.full()).toEqual([])
    shares.hold("a", 1)
    expect([...shares.full()].sort()).toEqual(["a", "b"])
    shares.hold("b", -1)
    expect(shares.full()).toEqual([])
  })

  it("are those until a window of theirs is answered in time and nothing else of them is under way", () => {
    const shares = make()
    shares.hold("a", 64)
    expect(shares.full()).toEqual([])
    shares.judge("a", true)
    expect(shares.full()).toEqual(["a"])
    shares.judge("a", false)
    expect(shares.full()).toEqual(["a"])
    shares.hold("a", -64)
    expect(shares.full()).toEqual([])
    shares.judge("a", false)
    shares.hold("a", 64)
    expect(shares.full()).toEqual([])
  })

  it.effect("have no more when several claims are made at once", () =>
    Effect.gen(function* () {
      const shares = make()
      shares.judge("a", true)
      const full = Effect.sync(shares.full)
      const claims = (count: number): Effect.Effect<ReadonlyArray<string>> =>
        shares.claiming(count === 1 ? full : claims(count - 1))
      expect(yield* claims(3)).toEqual([])
      expect(yield* claims(4)).toEqual(["a"])
      expect(yield* full).toEqual([])
    })
  )

  it("take nothing from the others", () => {
    const shares = make()
    shares.hold("quick", 64)
    shares.judge("quick", false)
    shares.judge("slow", true)
    expect(shares.full()).toEqual([])
  })
})
