/**
 * The batches that this process claimed, by job, so that a settlement does not read their recipients again. A batch
 * counts under its own fence alone, and each claim raises the fence and replaces the batch, so one that was rolled back
 * is never mistaken for a later one. A write of another process changes the version of the job's row.
 */
import type { Step, Tracked } from "../JobSteps.ts"
import type { StoredJob } from "./Rows.ts"

/** The recipients of a job as they were claimed together. */
export type Recipients = ReadonlyMap<number, Tracked>

interface Batch {
  readonly held: StoredJob
  /** The version of the job's row, which is written with each recipient. */
  readonly version: string
  readonly recipients: Recipients
}

export interface ClaimCache {
  /** @param version the version of the job's row once the claim is written */
  readonly put: (claim: Step<StoredJob>, version: string) => void
  /** For a job that is written otherwise. */
  readonly remove: (jobId: string) => void
  /** The job as it was claimed. */
  readonly jobOf: (jobId: string) => StoredJob | undefined
  /** The recipients that were claimed of the job; undefined when its row is not as the claim left it. */
  readonly recipientsOf: (held: StoredJob) => Recipients | undefined
}

/** The most batches: as many as lanes have in hand where each job has one recipient. */
const most = 1024

export const make = (): ClaimCache => {
  const batches = new Map<string, Batch>()
  return {
    put: ({ held, moves }, version) => {
      batches.delete(held.job.id)
      const [oldest] = batches.keys()
      if (batches.size >= most && oldest !== undefined) batches.delete(oldest)
      const recipients = new Map<number, Tracked>()
      for (const { after, fence } of moves) recipients.set(after.index, { recipient: after, fence })
      batches.set(held.job.id, { held, version, recipients })
    },
    remove: (jobId) => {
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
