import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as RateLimit from "../../src/domain/account/RateLimit.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Throttle from "../../src/domain/Throttle.ts"

const rule = { limit: 5, periodMs: 5000 }
const now = Time.at(1_900_000_000_000)

describe("a throttle", () => {
  it("lets a key have its burst, and then one unit for each interval", () => {
    const throttle = Throttle.make(rule, 1)
    expect(throttle.isIdle(now)).toBe(true)
    for (let unit = 0; unit < 5; unit++) {
      expect(throttle.waitMs("a", now)).toBe(0)
      throttle.count("a", now)
    }
    expect(throttle.waitMs("a", now)).toBe(1000)
    expect(throttle.waitMs("b", now)).toBe(0)
    expect(throttle.waitMs("a", Time.after(now, 1000))).toBe(0)
    throttle.count("a", Time.after(now, 1000))
    expect(throttle.waitMs("a", Time.after(now, 1000))).toBe(1000)
    expect(throttle.isIdle(Time.after(now, 5999))).toBe(false)
    expect(throttle.isIdle(Time.after(now, 6000))).toBe(true)
  })

  it("is never looser than a limit of the key's own, whatever other keys do", () => {
    const keys = FastCheck.nat({ max: 60 }).map(String)
    const step = FastCheck.record({ key: keys, ms: FastCheck.nat({ max: 1500 }) })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { maxLength: 200 }), FastCheck.integer(), (steps, seed) => {
        const throttle = Throttle.make(rule, seed)
        const exact = new Map<string, number>()
        let at = now
        for (const { key, ms } of steps) {
          at = Time.after(at, ms)
          const { arrival, decision } = RateLimit.decide(exact.get(key) ?? null, rule, at)
          if (!decision.allowed) expect(throttle.waitMs(key, at)).toBeGreaterThan(0)
          exact.set(key, arrival)
          throttle.count(key, at)
        }
      })
    )
  })

  it("keeps the counter of a key through a flood of 200,000 others, and refuses few who did nothing", () => {
    const throttle = Throttle.make({ limit: 5, periodMs: 5_000_000 }, 7)
    for (let unit = 0; unit < 5; unit++) throttle.count("attacked", now)
    for (let unit = 0; unit < 5; unit++) {
      for (let other = 0; other < 1000; other++) throttle.count(`other ${other}`, now)
    }
    const fresh = Array.from({ length: 10_000 }, (_, n) => throttle.waitMs(`fresh ${n}`, now) > 0)
    expect(fresh.filter(Boolean).length).toBeLessThan(20)
    for (let other = 0; other < 200_000; other++) throttle.count(`flood ${other}`, now)
    expect(throttle.waitMs("attacked", now)).toBeGreaterThan(0)
  })

  it("forgives a clock that was ahead within one period", () => {
    const throttle = Throttle.make(rule, 1)
    for (let unit = 0; unit < 9; unit++) throttle.count("a", Time.after(now, 86_400_000))
    expect(throttle.waitMs("a", now)).toBe(1000)
  })
})
