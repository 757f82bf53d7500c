/** Retries of many jobs: counted, begun, followed and canceled. Workers carry them out (`worker/RetryPlans`). */

import * as Effect from "effect/Effect"
import * as Audit from "../../domain/Audit.ts"
import * as Idempotency from "../../domain/account/Idempotency.ts"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { IdempotencyConflict, NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import { isTemplateJob } from "../../domain/job/Job.ts"
import type { Expected, Plan, Sums, Wanted } from "../../domain/job/RetryPlan.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Either from "../../effect/Either.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import type { Readable } from "../../schema/Readable.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { AuditStore } from "../../storage/AuditStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { Added } from "../../storage/RetryPlanStore.ts"
import { RetryPlanStore } from "../../storage/RetryPlanStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { jobsOf, lately } from "../../worker/RetryPlans.ts"
import { CurrentActor } from "../Acting.ts"
import * as Checks from "../Checks.ts"
import * as Recorder from "./Recorder.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as RetryFaults from "./RetryFaults.ts"

export interface RetriesCommand extends Wanted {
  /** Counts only; no plan is made. */
  readonly dryRun?: boolean | undefined
  /** As its header came. The same key and request answer the same plan again. */
  readonly idempotencyKey?: string | undefined
}

export interface BegunRetry {
  /** Null of a dry run. */
  readonly plan: Plan | null
  readonly dryRun: boolean
  readonly replayed: boolean
  /** The effect of the retry, or of a dry run the effect that the retry would have. */
  readonly sums: Sums
  /** False where there are more jobs than were counted. */
  readonly isExact: boolean
}

export interface Retries {
  /**
   * Retries the recipients of all jobs that pass the filter, as `jobs.retry` does those of one job: counts them, and makes a plan
   * that workers carry out.
   */
  readonly begin: (
    command: RetriesCommand
  ) => Effect.Effect<BegunRetry, IdempotencyConflict | InvalidRequest | NotFound | StorageError>
  /** The rules that a command breaks, as far as it can be read. */
  readonly faults: (command: Readable<Wanted>) => ReadonlyArray<Fault.Fault>
  readonly find: (id: string) => Effect.Effect<Plan, NotFound | StorageError>
  /** Newest first. */
  readonly list: (page: Page) => Effect.Effect<Paged<Plan>, StorageError>
  /** Ends a plan. Recipients that the plan has retried stay so, and a plan that has ended stays as it is. */
  readonly cancel: (id: string) => Effect.Effect<Plan, NotFound | StorageError>
}

/** Jobs that are counted in one read: some hundred recipients each, at most. */
const countedAtOnce = 4

/** The limits of a count, beyond which the answer says that there is more: jobs, recipients, and reads that find nothing. */
const mostJobs = 2000
const mostRecipients = 250_000
const mostReads = 1000

const faultsOf = ({ filter, selection }: Readable<Wanted>): ReadonlyArray<Fault.Fault> => {
  const given = Object.values(filter ?? {}).filter((each) => each !== undefined)
  const nothing =
    given.length > 0
      ? []
      : [
          Fault.make(
            ["filter"],
            "invalid_value",
            "Say which jobs: give at least one of the filters of the list of jobs."
          )
        ]
  const isLate = (after: Instant | undefined, before: Instant | undefined): boolean =>
    after !== undefined && before !== undefined && after > before
  const late = (["created", "completed"] as const).flatMap((what) =>
    isLate(filter?.[`${what}After`], filter?.[`${what}Before`])
      ? [
          Fault.make(
            ["filter", `${what}_after`],
            "invalid_value",
            `\`${what}_after\` must not be later than \`${what}_before\`.`
          )
        ]
      : []
  )
  const alone =
    filter?.jobId !== undefined && given.length > 1
      ? [
          Fault.make(
            ["filter", "job_id"],
            "invalid_value",
            "`job_id` names one job: leave the other filters out."
          )
        ]
      : []
  return [...nothing, ...alone, ...late, ...RetryFaults.ofCodes(selection?.codes ?? [], ["filter", "codes"])]
}

const begun = (plan: Plan, sums: Sums, isExact: boolean, replayed: boolean): BegunRetry => ({
  plan,
  dryRun: false,
  replayed,
  sums,
  isExact
})

/** The plan that an Idempotency-Key stands for already. */
const known = (added: Added): Effect.Effect<Plan, IdempotencyConflict> =>
  added._tag === "KeyConflict"
    ? Effect.fail(new IdempotencyConflict({ jobId: null, messageId: null, retryId: added.plan.id }))
    : Effect.succeed(added.plan)

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const jobs = yield* JobStore
  const store = yield* RetryPlanStore
  const sentAgain = lately(jobs, yield* AuditStore)
  const ids = Ids.make(yield* Ids.RandomBytes)
  const record = yield* Recorder.make

  const count = Effect.fnUntraced(function* (wanted: Wanted, now: Instant) {
    let sums = RetryPlan.none
    let [counted, lost, reads] = [0, 0, 0]
    let after: number | null = null
    do {
      const page: Page = { limit: countedAtOnce, after }
      const found: Paged<Job> = yield* jobsOf(jobs, wanted, now, page)
      const jobIds = found.items.map(({ id }) => id)
      if (jobIds.length > 0)
        sums = RetryPlan.add(sums, yield* store.count({ jobIds, selection: wanted.selection, now }))
      counted += jobIds.length
      for (const { counts } of found.items) lost += counts.failed + counts.unknown
      reads += 1
      after = found.next
      yield* EventLoopBudget.yieldIfSpent
    } while (after !== null && counted < mostJobs && lost < mostRecipients && reads < mostReads)
    if (after !== null || RetryPlan.recipientsOf(sums) > 0 || wanted.filter.jobId !== undefined)
      return { sums: RetryPlan.withForeign(sums, wanted.selection), isExact: after === null }
    const jobIds = yield* sentAgain(wanted, now)
    const { again } = yield* store.count({ jobIds, selection: wanted.selection, now })
    const all = RetryPlan.add(sums, { ...RetryPlan.none, again })
    return { sums: RetryPlan.withForeign(all, wanted.selection), isExact: true }
  })

  const add = Effect.fnUntraced(function* (
    wanted: Wanted,
    key: { readonly key: string; readonly fingerprint: string } | null
  ) {
    const now = yield* Time.now
    const { isExact, sums } = yield* count(wanted, now)
    const expected: Expected = { jobs: sums.jobs, recipients: RetryPlan.recipientsOf(sums), isExact }
    const actor = yield* CurrentActor
    const plan = RetryPlan.begin(wanted, {
      expected,
      id: ids.uuid(now),
      now,
      operator: actor?.operator ?? null
    })
    const entry = ({ plan: { id } }: Added) => ({ target: id, after: Audit.retryPlan(plan) })
    const added = yield* record({ operation: "retries.begin", entry }, store.add({ plan, key }))
    return begun(yield* known(added), sums, isExact, added._tag === "Replayed")
  })

  const retries: Retries = {
    begin: Effect.fnUntraced(function* ({ dryRun = false, filter, idempotencyKey, selection }) {
      const wanted = { filter, selection }
      const key = idempotencyKey === undefined ? Either.right(null) : Checks.readKey(idempotencyKey)
      yield* refuseIf([...(Either.isLeft(key) ? key.left : []), ...faultsOf(wanted)])
      const { accountId, jobId } = filter
      if (jobId !== undefined) {
        const job = yield* jobs.find(jobId)
        if (job === null || !isTemplateJob(job)) return yield* new NotFound({ what: "job" })
      }
      if (accountId !== undefined && (yield* accounts.find(accountId)) === null)
        return yield* new NotFound({ what: "account" })
      if (dryRun) {
        const now = yield* Time.now
        return { plan: null, dryRun, replayed: false, ...(yield* count(wanted, now)) }
      }
      const named = Either.getOrElse(key, () => null)
      if (named === null) return yield* add(wanted, null)
      const planKey = { key: named, fingerprint: Idempotency.fingerprint("retry", wanted) }
      const found = yield* store.findByKey(planKey)
      if (found === null) return yield* add(wanted, planKey)
      const plan = yield* known(found)
      return begun(plan, plan.sums, plan.expected.isExact, true)
    }),
    faults: faultsOf,
    find: (id) =>
      Effect.flatMap(store.find(id), (plan) =>
        plan === null ? Effect.fail(new NotFound({ what: "retry" })) : Effect.succeed(plan)
      ),
    list: store.list,
    cancel: Effect.fnUntraced(function* (id) {
      const plan = yield* store.cancel({ id, now: yield* Time.now })
      return plan ?? (yield* new NotFound({ what: "retry" }))
    })
  }
  return retries
})
