/**
 * What this process claimed, by job, so that a settlement does not read the recipients again. It counts under its own
 * fence alone, and each claim raises the fence and replaces what was there, so one that was rolled back is never mistaken
 * for a later one. A write of another process changes the version: of the job's row, or of the batch's that tells of the
 * job. Of a batch this process knows the version also after it has written some of its jobs itself.
 */
import type { FencedRecipient, JobChange } from "../JobSteps.ts"
import type { StoredJob } from "./codec/Job.ts"

/** Finds a recipient of a job by its place, as it was claimed with others of the job. */
export type Recipients = (place: number) => FencedRecipient | undefined

interface Claimed {
  readonly state: StoredJob
  /** Of the job's row, or of the batch's, which all of its jobs share. */
  readonly version: { current: string }
  readonly recipients: ReadonlyArray<FencedRecipient>
}

/** Nearly always they lie side by side; a map of each claim's would cost as much as all the rest of it. */
const finderOf = (recipients: ReadonlyArray<FencedRecipient>): Recipients => {
  let byPlace: ReadonlyMap<number, FencedRecipient> | undefined
  const findAny = (place: number): FencedRecipient | undefined => {
    byPlace ??= new Map(recipients.map((fenced) => [fenced.recipient.index, fenced]))
    return byPlace.get(place)
  }
  return (place) => {
    const [first] = recipients
    const likely = first && recipients[place - first.recipient.index]
    return likely?.recipient.index === place ? likely : findAny(place)
  }
}

export interface ClaimCache {
  /** @param version the version of the rows that tell of the claims, once these are written */
  readonly put: (claims: ReadonlyArray<JobChange<StoredJob>>, version: string) => void
  /**
   * This process has written some jobs of the batch, which was locked at a version, and knows the others as it knew them.
   * Does nothing when it knew them at another version: then another process has written some of them.
   */
  readonly renew: (batch: number, locked: string, written: string) => void
  /** For a job that is written otherwise. */
  readonly remove: (jobId: string) => void
  /** The job as it was claimed. */
  readonly jobOf: (jobId: string) => StoredJob | undefined
  /** The recipients that were claimed of the job; undefined when its row is not as the claim left it. */
  readonly recipientsOf: (state: StoredJob) => Recipients | undefined
}

/** The most jobs: as many as all lanes claim where each job has one recipient. */
export const most = 4096

export const make = (): ClaimCache => {
  const claims = new Map<string, Claimed>()
  /** By the batches' first jobs. */
  const batches = new Map<number, Claimed["version"]>()
  const forgetOldest = <Key>(map: Map<Key, unknown>): void => {
    if (map.size < most) return
    const [oldest] = map.keys()
    if (oldest !== undefined) map.delete(oldest)
  }
  return {
    put: (steps, current) => {
      const version = { current }
      for (const { changes, state } of steps) {
        claims.delete(state.job.id)
        forgetOldest(claims)
        // Without what they were before, which nobody asks for any more.
        const recipients = changes.map(({ after, fence }) => ({ recipient: after, fence }))
        claims.set(state.job.id, { state, version, recipients })
        if (state.batch === null || batches.get(state.batch) === version) continue
        forgetOldest(batches)
        batches.set(state.batch, version)
      }
    },
    renew: (batch, locked, written) => {
      const version = batches.get(batch)
      if (version?.current === locked) version.current = written
    },
    remove: (jobId) => {
      claims.delete(jobId)
    },
    jobOf: (jobId) => {
      const claim = claims.get(jobId)
      if (claim === undefined) return undefined
      const { state, version } = claim
      // Only a batch goes on after others of its jobs were written.
      return state.version === version.current ? state : { ...state, version: version.current }
    },
    recipientsOf: ({ fence, job, version }) => {
      const claim = claims.get(job.id)
      return claim?.state.fence === fence && claim.version.current === version
        ? finderOf(claim.recipients)
        : undefined
    }
  }
}
