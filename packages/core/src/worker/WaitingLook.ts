/** What waits in the store, as the metrics, the log and the overview tell it: one process reads it once in a while for all. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../domain/Instant.ts"
import type { Backlog } from "../domain/job/Waiting.ts"
import type { Quarantine } from "../domain/Restore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RestoreStore } from "../storage/RestoreStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import { Heartbeat } from "./Heartbeat.ts"

/** How much of what waits is read: jobs, and webhooks. */
export const most = { jobs: 10_000, webhooks: 10_000 } as const

const freshFor = "2 seconds"

export interface Found {
  readonly quarantine: Quarantine | null
  readonly isDispatched: boolean
  readonly backlog: Backlog
  readonly deliveries: number
}

export class WaitingLook extends Context.Tag("@sendwright/core/worker/WaitingLook")<
  WaitingLook,
  {
    /** What a look found, which everybody shares for some seconds. */
    readonly found: Effect.Effect<Found, StorageError>
  }
>() {}

export const layer: Layer.Layer<WaitingLook, never, Heartbeat | JobStore | RestoreStore | WebhookStore> =
  Layer.effect(
    WaitingLook,
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const webhooks = yield* WebhookStore
      const restores = yield* RestoreStore
      const heartbeat = yield* Heartbeat
      const look = Effect.all({
        quarantine: restores.quarantine,
        isDispatched: heartbeat.isDispatched,
        backlog: Effect.flatMap(Time.now, (now) => jobs.backlog({ most: most.jobs, now })),
        deliveries: webhooks.countWaiting({ most: most.webhooks })
      })
      // Whoever began it may leave while others wait for the same.
      return { found: Effect.uninterruptible(yield* Effect.cachedWithTTL(look, freshFor)) }
    })
  )
