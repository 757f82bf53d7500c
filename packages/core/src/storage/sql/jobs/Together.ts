/** Sends of one reference that are counted together, and stopped together (`domain/job/StopWhen`). */
import type { Job } from "../../../domain/job/Job.ts"
import * as StopWhen from "../../../domain/job/StopWhen.ts"
import type { Program } from "../../Program.ts"
import { all } from "../../Program.ts"
import type { StoredJob } from "../../policy/JobRows.ts"
import { jobs, progress } from "./JobColumns.ts"

const accepted = jobs.only("id", "recipients", "stopWhen")
const counted = progress.only("counts", "firsts")

const newest = `(
    SELECT seq, ${accepted.list} FROM sendwright_job
    WHERE reference = ? AND account = ? ORDER BY seq DESC LIMIT ${StopWhen.mostTogether}
  ) AS job`

// Of a job without a row nothing has left dispatch. Of one that was let go on nobody asks.
const ofReference = `SELECT ${accepted.of("job")}, ${counted.of("progress")}
  FROM ${newest} JOIN sendwright_progress AS progress ON progress.seq = job.seq WHERE progress.firsts IS NOT NULL`

const openOfReference = `SELECT ${accepted.of("job")} FROM ${newest} LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
  WHERE progress.seq IS NULL OR progress.firsts IS NOT NULL AND progress.completed_at IS NULL`

const isTogether = ({ stopWhen }: Pick<Job, "stopWhen">): boolean => stopWhen?.over === "reference"

/** The jobs with what others of their references bring, as that is committed: those of another session may be changing. */
export function* withBeside(some: ReadonlyArray<Job>): Program<ReadonlyArray<Job>> {
  const known = new Map<string, ReadonlyArray<StopWhen.Watched & Pick<Job, "id">>>()
  const found: Array<Job> = []
  for (const job of some) {
    if (!StopWhen.isShared(job)) {
      found.push(job)
      continue
    }
    const name = JSON.stringify([job.accountId, job.reference])
    const all = known.get(name) ?? (yield* countedWith(job))
    known.set(name, all)
    found.push({ ...job, beside: StopWhen.besideOf(all.filter(({ id }) => id !== job.id)) })
  }
  return found
}

function* countedWith({ accountId, reference }: Job) {
  const rows = yield* all(ofReference, reference, accountId)
  return rows.map((row) => ({ ...accepted.read(row), ...counted.read(row) })).filter(isTogether)
}

/** The same of jobs with their places. */
export function* statesWithBeside(states: ReadonlyArray<StoredJob>): Program<ReadonlyArray<StoredJob>> {
  // Of most locks there is none, and each lock of a job asks.
  if (!states.some(({ job }) => StopWhen.isShared(job))) return states
  const jobs = yield* withBeside(states.map(({ job }) => job))
  return states.map((state, at) => {
    const job = jobs[at] ?? state.job
    return job === state.job ? state : { ...state, job }
  })
}

/** The ids of the jobs of its reference that have not ended. */
export function* openWith({ accountId, reference }: Job): Program<ReadonlyArray<string>> {
  const rows = yield* all(openOfReference, reference, accountId)
  return rows
    .map((row) => accepted.read(row))
    .filter(isTogether)
    .map(({ id }) => id)
}
