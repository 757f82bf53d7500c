/** All that waits, in numbers: by what `Order` has of untouched jobs, and by the counts of the others. */
import type { Instant } from "../../../domain/Instant.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import type { Backlog, Group } from "../../../domain/job/Waiting.ts"
import { readOutages, sessions } from "../codec/Session.ts"
import type { Dialect } from "../Database.ts"
import type { Program, Row } from "../Program.ts"
import { all, get } from "../Program.ts"
import { integer, integerOrNull, limited, text, textOrNull, wordOf } from "../RowReader.ts"
import * as Order from "./Order.ts"

const standing = sessions.only("pacing", "state", "blockedUntil")
const columns = sessions.only(
  "pacing",
  "state",
  "blockedUntil",
  "unavailableSince",
  "probeAt",
  "probeInterval"
)

const statusOf = wordOf(Jobs.statuses)
const pauseReasonOf = wordOf(Jobs.pauseReasons)

const groupOf = (row: Row): Group => {
  const { outage } = readOutages(row)
  const reason = textOrNull(row, "pause_reason")
  return {
    session: { ...standing.read(row), outage },
    status: statusOf("status", text(row, "status")),
    pauseReason: reason === null ? null : pauseReasonOf("pause_reason", reason),
    waiting: integer(row, "waiting"),
    retrying: integer(row, "retrying")
  }
}

const withSession = (groups: string): string => `SELECT part.*, ${columns.of("session")}
  FROM (${groups}) AS part CROSS JOIN sendwright_session AS session WHERE session.id = part.session_id`

const inOrder =
  withSession(`SELECT job.session AS session_id, 'queued' AS status, CAST(NULL AS text) AS pause_reason,
    count(*) AS jobs, sum(job.recipients) AS waiting, 0 AS retrying, CAST(NULL AS bigint) AS first
  FROM (${Order.waiting}) AS job GROUP BY job.session`)

const createdAt = "SELECT created_at FROM sendwright_job WHERE seq = ?"

/** @param most jobs that are read of each kind, at most */
export const reading = ({ countIn }: Dialect) => {
  const queued = countIn("progress.counts", "queued")
  const sending = countIn("progress.counts", "sending")
  const touched =
    withSession(`SELECT job.session AS session_id, job.status, job.pause_reason, count(*) AS jobs,
      sum(job.waiting) AS waiting, sum(job.retrying) AS retrying,
      min(CASE WHEN job.waiting + job.retrying > 0 THEN job.seq END) AS first
    FROM (
      SELECT progress.session, progress.status, progress.pause_reason, progress.seq,
        ${queued} + CASE WHEN progress.status = 'paused' THEN ${sending} ELSE 0 END AS waiting,
        CASE WHEN progress.status <> 'paused' AND progress.next_at IS NOT NULL AND ${queued} = 0 THEN ${sending} ELSE 0 END AS retrying
      FROM sendwright_progress AS progress
      WHERE progress.status IN ('queued', 'processing', 'paused') ${limited}
    ) AS job GROUP BY job.session, job.status, job.pause_reason`)

  return function* (most: number): Program<Backlog> {
    const waiting = yield* all(inOrder, most)
    const going = yield* all(touched, most)
    const jobs = (rows: ReadonlyArray<Row>): number =>
      rows.reduce((sum, row) => sum + integer(row, "jobs"), 0)
    const times: Array<Instant> = []
    const first = integerOrNull((yield* get(Order.oldest, most)) ?? { at: null }, "at")
    if (first !== null) times.push(first)
    const touchedFirst = going.flatMap((row) => integerOrNull(row, "first") ?? [])
    if (touchedFirst.length > 0) {
      const row = yield* get(createdAt, Math.min(...touchedFirst))
      if (row !== undefined) times.push(integer(row, "created_at"))
    }
    return {
      groups: [...waiting, ...going].map(groupOf).filter(({ retrying, waiting }) => waiting + retrying > 0),
      oldestAt: times.length === 0 ? null : Math.min(...times),
      isExact: jobs(waiting) < most && jobs(going) < most
    }
  }
}
