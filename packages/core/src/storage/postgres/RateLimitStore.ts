/** Rate limits that hold over all nodes: one statement, which the row's lock makes exact. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimit from "../../domain/account/RateLimit.ts"
import { get, run } from "../Program.ts"
import { RateLimitStore } from "../RateLimitStore.ts"
import { real } from "../sql/RowReader.ts"
import { Pool } from "./Database.ts"

// `RateLimit.decide` as one statement: it writes when the request is allowed, and answers nothing when it is not.
const consume = `INSERT INTO sendwright_rate AS rate (key, arrival) VALUES (?, ?)
  ON CONFLICT (key) DO UPDATE SET arrival = greatest(rate.arrival, ?) + ?
  WHERE greatest(rate.arrival, ?) + ? <= ?
  RETURNING arrival`

const find = "SELECT arrival FROM sendwright_rate WHERE key = ?"

// Kept, so that the wait passes with the time.
const cut = "UPDATE sendwright_rate SET arrival = ? WHERE key = ? AND arrival > ?"

export const layer: Layer.Layer<RateLimitStore, never, Pool> = Layer.effect(
  RateLimitStore,
  Effect.map(Pool, (pool) => ({
    consume: ({ key, limit, now, periodMs }) =>
      pool.alone("RateLimitStore.consume", function* () {
        const rule = { limit, periodMs }
        const interval = periodMs / limit
        const latest = RateLimit.latest(rule, now)
        const row = yield* get(consume, key, now + interval, now, interval, now, interval, latest)
        if (row !== undefined) return RateLimit.decisionOf(true, real(row, "arrival"), rule, now)
        const found = yield* get(find, key)
        const arrival = found === undefined ? now : real(found, "arrival")
        if (arrival > latest) yield* run(cut, latest, key, latest)
        return RateLimit.decisionOf(false, Math.min(arrival, latest), rule, now)
      })
  }))
)
