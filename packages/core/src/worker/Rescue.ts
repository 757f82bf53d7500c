/**
 * Puts right what others left: recipients and deliveries that dead workers had claimed, blocks of sessions that are
 * over, messages that expired while something keeps them, and what a clock that was ahead put off.
 */

import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { groupBy } from "../domain/GroupBy.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Provider } from "../domain/session/Session.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import { canRecover, Senders } from "../sender/Sender.ts"
import type { KnownWorker } from "../storage/JobStore.ts"
import { JobStore, processOf } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import { Heartbeat, observe } from "./Heartbeat.ts"
import { isPassing } from "./Isolate.ts"

/** The clock, and the monotonic one beside it. */
interface Reading {
  readonly time: Instant
  readonly moment: Moment.Moment
}

/** True when the clock was set back since, or may have been: before the first reading nobody can tell. */
export const wasSetBack = (before: Reading | undefined, now: Reading): boolean =>
  before === undefined || Time.isAhead(Time.after(before.time, now.moment - before.moment), now.time)

/** Does all that is to be done now; answers how many things that were. To be repeated every few seconds. */
export type Rescue = Effect.Effect<number, StorageError>

/** Ends what expired while something keeps it. Nothing is locked while nothing has. */
const expire = (jobs: Context.Tag.Service<JobStore>): Effect.Effect<number, StorageError> =>
  Effect.gen(function* () {
    const now = yield* Time.now
    const expiry = yield* jobs.nextExpiry
    if (expiry === null || expiry > now) return 0
    let count = 0
    for (let some = yield* jobs.expire({ now }); some > 0; some = yield* jobs.expire({ now })) count += some
    return count
  })

export const make = (
  suspectWaits: ReadonlyArray<number>
): Effect.Effect<Rescue, never, JobStore | Heartbeat | Senders | SessionStore | WebhookStore> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const heartbeat = yield* Heartbeat
    const senders = yield* Senders
    const sessions = yield* SessionStore
    const webhooks = yield* WebhookStore
    const recoverable: ReadonlyArray<Provider> = [...senders.values()]
      .filter(canRecover)
      .map((sender) => sender.provider)

    let seen: Parameters<typeof observe>[0] = new Map()
    let last: Reading | undefined
    const countRescued = Metrics.ofRescue()

    const makeDue = Effect.gen(function* () {
      const reading = { time: yield* Time.now, moment: yield* Moment.now }
      const before = last
      if (!wasSetBack(before, reading)) {
        last = reading
        return 0
      }
      const clock = yield* Effect.clock
      const now = () => Time.unsafeNow(clock)
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

    /**
     * Rescues what a dead process had claimed. One that cannot be rescued, since a row is damaged or the store refuses what
     * becomes of it, keeps no other waiting; it is tried again with each pass.
     */
    const rescueProcess = (dead: ReadonlyArray<KnownWorker>): Effect.Effect<number, StorageError> =>
      Effect.gen(function* () {
        const [worker, ...beside] = dead.map(({ worker }) => worker)
        if (worker === undefined) return 0
        const beats = new Map(dead.map(({ beats, worker }) => [worker, beats]))
        const now = yield* Time.now
        // The deliveries come first, since their rescue forgets no worker: after a cut between the two the next pass finds the
        // same counts, and takes back what is left.
        let deliveries = 0
        for (const { beats, worker } of dead) deliveries += yield* webhooks.rescue({ worker, beats, now })
        const recipients = yield* jobs.rescue({ worker, beside, beats, now, recoverable, suspectWaits })
        countRescued(recipients)
        if (deliveries + recipients > 0) {
          yield* Effect.annotateLogs(
            Effect.logWarning(
              `Took back ${recipients} recipient(s) and ${deliveries} webhook deliveries of a process that stopped`
            ),
            { process: processOf(worker), recipients, deliveries }
          )
        }
        return deliveries + recipients
      }).pipe(
        Effect.catchAllCause((cause) =>
          // A store that takes nothing for now would refuse the others, too.
          Cause.isInterrupted(cause) || isPassing(cause)
            ? Effect.failCause(cause)
            : Effect.as(Effect.logError("What a process had that stopped cannot be taken back", cause), 0)
        )
      )

    return Effect.gen(function* () {
      const workers = yield* Effect.onError(jobs.workers, () =>
        // While nobody could say anything, nobody was silent.
        Effect.sync(() => {
          seen = new Map()
        })
      )
      let count = 0
      for (const { worker } of workers)
        if (heartbeat.isGivenBack(worker)) count += yield* heartbeat.giveBack(worker)
      const others = workers.filter(({ worker }) => !heartbeat.isHere(worker))
      const observed = observe(seen, others, yield* Clock.currentTimeNanos, heartbeat.leaseMs)
      seen = observed.seen
      for (const dead of groupBy(observed.dead, ({ worker }) => processOf(worker)).values()) {
        count += yield* rescueProcess(dead)
      }
      // After the rescue: where one of these takes long or fails, it keeps no recipient waiting.
      const unblocked = yield* sessions.unblock({ now: yield* Time.now })
      for (const sessionId of unblocked)
        yield* Effect.annotateLogs(Effect.logInfo(`Session ${sessionId} goes on: its pause is over`), {
          sessionId
        })
      count += yield* expire(jobs)
      return count + (yield* makeDue)
    })
  })
