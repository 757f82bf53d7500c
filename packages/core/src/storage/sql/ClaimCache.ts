/**
 * What this process claimed and nobody changed since, by job, so that settling reads of it only what else may change in
 * the job. A batch counts under the job's fence alone, and each claim, which raises the fence, replaces it: one that was
 * rolled back is never taken for a later one. What another process wrote shows in the version of the job's row.
 */
import type { Step, Tracked } from "../JobSteps.ts"
import type { StoredJob } from "./Rows.ts"

/** The recipients of a job as they were claimed together. */
export type Recipients = ReadonlyMap<number, Tracked>

interface Batch {
  readonly held: StoredJob
  /** Of the job's row, with which each write of a recipient comes. */
  readonly version: string
  readonly recipients: Recipients
}

export interface ClaimCache {
  /** @param version of the job's row, once the claim is written */
  readonly keep: (claim: Step<StoredJob>, version: string) => void
  /** Of a job that is written otherwise. */
  readonly forget: (jobId: string) => void
  /** The job as it was claimed. */
  readonly jobOf: (jobId: string) => StoredJob | undefined
  /** What was claimed of the job, if its row is as the claim left it. */
  readonly recipientsOf: (held: StoredJob) => Recipients | undefined
}

/** As many as lanes have in hand where each job has one recipient. */
const most = 1024

export const make = (): ClaimCache => {
  const batches = new Map<string, Batch>()
  return {
    keep: ({ held, moves }, version) => {
      const [oldest] = batches.keys()
      if (batches.size >= most && oldest !== undefined) batches.delete(oldest)
      const recipients = new Map<number, Tracked>()
      for (const { after, fence } of moves) recipients.set(after.index, { recipient: after, fence })
      batches.set(held.job.id, { held, version, recipients })
    },
    forget: (jobId) => {
      batches.delete(jobId)
    },
    jobOf: (jobId) => {
      const batch = batches.get(jobId)
      return batch === undefined ? undefined : { ...batch.held, version: batch.version }
    },
    recipientsOf: ({ fence, job, version }) => {
      const batch = batches.get(job.id)
      return batch?.held.fence === fence && batch.version === version ? batch.recipients : undefined
    }
  }
}
