/** All that waits, in numbers: by what `Order` has of untouched jobs, and by the counts of the others. */
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import * as Priority from "../../../domain/job/Priority.ts"
import type { Backlog, Group } from "../../../domain/job/Waiting.ts"
import * as Waiting from "../../../domain/job/Waiting.ts"
import type { Program, Row } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import { listed } from "../Columns.ts"
import { readOutages, sessions } from "../codec/Session.ts"
import type { Dialect } from "../Database.ts"
import {
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  limited,
  text,
  textOrNull,
  wordOf
} from "../RowReader.ts"
import * as Order from "./Order.ts"

const standing = sessions.only("id", "pacing", "state", "blockedUntil", "blockReason")
const columns = sessions.only(
  "id",
  "pacing",
  "state",
  "blockedUntil",
  "blockReason",
  "unavailableSince",
  "probeAt",
  "probeInterval"
)

const statusOf = wordOf(Jobs.statuses)
const priorityOf = wordOf(Priority.all)
const notDueOf = wordOf(["schedule", "hours"] as const)
const pauseReasonOf = wordOf(Jobs.pauseReasons)

const groupOf = (row: Row): Group => {
  const { outage } = readOutages(row)
  const reason = textOrNull(row, "pause_reason")
  const notDue = textOrNull(row, "not_due")
  return {
    session: { ...standing.read(row), outage },
    status: statusOf("status", text(row, "status")),
    priority: priorityOf("priority", text(row, "priority")),
    pauseReason: reason === null ? null : pauseReasonOf("pause_reason", reason),
    templateId: integerOrNull(row, "template"),
    waiting: integer(row, "waiting"),
    perMinute: integerOrNull(row, "per_minute"),
    longest: integer(row, "longest"),
    retrying: integer(row, "retrying"),
    oldestAt: instant(row, "oldest_at"),
    notDue: notDue === null ? null : notDueOf("not_due", notDue),
    nextAt: instantOrNull(row, "next_at")
  }
}

const withSession = (groups: string): string => `SELECT part.*, ${columns.of("session")}
  FROM (${groups}) AS part CROSS JOIN sendwright_session AS session WHERE session.id = part.session_id`

const inOrder =
  withSession(`SELECT job.session AS session_id, job.priority, 'queued' AS status, CAST(NULL AS text) AS pause_reason,
    CAST(NULL AS bigint) AS template, count(*) AS jobs, sum(job.recipients) AS waiting, 0 AS retrying, job.per_minute, max(job.recipients) AS longest,
    min(job.created_at) AS oldest_at, CAST(NULL AS text) AS not_due, CAST(NULL AS bigint) AS next_at
  FROM (${Order.waiting}) AS job GROUP BY job.session, job.priority, job.per_minute`)

/** A put-off of a job without a time is for its session's hours, or for a moment, as two messages to one person keep their distance. */
const isWithinHours = `EXISTS (
        SELECT 1 FROM sendwright_session AS owner WHERE owner.id = progress.session AND owner.quiet_hours IS NOT NULL
      )`

/** @param most jobs that are read of each kind, at most */
export const reading = ({ countIn }: Dialect) => {
  const queued = countIn("progress.counts", "queued")
  const sending = countIn("progress.counts", "sending")
  const startsAt = countIn("progress.timing", "startsAt")
  const touched =
    withSession(`SELECT of_job.session_id, of_job.priority, of_job.status, of_job.pause_reason, of_job.template, of_job.jobs, of_job.waiting,
      of_job.retrying, of_job.per_minute, of_job.longest, of_job.not_due, of_job.next_at,
      (SELECT job.created_at FROM sendwright_job AS job WHERE job.seq = of_job.first) AS oldest_at
    FROM (SELECT job.session AS session_id, job.priority, job.status, job.pause_reason, job.template, job.not_due, count(*) AS jobs,
      sum(job.waiting) AS waiting, sum(job.retrying) AS retrying, job.per_minute, max(job.waiting) AS longest,
      min(CASE WHEN job.retrying > 0 OR job.not_due IS NOT NULL THEN job.next_at END) AS next_at,
      min(CASE WHEN job.waiting + job.retrying > 0 THEN job.seq END) AS first
    FROM (
      SELECT progress.session, progress.priority, progress.status, progress.pause_reason, progress.seq, progress.next_at,
        CASE WHEN progress.status <> 'paused' AND ${queued} > 0 AND progress.next_at > ? AND progress.next_at > coalesce(progress.arrival, 0)
          THEN CASE WHEN ${startsAt} > ? THEN 'schedule' WHEN progress.timing IS NOT NULL OR ${isWithinHours} THEN 'hours' END
          END AS not_due,
        CASE WHEN progress.pause_reason IN ${listed(Waiting.templatePauses)}
          THEN (SELECT job.template FROM sendwright_job AS job WHERE job.seq = progress.seq) END AS template,
        CASE WHEN progress.arrival IS NOT NULL
          THEN (SELECT job.per_minute FROM sendwright_job AS job WHERE job.seq = progress.seq) END AS per_minute,
        ${queued} + CASE WHEN progress.status = 'paused' THEN ${sending} ELSE 0 END AS waiting,
        CASE WHEN progress.status <> 'paused' AND progress.next_at IS NOT NULL AND ${queued} = 0 THEN ${sending} ELSE 0 END AS retrying
      FROM sendwright_progress AS progress
      WHERE progress.status IN ('queued', 'processing', 'paused') ${limited}
    ) AS job GROUP BY job.session, job.priority, job.status, job.pause_reason, job.template, job.not_due, job.per_minute) AS of_job`)

  return function* (most: number, now: Instant): Program<Backlog> {
    const waiting = yield* all(inOrder, most)
    const going = yield* all(touched, now, now, most)
    const jobs = (rows: ReadonlyArray<Row>): number =>
      rows.reduce((sum, row) => sum + integer(row, "jobs"), 0)
    const times: Array<Instant> = []
    const first = instantOrNull((yield* get(Order.oldest, most)) ?? { at: null }, "at")
    if (first !== null) times.push(first)
    const due = going.filter((row) => textOrNull(row, "not_due") === null)
    times.push(...due.flatMap((row) => instantOrNull(row, "oldest_at") ?? []))
    const waits = (row: Row): boolean => integer(row, "waiting") + integer(row, "retrying") > 0
    return {
      groups: [...waiting, ...going].filter(waits).map(groupOf),
      oldestAt: Time.firstOf(times),
      isExact: jobs(waiting) < most && jobs(going) < most
    }
  }
}
