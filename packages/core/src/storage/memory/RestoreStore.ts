import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import * as Jobs from "../../domain/job/Job.ts"
import type { Tx } from "../policy/JobRows.ts"
import type { RestoreRows } from "../policy/RestoreRows.ts"
import * as Restores from "../policy/Restores.ts"
import { RestoreStore } from "../RestoreStore.ts"
import * as Happenings from "./Happenings.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"
import * as RetryPlans from "./RetryPlanStore.ts"

const rowsOf = (db: Database): RestoreRows<JobRows.Memory> => {
  const { lockJobs, recipientsOf, saveJobs } = JobRows.make(db)
  const quarantine = function* () {
    return db.restored.quarantine
  }
  return {
    lockJobs,
    openRecipients: (job) => recipientsOf(job, "open"),
    saveJobs,
    quarantine,
    lockQuarantine: quarantine,
    saveQuarantine: function* (quarantine) {
      db.restored.quarantine = quarantine
    },
    runningPlans: RetryPlans.running(db),
    savePlan: RetryPlans.saving(db),
    note: function* (happenings) {
      Happenings.note(db, happenings)
    },
    lastJob: function* () {
      return Math.max(0, ...[...db.jobs.values()].map(({ position }) => position))
    },
    unendedJobs: function* ({ after, limit, until }) {
      const found = [...db.jobs.values()]
        .filter(({ job, position }) => position > after && position <= until && !Jobs.hasEnded(job.status))
        .sort((a, b) => a.position - b.position)
      const jobs = found.slice(0, limit).map(({ job, position }) => ({ id: job.id, place: position }))
      return { jobs, next: found.length > limit ? (jobs.at(-1)?.place ?? null) : null }
    }
  }
}

export const layer: Layer.Layer<RestoreStore, never, MemoryDatabase> = Layer.effect(
  RestoreStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = rowsOf(db)
    const perform = <A>(verb: () => Tx<A, JobRows.Memory>) => Effect.sync(() => JobRows.perform(verb()))
    return {
      quarantine: Effect.sync(() => db.restored.quarantine),
      place: ({ now }) => perform(() => Restores.place(rows, { now, reason: "operator" })),
      open: (command) => perform(() => Restores.open(rows, command)),
      count: (query) =>
        Effect.flatMap(Time.now, (now) => perform(() => Restores.count(rows, { ...query, now }))),
      end: Effect.flatMap(Time.now, (now) => perform(() => Restores.end(rows, now)))
    }
  })
)
