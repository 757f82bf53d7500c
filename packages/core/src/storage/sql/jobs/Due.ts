/** The jobs of a session and a priority that are due: the first in their order, and those with a row that says when. */

import type { Instant } from "../../../domain/Instant.ts"
import type { JobTexts } from "../../../domain/job/ClientTexts.ts"
import * as Job from "../../../domain/job/Job.ts"
import type { Priority } from "../../../domain/job/Priority.ts"
import type { Program, Row } from "../../Program.ts"
import type { DueJob, StoredJob } from "../../policy/JobRows.ts"
import { elementOf, layout } from "../Columns.ts"
import { accounts } from "../codec/Account.ts"
import { outbound } from "../codec/Session.ts"
import { statusNow, templateNow } from "../codec/Template.ts"
import { limited, text } from "../RowReader.ts"
import { changedColumns, type changedOf, claimedColumns, jobs, ofChanged, untouched } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Order from "./Order.ts"
import * as Together from "./Together.ts"

/** The columns that most jobs of a session have in common. */
const group = jobs.only(
  "accountId",
  "sessionId",
  "publicKey",
  "snapshot",
  "currency",
  "priority",
  "perMinute",
  "stopWhen"
)

const ofAccount = accounts.only("caps")

/** The settings with which jobs are sent, as they are now. */
const readNow = (row: Row) => ({
  template: templateNow(row),
  session: outbound.read(row),
  ...ofAccount.read(row)
})

interface DueRow extends JobTexts {
  readonly seq: number
  readonly id: string
  readonly requestId: string | null
  readonly traceparent: string | null
  readonly idempotencyKey: string | null
  readonly estimatedCost: string | null
  readonly recipients: number
  readonly createdAt: Instant
  readonly dueAt: Instant
  /** Null of one in the order. */
  readonly changed: ReturnType<typeof changedOf.parse> | null
  readonly claimedTo: number | null
  /** 1 when it has no place in the order. */
  readonly isApart: number
}

const due = layout<DueRow>()(
  "seq",
  "id",
  "estimatedCost",
  "recipients",
  "createdAt",
  "reference",
  "requestId",
  "traceparent",
  "idempotencyKey",
  "dueAt",
  "changed",
  "claimedTo",
  "isApart"
)

const ofDue = {
  ...jobs
    .only(
      "seq",
      "id",
      "estimatedCost",
      "recipients",
      "createdAt",
      "reference",
      "requestId",
      "traceparent",
      "idempotencyKey"
    )
    .expressions(({ name }) => `job.${name}`),
  dueAt: "job.next_at",
  claimedTo: "job.claimed_to",
  isApart: "CASE WHEN job.due_at IS NULL THEN 1 ELSE 0 END"
}

const { at } = due

/** The job at a place of its group, as it was accepted. */
const accepted = (
  columns: ReturnType<typeof due.parseColumns>,
  place: number,
  common: ReturnType<typeof group.read>,
  content: Job.Job["content"]
): Job.Job =>
  Job.newJob({
    accountId: common.accountId,
    sessionId: common.sessionId,
    publicKey: common.publicKey,
    currency: common.currency,
    priority: common.priority,
    perMinute: common.perMinute,
    stopWhen: common.stopWhen,
    estimatedCost: elementOf(columns[at.estimatedCost], place),
    reference: elementOf(columns[at.reference], place),
    requestId: elementOf(columns[at.requestId], place),
    traceparent: elementOf(columns[at.traceparent], place),
    idempotencyKey: elementOf(columns[at.idempotencyKey], place),
    jobId: elementOf(columns[at.id], place),
    content,
    recipients: elementOf(columns[at.recipients], place),
    now: elementOf(columns[at.createdAt], place)
  })

/** Locks a session's jobs and answers the first that are due, as `JobRows.lockDueJobs`. */
export const locking = ({ contentOf, dialect, remember }: StoredJobs) => {
  const { isSerialized } = dialect
  const inOrder = Order.first(
    "job.*, job.due_at AS next_at, CAST(NULL AS text) AS changed, CAST(NULL AS bigint) AS claimed_to",
    isSerialized
  )
  const withRow = `SELECT job.*, progress.next_at, ${changedColumns(dialect, dialect.jsonArray)} AS changed,
      ${claimedColumns("max(claim.last)")} AS claimed_to
    FROM sendwright_progress AS progress CROSS JOIN sendwright_job AS job
    WHERE ${isSerialized} AND progress.session = ? AND progress.priority = ? AND progress.next_at IS NOT NULL AND progress.next_at <= ?
      AND job.seq = progress.seq
    ORDER BY progress.next_at, progress.seq ${limited}`
  const columns = dialect.jsonColumns(due.expressions({ ...ofDue, changed: dialect.json("job.changed") }))
  const select = `SELECT ${group.of("jobs")}, jobs.jobs, ${outbound.of("session")}, snapshot.digest, ${statusNow} AS template, template.category,
      (SELECT ${ofAccount.list} FROM sendwright_account WHERE id = jobs.account) AS caps
    FROM (
      SELECT ${group.list}, template, ${columns} AS jobs
      FROM (SELECT * FROM (${inOrder}) AS waiting UNION ALL SELECT * FROM (${withRow}) AS due) AS job
      GROUP BY ${group.list}, template
    ) AS jobs
      CROSS JOIN sendwright_session AS session CROSS JOIN sendwright_snapshot AS snapshot
      LEFT JOIN sendwright_template AS template ON template.id = jobs.template
    WHERE session.id = jobs.session AND snapshot.seq = jobs.snapshot`

  function* read(row: Row) {
    const columns = due.parseColumns(text(row, "jobs"))
    const common = group.read(row)
    const content = yield* contentOf(text(row, "digest"), common.snapshot, elementOf(columns[at.seq], 0))
    return { columns, common, content, ...readNow(row) }
  }

  type Group = ReturnType<typeof read> extends Generator<unknown, infer A> ? A : never

  /** @param behind as `StoredJob.behind`, of a job in the order */
  const jobOf = ({ columns, common, content }: Group, place: number, behind: number | null): StoredJob => {
    const seq = elementOf(columns[at.seq], place)
    const job = accepted(columns, place, common, content)
    const isApart = elementOf(columns[at.isApart], place) === 1
    const dueAt = elementOf(columns[at.dueAt], place)
    remember({ seq, job, dueAt: isApart ? null : dueAt })
    const changed = elementOf(columns[at.changed], place)
    return changed === null
      ? untouched(seq, job, dueAt, behind)
      : ofChanged(seq, job, changed, isApart, elementOf(columns[at.claimedTo], place))
  }

  return function* ({
    limit,
    now,
    priority,
    sessionId,
    waits
  }: {
    readonly sessionId: string
    readonly priority: Priority
    readonly now: Instant
    readonly limit: number
    readonly waits: boolean
  }): Program<ReadonlyArray<DueJob>> {
    const name = Order.locked(sessionId)
    const queue = [sessionId, priority]
    const of = [...queue, ...queue, limit, ...queue, now, limit]
    const found: Array<{ readonly seq: number; readonly place: number; readonly of: Group }> = []
    for (const row of yield* dialect.readSerialized(name, waits, select, ...of)) {
      const group = yield* read(row)
      for (const [place, seq] of group.columns[at.seq].entries()) found.push({ seq, place, of: group })
    }
    let behind: number | null = null
    const jobs: Array<DueJob> = []
    for (const { of, place, seq } of found.sort((a, b) => a.seq - b.seq)) {
      const { caps, content, session, template } = of
      const job = jobOf(of, place, behind)
      if (!job.hasRow) behind = seq
      const dueAt = elementOf(of.columns[at.dueAt], place)
      if (dueAt <= now) {
        const goesSo = Job.goesAs(job.job) === "template"
        jobs.push({ job, content, template: goesSo ? template : null, dueAt, session, caps })
      }
    }
    const first = jobs.sort((a, b) => a.dueAt - b.dueAt || a.job.seq - b.job.seq).slice(0, limit)
    const counted = yield* Together.statesWithBeside(first.map(({ job }) => job))
    return first.map((due, at) => ({ ...due, job: counted[at] ?? due.job }))
  }
}
