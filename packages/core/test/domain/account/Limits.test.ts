import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Plan from "../../../src/domain/account/Plan.ts"
import * as RateLimit from "../../../src/domain/account/RateLimit.ts"
import * as Instant from "../../../src/domain/Instant.ts"

const runs = { numRuns: 1000 }

describe("requests per minute", () => {
  const rule = { limit: 5, periodMs: 1000 }

  it("never pass more than the burst plus the rate, in any stretch of time", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.nat(400), { maxLength: 60 }), (gaps) => {
        let now = 0
        let arrival: number | null = null
        const passed: Array<number> = []
        for (const gap of gaps) {
          now += gap
          const step: ReturnType<typeof RateLimit.decide> = RateLimit.decide(arrival, rule, Instant.at(now))
          arrival = step.arrival
          if (step.decision.allowed) passed.push(now)
        }
        for (const [from, start] of passed.entries()) {
          for (const [to, end] of passed.entries()) {
            if (to < from) continue
            expect(to - from + 1).toBeLessThanOrEqual(
              rule.limit + ((end - start) * rule.limit) / rule.periodMs + 1e-6
            )
          }
        }
      }),
      runs
    )
  })

  it("tell what remains and when the next one passes", () => {
    let arrival: number | null = null
    const remaining: Array<number> = []
    for (let count = 0; count < 5; count++) {
      const step: ReturnType<typeof RateLimit.decide> = RateLimit.decide(arrival, rule, Instant.at(0))
      arrival = step.arrival
      remaining.push(step.decision.remaining)
    }
    expect(remaining).toEqual([4, 3, 2, 1, 0])
    const refused = RateLimit.decide(arrival, rule, Instant.at(0))
    expect(refused.decision).toMatchObject({
      allowed: false,
      remaining: 0,
      retryAfterMs: 200,
      resetAfterMs: 1000
    })
    expect(RateLimit.decide(refused.arrival, rule, Instant.at(200)).decision.allowed).toBe(true)
  })

  it("do not lock a key out when the clock steps back", () => {
    const { arrival } = RateLimit.decide(null, rule, Instant.at(1_000_000))
    expect(RateLimit.decide(arrival, rule, Instant.at(0)).decision.retryAfterMs).toBeLessThanOrEqual(
      rule.periodMs
    )
  })
})

describe("quota and minimum wait", () => {
  const demand = { units: 3, dailyLimit: 10, minimumWaitMs: 1000 }

  it("allow exactly up to the quota, and quota is told before the wait", () => {
    const usage = { usedToday: 7, lastAcceptedAt: null }
    expect(Plan.decide(demand, usage, Instant.at(5000))).toEqual({ _tag: "Allowed" })
    const over = Plan.decide(demand, { usedToday: 8, lastAcceptedAt: Instant.at(5000) }, Instant.at(5000))
    expect(over).toEqual({ _tag: "QuotaExhausted", limit: 10, used: 8, resetsAt: Instant.day })
    expect(
      Plan.decide({ ...demand, dailyLimit: null }, { usedToday: 1e9, lastAcceptedAt: null }, Instant.at(0))
        ._tag
    ).toBe("Allowed")
  })

  it("wait from the last accepted send, and not at all for a wait of 0", () => {
    expect(Plan.decide(demand, { usedToday: 0, lastAcceptedAt: Instant.at(4500) }, Instant.at(5000))).toEqual(
      {
        _tag: "TooSoon",
        retryAt: 5500
      }
    )
    expect(
      Plan.decide(demand, { usedToday: 0, lastAcceptedAt: Instant.at(4000) }, Instant.at(5000))._tag
    ).toBe("Allowed")
    // Another send was accepted while this one waited for the store.
    expect(Plan.decide(demand, { usedToday: 0, lastAcceptedAt: Instant.at(5001) }, Instant.at(5000))).toEqual(
      {
        _tag: "TooSoon",
        retryAt: 6001
      }
    )
    // A clock was set back since.
    expect(
      Plan.decide(demand, { usedToday: 0, lastAcceptedAt: Instant.at(15_001) }, Instant.at(5000))._tag
    ).toBe("Allowed")
    const none = { ...demand, minimumWaitMs: 0 }
    expect(Plan.decide(none, { usedToday: 0, lastAcceptedAt: Instant.at(5001) }, Instant.at(5000))._tag).toBe(
      "Allowed"
    )
  })

  it("wait for nobody by default, and never for the process that owns the engine", () => {
    expect(Plan.defaults).toMatchObject({ minimumWaitMs: 0, requestsPerMinute: 600 })
    const plan = { ...Plan.defaults, minimumWaitMs: 1000, dailyDirectMessages: 7 }
    const waits = (isOwner: boolean) => Plan.demand(plan, "direct", { isOwner, units: 1 })
    expect(waits(false)).toEqual({ units: 1, dailyLimit: 7, minimumWaitMs: 1000 })
    expect(waits(true)).toEqual({ units: 1, dailyLimit: 7, minimumWaitMs: 0 })
  })
})
