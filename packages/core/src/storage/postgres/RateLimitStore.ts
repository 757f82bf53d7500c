/** Rate limits that hold over all nodes: one statement, which the row's lock makes exact. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import * as RateLimit from "../../domain/RateLimit.ts"
import { RateLimitStore } from "../RateLimitStore.ts"
import { get } from "../sql/Program.ts"
import { real } from "../sql/Rows.ts"
import { Pool } from "./Database.ts"

/**
 * Clocks of nodes differ. What a faster one wrote is no reason to grant the allowance again; what is further ahead
 * was written before a clock was set back, and is forgotten.
 */
const horizonMs = 30 * Time.minute

// `RateLimit.decide` as one statement: it writes when the request is allowed, and answers nothing when it is not.
const consume = `INSERT INTO sendwright_rate AS rate (key, arrival) VALUES (?, ?)
  ON CONFLICT (key) DO UPDATE SET arrival = CASE WHEN rate.arrival > ? THEN ? ELSE greatest(rate.arrival, ?) END + ?
  WHERE CASE WHEN rate.arrival > ? THEN ? ELSE greatest(rate.arrival, ?) END + ? <= ?
  RETURNING arrival`

const find = "SELECT arrival FROM sendwright_rate WHERE key = ?"

export const layer: Layer.Layer<RateLimitStore, never, Pool> = Layer.effect(
  RateLimitStore,
  Effect.map(Pool, (pool) => ({
    consume: ({ key, limit, now, periodMs }) =>
      pool.alone("RateLimitStore.consume", function* () {
        const interval = periodMs / limit
        const from = [now + horizonMs, now, now, interval] as const
        const allowed = yield* get(consume, key, now + interval, ...from, ...from, now + periodMs)
        const row = allowed ?? (yield* get(find, key))
        const kept = row === undefined ? now : real(row, "arrival")
        return RateLimit.told(allowed !== undefined, kept, { limit, periodMs }, now)
      })
  }))
)
