/** The operations that a database supplies for the rules of retries of many jobs, with those of the jobs that they retry. */

import type { Entry } from "../../domain/Audit.ts"
import type { Plan } from "../../domain/job/RetryPlan.ts"
import type { Standing } from "../../domain/session/Session.ts"
import type { PlanKey } from "../RetryPlanStore.ts"
import type { Backend, JobRows, Tx } from "./JobRows.ts"

/** A plan, and the fingerprint of the request that its key stands for. */
export interface StoredPlan {
  readonly plan: Plan
  readonly fingerprint: string | null
}

export interface RetryPlanRows<B extends Backend>
  extends Pick<JobRows<B>, "actsOn" | "isQuarantined" | "lockJobsInTime" | "recipientsOf" | "saveJobs"> {
  /** Lets nobody else add a plan with the key until the commit, and answers the one that has it. */
  readonly lockKey: (key: string) => Tx<StoredPlan | null, B>
  readonly findByKey: (key: string) => Tx<StoredPlan | null, B>
  /** Writes a plan that is new. */
  readonly insert: (plan: Plan, key: PlanKey | null) => Tx<void, B>
  /** Answers the plan as it is, and lets nobody else change it until the commit. */
  readonly lock: (id: string) => Tx<Plan | null, B>
  /** Writes an act to the audit log. */
  readonly record: (entry: Entry) => Tx<void, B>
  /** Writes a locked plan. */
  readonly save: (plan: Plan) => Tx<void, B>
  /** The jobs that there are, by their ids. Takes no lock. */
  readonly readJobs: (ids: ReadonlyArray<string>) => Tx<ReadonlyArray<B["job"]>, B>
  /** The session of a job, and the status of its template as a claim goes by it; null of what is not there. */
  readonly standing: (
    job: B["job"]
  ) => Tx<{ readonly session: Standing | null; readonly template: string | null }, B>
}
