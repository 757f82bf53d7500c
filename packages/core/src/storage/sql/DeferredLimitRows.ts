/**
 * The limits of sends that were accepted inside an embedder's transaction, as statements. Such a job has a `limiter` until
 * its limits are applied; what they counted is in rows of their own, one for a day and one for an API key.
 */

import type { LimitWait } from "../../domain/account/Plan.ts"
import * as Plan from "../../domain/account/Plan.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { PendingLimitsJob } from "../policy/JobRows.ts"
import * as AcceptanceRows from "./AcceptanceRows.ts"
import { findAccount } from "./AccountStore.ts"
import { jobs, notAsked } from "./codec/Job.ts"
import type { Dialect } from "./Database.ts"
import type { Program } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import { integer } from "./RowReader.ts"

/** A job whose limits are to be applied, as its rows have it. */
export interface StoredPendingLimits extends PendingLimitsJob {
  readonly seq: number
}

interface LimitQuery {
  readonly accountId: string
  readonly publicKeys: ReadonlyArray<string>
  readonly now: Instant
}

interface LimitFacts {
  readonly plan: Plan.Plan
  readonly usedToday: number
  readonly lastAcceptedAt: ReadonlyMap<string, Instant>
}

const waitOf = `SELECT job.limiter, progress.next_at FROM sendwright_job AS job
  JOIN sendwright_progress AS progress ON progress.seq = job.seq
  WHERE job.id = ? AND job.limiter IS NOT NULL AND progress.next_at IS NOT NULL`

/** The limit for which a job waits. */
export function* wait(jobId: string): Program<LimitWait | null> {
  const row = yield* get(waitOf, jobId)
  if (row === undefined) return null
  const limiter = jobs.columns.limiter.read(row)
  return limiter === null || limiter === notAsked ? null : { limiter, until: integer(row, "next_at") }
}

const pendingColumns = jobs.only("seq", "id", "publicKey", "recipients")

const count = `INSERT INTO sendwright_late_usage (account, day, units) VALUES (?, ?, ?)
  ON CONFLICT (account, day) DO UPDATE SET units = sendwright_late_usage.units + excluded.units`

const forgetUsage = "DELETE FROM sendwright_late_usage WHERE account = ? AND day < ?"

const noteAcceptance = `INSERT INTO sendwright_late_acceptance (public_key, at) VALUES (?, ?)
  ON CONFLICT (public_key) DO UPDATE SET at = excluded.at`

export const make = (dialect: Dialect) => {
  const { elements } = dialect
  const listed = `seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const putOffJobs = `UPDATE sendwright_progress SET next_at = ? WHERE ${listed}`
  const setLimiter = `UPDATE sendwright_job SET limiter = ? WHERE ${listed}`
  const lockJobs = `SELECT ${pendingColumns.of("job")}
    FROM sendwright_job AS job JOIN sendwright_progress AS progress ON progress.seq = job.seq
    WHERE job.id IN (SELECT ${elements.value} FROM ${elements.from}) AND job.account = ?
      AND job.limiter IS NOT NULL AND progress.next_at IS NOT NULL
    ORDER BY job.id${dialect.forUpdate("progress")}`

  function* putOff(jobs: ReadonlyArray<number>, until: Instant): Program<void> {
    yield* run(putOffJobs, until, JSON.stringify(jobs))
  }

  return {
    putOff,

    lock: function* (
      accountId: string,
      jobIds: ReadonlyArray<string>
    ): Program<ReadonlyArray<StoredPendingLimits>> {
      const found = new Map<string, StoredPendingLimits>()
      for (const row of yield* all(lockJobs, JSON.stringify(jobIds), accountId)) {
        const { id, publicKey, recipients, seq } = pendingColumns.read(row)
        found.set(id, { jobId: id, publicKey, units: recipients, seq })
      }
      return jobIds.flatMap((id) => found.get(id) ?? [])
    },

    facts: function* ({ accountId, now, publicKeys }: LimitQuery): Program<LimitFacts> {
      const account = yield* findAccount(accountId)
      const lastAcceptedAt = new Map<string, Instant>()
      for (const publicKey of publicKeys) {
        const at = yield* AcceptanceRows.lastAcceptance(dialect, publicKey, now)
        if (at !== null) lastAcceptedAt.set(publicKey, at)
      }
      const { template } = yield* AcceptanceRows.usage(accountId, now)
      return { plan: account === null ? Plan.defaults : account.plan, usedToday: template, lastAcceptedAt }
    },

    save: function* (
      accountId: string,
      jobs: ReadonlyArray<readonly [job: StoredPendingLimits, wait: LimitWait | null]>,
      now: Instant
    ): Program<void> {
      const waits = new Map<string, { readonly wait: LimitWait; readonly jobs: Array<number> }>()
      const applied: Array<StoredPendingLimits> = []
      for (const [job, wait] of jobs) {
        if (wait === null) {
          applied.push(job)
          continue
        }
        const name = `${wait.limiter} ${wait.until}`
        const same = waits.get(name) ?? { wait, jobs: [] }
        same.jobs.push(job.seq)
        waits.set(name, same)
      }
      for (const { jobs, wait } of waits.values()) {
        yield* run(setLimiter, wait.limiter, JSON.stringify(jobs))
        yield* putOff(jobs, wait.until)
      }
      if (applied.length === 0) return
      const keys = applied.map(({ seq }) => seq)
      yield* run(setLimiter, null, JSON.stringify(keys))
      yield* putOff(keys, now)
      const units = applied.reduce((sum, job) => sum + job.units, 0)
      const today = Time.startOfUtcDay(now)
      yield* run(count, accountId, today, units)
      // By a clock that is behind it may be yesterday still.
      yield* run(forgetUsage, accountId, today - Time.day)
      for (const publicKey of new Set(applied.map(({ publicKey }) => publicKey)))
        yield* run(noteAcceptance, publicKey, now)
    }
  }
}
