import { describe, expect, it } from "@effect/vitest"
import * as SlowSessions from "../../src/worker/SlowSessions.ts"

/** 64 slots, of which a lane has 16. */
const make = () => SlowSessions.make(64, 16)

describe("sessions whose platform keeps us waiting", () => {
  it("have no more than three quarters of the slots together", () => {
    const sessions = make()
    sessions.judge("a", true)
    sessions.judge("b", true)
    sessions.use("a", 16)
    sessions.use("b", 16)
    expect(sessions.excluded()).toEqual([])
    sessions.use("a", 1)
    expect([...sessions.excluded()].sort()).toEqual(["a", "b"])
    sessions.use("b", -1)
    expect(sessions.excluded()).toEqual([])
  })

  it("are those until a window of theirs is answered in time and nothing else of them is under way", () => {
    const sessions = make()
    sessions.use("a", 64)
    expect(sessions.excluded()).toEqual([])
    sessions.judge("a", true)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.judge("a", false)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.use("a", -64)
    expect(sessions.excluded()).toEqual([])
    sessions.judge("a", false)
    sessions.use("a", 64)
    expect(sessions.excluded()).toEqual([])
  })

  it("have no more when several claims are made at once, until their batches run", () => {
    const sessions = make()
    sessions.judge("a", true)
    for (let claims = 0; claims < 3; claims++) sessions.reserve(16)
    expect(sessions.excluded()).toEqual([])
    sessions.reserve(16)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.reserve(-64)
    expect(sessions.excluded()).toEqual([])
  })

  it("take nothing from the others", () => {
    const sessions = make()
    sessions.use("quick", 64)
    sessions.judge("quick", false)
    sessions.judge("slow", true)
    expect(sessions.excluded()).toEqual([])
  })
})
