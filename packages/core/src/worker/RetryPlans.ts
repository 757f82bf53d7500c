/**
 * Carries out retries of many jobs (`domain/job/RetryPlan`): of each plan one job in its turn, in a commit that moves the plan on, so
 * that no plan waits for another's end, and with pauses so long that the service has most of the time.
 */

import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Job } from "../domain/job/Job.ts"
import { isTemplateJob } from "../domain/job/Job.ts"
import type { Plan, Wanted } from "../domain/job/RetryPlan.ts"
import * as RetryPlan from "../domain/job/RetryPlan.ts"
import * as SentAgain from "../domain/job/SentAgain.ts"
import type { Page, Paged } from "../domain/Page.ts"
import { Signals } from "../runtime/Signals.ts"
import { AuditStore } from "../storage/AuditStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RetryPlanStore } from "../storage/RetryPlanStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** How often a process looks for plans while it has none, and how long it waits for what somebody has locked. */
const idleMs = 1000

/** The part of the time that plans may take from the service, all together. */
const share = 0.25
const leastPauseMs = 2

export interface RetryPlans {
  /** One job of each plan; answers in how many plans something was done. */
  readonly round: Effect.Effect<number, StorageError>
  /** One round, and the pause behind it. To be repeated. */
  readonly step: Effect.Effect<void, StorageError>
}

/** The jobs of a plan that began at a time: the one that it names, or those that pass its filter. */
export const jobsOf = (
  jobs: typeof JobStore.Service,
  wanted: Wanted,
  begunAt: Instant,
  page: Page
): Effect.Effect<Paged<Job>, StorageError> => {
  const { jobId } = wanted.filter
  return jobId === undefined
    ? jobs.list(RetryPlan.listed(wanted, begunAt, page))
    : Effect.map(jobs.find(jobId), (job) => ({
        items: job !== null && isTemplateJob(job) ? [job] : [],
        next: null
      }))
}

/** So many of the newest acts are looked at. */
const mostActs = 100

/** The jobs that a retry of a time does not come to, since others' have just sent all of them again. */
export const lately = (jobs: typeof JobStore.Service, audit: typeof AuditStore.Service) =>
  Effect.fnUntraced(function* ({ filter }: Wanted, begunAt: Instant) {
    const { items } = yield* audit.list({
      operation: SentAgain.retryOfJob,
      from: Time.before(begunAt, SentAgain.recentMs),
      page: { limit: mostActs, after: null }
    })
    const ids = [...new Set(items.flatMap(({ target }) => target ?? []))]
    const found = yield* Effect.forEach(ids, jobs.find)
    return found.flatMap((job) =>
      job !== null && isTemplateJob(job) && SentAgain.isAbout(filter, job) ? [job.id] : []
    )
  })

export const make: Effect.Effect<RetryPlans, never, AuditStore | JobStore | RetryPlanStore | Signals> =
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const plans = yield* RetryPlanStore
    const signals = yield* Signals
    const audit = yield* AuditStore
    const sentAgain = lately(jobs, audit)
    const ids = Ids.make(yield* Ids.RandomBytes)

    const advance = Effect.fnUntraced(function* (plan: Plan) {
      const page = { limit: 1, after: plan.place }
      const { items, next } = yield* jobsOf(jobs, plan, plan.begunAt, page)
      const now = yield* Time.now
      const jobId = items[0]?.id ?? null
      const left =
        next === null && plan.filter.jobId === undefined ? yield* sentAgain(plan, plan.begunAt) : []
      const step = { planId: plan.id, from: plan.place, jobId, to: next, left, actId: ids.uuid(now), now }
      const stepped = yield* plans.step(step)
      if (stepped._tag !== "Stepped") return 0
      if (stepped.retried > 0) yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      return 1
    })

    const round = Effect.gen(function* () {
      let done = 0
      for (const plan of yield* plans.running) {
        done += yield* advance(plan)
        yield* Effect.yieldNow()
      }
      return done
    })

    const step = Effect.gen(function* () {
      const began = yield* Clock.currentTimeNanos
      const done = yield* round
      const ms = Number((yield* Clock.currentTimeNanos) - began) / 1e6
      yield* Effect.sleep(Duration.millis(done === 0 ? idleMs : Math.max(leastPauseMs, ms / share - ms)))
    })

    return { round, step }
  })
