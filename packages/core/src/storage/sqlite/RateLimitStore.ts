/** Rate limits in process memory: a restart forgets one burst of a key at most (`Stores.ts`). */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimit from "../../domain/account/RateLimit.ts"
import type { Instant } from "../../domain/Instant.ts"
import { RateLimitStore } from "../RateLimitStore.ts"

/** Keys whose allowance is whole again need not be kept; they are looked for when the map has grown this much. */
const sweepAt = 10_000

export const layer: Layer.Layer<RateLimitStore> = Layer.sync(RateLimitStore, () => {
  const arrivals = new Map<string, number>()
  let sweepSize = sweepAt
  const sweep = (now: Instant): void => {
    if (arrivals.size < sweepSize) return
    for (const [key, arrival] of arrivals) if (arrival <= now) arrivals.delete(key)
    sweepSize = arrivals.size + sweepAt
  }
  return {
    consume: ({ key, limit, now, periodMs }) =>
      Effect.sync(() => {
        sweep(now)
        const { arrival, decision } = RateLimit.decide(arrivals.get(key) ?? null, { limit, periodMs }, now)
        arrivals.set(key, arrival)
        return decision
      })
  }
})
