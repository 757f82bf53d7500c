/**
 * Rate limits by the generic cell rate algorithm: one number per key, the theoretical arrival time of the next
 * request that would find the bucket empty. Exact: in any stretch of time t no more than `limit` + rate × t pass.
 */
import type { Instant } from "./Instant.ts"

export interface Decision {
  readonly allowed: boolean
  readonly limit: number
  /** How many more would pass at once. */
  readonly remaining: number
  /** Until the next one passes; 0 when one passes now. */
  readonly retryAfterMs: number
  /** Until the allowance is whole again. */
  readonly resetAfterMs: number
}

/**
 * Decides one request; `arrival` is what is kept for the key (null before its first request).
 *
 * @param horizonMs how far ahead of the clock what is kept may be, at least one period: a clock that was set back
 * must not lock a key out for as long as it was set back. Where several nodes share what is kept, their clocks
 * differ, and what the faster one wrote is no reason to forget it.
 */
export const decide = (
  arrival: number | null,
  rule: { readonly limit: number; readonly periodMs: number },
  now: Instant,
  horizonMs = rule.periodMs
): { readonly decision: Decision; readonly arrival: number } => {
  const interval = rule.periodMs / rule.limit
  const from = Math.min(Math.max(arrival ?? now, now), now + horizonMs)
  const next = from + interval
  const allowed = next - now <= rule.periodMs
  const kept = allowed ? next : from
  return {
    arrival: kept,
    decision: {
      allowed,
      limit: rule.limit,
      remaining: Math.max(0, Math.floor((now + rule.periodMs - kept) / interval)),
      retryAfterMs: Math.max(0, kept + interval - rule.periodMs - now),
      resetAfterMs: Math.max(0, kept - now)
    }
  }
}
