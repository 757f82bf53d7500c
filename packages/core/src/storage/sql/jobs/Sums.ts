/** Sums over jobs: those that are alike come as one row, and many are. */
import * as Time from "../../../domain/Instant.ts"
import type { Counts } from "../../../domain/job/Recipient.ts"
import * as Recipient from "../../../domain/job/Recipient.ts"
import * as Page from "../../../domain/Page.ts"
import type { ReferenceSum } from "../../JobStore.ts"
import type { Program } from "../../Program.ts"
import { all } from "../../Program.ts"
import { listed } from "../Columns.ts"
import { inSql } from "../RecipientKeys.ts"
import { instant, instantOrNull, integer, text } from "../RowReader.ts"
import * as Claims from "./Claims.ts"
import { storedKindsOf } from "./JobColumns.ts"

/** The counts of a `job` as its row has them, or the one status that all of a job without a row have. */
const countsOf = `coalesce(progress.counts, CASE WHEN EXISTS (
      SELECT 1 FROM sendwright_claim AS claim WHERE ${Claims.has("job.session", inSql.first("job.seq"))}
    ) THEN 'sending' ELSE 'queued' END)`

const ofReference = `SELECT counts, count(*) AS jobs, sum(recipients) AS recipients, min(created_at) AS first_at,
    max(created_at) AS last_at, max(completed_at) AS completed_at, sum(CASE WHEN completed_at IS NULL THEN 1 ELSE 0 END) AS open
  FROM (
    SELECT job.recipients, job.created_at, progress.completed_at, ${countsOf} AS counts
    FROM (
      SELECT seq, session, recipients, created_at FROM sendwright_job
      WHERE reference = ? AND account BETWEEN ? AND ? AND kind IN ${listed(storedKindsOf("template"))}
      ORDER BY account DESC, seq DESC LIMIT ${Page.mostLookedAt + 1}
    ) AS job LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq
  ) AS summed GROUP BY counts`

const countsOfText = (counts: string, recipients: number, alike: number): Partial<Counts> => {
  if (counts === "queued" || counts === "sending") return { [counts]: recipients }
  const each: Partial<Counts> = JSON.parse(counts)
  return Object.fromEntries(Object.entries(each).map(([status, count]) => [status, count * alike]))
}

export function* sumOf(accountId: string, reference: string): Program<ReferenceSum | null> {
  const rows = yield* all(ofReference, reference, accountId, accountId)
  if (rows.length === 0) return null
  const total = (name: string) => rows.reduce((sum, row) => sum + integer(row, name), 0)
  const some = rows.map((row) =>
    countsOfText(text(row, "counts"), integer(row, "recipients"), integer(row, "jobs"))
  )
  const jobs = total("jobs")
  const ended = rows.flatMap((row) => instantOrNull(row, "completed_at") ?? [])
  return {
    accountId,
    reference,
    jobs,
    isExact: jobs <= Page.mostLookedAt,
    recipients: total("recipients"),
    counts: Recipient.addCounts(some),
    createdAt: Time.min(...rows.map((row) => instant(row, "first_at"))),
    lastAt: Time.max(...rows.map((row) => instant(row, "last_at"))),
    completedAt: total("open") > 0 ? null : Time.max(...ended)
  }
}
