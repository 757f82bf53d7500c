/**
 * Quota and minimum wait of sends that were accepted inside the embedder's transaction: taken after its commit, in one of
 * our own (decisions.md §10 "Embedding", docs/adr/0031).
 *
 *     claim finds such a job due → puts it off for a moment and tells of it → takeLimits → a claim takes it, or it waits
 */
import type { Instant } from "../../domain/Instant.ts"
import * as Plan from "../../domain/Plan.ts"
import type { LimitsDue } from "../JobStore.ts"
import { limitsLeaseMs } from "../JobStore.ts"
import type { Backend, DueJob, JobRows, Tx } from "./JobRows.ts"

/**
 * Puts off locked jobs whose limits are to be taken, and tells of them. Not taken in this commit: whoever sends for the
 * account would wait for all that a claim does.
 */
export function* announce<B extends Backend>(
  rows: JobRows<B>,
  jobs: ReadonlyArray<DueJob<B>>,
  now: Instant
): Tx<ReadonlyArray<LimitsDue>, B> {
  if (jobs.length === 0) return []
  const held = jobs.map(({ job }) => job)
  yield* rows.putOff(held, now + limitsLeaseMs)
  return jobs.map(({ dueAt, job: { job } }) => ({ accountId: job.accountId, jobId: job.id, dueAt }))
}

/** `JobStore.takeLimits`. */
export function* take<B extends Backend>(
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
  // Two claims may have told of one.
  const jobs = yield* rows.lockUntaken(accountId, [...new Set(jobIds)])
  if (jobs.length === 0) return 0
  const publicKeys = [...new Set(jobs.map(({ publicKey }) => publicKey))]
  const { plan, ...usage } = yield* rows.limitFacts({ accountId, publicKeys, now })
  const taken = Plan.takeAll(jobs, plan, usage, now)
  yield* rows.saveLimits(accountId, taken, now)
  return taken.filter(([, wait]) => wait === null).length
}
