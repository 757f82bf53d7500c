/**
 * All stores over one SQLite database, whichever driver runs its statements.
 *
 * Rate limits are kept in process memory: one process owns the file, so memory is as exact, and a disk sync for
 * every authenticated request would cost more than the request. A restart gives each key a full allowance.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimit from "../../domain/account/RateLimit.ts"
import type { Instant } from "../../domain/Instant.ts"
import { HealthStore } from "../HealthStore.ts"
import { run } from "../Program.ts"
import { RateLimitStore } from "../RateLimitStore.ts"
import type { StorageError } from "../StorageError.ts"
import type { Stores } from "../Stores.ts"
import { Database } from "../sql/Database.ts"
import * as SqlStores from "../sql/Stores.ts"

/** Bytes that are written and deleted again: a row without them would find room on a disk that is full. */
const probeBytes = 16_384

const health: Layer.Layer<HealthStore, never, Database> = Layer.effect(
  HealthStore,
  Effect.map(Database, (db) => ({
    probe: db.write("HealthStore.probe", function* () {
      yield* run("INSERT INTO sendwright_probe (content) VALUES (zeroblob(?))", probeBytes)
      yield* run("DELETE FROM sendwright_probe")
    })
  }))
)

/** Keys whose allowance is whole again need not be kept; they are looked for when the map has grown this much. */
const sweepAt = 10_000

export const rateLimits: Layer.Layer<RateLimitStore> = Layer.sync(RateLimitStore, () => {
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

export const layer: Layer.Layer<Stores, StorageError, Database> = Layer.mergeAll(
  SqlStores.layer(false),
  health,
  rateLimits
)
