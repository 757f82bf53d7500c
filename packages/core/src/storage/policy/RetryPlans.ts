/**
 * The verbs of retries of many jobs. Written once for all stores: what is retried is decided by `JobSteps.retry`, as of one job, what a
 * plan makes of it by `domain/job/RetryPlan`, the reads and writes are {@link RetryPlanRows}.
 */

import * as Idempotency from "../../domain/account/Idempotency.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Plan, Recipients, Sums } from "../../domain/job/RetryPlan.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import * as SentAgain from "../../domain/job/SentAgain.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { PlanKey, PlanStep } from "../RetryPlanStore.ts"
import { Added, Stepped } from "../RetryPlanStore.ts"
import { withAgain } from "./Changes.ts"
import type { RetryPlanRows, StoredPlan } from "./RetryPlanRows.ts"

const known = ({ fingerprint, plan }: StoredPlan, key: PlanKey): Added =>
  Idempotency.decide({ fingerprint: fingerprint ?? "" }, key.fingerprint) === "Replayed"
    ? Added.Replayed({ plan })
    : Added.KeyConflict({ plan })

/** `RetryPlanStore.add`. */
export function* add(
  rows: RetryPlanRows,
  { key, plan }: { readonly plan: Plan; readonly key: PlanKey | null }
): Program<Added> {
  const found = key === null ? null : yield* rows.lockKey(key.key)
  if (key !== null && found !== null) return known(found, key)
  yield* rows.insert(plan, key)
  return Added.Added({ plan })
}

/** `RetryPlanStore.findByKey`. */
export function* findByKey(rows: RetryPlanRows, key: PlanKey): Program<Added | null> {
  const found = yield* rows.findByKey(key.key)
  return found === null ? null : known(found, key)
}

/** `RetryPlanStore.count`. */
export function* count(
  rows: RetryPlanRows,
  query: {
    readonly jobIds: ReadonlyArray<string>
    readonly selection: Recipients
    readonly now: Instant
  }
): Program<Sums> {
  const { jobIds, now, selection } = query
  let sums = RetryPlan.none
  for (const job of yield* rows.readJobs(jobIds)) {
    const lost = yield* rows.recipientsOf(job, "lost")
    const { sums: decided } = JobSteps.retry(job, lost, { now, selection, dryRun: true })
    const more = yield* withAgain(rows, job, decided, selection)
    sums = RetryPlan.add(sums, RetryPlan.waitsOf(job.job, more, yield* rows.standing(job)))
  }
  return sums
}

/** `RetryPlanStore.step`. The plan is locked before the job, by all who lock both. */
export function* step(
  rows: RetryPlanRows,
  { actId, from, jobId, left, now, planId, to }: PlanStep
): Program<Stepped> {
  // In a copy that was restored a plan may have gone on elsewhere: its operator decides first.
  if (yield* rows.isQuarantined()) return Stepped.Busy()
  const plan = yield* rows.lock(planId)
  if (plan === null || plan.status !== "running" || plan.place !== from) return Stepped.Moved()
  const locked = jobId === null ? { jobs: [], busy: [] } : yield* rows.lockJobsInTime([jobId])
  if (locked.busy.length > 0) return Stepped.Busy()
  let sums = RetryPlan.none
  for (const job of locked.jobs) {
    const lost = yield* rows.recipientsOf(job, "lost")
    const command = { now, selection: plan.selection, since: plan.begunAt }
    const { step, sums: decided } = JobSteps.retry(job, lost, command)
    const more =
      plan.filter.jobId === undefined ? decided : yield* withAgain(rows, job, decided, plan.selection, plan)
    if (step !== null) yield* rows.saveJobs([step], now)
    if (step !== null && plan.operator !== null)
      yield* rows.record(
        SentAgain.actOf({ id: plan.id, operator: plan.operator }, { actId, job: job.job, now, sums: more })
      )
    const after = step === null ? job : step.state
    sums = RetryPlan.waitsOf(after.job, more, yield* rows.standing(job))
  }
  for (const job of yield* rows.readJobs(left))
    sums = RetryPlan.add(sums, yield* withAgain(rows, job, RetryPlan.none, plan.selection, plan))
  const stepped = RetryPlan.stepped(plan, sums, to, now)
  yield* rows.save(stepped)
  return Stepped.Stepped({ plan: stepped, retried: RetryPlan.recipientsOf(sums) })
}

/** `RetryPlanStore.cancel`. */
export function* cancel(
  rows: RetryPlanRows,
  { id, now }: { readonly id: string; readonly now: Instant }
): Program<Plan | null> {
  const plan = yield* rows.lock(id)
  if (plan === null) return null
  const after = RetryPlan.canceled(plan, now)
  if (after !== plan) yield* rows.save(after)
  return after
}
