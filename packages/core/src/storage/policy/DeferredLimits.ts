/**
 * Quota and minimum wait of sends that were accepted inside the embedder's transaction: applied after its commit, in one of
 * our own (decisions.md §10 "Embedding", docs/adr/0031).
 *
 *     claim finds such a job due → puts it off for a moment and reports it → applyLimits → a claim gets it, or it waits
 */

import * as Plan from "../../domain/account/Plan.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { LimitsDue } from "../JobStore.ts"
import { limitsLeaseMs } from "../JobStore.ts"
import type { Backend, DueJob, JobRows, Tx } from "./JobRows.ts"

/**
 * Puts off locked jobs whose limits are to be applied, and reports them. Not applied in this commit: whoever sends for the
 * account would wait for all that a claim does.
 */
export function* announce<B extends Backend>(
  rows: JobRows<B>,
  jobs: ReadonlyArray<DueJob<B>>,
  now: Instant
): Tx<ReadonlyArray<LimitsDue>, B> {
  if (jobs.length === 0) return []
  const states = jobs.map(({ job }) => job)
  yield* rows.putOff(states, now + limitsLeaseMs)
  return jobs.map(({ dueAt, job: { job } }) => ({ accountId: job.accountId, jobId: job.id, dueAt }))
}

/** `JobStore.applyLimits`. */
export function* apply<B extends Backend>(
  rows: JobRows<B>,
  {
    accountId,
    jobIds,
    now
  }: {
    readonly now: Instant
    readonly accountId: string
    readonly jobIds: ReadonlyArray<string>
  }
): Tx<number, B> {
  // Two claims may have reported one.
  const jobs = yield* rows.lockPendingLimits(accountId, [...new Set(jobIds)])
  if (jobs.length === 0) return 0
  const publicKeys = [...new Set(jobs.map(({ publicKey }) => publicKey))]
  const { plan, ...usage } = yield* rows.limitFacts({ accountId, publicKeys, now })
  const applied = Plan.applyLimits(jobs, plan, usage, now)
  yield* rows.saveLimits(accountId, applied, now)
  return applied.filter(([, wait]) => wait === null).length
}
