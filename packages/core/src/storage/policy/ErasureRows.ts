/** The operations that a database supplies for the rules of erasure, with those of the jobs that it changes. */

import type { Redaction, Sought } from "../../domain/Erasure.ts"
import type { EarlierAttempt } from "../../domain/job/Attempts.ts"
import type { RecipientResult } from "../../domain/job/Job.ts"
import type { Program } from "../Program.ts"
import type { JobRows, RecipientPlace, StoredJob } from "./JobRows.ts"

export interface ErasureRows extends Pick<JobRows, "lockJobs" | "recipientsAt" | "saveJobs"> {
  /**
   * The recipients of a person among the next thousands behind a place. It looks at every row: no index is by phone.
   * `next` is null behind the last of all.
   */
  readonly recipientsOfPerson: (
    sought: Sought,
    after: string | null
  ) => Program<{ readonly places: ReadonlyArray<RecipientPlace>; readonly next: string | null }>
  /** The jobs that there are, by their ids, in that order. Takes no lock. */
  readonly readJobs: (ids: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** The rows of a recipient's attempts, in their order. */
  readonly earlierAttempts: (job: StoredJob, index: number) => Program<ReadonlyArray<EarlierAttempt>>
  /**
   * Takes from recipients of a locked job what is personal. Of a job that has no other recipient its content goes, if it is a direct
   * message, and what its request is known again by.
   */
  readonly saveErased: (
    job: StoredJob,
    erased: ReadonlyArray<Pick<RecipientResult, "index">>,
    redaction: Redaction
  ) => Program<void>
}
