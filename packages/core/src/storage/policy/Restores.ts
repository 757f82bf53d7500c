/**
 * The verbs of a restored store. Written once for all stores: the decisions are `domain/Restore` and `JobSteps.restore`, the
 * reads and writes {@link RestoreRows}.
 */

import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import type { Counts, Quarantine, Way } from "../../domain/Restore.ts"
import * as Restore from "../../domain/Restore.ts"
import type { JobChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { Opening } from "../RestoreStore.ts"
import type { StoredJob } from "./JobRows.ts"
import type { RestoreRows, StoredQuarantine } from "./RestoreRows.ts"

/** The jobs that one commit looks at, and the recipients behind which it looks at no further one. */
const jobsAtOnce = 50
const recipientsAtOnce = 1000

interface Part {
  readonly steps: ReadonlyArray<JobChange<StoredJob>>
  readonly counts: Counts
  /** The place of the last job that is part of it; null behind the last of all. */
  readonly next: number | null
}

/** The first jobs behind a place, as the way leaves them. */
function* partOf(
  rows: RestoreRows,
  { lastJob, since }: StoredQuarantine,
  way: Way,
  after: number,
  now: Instant
): Program<Part> {
  const found = yield* rows.unendedJobs({ after, until: lastJob, limit: jobsAtOnce })
  const locked = new Map<string, StoredJob>()
  for (const job of yield* rows.lockJobs(found.jobs.map(({ id }) => id))) locked.set(job.job.id, job)
  const steps: Array<JobChange<StoredJob>> = []
  let counts = Restore.noCounts
  for (const { id, place } of found.jobs) {
    const job = locked.get(id)
    if (job === undefined) continue
    const step = JobSteps.restore(job, yield* rows.openRecipients(job), way, since, now)
    counts = Restore.add(counts, step.counts)
    if (step.changes.length > 0) steps.push(step)
    if (counts.unknown + counts.canceled + counts.sent >= recipientsAtOnce)
      return { steps, counts, next: place }
  }
  return { steps, counts, next: found.next }
}

/** `RestoreStore.place`. */
export function* place(
  rows: RestoreRows,
  { now, reason }: { readonly now: Instant; readonly reason: Quarantine["reason"] }
): Program<Quarantine> {
  const before = yield* rows.lockQuarantine()
  if (before !== null && reason === "operator") return before
  // A copy that was held has jobs of its own that were open before this restore.
  const quarantine = {
    reason,
    since: now,
    counts: Restore.noCounts,
    lastJob: yield* rows.lastJob(),
    opened: 0,
    way: null
  }
  yield* rows.saveQuarantine(quarantine)
  yield* rows.note([Happening.held(quarantine, now)])
  return quarantine
}

/** What they had retried when the backup was made is open, and what they retried since is not known. */
function* endPlans(rows: RestoreRows, since: Instant, now: Instant): Program<void> {
  for (const plan of yield* rows.runningPlans())
    if (plan.begunAt < since) yield* rows.savePlan(RetryPlan.canceled(plan, now))
}

/** `RestoreStore.open`. */
export function* open(
  rows: RestoreRows,
  { now, way }: { readonly now: Instant; readonly way: Way }
): Program<Opening> {
  const quarantine = yield* rows.lockQuarantine()
  if (quarantine === null) return { isOver: true, way: null }
  // Of two operators who decide differently at once the first decides on all.
  if (quarantine.way !== null && quarantine.way !== way) return { isOver: false, way: quarantine.way }
  if (way !== "send") yield* endPlans(rows, quarantine.since, now)
  const { counts, next, steps } = yield* partOf(rows, quarantine, way, quarantine.opened, now)
  yield* rows.saveJobs(steps, now)
  yield* rows.saveQuarantine({
    ...quarantine,
    way,
    opened: next ?? quarantine.lastJob,
    counts: Restore.add(quarantine.counts, counts)
  })
  return { isOver: next === null, way }
}

/** `RestoreStore.count`. */
export function* count(
  rows: RestoreRows,
  { after, now, way }: { readonly way: Way; readonly after: number | null; readonly now: Instant }
): Program<{ readonly counts: Counts; readonly next: number | null }> {
  const quarantine = yield* rows.quarantine()
  if (quarantine === null) return { counts: Restore.noCounts, next: null }
  const { counts, next } = yield* partOf(rows, quarantine, way, after ?? quarantine.opened, now)
  return { counts: after === null ? Restore.add(quarantine.counts, counts) : counts, next }
}

/** `RestoreStore.end`. */
export function* end(rows: RestoreRows, now: Instant): Program<Quarantine | null> {
  const quarantine = yield* rows.lockQuarantine()
  if (quarantine === null || quarantine.opened < quarantine.lastJob) return null
  yield* rows.saveQuarantine(null)
  yield* rows.note([Happening.opened(quarantine, now)])
  return quarantine
}
