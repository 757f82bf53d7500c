/**
 * Rate limits by the generic cell rate algorithm: one number per key, the theoretical arrival time of the next
 * request that would find the bucket empty. Exact: in any stretch of time t no more than `limit` + rate × t pass.
 */
import type { Instant } from "../Instant.ts"

export interface Decision {
  readonly allowed: boolean
  readonly limit: number
  /** How many more requests would pass now. */
  readonly remaining: number
  /** Milliseconds until the next request passes; 0 when it passes now. */
  readonly retryAfterMs: number
  /** Milliseconds until the allowance is full again. */
  readonly resetAfterMs: number
}

/** The details of a decision, which all follow from the key's stored arrival time. */
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

/** `limit` units per period, which may all be used at one moment. */
export interface Rule {
  readonly limit: number
  readonly periodMs: number
}

/**
 * The latest arrival that this clock can have stored: that of an allowance that is used up. A clock that was ahead
 * wrote any later one, which counts as this one, so that the next request passes after one interval.
 */
export const latest = ({ periodMs }: Rule, now: Instant): number => now + periodMs

/** Decides one request; `arrival` is the key's stored value (null before its first request). */
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

/** For who is not limited: the whole allowance is there. */
export const untouched = (limit: number): Decision => ({
  allowed: true,
  limit,
  remaining: limit,
  retryAfterMs: 0,
  resetAfterMs: 0
})
