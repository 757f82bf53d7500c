import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Instant from "../../src/domain/Instant.ts"
import * as Occurrence from "../../src/domain/Occurrence.ts"

const now = Instant.at(Date.UTC(2026, 10, 22, 12))

describe("what a platform tells of", () => {
  it("occurred at its own time, never later than it came, and with a wrong clock when it came", () => {
    expect(Occurrence.occurredAt(now - 60_000, now)).toBe(now - 60_000)
    expect(Occurrence.occurredAt(now - 300_000, now)).toBe(now - 300_000)
    expect(Occurrence.occurredAt(now - 300_001, now)).toBe(now)
    expect(Occurrence.occurredAt(now + 1, now)).toBe(now)
    expect(Occurrence.occurredAt(now + 86_400_000, now)).toBe(now)
    expect(Occurrence.occurredAt(null, now)).toBe(now)
  })

  it("occurred at a time that every calendar has, whatever was told", () => {
    const absurd = [Number.NaN, Infinity, -Infinity, 1e300, -1e300, 8.64e15 + 1, -1, 0, 1.5]
    for (const told of absurd) expect(Occurrence.occurredAt(told, now)).toBe(now)
    FastCheck.assert(
      FastCheck.property(FastCheck.double(), (told) => {
        const at = Occurrence.occurredAt(told, now)
        expect(Instant.format(at)).toMatch(/^20\d\d-/)
        expect(at).toBeLessThanOrEqual(now)
        expect(at).toBeGreaterThanOrEqual(now - 300_000)
        expect(Number.isSafeInteger(at)).toBe(true)
      })
    )
  })

  it("since a time, however old, occurred then, but never later than it came", () => {
    expect(Occurrence.since(now - 7 * 86_400_000, now)).toBe(now - 7 * 86_400_000)
    expect(Occurrence.since(now + 1, now)).toBe(now)
    for (const told of [null, Number.NaN, Infinity, -Infinity, -1, 0])
      expect(Occurrence.since(told, now)).toBe(now)
    FastCheck.assert(
      FastCheck.property(FastCheck.double(), (given) => {
        const told = Occurrence.timeOf(given)
        if (told !== null) expect(Instant.format(told)).toMatch(/^\d{4}-/)
        expect(Occurrence.since(given, now)).toBeLessThanOrEqual(now)
      })
    )
  })

  it("in whole seconds may have occurred until the end of its second, and not after it came", () => {
    expect(Occurrence.latest(Instant.before(now, 5000), now)).toBe(now - 4001)
    expect(Occurrence.latest(Instant.before(now, 1000), Instant.before(now, 500))).toBe(now - 500)
    expect(Occurrence.latest(Instant.before(now, 4999), now)).toBe(now - 4999)
  })
})
