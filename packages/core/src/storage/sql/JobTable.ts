/** Job rows and what a step makes of them: recipients, counts, the worker that has claimed some, events. */
import { createHash } from "node:crypto"
import * as Arrays from "effect/Array"
import * as Schema from "effect/Schema"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Content, UnreadableContent } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Memo from "../../domain/Memo.ts"
import type { Outbound } from "../../domain/session/Session.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import type { JobChange, RecipientChange } from "../JobSteps.ts"
import type { TemplateNow } from "../policy/JobRows.ts"
import type { BatchKey } from "./Backlog.ts"
import * as Backlog from "./Backlog.ts"
import type { StoredJob } from "./codec/Job.ts"
import {
  changingColumns,
  jobColumns,
  progress,
  readJob,
  readRenewed,
  readWaiting,
  renewedColumns,
  selectWaiting,
  writeProgress
} from "./codec/Job.ts"
import type { StoredRecipient } from "./codec/Recipient.ts"
import {
  areEqual,
  changed as changedColumns,
  readRecipients,
  recipientColumns,
  writeChanged
} from "./codec/Recipient.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import type { Group } from "./GroupEqual.ts"
import { groupEqual } from "./GroupEqual.ts"
import { insertInto } from "./Insert.ts"
import type { Program, Row, SqlParameter } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import type { Place } from "./Ranges.ts"
import { inRanges, rangesOf } from "./Ranges.ts"
import { lastPlace, recipientKey } from "./RecipientKeys.ts"
import { integer, integerOrNull, json, limited, text } from "./RowReader.ts"

/** How many contents are kept read. */
const maximumCached = 256

const isContent = Schema.is(
  Schema.Union(
    Schema.Struct({ kind: Schema.Literal("direct"), text: Schema.String }),
    Schema.Struct({
      kind: Schema.Literal("template"),
      templateId: Schema.Number,
      template: Schema.Struct({ category: Schema.String, name: Schema.String, language: Schema.String })
    })
  )
)

/** Answers an error for a content that has not the form of one: its table was changed or damaged from outside. */
const parsed = (found: Row | undefined, snapshot: number): Content | Error => {
  const refused = (cause: unknown) => new Error(`Snapshot ${snapshot} cannot be read`, { cause })
  try {
    const content = json<Content>(found ?? {}, "body")
    return isContent(content) ? content : refused("It has not the form of a content.")
  } catch (cause) {
    return refused(cause)
  }
}

/** A damaged content, as the job's own row tells of it. No other content costs this statement. */
function* unreadable(seq: number, cause: Error): Program<UnreadableContent> {
  const row = (yield* get("SELECT kind, template FROM sendwright_job WHERE seq = ?", seq)) ?? {}
  return text(row, "kind") === "direct"
    ? { kind: "direct", cause }
    : { kind: "template", templateId: integerOrNull(row, "template") ?? 0, cause }
}

/** Reads contents, and keeps those that were read last. */
const contentReader = () => {
  // By digest, never by row: a row that is rolled back leaves its number to another content.
  const contents = new Map<string, Content>()
  return function* (digest: string, snapshot: number, seq: number): Program<Content | UnreadableContent> {
    const known = contents.get(digest)
    if (known !== undefined) return known
    const found = yield* get("SELECT body FROM sendwright_snapshot WHERE seq = ?", snapshot)
    const content = parsed(found, snapshot)
    // A damaged content is not cached, so that it is read again once it is mended.
    if (content instanceof Error) return yield* unreadable(seq, content)
    const [oldest] = contents.keys()
    if (contents.size >= maximumCached && oldest !== undefined) contents.delete(oldest)
    contents.set(digest, content)
    return content
  }
}

interface Snapshot {
  readonly digest: string
  readonly body: string
}

// Contents are immutable, so one object is digested once.
const snapshotOf = Memo.ofObject((content: Content): Snapshot => {
  const body = JSON.stringify(content)
  return { digest: createHash("sha256").update(body).digest("base64url"), body }
})

/** What a content is found by. */
export const digestOf = (content: Content): string => snapshotOf(content).digest

export const findSnapshot = "SELECT seq FROM sendwright_snapshot WHERE digest = ?"
const insertSnapshot = `${insertInto("sendwright_snapshot", ["digest", "body"])} ON CONFLICT (digest) DO NOTHING RETURNING seq`

/** Writes a content that is new, and answers its number. */
export function* freeze(content: Content): Program<number> {
  const { body, digest } = snapshotOf(content)
  const row =
    (yield* get(insertSnapshot, digest, body)) ??
    // Another writes the same at this moment, and its commit was waited for.
    (yield* get(findSnapshot, digest))
  return integer(row ?? {}, "seq")
}

/** Behind every job. */
const lastSeq = Number.MAX_SAFE_INTEGER

/** The jobs that {@link StoredJobs.makeWaitingDue} reads at once. */
const aheadAtOnce = 1000

/** True when the job's recipients are due at some time: none of them is claimed and the job may be dispatched. */
const waits = ({ inFlight, job }: StoredJob): boolean =>
  inFlight === 0 && job.counts.queued + job.counts.sending > 0 && Jobs.isClaimable(job)

/** A recipient's row and the step that wrote it last. */
interface Written extends Place {
  readonly change: RecipientChange
}

/** Behind a job's last recipient comes the first of the next job. */
const placeOf = ({ job, seq }: StoredJob, index: number): Place => {
  const key = recipientKey(seq, index)
  return { key, next: index + 1 < job.recipients ? key + 1 : recipientKey(seq + 1, 0) }
}

/** The recipients in groups that became alike together: whole batches mostly, over any number of jobs. */
const kindsOf = (steps: ReadonlyArray<JobChange<StoredJob>>): ReadonlyArray<Group<Written>> => {
  const last = new Map<number, Written>()
  for (const { changes, state } of steps) {
    for (const change of changes) {
      const { key, next } = placeOf(state, change.after.index)
      // Of two steps of one recipient the last stays.
      last.set(key, { key, next, change })
    }
  }
  return groupEqual(last.values(), (a, b) => areEqual(a.change, b.change))
}

const byJobId = (a: StoredJob, b: StoredJob): number => (a.job.id < b.job.id ? -1 : 1)

/** The batches that tell of the jobs, by their first, with how many of these they tell of. */
const batchesOf = (
  jobs: ReadonlyArray<StoredJob>
): ReadonlyMap<number, BatchKey & { readonly jobs: number }> => {
  const batches = new Map<number, BatchKey & { readonly jobs: number }>()
  for (const { batch, job } of jobs) {
    if (batch === null) continue
    const known = batches.get(batch)
    batches.set(batch, { session: job.sessionId, first: batch, jobs: (known?.jobs ?? 0) + 1 })
  }
  return batches
}

/** As `DueJob` of the policy. */
interface WaitingJob {
  readonly job: StoredJob
  readonly content: Jobs.Job["content"]
  readonly dueAt: Instant
  /** As it is now; null where it has none. */
  readonly template: TemplateNow | null
  readonly session: Outbound
}

/** The job rows of one database. */
export interface StoredJobs {
  readonly dialect: Dialect
  readonly ids: Ids
  /** To be followed by `WHERE`, with what stays of a job under `job`, what changes under `progress` and its `batch`. */
  readonly select: (more?: string) => string
  readonly toJob: (row: Row) => Program<StoredJob>
  /** The jobs that `selectWaiting` has selected of a session's backlog, in its order. */
  readonly waiting: (groups: ReadonlyArray<Row>) => Program<ReadonlyArray<WaitingJob>>
  readonly find: (jobId: string) => Program<StoredJob | undefined>
  /** Those that there are, locked until the commit and in the order of their ids. */
  readonly lockAll: (jobIds: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** The same of jobs that are known in a version, as they are now: one that did not change is not read again. */
  readonly lockKnown: (jobs: ReadonlyArray<StoredJob>) => Program<ReadonlyArray<StoredJob>>
  /** A statement for the recipients that a condition on their rows selects, with its order. */
  readonly recipientsOf: (condition: string) => string
  readonly recipients: (
    statement: string,
    ...parameters: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<StoredRecipient>>
  /**
   * Makes due what a clock that was ahead accepted into a backlog: each such job gets a row. Answers how many; some
   * thousands at most, and 0 when there are no more.
   *
   * @param latest of those that were accepted later than this
   */
  readonly makeWaitingDue: (now: Instant, latest: Instant) => Program<number>
  /**
   * Writes what steps made of jobs: their recipients, their rows, their events. Answers the batches of which jobs have
   * rows now.
   *
   * @param batched steps of jobs that a batch claims: of these only the events are written
   */
  readonly save: (
    steps: ReadonlyArray<JobChange<StoredJob>>,
    now: Instant,
    batched?: ReadonlyArray<JobChange<StoredJob>>
  ) => Program<ReadonlyArray<Released>>
  /** The version that a job's row has now. */
  readonly versionOf: (job: StoredJob) => Program<string>
}

export interface Released extends BatchKey {
  /** Its new one. */
  readonly version: string
}

export const make = (dialect: Dialect, ids: Ids): StoredJobs => {
  const select = (more = "") => `SELECT ${dialect.jsonArray(jobColumns(dialect))} AS job${more}
    FROM sendwright_job AS job JOIN sendwright_snapshot AS snapshot ON snapshot.seq = job.snapshot
      LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq ${Backlog.joinBatch}`
  const byId = `${select()} WHERE job.id = ?`
  const waitingBefore = selectWaiting(
    dialect,
    `SELECT * FROM sendwright_job AS job WHERE ${Backlog.waitsOf("?")} AND ${Backlog.place} < ?
      ORDER BY ${Backlog.place} DESC ${limited}`
  )

  const { elements, entries } = dialect
  const ofIds = `job.id IN (SELECT ${elements.value} FROM ${elements.from})`
  const byIds = `${select()} WHERE ${ofIds} ORDER BY job.id`
  const lockBatches = Backlog.locking(dialect)
  const version = dialect.version("progress")
  const versionOf = `SELECT ${version} AS version FROM sendwright_progress AS progress WHERE seq = ?`
  const changed = dialect.jsonValue(changingColumns("job", "job.version"))
  const changing = `SELECT ${dialect.jsonArrays(renewedColumns(`CASE WHEN job.same THEN NULL ELSE ${changed} END`))} AS jobs
    FROM (
      SELECT ${changingColumns("progress", version)} AS version, ${version} <> '' AND ${version} = ${entries.value} AS same
      FROM ${entries.from} CROSS JOIN sendwright_progress AS progress CROSS JOIN sendwright_job AS job
      WHERE progress.seq = ${entries.key} AND job.seq = progress.seq${dialect.forUpdate("progress")}
    ) AS job`
  const updateEqual = `UPDATE sendwright_recipient SET ${changedColumns.assignments}, provider_id = ? WHERE`
  const updateRanges = inRanges("seq", (condition) => `${updateEqual} ${condition}`)
  const updateScattered = `${updateEqual} seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const updateKind = `UPDATE sendwright_recipient SET ${changedColumns.assignments}, provider_id = ${entries.value}
    FROM ${entries.from} WHERE seq = ${entries.key}`
  const updateRows = dialect.update("sendwright_progress", progress.ordered)
  const insertRows = dialect.insert("sendwright_progress", progress.ordered)
  // By `Transitions.dueAt`.
  const earliest = `SELECT ${entries.key} AS job, (
      SELECT min(CASE WHEN updated_at > ? THEN ? ELSE next_at END) FROM sendwright_recipient
      WHERE seq BETWEEN ${entries.key} * 4096 AND ${entries.key} * 4096 + ${lastPlace} AND next_at IS NOT NULL
    ) AS next_at FROM ${entries.from}`

  const contentOf = contentReader()

  function* toJob(row: Row): Program<StoredJob> {
    const { digest, of, seq, snapshot } = readJob(text(row, "job"))
    return of(yield* contentOf(digest, snapshot, seq))
  }

  function* waiting(groups: ReadonlyArray<Row>): Program<ReadonlyArray<WaitingJob>> {
    const read = []
    for (const row of groups) {
      const group = readWaiting(row)
      const { digest, seqs, snapshot } = group
      const content = yield* contentOf(digest, snapshot, seqs[0] ?? 0)
      read.push({ group, content })
    }
    const places = read.flatMap(({ content, group }) =>
      group.seqs.map((seq, place) => ({ seq, place, group, content }))
    )
    let behind: number | null = null
    return places
      .sort((a, b) => a.seq - b.seq)
      .map(({ content, group, place, seq }) => {
        const { session, template } = group
        const job = group.job(place, content, behind)
        behind = seq
        return { job, content, template, dueAt: group.dueAt(place), session }
      })
  }

  const findBy = (statement: string) =>
    function* (jobId: string): Program<StoredJob | undefined> {
      const row = yield* get(statement, jobId)
      return row === undefined ? undefined : yield* toJob(row)
    }

  function* saveKind(kind: Group<Written>): Program<void> {
    const [{ change }] = kind
    const common = writeChanged(change)
    const { providerId } = change.after
    if (kind.some((each) => each.change.after.providerId !== providerId)) {
      const providerIds = Object.fromEntries(kind.map((each) => [each.key, each.change.after.providerId]))
      yield* run(updateKind, ...common, JSON.stringify(providerIds))
      return
    }
    const ranges = rangesOf(kind)
    if (ranges === undefined) {
      yield* run(updateScattered, ...common, providerId, JSON.stringify(kind.map(({ key }) => key)))
    } else yield* run(updateRanges(ranges), ...common, providerId, ...ranges)
  }

  /** When the recipients of each job are due next, by its key; of those that wait for nothing there is none. */
  function* nextTimes(jobs: ReadonlyArray<StoredJob>, now: Instant): Program<ReadonlyMap<number, Instant>> {
    const waiting = jobs.filter(waits)
    if (waiting.length === 0) return new Map()
    const keys = Object.fromEntries(waiting.map(({ seq }) => [seq, null]))
    const times = new Map<number, Instant>()
    for (const row of yield* all(earliest, Time.latestWritten(now), now, JSON.stringify(keys))) {
      const at = integerOrNull(row, "next_at")
      if (at !== null) times.set(integer(row, "job"), at)
    }
    return times
  }

  function* read(statement: string, jobIds: ReadonlyArray<string>): Program<ReadonlyArray<StoredJob>> {
    const jobs: Array<StoredJob> = []
    for (const row of yield* all(statement, JSON.stringify(jobIds))) jobs.push(yield* toJob(row))
    return jobs
  }

  /** The jobs as they are now. */
  function* readAgain(jobs: ReadonlyArray<StoredJob>): Program<ReadonlyArray<StoredJob>> {
    return jobs.length === 0
      ? []
      : yield* read(
          byIds,
          jobs.map(({ job }) => job.id)
        )
  }

  /** Locks the rows of jobs that are known in a version. */
  function* lockRows(jobs: ReadonlyArray<StoredJob>): Program<ReadonlyArray<StoredJob>> {
    if (jobs.length === 0) return []
    // An object of JavaScript would bring its keys into another order.
    const versions = jobs.toSorted(byJobId).map(({ seq, version }) => `"${seq}":${JSON.stringify(version)}`)
    const row = yield* get(changing, `{${versions.join(",")}}`)
    return readRenewed(text(row ?? {}, "jobs"), new Map(jobs.map((stored) => [stored.seq, stored])))
  }

  /**
   * Locks jobs by what tells of them: their session's backlog, their batch, or their row. That is the way of a job, which
   * never goes back, so that each step finds the jobs that have gone on meanwhile; and all commits lock in this order, the
   * sessions, batches and jobs each in the order of their ids, so that none waits in a circle. What a claim locks beside
   * that it does not wait for.
   */
  function* lock(known: ReadonlyArray<StoredJob>): Program<ReadonlyArray<StoredJob>> {
    const [others, untouched] = Arrays.partition(known, ({ batch, hasRow }) => batch === null && !hasRow)
    for (const session of [...new Set(untouched.map(({ job }) => job.sessionId))].sort())
      yield* dialect.serialize(Backlog.serialized(session))
    const [elsewhere, waiting] = Arrays.partition(
      yield* readAgain(untouched),
      ({ batch, hasRow }) => batch === null && !hasRow
    )
    const [inRows, inBatches] = Arrays.partition([...others, ...elsewhere], ({ batch }) => batch !== null)
    const versions: ReadonlyMap<number, string> =
      inBatches.length === 0 ? new Map() : yield* lockBatches(batchesOf(inBatches).values())
    const isSame = ({ batch, version }: StoredJob) => batch !== null && versions.get(batch) === version
    const [changed, same] = Arrays.partition(inBatches, isSame)
    const now = yield* readAgain(changed)
    const written = now.filter(({ hasRow }) => hasRow)
    const still = now.filter(isSame)
    const locked = [...waiting, ...same, ...still, ...(yield* lockRows([...inRows, ...written]))]
    // A job that is remembered from a claim that was rolled back is in no batch, or in another one.
    const astray = now.filter((stored) => !stored.hasRow && !isSame(stored))
    return [...locked, ...(astray.length === 0 ? [] : yield* lock(astray))].sort(byJobId)
  }

  return {
    dialect,
    ids,
    select,
    toJob,
    waiting,
    find: findBy(byId),
    recipientsOf: (condition) => `SELECT ${recipientColumns(dialect)} AS recipients
      FROM (SELECT * FROM sendwright_recipient WHERE ${condition}) AS recipient`,
    recipients: function* (statement, ...parameters) {
      return readRecipients(text((yield* get(statement, ...parameters)) ?? {}, "recipients"))
    },
    lockAll: function* (jobIds) {
      return jobIds.length === 0 ? [] : yield* lock(yield* read(byIds, jobIds))
    },
    lockKnown: lock,
    makeWaitingDue: function* (now, latest) {
      let count = 0
      for (const session of yield* Backlog.ahead(now)) {
        if (count >= aheadAtOnce) break
        yield* dialect.serialize(Backlog.serialized(session))
        const jobs: Array<StoredJob> = []
        let before = lastSeq
        // From the end, where those are.
        for (let isLast = false; !isLast && jobs.length < aheadAtOnce; ) {
          const page = yield* waiting(yield* all(waitingBefore, session, session, before, aheadAtOnce))
          for (const { dueAt, job } of page.toReversed()) {
            const isAhead = dueAt > now
            if (isAhead && job.job.createdAt > latest) jobs.push(job)
            before = job.seq
            isLast = !isAhead
          }
          isLast ||= page.length < aheadAtOnce
        }
        yield* insertRows(jobs.map((stored) => writeProgress(stored, now)))
        count += jobs.length
      }
      return count
    },
    versionOf: function* ({ seq }) {
      return text((yield* get(versionOf, seq)) ?? {}, "version")
    },
    save: function* (steps, now, batched = []) {
      for (const kind of kindsOf(steps)) yield* saveKind(kind)
      const jobs = steps.map(({ state }) => state)
      const times = yield* nextTimes(jobs, now)
      const [fresh, known] = Arrays.partition(jobs, ({ hasRow }) => hasRow)
      const toRow = (stored: StoredJob) => writeProgress(stored, times.get(stored.seq) ?? null)
      yield* insertRows(fresh.map(toRow))
      yield* updateRows(known.map(toRow))
      const batches: Array<Released> = []
      for (const batch of batchesOf(fresh).values()) {
        const version = ids.uuid(now)
        yield* Backlog.release(batch, batch.jobs, version)
        batches.push({ ...batch, version })
      }
      const drafts = new Map<string, Array<Draft>>()
      for (const { drafts: jobDrafts, state } of [...steps, ...batched]) {
        if (jobDrafts.length === 0) continue
        const { accountId } = state.job
        const ofAccount = drafts.get(accountId)
        if (ofAccount === undefined) drafts.set(accountId, [...jobDrafts])
        else ofAccount.push(...jobDrafts)
      }
      for (const [accountId, jobDrafts] of drafts) yield* Events.append(ids, accountId, jobDrafts, now)
      return batches
    }
  }
}
