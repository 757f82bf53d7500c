import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Plan } from "../../domain/job/RetryPlan.ts"
import * as Page from "../../domain/Page.ts"
import type { Tx } from "../policy/JobRows.ts"
import type { RetryPlanRows } from "../policy/RetryPlanRows.ts"
import * as RetryPlans from "../policy/RetryPlans.ts"
import { mostRunning, RetryPlanStore } from "../RetryPlanStore.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"

/** Plans that have not ended. */
export const running = (db: Database) =>
  function* (): Tx<ReadonlyArray<Plan>, JobRows.Memory> {
    return [...db.retryPlans.values()]
      .map(({ plan }) => plan)
      .filter(({ endedAt }) => endedAt === null)
      .slice(0, mostRunning)
  }

export const saving = (db: Database) =>
  function* (plan: Plan): Tx<void, JobRows.Memory> {
    const row = db.retryPlans.get(plan.id)
    if (row !== undefined) db.retryPlans.set(plan.id, { ...row, plan })
  }

const rowsOf = (db: Database): RetryPlanRows<JobRows.Memory> => {
  const { actsOn, isQuarantined, lockJobsInTime, recipientsOf, saveJobs } = JobRows.make(db)
  const findByKey: RetryPlanRows<JobRows.Memory>["findByKey"] = function* (key) {
    return [...db.retryPlans.values()].find((each) => each.key === key) ?? null
  }
  return {
    actsOn,
    isQuarantined,
    lockJobsInTime,
    recipientsOf,
    saveJobs,
    lockKey: findByKey,
    findByKey,
    insert: function* (plan, key) {
      const position = db.nextPosition()
      db.retryPlans.set(plan.id, {
        position,
        plan,
        key: key?.key ?? null,
        fingerprint: key?.fingerprint ?? null
      })
    },
    lock: function* (id) {
      return db.retryPlans.get(id)?.plan ?? null
    },
    save: saving(db),
    readJobs: function* (ids) {
      return ids.toSorted().flatMap((id) => db.jobs.get(id) ?? [])
    },
    standing: function* ({ job: { content, sessionId } }) {
      return {
        session: db.sessions.get(sessionId)?.value ?? null,
        template: JobRows.templateOf(db, content)?.status ?? null
      }
    }
  }
}

export const layer: Layer.Layer<RetryPlanStore, never, MemoryDatabase> = Layer.effect(
  RetryPlanStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = rowsOf(db)
    const perform = <A>(verb: () => Tx<A, JobRows.Memory>) => Effect.sync(() => JobRows.perform(verb()))
    return {
      add: (command) => perform(() => RetryPlans.add(rows, command)),
      findByKey: (key) => perform(() => RetryPlans.findByKey(rows, key)),
      find: (id) => Effect.sync(() => db.retryPlans.get(id)?.plan ?? null),
      list: (page) =>
        Effect.sync(() => Page.map(newestFirst(db.retryPlans.values(), page), ({ plan }) => plan)),
      running: perform(running(db)),
      count: (query) => perform(() => RetryPlans.count(rows, query)),
      step: (command) => perform(() => RetryPlans.step(rows, command)),
      cancel: (command) => perform(() => RetryPlans.cancel(rows, command))
    }
  })
)
