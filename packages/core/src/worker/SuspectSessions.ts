/**
 * A recipient over which two workers died is attempted while nothing else of its session is under way in this process:
 * if it kills again, nobody of that session dies with it, and every other session goes on meanwhile. Until its attempt
 * has ended nothing of the session is claimed, and what a claim under way brings of it is released.
 */
import * as Effect from "effect/Effect"
import type { ClaimedJob } from "../storage/JobStore.ts"
import type { SlowSessions } from "./SlowSessions.ts"

export interface SuspectSessions {
  /** Sessions for which nothing is claimed now. */
  readonly excluded: () => Iterable<string>
  /** True when the job may be attempted now. A suspect's session is its own from here on, until {@link alone} ends. */
  readonly admit: (job: ClaimedJob) => boolean
  /** Makes a suspect's attempt when nothing else of its session is under way. It uses one slot already. */
  readonly alone: (sessionId: string, attempt: Effect.Effect<void>) => Effect.Effect<void>
}

export const isSuspect = ({ recipients }: ClaimedJob): boolean =>
  recipients.some(({ poisonSuspect }) => poisonSuspect)

export const make = ({ awaitAtMost }: Pick<SlowSessions, "awaitAtMost">): SuspectSessions => {
  const sessions = new Set<string>()
  return {
    excluded: () => sessions,
    admit: (job) => {
      if (sessions.has(job.sessionId)) return false
      if (isSuspect(job)) sessions.add(job.sessionId)
      return true
    },
    alone: (sessionId, attempt) =>
      Effect.ensuring(
        Effect.zipRight(awaitAtMost(sessionId, 1), attempt),
        Effect.sync(() => sessions.delete(sessionId))
      )
  }
}
