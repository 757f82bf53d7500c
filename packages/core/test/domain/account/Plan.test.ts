/** Limits that are taken after a commit (decisions.md §10 "Embedding"). */
import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Plan from "../../../src/domain/account/Plan.ts"
import * as Time from "../../../src/domain/Instant.ts"

const now = 1_900_000_000_000

describe("limits of jobs that are taken together", () => {
  it.prop(
    "are those of the same sends one after the other at this time",
    {
      jobs: FastCheck.array(
        FastCheck.record({
          publicKey: FastCheck.constantFrom("a", "b", "c"),
          units: FastCheck.integer({ min: 1, max: 5 })
        }),
        { maxLength: 30 }
      ),
      dailyLimit: FastCheck.option(FastCheck.nat(30)),
      minimumWaitMs: FastCheck.constantFrom(0, 1000),
      used: FastCheck.nat(10),
      lastOfA: FastCheck.option(FastCheck.integer({ min: now - 1500, max: now }))
    },
    ({ dailyLimit, jobs, lastOfA, minimumWaitMs, used }) => {
      const plan = { daily_template_recipients: dailyLimit, minimum_wait_ms: minimumWaitMs }
      const lastAcceptedAt = new Map(lastOfA === null ? [] : [["a", lastOfA]])
      const taken = Plan.applyLimits(jobs, plan, { usedToday: used, lastAcceptedAt }, now)
      expect(taken.map(([job]) => job)).toEqual(jobs)
      let usedToday = used
      const last = new Map(lastAcceptedAt)
      const waits = new Map<string, Array<number>>()
      for (const [{ publicKey, units }, wait] of taken) {
        const usage = { usedToday, lastAcceptedAt: last.get(publicKey) ?? null }
        const verdict = Plan.decide({ units, dailyLimit, minimumWaitMs }, usage, now)
        expect(wait === null).toBe(verdict._tag === "Allowed")
        if (wait === null) {
          usedToday += units
          last.set(publicKey, now)
        } else if (wait.limiter === "minimum_wait_ms") {
          waits.set(publicKey, [...(waits.get(publicKey) ?? []), wait.until])
        } else expect(wait.until).toBe(Time.endOfUtcDay(now))
      }
      if (dailyLimit !== null) expect(usedToday).toBeLessThanOrEqual(Math.max(used, dailyLimit))
      // Each is asked again one wait behind the one before it.
      for (const times of waits.values()) {
        expect(times[0]).toBeGreaterThan(now)
        times.slice(1).forEach((time, place) => {
          expect(time - (times[place] ?? 0)).toBe(minimumWaitMs)
        })
      }
    }
  )

  it("are not those of an acceptance that a clock ahead wrote, once that is set back", () => {
    expect(Plan.lastOf(now - 5, now - 3, now)).toBe(now - 3)
    expect(Plan.lastOf(now - 5, now - 8, now)).toBe(now - 5)
    expect(Plan.lastOf(null, now - 8, now)).toBe(now - 8)
    expect(Plan.lastOf(now - 5, now + Time.hour, now)).toBe(now - 5)
  })
})
