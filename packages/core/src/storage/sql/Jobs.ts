/** Job rows and what a step makes of them: recipients, counts, who has it in hand, events. */
import { createHash } from "node:crypto"
import type { Draft } from "../../domain/Event.ts"
import type { Ids } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Content } from "../../domain/Job.ts"
import * as Jobs from "../../domain/Job.ts"
import * as Memo from "../../domain/Memo.ts"
import type { Move, Step } from "../JobSteps.ts"
import type { Group } from "./Alike.ts"
import { groupAlike } from "./Alike.ts"
import type { Dialect } from "./Database.ts"
import * as Events from "./Events.ts"
import { insertInto } from "./Insert.ts"
import type { Program, Row, SqlParameter, SqlValue } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import type { Place } from "./Ranges.ts"
import { rangesAtOnce, rangesOf } from "./Ranges.ts"
import type { StoredJob, StoredRecipient } from "./Rows.ts"
import {
  changingColumns,
  integer,
  integerOrNull,
  jobColumns,
  json,
  lastPlace,
  recipientColumns,
  recipientKey,
  renewed,
  toRecipients,
  toStoredJob
} from "./Rows.ts"

/** How many contents are kept read. */
const kept = 256

// By digest, never by row: a row that is rolled back leaves its number to another content.
const contents = new Map<string, Content>()

function* contentOf(digest: string, snapshot: number): Program<Content> {
  const known = contents.get(digest)
  if (known !== undefined) return known
  const found = yield* get("SELECT body FROM sendwright_snapshot WHERE seq = ?", snapshot)
  const content = json<Content>(found ?? {}, "body")
  const [oldest] = contents.keys()
  if (contents.size >= kept && oldest !== undefined) contents.delete(oldest)
  contents.set(digest, content)
  return content
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

const jobStep = [
  ["status", "text"],
  ["pause_reason", "text"],
  ["queued", "bigint"],
  ["sending", "bigint"],
  ["accepted", "bigint"],
  ["sent", "bigint"],
  ["delivered", "bigint"],
  ["read", "bigint"],
  ["failed", "bigint"],
  ["skipped", "bigint"],
  ["canceled", "bigint"],
  ["unknown", "bigint"],
  ["in_flight", "bigint"],
  ["next_at", "bigint"],
  ["worker", "text"],
  ["fence", "bigint"],
  ["updated_at", "bigint"],
  ["completed_at", "bigint"],
  ["taken_first", "bigint"],
  ["taken_last", "bigint"],
  ["taken_at", "bigint"],
  ["seq", "bigint"]
] as const

const noneTaken = [null, null, null]

const fromHeld = (
  { fence, inFlight, job, seq, taken, worker }: StoredJob,
  nextAt: Instant | null
): ReadonlyArray<SqlValue> => [
  job.status,
  job.pauseReason,
  job.counts.queued,
  job.counts.sending,
  job.counts.accepted,
  job.counts.sent,
  job.counts.delivered,
  job.counts.read,
  job.counts.failed,
  job.counts.skipped,
  job.counts.canceled,
  job.counts.unknown,
  inFlight,
  nextAt,
  worker,
  fence,
  job.updatedAt,
  job.completedAt,
  ...(taken === null || inFlight === 0 ? noneTaken : [taken.first, taken.last, taken.at]),
  seq
]

/** Whether its recipients are due at some time: nobody has any in hand and it may be dispatched. */
const waits = ({ inFlight, job }: StoredJob): boolean =>
  inFlight === 0 && job.counts.queued + job.counts.sending > 0 && Jobs.isClaimable(job)

const step = `status = ?, attempts = ?, retrying_since = ?, lost = ?, uncertain = ?, sequence = ?, next_at = ?, fence = ?, updated_at = ?,
    failure = ?, sent_at = ?, delivered_at = ?, read_at = ?, pricing = ?`

/** Whether they became alike, but for the platform's id. */
const areAlike = (a: Move, b: Move): boolean =>
  a.fence === b.fence &&
  a.after.status === b.after.status &&
  a.after.attempts === b.after.attempts &&
  a.after.retryingSince === b.after.retryingSince &&
  a.after.lost === b.after.lost &&
  a.after.uncertain === b.after.uncertain &&
  a.after.sequence === b.after.sequence &&
  a.after.nextAt === b.after.nextAt &&
  a.after.updatedAt === b.after.updatedAt &&
  a.after.failure === b.after.failure &&
  a.after.sentAt === b.after.sentAt &&
  a.after.deliveredAt === b.after.deliveredAt &&
  a.after.readAt === b.after.readAt &&
  a.after.pricing?.category === b.after.pricing?.category &&
  a.after.pricing?.free === b.after.pricing?.free

const fromAlike = ({ after, fence }: Move): ReadonlyArray<SqlValue> => [
  after.status,
  after.attempts,
  after.retryingSince,
  after.lost,
  after.uncertain ? 1 : 0,
  after.sequence,
  after.nextAt,
  fence,
  after.updatedAt,
  after.failure === null ? null : JSON.stringify(after.failure),
  after.sentAt,
  after.deliveredAt,
  after.readAt,
  after.pricing === null ? null : JSON.stringify(after.pricing)
]

/** A recipient's row and the step that wrote it last. */
interface Written extends Place {
  readonly move: Move
}

/** Behind a job's last recipient comes the first of the next job. */
const placeOf = ({ job, seq }: StoredJob, index: number): Place => {
  const key = recipientKey(seq, index)
  return { key, next: index + 1 < job.recipients ? key + 1 : recipientKey(seq + 1, 0) }
}

/** Those that became alike together: whole windows mostly, over any number of jobs. */
const kindsOf = (steps: ReadonlyArray<Step<StoredJob>>): ReadonlyArray<Group<Written>> => {
  const last = new Map<number, Written>()
  for (const { held, moves } of steps) {
    for (const move of moves) {
      const { key, next } = placeOf(held, move.after.index)
      // Of two steps of one recipient the last stays.
      last.set(key, { key, next, move })
    }
  }
  return groupAlike(last.values(), (a, b) => areAlike(a.move, b.move))
}

/** The job rows of one database. */
export interface JobRows {
  readonly dialect: Dialect
  readonly ids: Ids
  /** To be followed by joins and `WHERE`, with the job's columns under `job`; `first` is what they are joined to. */
  readonly select: (more?: string, first?: string) => string
  readonly toJob: (row: Row) => Program<StoredJob>
  readonly find: (jobId: string) => Program<StoredJob | undefined>
  /** Those that there are, locked until the commit in the order of their ids, so that no two commits wait for each other's. */
  readonly lockAll: (jobIds: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** The same of jobs that are known in a version, as they are now: one that did not change is not read again. */
  readonly lockKnown: (jobs: ReadonlyArray<StoredJob>) => Program<ReadonlyArray<StoredJob>>
  /** A statement for the recipients that a condition on their rows selects, with its order. */
  readonly recipientsOf: (condition: string) => string
  readonly recipients: (
    statement: string,
    ...parameters: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<StoredRecipient>>
  /** Writes what steps made of jobs: their recipients, their rows, their events. Answers the rows' new version. */
  readonly save: (steps: ReadonlyArray<Step<StoredJob>>, now: Instant) => Program<string>
}

export const make = (dialect: Dialect, ids: Ids): JobRows => {
  const { as, jobs, table } = dialect.progress
  const select = (more = "", first = "") => `SELECT ${dialect.jsonArray(jobColumns(dialect))} AS job${more}
    FROM ${first}${jobs()} CROSS JOIN sendwright_snapshot AS snapshot`
  const ofSnapshot = "job.snapshot = snapshot.seq"
  const byId = `${select()} WHERE ${ofSnapshot} AND job.id = ?`

  const { elements, entries } = dialect
  const byIdsToWrite = `${select()} WHERE ${ofSnapshot} AND job.id IN (SELECT ${elements.value} FROM ${elements.from})
    ORDER BY job.id${dialect.forUpdate(as)}`
  const version = dialect.version(as)
  const changed = dialect.jsonValue(changingColumns("job", "job.version"))
  const changing = `SELECT ${dialect.jsonArrays(`job.seq, job.id, CASE WHEN job.same THEN NULL ELSE ${changed} END`)} AS jobs
    FROM (
      SELECT ${changingColumns(as, version)} AS version, ${version} <> '' AND ${version} = ${entries.value} AS same
      FROM ${entries.from} CROSS JOIN ${jobs()} WHERE ${as}.seq = ${entries.key}${dialect.forUpdate(as)}
    ) AS job`
  const updateAlike = `UPDATE sendwright_recipient SET ${step}, provider_id = ? WHERE`
  const updateRanges = Array.from({ length: rangesAtOnce + 1 }, (_, count) => {
    const ranges = Array.from({ length: count }, () => "seq BETWEEN ? AND ?")
    return `${updateAlike} ${ranges.join(" OR ")}`
  })
  const updateScattered = `${updateAlike} seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const updateKind = `UPDATE sendwright_recipient SET ${step}, provider_id = ${entries.value}
    FROM ${entries.from} WHERE seq = ${entries.key}`
  const updateJobs = dialect.update(table, jobStep)
  // By `Progress.dueAt`.
  const earliest = `SELECT ${entries.key} AS job, (
      SELECT min(CASE WHEN updated_at > ? THEN ? ELSE next_at END) FROM sendwright_recipient
      WHERE seq BETWEEN ${entries.key} * 4096 AND ${entries.key} * 4096 + ${lastPlace} AND next_at IS NOT NULL
    ) AS next_at FROM ${entries.from}`

  function* toJob(row: Row): Program<StoredJob> {
    const { digest, of, snapshot } = toStoredJob(row)
    return of(yield* contentOf(digest, snapshot))
  }

  const findBy = (statement: string) =>
    function* (jobId: string): Program<StoredJob | undefined> {
      const row = yield* get(statement, jobId)
      return row === undefined ? undefined : yield* toJob(row)
    }

  function* saveKind(kind: Group<Written>): Program<void> {
    const [{ move }] = kind
    const common = fromAlike(move)
    const { providerId } = move.after
    if (kind.some((each) => each.move.after.providerId !== providerId)) {
      const providerIds = Object.fromEntries(kind.map((each) => [each.key, each.move.after.providerId]))
      yield* run(updateKind, ...common, JSON.stringify(providerIds))
      return
    }
    const ranges = rangesOf(kind)
    if (ranges === undefined) {
      yield* run(updateScattered, ...common, providerId, JSON.stringify(kind.map(({ key }) => key)))
    } else yield* run(updateRanges[ranges.length / 2] ?? "", ...common, providerId, ...ranges)
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

  return {
    dialect,
    ids,
    select,
    toJob,
    find: findBy(byId),
    recipientsOf: (condition) => `SELECT ${dialect.jsonArrays(recipientColumns(dialect))} AS recipients
      FROM (SELECT * FROM sendwright_recipient WHERE ${condition}) AS recipient`,
    recipients: function* (statement, ...parameters) {
      return toRecipients(yield* get(statement, ...parameters))
    },
    lockAll: function* (jobIds) {
      const jobs: Array<StoredJob> = []
      if (jobIds.length === 0) return jobs
      for (const row of yield* all(byIdsToWrite, JSON.stringify(jobIds))) jobs.push(yield* toJob(row))
      return jobs
    },
    lockKnown: function* (jobs) {
      if (jobs.length === 0) return []
      // An object of JavaScript would bring its keys into another order.
      const versions = jobs
        .toSorted((a, b) => (a.job.id < b.job.id ? -1 : 1))
        .map(({ seq, version }) => `"${seq}":${JSON.stringify(version)}`)
      const row = yield* get(changing, `{${versions.join(",")}}`)
      return renewed(row, new Map(jobs.map((held) => [held.seq, held])))
    },
    save: function* (steps, now) {
      for (const kind of kindsOf(steps)) yield* saveKind(kind)
      const jobs = steps.map(({ held }) => held)
      const times = yield* nextTimes(jobs, now)
      const version = yield* updateJobs(jobs.map((held) => fromHeld(held, times.get(held.seq) ?? null)))
      const drafts = new Map<string, Array<Draft>>()
      for (const { drafts: told, held } of steps) {
        if (told.length === 0) continue
        const { accountId } = held.job
        const ofAccount = drafts.get(accountId)
        if (ofAccount === undefined) drafts.set(accountId, [...told])
        else ofAccount.push(...told)
      }
      for (const [accountId, told] of drafts) yield* Events.append(ids, accountId, told, now)
      return version
    }
  }
}
