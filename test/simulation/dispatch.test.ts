/** What one session does never makes another's message wait: the bulkhead beside platforms that hang, betray and crawl. */
import { Instant } from "@sendwright/core"
import { describe, expect, it } from "vitest"
import type { Platform } from "./Dispatch.ts"
import * as Dispatch from "./Dispatch.ts"

const slots = 64
const horizon = Instant.at(90_000)

const steady = (perSecond: number): Platform["feed"] =>
  Array.from({ length: horizon / 100 }, (_, i) => ({
    at: Instant.at(i * 100),
    count: Math.round(((i + 1) * perSecond) / 10) - Math.round((i * perSecond) / 10)
  }))
const once = (count: number, at = Instant.at(0)): Platform["feed"] => [{ at, count }]
const healthy: Platform = { latency: () => 20, feed: steady(50) }

/** Answers at once for a while, then holds all that comes until the next such while begins. */
const oscillating = (quickMs: number, holdMs: number, offset: number): Platform => ({
  latency: (now) => {
    const at = (now + offset) % (quickMs + holdMs)
    return at > quickMs ? quickMs + holdMs - at : 30
  },
  feed: once(15_000)
})
const oscillators = (count: number, quickMs: number, holdMs: number): Record<string, Platform> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `x${i}`,
      oscillating(quickMs, holdMs, (i * (quickMs + holdMs)) / count)
    ])
  )
const many = (count: number, platform: Platform): Record<string, Platform> =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, platform]))
/** Answers at once for so long, and then not within its time limit. */
const betraying: Platform = {
  latency: (now) => (now % 85_000 < 65_000 ? 20 : 20_000),
  feed: steady(300)
}

/** Beside each of these a healthy session of 50 messages a second waits no longer than so. */
const scenarios: ReadonlyArray<readonly [title: string, beside: Record<string, Platform>, mostMs: number]> = [
  ["one that is quick for 1.5 s and holds for 20 s", oscillators(1, 1500, 20_000), 1100],
  ["two of these", oscillators(2, 1500, 20_000), 1100],
  ["four that are quick for 2.5 s and hold for 9.5 s", oscillators(4, 2500, 9500), 1100],
  ["one that is good for 65 s and hangs then", many(1, betraying), 1100],
  ["ten new ones that hang", many(10, { latency: () => 10_000, feed: once(200, Instant.at(30_000)) }), 1100],
  ["four that take 1.2 s, with 20,000 each", many(4, { latency: () => 1200, feed: once(20_000) }), 1100],
  ["a huge one", many(1, { latency: () => 2, feed: once(100_000) }), 300],
  ["a hundred small ones", many(100, { latency: () => 20, feed: steady(2) }), 300]
]

describe("a healthy session's message begins in time", () => {
  for (const [title, beside, mostMs] of scenarios)
    it(`beside ${title}`, () => {
      const { delays, most } = Dispatch.run({ ...beside, healthy }, slots, horizon)
      const waited = delays.get("healthy") ?? []
      expect(waited.length).toBeGreaterThan(4400)
      expect(Math.max(...waited)).toBeLessThanOrEqual(mostMs)
      expect(most).toBeLessThanOrEqual(slots)
    })
})

describe("a session alone", () => {
  for (const ms of [20, 200, 1500])
    it(`whose platform takes ${ms} ms has all slots`, () => {
      const { begun } = Dispatch.run(
        { x: { latency: () => ms, feed: once(100_000) } },
        slots,
        Instant.at(20_000)
      )
      expect(begun).toBeGreaterThan(0.75 * Math.min(100_000, (slots * 20_000) / ms))
    })
})
