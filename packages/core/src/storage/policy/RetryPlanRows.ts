/** The operations that a database supplies for the rules of retries of many jobs, with those of the jobs that they retry. */

import type { Entry } from "../../domain/Audit.ts"
import type { Plan } from "../../domain/job/RetryPlan.ts"
import type { Standing } from "../../domain/session/Session.ts"
import type { Program } from "../Program.ts"
import type { PlanKey } from "../RetryPlanStore.ts"
import type { JobRows, StoredJob } from "./JobRows.ts"

/** A plan, and the fingerprint of the request that its key stands for. */
export interface StoredPlan {
  readonly plan: Plan
  readonly fingerprint: string | null
}

export interface RetryPlanRows
  extends Pick<JobRows, "actsOn" | "isQuarantined" | "lockJobsInTime" | "recipientsOf" | "saveJobs"> {
  /** Lets nobody else add a plan with the key until the commit, and answers the one that has it. */
  readonly lockKey: (key: string) => Program<StoredPlan | null>
  readonly findByKey: (key: string) => Program<StoredPlan | null>
  /** Writes a plan that is new. */
  readonly insert: (plan: Plan, key: PlanKey | null) => Program<void>
  /** Answers the plan as it is, and lets nobody else change it until the commit. */
  readonly lock: (id: string) => Program<Plan | null>
  /** Writes an act to the audit log. */
  readonly record: (entry: Entry) => Program<void>
  /** Writes a locked plan. */
  readonly save: (plan: Plan) => Program<void>
  /** The jobs that there are, by their ids. Takes no lock. */
  readonly readJobs: (ids: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** The session of a job, and the status of its template as a claim goes by it; null of what is not there. */
  readonly standing: (
    job: StoredJob
  ) => Program<{ readonly session: Standing | null; readonly template: string | null }>
}
