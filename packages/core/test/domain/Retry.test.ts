import { describe, expect, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Instant from "../../src/domain/Instant.ts"
import * as Retry from "../../src/domain/Retry.ts"

const runs = { numRuns: 1000 }

const failureOf = (code: string) => ({ code, provider_code: null, message: "", permanent: false })

describe("retries", () => {
  const delivery = {
    firstAttemptAt: Instant.at(0),
    now: Instant.at(0),
    retryAfterMs: null,
    jitter: 0.2,
    fraction: 0.5
  }

  it("of a delivery follow the schedule, then every 24 h until 8 days have passed", () => {
    let now = Instant.at(0)
    const delays: Array<number> = []
    for (let failed = 1; ; failed++) {
      const next = Retry.nextDelivery({ ...delivery, failed, now })
      if (next === undefined) break
      delays.push((next - now) / 1000)
      now = next
    }
    expect(delays.slice(0, 11)).toEqual([
      5, 60, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400, 86_400
    ])
    expect(now).toBeLessThanOrEqual(8 * Instant.day)
    expect(now).toBeGreaterThan(7 * Instant.day)
  })

  it("keep within 20 % of it, and obey a longer Retry-After", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.double({ min: 0, max: 1, noNaN: true }), (fraction) => {
        const at = Retry.nextDelivery({ ...delivery, failed: 2, fraction })
        expect(at).toBeGreaterThanOrEqual(48_000)
        expect(at).toBeLessThanOrEqual(72_000)
      }),
      runs
    )
    expect(Retry.nextDelivery({ ...delivery, failed: 1, retryAfterMs: 3_600_000 })).toBe(3_600_000)
    expect(Retry.nextDelivery({ ...delivery, failed: 1, retryAfterMs: 1 })).toBe(5000)
  })

  const send = {
    attempts: 1,
    firstAttemptAt: Instant.at(0),
    windowMs: Instant.day,
    failure: failureOf("provider_unavailable"),
    now: Instant.at(0),
    retryAfterMs: null,
    fraction: 1
  }

  it("of a send wait at least what the platform asked for", () => {
    expect(Retry.nextSend({ ...send, retryAfterMs: 1000, fraction: 0 })).toBe(1000)
    expect(Retry.nextSend({ ...send, retryAfterMs: 1000, fraction: 0.5 })).toBe(1500)
  })

  it("of a send end after their time, however many they were, and last when it ends", () => {
    const { day, minute } = Instant
    expect(Retry.nextSend({ ...send, attempts: 500, now: Instant.at(day - 1) })).toBe(day)
    expect(Retry.nextSend({ ...send, attempts: 2, now: Instant.at(day) })).toBeUndefined()
    expect(
      Retry.nextSend({ ...send, attempts: 2, now: Instant.at(day - 1000), retryAfterMs: 2000 })
    ).toBeUndefined()
    const authentication = Retry.sendWindow("authentication", null)
    expect(authentication).toBe(10 * minute)
    expect(
      Retry.nextSend({ ...send, windowMs: authentication, now: Instant.at(10 * minute) })
    ).toBeUndefined()
    for (const purpose of ["marketing", "utility", "direct"] as const)
      expect(Retry.sendWindow(purpose, null)).toBe(day)
    expect(Retry.sendWindow("authentication", minute)).toBe(minute)
  })

  it("of a send whose recipient is the cause end after eight attempts, or their time", () => {
    const ofRecipient = { ...send, failure: failureOf("pair_rate_limited") }
    expect(Retry.nextSend({ ...ofRecipient, attempts: 7 })).toBeDefined()
    expect(Retry.nextSend({ ...ofRecipient, attempts: 8 })).toBeUndefined()
    expect(Retry.nextSend({ ...ofRecipient, attempts: 2, now: Instant.at(Instant.day) })).toBeUndefined()
  })

  it("of a send grow to a quarter of an hour, or to a tenth of their time, and never leave it", () => {
    const number = { noNaN: true, min: 0 }
    FastCheck.assert(
      FastCheck.property(
        FastCheck.integer({ min: 1, max: 2000 }),
        FastCheck.integer({ min: Retry.shortestSendWindow, max: Retry.longestSendWindow }),
        FastCheck.double({ ...number, max: 1 }),
        FastCheck.double({ ...number, max: 2 * Retry.longestSendWindow }).map(Instant.at),
        FastCheck.option(FastCheck.double({ ...number, max: 40 * Instant.day })),
        (attempts, windowMs, fraction, now, retryAfterMs) => {
          const at = Retry.nextSend({ ...send, attempts, windowMs, fraction, now, retryAfterMs })
          if (at === undefined) {
            expect(now + (retryAfterMs ?? 0)).toBeGreaterThanOrEqual(windowMs)
            return
          }
          const least = Math.min(retryAfterMs ?? 0, Retry.longestRetryAfter)
          expect(at).toBeLessThanOrEqual(windowMs)
          expect(at).toBeGreaterThanOrEqual(Math.min(windowMs, Math.floor(now + least)))
          expect(at - now - least).toBeLessThanOrEqual(Math.min(15 * Instant.minute, windowMs / 10) + 1)
        }
      ),
      runs
    )
  })

  it("read Retry-After in seconds or as a date, and nothing into what is neither", () => {
    const now = Instant.at(Date.UTC(2026, 0, 1))
    expect(Retry.readAfter("7", now)).toBe(7000)
    expect(Retry.readAfter("2592000", now)).toBe(30 * Instant.day)
    expect(Retry.readAfter("Thu, 01 Jan 2026 00:01:00 GMT", now)).toBe(60_000)
    expect(Retry.readAfter("Thursday, 01-Jan-26 00:01:00 GMT", now)).toBe(60_000)
    expect(Retry.readAfter("Wed, 31 Dec 2025 23:00:00 GMT", now)).toBe(0)
    const zone = process.env["TZ"]
    process.env["TZ"] = "Asia/Tokyo"
    expect(Retry.readAfter("Thu Jan  1 00:01:00 2026", now)).toBe(60_000)
    if (zone === undefined) delete process.env["TZ"]
    else process.env["TZ"] = zone
    for (const garbage of ["", "soon", "soon 9999", "-5", "1.5", "7, 8", "2099-01-01"]) {
      expect(Retry.readAfter(garbage, now), garbage).toBeNull()
    }
  })
})
