/** Claims due recipients, attempts them, and hands in what became of them together with the next claim. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Time from "../domain/Instant.ts"
import type { Provider } from "../domain/Session.ts"
import type { Sender } from "../sender/Sender.ts"
import { Senders } from "../sender/Sender.ts"
import type { ConsentStore } from "../storage/ConsentStore.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { JobStore, Outcome } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Dispatch from "./Dispatch.ts"

/**
 * How long a claim holds. With the rescue's pace it bounds how long a dead worker's recipients wait: under 30 s.
 */
export const leaseMs = 20 * Time.second

/** How often leases that ended are looked for. */
export const rescueEveryMs = 5 * Time.second

export interface SendWorker {
  /** Hands in what the last window brought and attempts the next; empty when nothing is due. */
  readonly step: (
    settlements: ReadonlyArray<Settlement>
  ) => Effect.Effect<ReadonlyArray<Settlement>, StorageError>
  /** Hands in what is left, and takes nothing new. */
  readonly settle: (settlements: ReadonlyArray<Settlement>) => Effect.Effect<void, StorageError>
  /** Takes back what dead workers left; answers how many recipients. */
  readonly rescue: Effect.Effect<number, StorageError>
}

export const make = (options: {
  readonly worker: string
  /** Recipients per window. */
  readonly window: number
}): Effect.Effect<SendWorker, never, ConsentStore | JobStore | Senders | SessionStore> =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const senders = yield* Senders
    const sessions = yield* SessionStore
    const context = yield* Effect.context<ConsentStore>()
    const deduplicating: ReadonlyArray<Provider> = [...senders.values()]
      .filter((sender) => sender.deduplicates)
      .map((sender) => sender.provider)

    const senderOf = (sessionId: string): Effect.Effect<Sender | undefined, StorageError> =>
      Effect.map(sessions.find(sessionId), (session) =>
        session === null ? undefined : senders.get(session.provider)
      )

    /** A window that could not even begin goes back as it was: nothing of it was attempted. */
    const released = ({ fence, jobId, recipients }: ClaimedJob): ReadonlyArray<Settlement> =>
      recipients.map(({ index }) => ({ jobId, fence, index, outcome: Outcome.Released() }))

    const attempt = (job: ClaimedJob): Effect.Effect<ReadonlyArray<Settlement>> =>
      Effect.flatMap(senderOf(job.sessionId), (sender) => Dispatch.window(sender, job, options.window)).pipe(
        Effect.provide(context),
        Effect.catchAll((error) =>
          Effect.as(Effect.logError("A window could not begin", error), released(job))
        )
      )

    return {
      step: Effect.fnUntraced(function* (settlements) {
        const now = yield* Clock.currentTimeMillis
        const claim = { worker: options.worker, until: now + leaseMs, limit: options.window }
        const { claimed } = yield* jobs.exchange({ now, settlements, claim })
        const outcomes = yield* Effect.forEach(claimed, attempt, { concurrency: "unbounded" })
        return outcomes.flat()
      }),
      settle: Effect.fnUntraced(function* (settlements) {
        const now = yield* Clock.currentTimeMillis
        yield* jobs.exchange({ now, settlements, claim: null })
      }),
      rescue: Effect.flatMap(Clock.currentTimeMillis, (now) => jobs.rescue({ now, deduplicating }))
    }
  })
