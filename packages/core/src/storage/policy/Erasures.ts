/** The verbs that erase and find a person's recipients. Written once for all stores: the decision is `JobSteps.erase`. */

import type { Counts, Sought } from "../../domain/Erasure.ts"
import * as Erasure from "../../domain/Erasure.ts"
import { groupBy } from "../../domain/GroupBy.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Attempts from "../../domain/job/Attempts.ts"
import type { Finding } from "../ErasureStore.ts"
import type { JobChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Program } from "../Program.ts"
import type { ErasureRows } from "./ErasureRows.ts"
import type { StoredJob } from "./JobRows.ts"

/** The jobs of some recipients, with the places of these. */
const grouped = (
  jobs: ReadonlyArray<StoredJob>,
  byJob: ReadonlyMap<string, ReadonlyArray<{ readonly index: number }>>
) => jobs.map((job) => ({ job, places: (byJob.get(job.job.id) ?? []).map(({ index }) => index) }))

/** A slice of the part `recipients`, as it is shown. */
export function* findRecipients(
  rows: ErasureRows,
  sought: Sought,
  after: string | null
): Program<{ readonly found: ReadonlyArray<Finding>; readonly next: string | null }> {
  const { next, places } = yield* rows.recipientsOfPerson(sought, after)
  const byJob = groupBy(places, ({ jobId }) => jobId)
  const jobs = byJob.size === 0 ? [] : yield* rows.readJobs([...byJob.keys()])
  const ofJobs = grouped(jobs, byJob)
  const find = yield* rows.recipientsAt(ofJobs)
  const found: Array<Finding> = []
  for (const { job, places } of ofJobs)
    for (const place of places) {
      const recipient = find(job, place)?.recipient
      if (recipient === undefined) continue
      const { earlier } = Attempts.attemptsOf(recipient, yield* rows.earlierAttempts(job, place))
      found.push({ ...Erasure.shown(job.job, recipient), earlier_attempts: earlier.map(Attempts.shown) })
    }
  return { found, next }
}

/** A slice of the part `recipients`. */
export function* eraseRecipients(
  rows: ErasureRows,
  sought: Sought,
  after: string | null,
  now: Instant
): Program<{ readonly counts: Counts; readonly next: string | null }> {
  const { next, places } = yield* rows.recipientsOfPerson(sought, after)
  const byJob = groupBy(places, ({ jobId }) => jobId)
  const jobs = byJob.size === 0 ? [] : yield* rows.lockJobs([...byJob.keys()])
  const ofJobs = grouped(jobs, byJob)
  const find = yield* rows.recipientsAt(ofJobs)
  const redactionOf = Erasure.redactions(sought)
  let counts = Erasure.noCounts
  const steps: Array<JobChange<StoredJob>> = []
  const blank: Array<ReturnType<typeof JobSteps.erase<StoredJob>>> = []
  for (const { job, places } of ofJobs) {
    const found = places.flatMap((place) => find(job, place) ?? [])
    const step = JobSteps.erase(job, found, now)
    counts = {
      ...counts,
      recipients: counts.recipients + step.erased.length,
      canceled: counts.canceled + step.canceled,
      inFlight: counts.inFlight + step.inFlight
    }
    if (step.changes.length > 0) steps.push(step)
    if (step.erased.length > 0) blank.push(step)
  }
  yield* rows.saveJobs(steps, now)
  for (const { erased, state } of blank)
    yield* rows.saveErased(state, erased, redactionOf(state.job.accountId))
  return { counts, next }
}
