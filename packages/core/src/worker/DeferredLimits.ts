/**
 * Applies the limits of jobs that claims have reported. Beside the lanes, since it waits for others who send for the account,
 * and the accounts side by side: none waits for another's.
 */
import * as Arrays from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { Signals } from "../runtime/Signals.ts"
import { groupBy } from "../storage/JobSteps.ts"
import type { LimitsDue } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"

export interface DeferredLimits {
  readonly add: (limits: ReadonlyArray<LimitsDue>) => Effect.Effect<void>
  /** Takes the limits of all that was added. Answers how many jobs may be claimed. */
  readonly apply: Effect.Effect<number>
}

const accountsAtOnce = 4

/** Jobs of one commit, for which all others wait who send for the account. */
const jobsAtOnce = 250

export const make: Effect.Effect<DeferredLimits, never, JobStore | Signals> = Effect.gen(function* () {
  const jobs = yield* JobStore
  const signals = yield* Signals
  let added: ReadonlyArray<LimitsDue> = []

  const applyOf = (accountId: string, due: ReadonlyArray<LimitsDue>) =>
    Effect.gen(function* () {
      let count = 0
      for (const some of Arrays.chunksOf(
        due.toSorted((a, b) => a.dueAt - b.dueAt),
        jobsAtOnce
      )) {
        const now = yield* Clock.currentTimeMillis
        count += yield* jobs.applyLimits({ now, accountId, jobIds: some.map(({ jobId }) => jobId) })
      }
      return count
    }).pipe(
      // Claims tell of them again.
      Effect.catchAllCause((cause) =>
        Effect.as(Effect.logError(`The limits of account ${accountId} were not taken`, cause), 0)
      )
    )

  return {
    add: (limits) =>
      Effect.suspend(() => {
        if (limits.length === 0) return Effect.void
        added = [...added, ...limits]
        return signals.limits.notify
      }),
    apply: Effect.gen(function* () {
      const groups = [...groupBy(added, ({ accountId }) => accountId)]
      added = []
      if (groups.length === 0) return 0
      const applied = yield* Effect.forEach(groups, ([accountId, due]) => applyOf(accountId, due), {
        concurrency: accountsAtOnce
      })
      const count = applied.reduce((sum, each) => sum + each, 0)
      if (count > 0) yield* signals.sends.notify
      return count
    })
  }
})
