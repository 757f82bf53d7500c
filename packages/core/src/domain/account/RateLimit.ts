/**
 * Rate limits by the generic cell rate algorithm: one number per key, the theoretical arrival time of the next
 * request that would find the bucket empty. Exact: in any stretch of time t no more than `limit` + rate × t pass.
 */
import type { Instant } from "../Instant.ts"

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

/** What is told of a decision: what is kept of the key afterwards says it all. */
export const decisionOf = (
  allowed: boolean,
  stored: number,
  { limit, periodMs }: Rule,
  now: Instant
): Decision => {
  const interval = periodMs / limit
  return {
    allowed,
    limit,
    remaining: Math.max(0, Math.floor((now + periodMs - stored) / interval)),
    retryAfterMs: Math.max(0, stored + interval - periodMs - now),
    resetAfterMs: Math.max(0, stored - now)
  }
}

/** `limit` units per period, and at once. */
export interface Rule {
  readonly limit: number
  readonly periodMs: number
}

/**
 * The latest arrival that this clock can have kept: an allowance that is used up. What is further ahead was kept by a
 * clock that was ahead, and counts as no more than that, so the next request passes after one interval.
 */
export const latest = ({ periodMs }: Rule, now: Instant): number => now + periodMs

/** Decides one request; `arrival` is what is kept for the key (null before its first request). */
export const decide = (
  arrival: number | null,
  rule: Rule,
  now: Instant
): { readonly decision: Decision; readonly arrival: number } => {
  const from = Math.min(Math.max(arrival ?? now, now), latest(rule, now))
  const next = from + rule.periodMs / rule.limit
  const allowed = next - now <= rule.periodMs
  const stored = allowed ? next : from
  return { arrival: stored, decision: decisionOf(allowed, stored, rule, now) }
}
