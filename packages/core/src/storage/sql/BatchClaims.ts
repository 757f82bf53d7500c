/**
 * Chooses the claims that a batch records: those of whole jobs that waited untouched, one behind the other.
 *
 * A batch claims all that waits up to its last job. So of the jobs before that each must be in it, or get a row in the same
 * commit; the first that is neither ends the batch, and claims behind it are written into their jobs' rows.
 */
import type { JobChange } from "../JobSteps.ts"
import type { ClaimStep } from "../policy/JobRows.ts"
import type { Batch } from "./Backlog.ts"
import type { StoredJob } from "./codec/Job.ts"
import type { Sql } from "./SqlJobRows.ts"

export interface BatchClaim extends Batch {
  /** The numbers of the jobs that it tells of. */
  readonly jobs: ReadonlySet<number>
}

/** True of a claim of a whole job that is being processed then: a batch tells so of all its jobs. A probe's is paused. */
const isWhole = ({ deferred, step: { changes, state } }: ClaimStep<Sql>): boolean =>
  deferred.length === 0 && changes.length === state.job.recipients && state.job.status === "processing"

/** Undefined when nothing of the backlog is claimed. */
export const of = (
  claims: ReadonlyArray<ClaimStep<Sql>>,
  others: ReadonlyArray<JobChange<StoredJob>>
): BatchClaim | undefined => {
  const whole = new Set<number>()
  const waited: Array<StoredJob> = []
  for (const claim of claims) {
    const { state } = claim.step
    if (state.behind !== undefined) waited.push(state)
    if (isWhole(claim)) whole.add(state.seq)
  }
  for (const { state } of others) if (state.behind !== undefined) waited.push(state)
  waited.sort((a, b) => a.seq - b.seq)
  const jobs = new Set<number>()
  let worker: string | null = null
  let last: number | null = null
  for (const state of waited) {
    if (state.behind !== last) break
    last = state.seq
    if (!whole.has(state.seq)) continue
    jobs.add(state.seq)
    worker = state.worker
  }
  const [first] = waited
  if (first === undefined || last === null) return undefined
  return { session: first.job.sessionId, first: first.seq, last, worker, open: jobs.size, jobs }
}
