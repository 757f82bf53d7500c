import { describe, expect, it } from "@effect/vitest"
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

  it("are those until one is answered in time, whatever they have in hand", () => {
    const shares = make()
    shares.hold("a", 64)
    expect(shares.full()).toEqual([])
    shares.judge("a", true)
    expect(shares.full()).toEqual(["a"])
    shares.hold("a", -64)
    expect(shares.full()).toEqual([])
    shares.hold("a", 33)
    expect(shares.full()).toEqual(["a"])
    shares.judge("a", false)
    expect(shares.full()).toEqual([])
  })

  it("take nothing from the others", () => {
    const shares = make()
    shares.hold("quick", 64)
    shares.judge("quick", false)
    shares.judge("slow", true)
    expect(shares.full()).toEqual([])
  })
})
