/** The operations that a database supplies for the rules of a restored store, with those of the jobs that it opens. */

import type { Happening } from "../../domain/Happening.ts"
import type { Plan } from "../../domain/job/RetryPlan.ts"
import type { Quarantine, Way } from "../../domain/Restore.ts"
import type { FencedRecipient } from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { JobRows, StoredJob } from "./JobRows.ts"

/** A hold, with the jobs that it is about. */
export interface StoredQuarantine extends Quarantine {
  /** The place of the last job that there was when the hold began. */
  readonly lastJob: number
  /** The place of the last job that was opened; 0 before the first. */
  readonly opened: number
  /** The way on of all that is opened; null before the first. */
  readonly way: Way | null
}

export interface RestoreRows extends Pick<JobRows, "lockJobs" | "saveJobs"> {
  /** The recipients of a locked job that are queued or sending, by index. */
  readonly openRecipients: (job: StoredJob) => Program<ReadonlyArray<FencedRecipient>>
  readonly quarantine: () => Program<StoredQuarantine | null>
  /** The same, and lets nobody else change it until the commit. */
  readonly lockQuarantine: () => Program<StoredQuarantine | null>
  /** Writes a hold over one that is there; null ends it. */
  readonly saveQuarantine: (quarantine: StoredQuarantine | null) => Program<void>
  /** The retries of many jobs that go on. */
  readonly runningPlans: () => Program<ReadonlyArray<Plan>>
  readonly savePlan: (plan: Plan) => Program<void>
  readonly note: (happenings: ReadonlyArray<Happening>) => Program<void>
  /** The place of the last job that there is; 0 when there is none. */
  readonly lastJob: () => Program<number>
  /**
   * The first jobs from behind a place to another that have not ended, in the order of their places. Looks at some thousands
   * of jobs at most: `next` is the place of the last that was looked at, and null when that was the last of all.
   */
  readonly unendedJobs: (query: {
    readonly after: number
    readonly until: number
    readonly limit: number
  }) => Program<{
    readonly jobs: ReadonlyArray<{ readonly id: string; readonly place: number }>
    readonly next: number | null
  }>
}
