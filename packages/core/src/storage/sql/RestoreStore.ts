/** The hold of a store that was restored, and the jobs that it opens. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ids from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import * as Job from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import { all, get } from "../Program.ts"
import type { RestoreRows } from "../policy/RestoreRows.ts"
import * as Restores from "../policy/Restores.ts"
import { RestoreStore } from "../RestoreStore.ts"
import { listed } from "./Columns.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Happenings from "./Happenings.ts"
import * as Jobs from "./jobs/Jobs.ts"
import * as Order from "./jobs/Order.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import { keysOf } from "./RecipientKeys.ts"
import * as RetryPlanStore from "./RetryPlanStore.ts"
import { integerOrNull, limited, seq, text } from "./RowReader.ts"

/** The jobs that one statement looks at: most of a store's have ended. */
const lookedAtOnce = 2000

const lastLookedAt = `SELECT seq FROM sendwright_job WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT 1 OFFSET ${lookedAtOnce - 1}`

const unended = `SELECT job.id, job.seq FROM sendwright_job AS job
  WHERE job.seq > ? AND job.seq <= ? AND ${Order.status} NOT IN ${listed(Job.statuses.filter(Job.hasEnded))}
  ORDER BY job.seq ${limited}`

const rowsOf = (jobs: Jobs.StoredJobs, dialect: Dialect): RestoreRows => {
  const open = jobs.recipientsOf(`seq BETWEEN ? AND ? AND status IN ${listed(Recipient.open)} ORDER BY seq`)
  return {
    lockJobs: jobs.lock,
    openRecipients: (job) => jobs.recipients(open, job.job.sessionId, ...keysOf(job.seq)),
    saveJobs: (steps, now) => jobs.save(steps, now),
    quarantine: QuarantineRows.read,
    lockQuarantine: function* () {
      yield* dialect.serialize(QuarantineRows.lock)
      return yield* QuarantineRows.read()
    },
    saveQuarantine: QuarantineRows.write,
    runningPlans: RetryPlanStore.runningPlans,
    savePlan: RetryPlanStore.savePlan,
    note: Happenings.note,
    lastJob: QuarantineRows.lastJob,
    unendedJobs: function* ({ after, limit, until }) {
      const end = yield* get(lastLookedAt, after, until)
      const last = end === undefined ? null : integerOrNull(end, "seq")
      const found = yield* all(unended, after, last ?? until, limit)
      const some = found.map((row) => ({ id: text(row, "id"), place: seq(row) }))
      return { jobs: some, next: some.length < limit ? last : (some.at(-1)?.place ?? null) }
    }
  }
}

export const layer: Layer.Layer<RestoreStore, never, Database> = Layer.effect(
  RestoreStore,
  Effect.gen(function* () {
    const db = yield* Database
    const { dialect } = db
    const rows = rowsOf(Jobs.make(dialect, Ids.make(yield* Ids.RandomBytes)), dialect)
    return {
      quarantine: db.read("RestoreStore.quarantine", QuarantineRows.read),
      place: ({ now }) =>
        db.write("RestoreStore.place", () => Restores.place(rows, { now, reason: "operator" })),
      open: (command) => db.write("RestoreStore.open", () => Restores.open(rows, command)),
      count: (query) =>
        Effect.flatMap(Time.now, (now) =>
          db.write("RestoreStore.count", () => Restores.count(rows, { ...query, now }))
        ),
      end: Effect.flatMap(Time.now, (now) => db.write("RestoreStore.end", () => Restores.end(rows, now)))
    }
  })
)
