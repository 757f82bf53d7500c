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
    sessions.judge("a", true)
    sessions.use("a", 64)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.judge("a", false)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.use("a", -64)
    expect(sessions.excluded()).toEqual([])
    expect(sessions.slow()).toEqual(["a"])
    sessions.judge("a", false)
    expect(sessions.slow()).toEqual([])
    sessions.use("a", 32)
    sessions.judge("a", false)
    sessions.use("a", 32)
    expect(sessions.excluded()).toEqual([])
  })

  it("may be those of which nothing was answered yet, and they have no more until they show that they are quick", () => {
    const sessions = make()
    sessions.use("a", 32)
    expect(sessions.excluded()).toEqual([])
    // Two lanes claimed it at once.
    expect(sessions.admits("a", 16)).toBe(true)
    sessions.use("a", 16)
    expect(sessions.admits("a", 16)).toBe(false)
    expect(sessions.admits("b", 16)).toBe(true)
    expect(sessions.excluded()).toEqual(["a"])
    sessions.judge("a", false)
    expect(sessions.excluded()).toEqual([])
    expect(sessions.admits("a", 16)).toBe(true)
  })

  it("leave less of it to those of which nothing was answered yet", () => {
    const sessions = make()
    sessions.judge("slow", true)
    sessions.use("slow", 16)
    sessions.use("a", 16)
    expect(sessions.excluded()).toEqual([])
    sessions.use("a", 1)
    expect(sessions.excluded()).toEqual(["a"])
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
