/** Details of jobs that the jobs themselves do not have. Of a job without failures no recipient is read. */
import type { Counts, Failure } from "../../../domain/job/Recipient.ts"
import * as Recipient from "../../../domain/job/Recipient.ts"
import type { JobDetails } from "../../JobStore.ts"
import type { Program } from "../../Program.ts"
import { all } from "../../Program.ts"
import { listed } from "../Columns.ts"
import type { Dialect } from "../Database.ts"
import { keysOf } from "../RecipientKeys.ts"
import { integer, json, oneOf, seq, text, textOrNull } from "../RowReader.ts"

const failures = `SELECT status, failure, count(*) AS recipients FROM sendwright_recipient
  WHERE seq BETWEEN ? AND ? AND failure IS NOT NULL AND status IN ${listed(Recipient.unreached)}
  GROUP BY status, failure`

const status = oneOf(Recipient.statuses)

function* failuresOf(job: number): Program<JobDetails["failures"]> {
  const found = (yield* all(failures, ...keysOf(job))).map((row) => ({
    status: status(row, "status"),
    code: json<Failure>(row, "failure").code,
    recipients: integer(row, "recipients")
  }))
  return Recipient.failuresByCode(found)
}

export const make = ({ elements }: Dialect) => {
  const ofJobs = `SELECT job.seq, job.id, account.name AS account_name, session.name AS session_name
    FROM sendwright_job AS job
      LEFT JOIN sendwright_account AS account ON account.id = job.account
      LEFT JOIN sendwright_session AS session ON session.id = job.session
    WHERE ${elements.among("job.id")}`

  return function* (
    jobs: ReadonlyArray<{ readonly id: string; readonly counts: Counts }>
  ): Program<ReadonlyMap<string, JobDetails>> {
    const facts = new Map<string, JobDetails>()
    if (jobs.length === 0) return facts
    const failing = new Set(
      jobs.flatMap(({ counts, id }) => (Recipient.unreached.some((each) => counts[each] > 0) ? [id] : []))
    )
    for (const row of yield* all(ofJobs, JSON.stringify(jobs.map(({ id }) => id)))) {
      const id = text(row, "id")
      facts.set(id, {
        accountName: textOrNull(row, "account_name"),
        sessionName: textOrNull(row, "session_name"),
        failures: failing.has(id) ? yield* failuresOf(seq(row)) : []
      })
    }
    return facts
  }
}
