/**
 * Rates per key in this process, for what is refused before any store is asked. A key whose allowance is whole again is
 * forgotten, so that only those which were seen in the last period are kept, and of these so many.
 */
import { RateLimit } from "@sendwright/core"

/** More keys at a time are not told apart: they share one allowance. */
const mostKeys = 10_000
const others = ""

/** Takes one from a key's allowance; answers how many milliseconds to wait, 0 when it was there. */
export type Consume = (key: string, now: number) => number

export const make = (rule: RateLimit.Rule): Consume => {
  const arrivals = new Map<string, number>()
  let swept = 0
  const sweep = (now: number): void => {
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
