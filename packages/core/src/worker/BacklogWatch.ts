/** Measures what waits in the store, for the metrics; and says when something waits and no process is there to send it. */
import * as Effect from "effect/Effect"
import * as Time from "../domain/Instant.ts"
import * as Waiting from "../domain/job/Waiting.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { WaitingLook } from "./WaitingLook.ts"

/** Between two looks, in milliseconds, however often it is asked; and how many times longer than a look the pause is. */
const everyMs = 4 * Time.second
const rest = 200

/** Looks, if the last look is long enough ago. To be asked every few seconds. */
export type Look = Effect.Effect<void, StorageError>

export const make: Effect.Effect<Look, never, WaitingLook> = Effect.gen(function* () {
  const { found } = yield* WaitingLook
  const measured = Metrics.ofBacklog()
  let nextAt: Moment.Moment = Number.NEGATIVE_INFINITY
  let isAbandoned = false

  const report = (waiting: number, isDispatched: boolean): Effect.Effect<void> => {
    const was = isAbandoned
    isAbandoned = !isDispatched && waiting > 0
    if (was === isAbandoned) return Effect.void
    return isAbandoned
      ? Effect.logWarning("Recipients wait, and no process is alive that sends them").pipe(
          Effect.annotateLogs({ waiting })
        )
      : Effect.logInfo("What waited for a process that sends has one, or waits no more")
  }

  const look = Effect.gen(function* () {
    const { backlog, deliveries, isDispatched, quarantine } = yield* found
    const waiting = Waiting.byLimiter(backlog, { isDispatched, isHeld: quarantine !== null })
    const now = yield* Time.now
    measured(waiting, backlog.oldestAt === null ? 0 : now - backlog.oldestAt, deliveries)
    const all = Waiting.due(backlog).reduce((sum, { retrying, waiting }) => sum + waiting + retrying, 0)
    yield* report(all, isDispatched)
  })

  return Effect.gen(function* () {
    const began = yield* Moment.now
    if (began < nextAt) return
    yield* look
    const ended = yield* Moment.now
    nextAt = Math.max(began + everyMs, ended + rest * (ended - began))
  })
})
