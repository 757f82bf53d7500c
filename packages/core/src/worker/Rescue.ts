/**
 * Puts right what others left: recipients and deliveries that dead workers had in hand, blocks of sessions that are
 * over, and what a clock that was ahead put off.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Provider } from "../domain/Session.ts"
import * as Moment from "../loop/Moment.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import * as JobSteps from "../storage/JobSteps.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import { observe, Presence, processOf } from "./Presence.ts"

/** The clock, and the monotonic one beside it. */
interface Reading {
  readonly time: Instant
  readonly moment: Moment.Moment
}

/** True when the clock was set back since, or may have been: before the first reading nobody can tell. */
export const wasSetBack = (before: Reading | undefined, now: Reading): boolean =>
  before === undefined || Time.isAhead(before.time + (now.moment - before.moment), now.time)

/** Does all that is to be done now; answers how many things that were. To be repeated every few seconds. */
export type Rescue = Effect.Effect<number, StorageError>

export const make: Effect.Effect<Rescue, never, JobStore | Presence | Senders | SessionStore | WebhookStore> =
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const presence = yield* Presence
    const senders = yield* Senders
    const sessions = yield* SessionStore
    const webhooks = yield* WebhookStore
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)

    let seen: Parameters<typeof observe>[0] = new Map()
    let last: Reading | undefined

    const makeDue = Effect.gen(function* () {
      const reading = { time: yield* Clock.currentTimeMillis, moment: yield* Moment.now }
      const before = last
      if (!wasSetBack(before, reading)) {
        last = reading
        return 0
      }
      const now = reading.time
      let found = yield* webhooks.makeDue({ now })
      for (let some = yield* jobs.makeDue({ now }); some > 0; some = yield* jobs.makeDue({ now }))
        found += some
      last = reading
      if (found > 0) {
        yield* Effect.logWarning(
          `The clock was set back: ${found} job(s) and webhook deliveries that waited for its former time are due now`
        )
      }
      return found
    })

    return Effect.gen(function* () {
      const workers = yield* Effect.onError(jobs.holders, () =>
        // While nobody could say anything, nobody was silent.
        Effect.sync(() => {
          seen = new Map()
        })
      )
      const others = workers.filter(({ worker }) => !presence.isHere(worker))
      const observed = observe(seen, others, yield* Clock.currentTimeNanos, presence.leaseMs)
      seen = observed.seen
      yield* sessions.unblock({ now: yield* Clock.currentTimeMillis })
      let count = 0
      for (const [worker, ...beside] of JobSteps.groupBy(observed.dead, processOf).values()) {
        if (worker === undefined) continue
        const now = yield* Clock.currentTimeMillis
        // First what does not forget the workers: a cut between the two is made good by the next pass.
        let deliveries = 0
        for (const each of [worker, ...beside]) deliveries += yield* webhooks.rescue({ worker: each, now })
        const recipients = yield* jobs.rescue({ worker, beside, now, recoverable })
        count += deliveries + recipients
        if (deliveries + recipients > 0) {
          yield* Effect.logWarning(
            `Took back ${recipients} recipient(s) and ${deliveries} webhook deliveries of a process that stopped`
          )
        }
      }
      // Last: where it takes long or fails, nobody waits for the rescue.
      return count + (yield* makeDue)
    })
  })
