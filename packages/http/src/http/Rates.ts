/**
 * Rate limits per key in this process, for requests that are refused before any store is read. A key is forgotten
 * when its allowance is full again, so that only the keys of the last period are in memory, up to a maximum.
 */
import type { Instant } from "@sendwright/core"
import { RateLimit } from "@sendwright/core/adapter"

/** Keys beyond this number share one allowance. */
const mostKeys = 10_000
const others = ""

/** Consumes one unit of a key's allowance; returns the milliseconds to wait, 0 when a unit was left. */
export type Consume = (key: string, now: Instant.Instant) => number

export const make = (rule: RateLimit.Rule): Consume => {
  const arrivals = new Map<string, number>()
  let swept = 0
  const sweep = (now: Instant.Instant): void => {
    swept = now
    for (const [key, arrival] of arrivals) if (arrival <= now) arrivals.delete(key)
  }
  return (key, now) => {
    if (arrivals.size >= mostKeys && Math.abs(now - swept) >= rule.periodMs) sweep(now)
    const name = arrivals.size >= mostKeys && !arrivals.has(key) ? others : key
    const { arrival, decision } = RateLimit.decide(arrivals.get(name) ?? null, rule, now)
    arrivals.set(name, arrival)
    return decision.allowed ? 0 : Math.max(1, decision.retryAfterMs)
  }
}
