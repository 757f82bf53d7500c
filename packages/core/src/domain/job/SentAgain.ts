/** Recipients that another retry sent again: found by the acts of operators on their job, of whom a later retry is told. */
import type * as Audit from "../Audit.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type * as Job from "./Job.ts"
import * as Plans from "./RetryPlan.ts"
import type { RetrySelection } from "./RetrySelection.ts"
import { namesOne } from "./RetrySelection.ts"

/** An act is recorded in the commit that it is of, by the clock of a moment before or after. */
const oneCommit = 5 * Time.second

/** The act among those on a job by which an operator had recipients sent again at a time. */
export const retryAt = (acts: ReadonlyArray<Audit.Entry>, at: Instant): Audit.Entry | undefined =>
  acts
    .filter(
      (each) =>
        each.operation === retryOfJob &&
        each.after?.["dry_run"] !== true &&
        Math.abs(each.at - at) <= oneCommit
    )
    .toSorted((a, b) => Math.abs(a.at - at) - Math.abs(b.at - at))[0]

/** The act of a plan on one of its jobs, as of who retries it by hand: its story tells it, and who does so at the same time is told. */
export const actOf = (
  { id, operator }: { readonly id: string; readonly operator: string },
  {
    actId,
    job,
    now,
    sums
  }: {
    readonly actId: string
    readonly job: Pick<Job.Job, "id">
    readonly now: Instant
    readonly sums: Plans.Sums
  }
): Audit.Entry => ({
  id: actId,
  operator,
  address: null,
  requestId: null,
  at: now,
  operation: retryOfJob,
  target: job.id,
  before: null,
  after: { retry_id: id, retried: sums.counts }
})

/** The retry of many jobs that an act is a part of; null where it is none. */
export const retryIdOf = ({ after }: Audit.Entry): string | null => {
  const id = after?.["retry_id"]
  return typeof id === "string" ? id : null
}

/** The operation by which recipients of one job are sent again, by hand or as a part of the retry of many jobs. */
export const retryOfJob = "jobs.retry"

/**
 * With those of a job who were sent again by another retry.
 *
 * @param recipients that were sent again and have not failed since
 * @param acts on the job
 * @param plan that goes through the job; those that another took since it began have changed
 */
export const withAgain = (
  sums: Plans.Sums,
  jobId: string,
  recipients: ReadonlyArray<Pick<Job.RecipientResult, "address" | "requeuedAt">>,
  { acts, phones }: Pick<RetrySelection, "phones"> & { readonly acts: ReadonlyArray<Audit.Entry> },
  plan?: Pick<Plans.Plan, "begunAt" | "id">
): Plans.Sums => {
  const again = recipients.flatMap(({ address, requeuedAt }): ReadonlyArray<Plans.Again> => {
    if (requeuedAt === null || !namesOne(phones, address)) return []
    const act = retryAt(acts, requeuedAt)
    const [operator, retryId] = [act?.operator ?? null, act === undefined ? null : retryIdOf(act)]
    const isOwn = plan !== undefined && retryId === plan.id
    return isOwn ? [] : [{ jobs: 1, recipients: 1, jobId, at: requeuedAt, operator, retryId }]
  })
  const since = plan === undefined ? [] : again.filter(({ at }) => at >= plan.begunAt)
  return {
    ...sums,
    changed: sums.changed + since.length,
    again: Plans.againOf(again).map((each) => ({ ...each, jobs: 1 }))
  }
}

/** For so long before a retry others' are told of that left nobody to it. */
export const recentMs = Time.hour

/** True for a job that the filter is about, but for its status and its end: these change once it is sent again. */
export const isAbout = (filter: Plans.Filter, job: Job.TemplateJob): boolean => {
  const pairs = [
    [filter.jobId, job.id],
    [filter.accountId, job.accountId],
    [filter.sessionId, job.sessionId],
    [filter.publicKey, job.publicKey],
    [filter.templateId, job.content.templateId],
    [filter.reference, job.reference]
  ] as const
  const { createdAfter = Time.at(0), createdBefore = Time.at(Infinity) } = filter
  const isWithin = createdAfter <= job.createdAt && job.createdAt < createdBefore
  return isWithin && pairs.every(([wanted, found]) => wanted === undefined || wanted === found)
}
