/** Lists of jobs: an index tells which they are, and then they are read by their ids. */

import type { Looked } from "../../../domain/DerivedEvent.ts"
import * as Ids from "../../../domain/Ids.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Job } from "../../../domain/job/Job.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import type { Paged } from "../../../domain/Page.ts"
import * as Page from "../../../domain/Page.ts"
import type { AcceptedQuery, JobFilter, ListJobs } from "../../JobStore.ts"
import type { Program, Row, SqlParameter } from "../../Program.ts"
import { all, get } from "../../Program.ts"
import type { StoredJob } from "../../policy/JobRows.ts"
import { listed } from "../Columns.ts"
import type { Dialect } from "../Database.ts"
import * as IndexScan from "../IndexScan.ts"
import { end, instant, limited, newestFirst, seq, text } from "../RowReader.ts"
import { storedKindsOf } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Order from "./Order.ts"

/** Of `job`, where its row of what changes is as the condition says. */
const changed = (condition: string): string =>
  `EXISTS (SELECT 1 FROM sendwright_progress AS progress WHERE progress.seq = job.seq AND ${condition})`

/** By `Job.isMovedSince`: a claim tells of what it has, and a job that runs of its last outcome. */
const isSessionMoving = `(EXISTS (
      SELECT 1 FROM sendwright_claim AS claim WHERE claim.session = job.session AND claim.at > ?
    ) OR EXISTS (
      SELECT 1 FROM sendwright_progress AS moving WHERE moving.session = job.session AND moving.status = 'processing'
        AND moving.status IN ('queued', 'processing', 'paused') AND moving.updated_at > ?
    ))`

const isOut = `EXISTS (
      SELECT 1 FROM sendwright_session AS owner WHERE owner.id = job.session AND owner.unavailable_since <= ?
    )`

/** By `Job.isStuck`. */
const isStuck = `job.created_at <= ? AND ${Order.status} NOT IN ${listed(Jobs.statuses.filter(Jobs.hasEnded))}
      AND (${isOut} OR NOT ${changed("progress.updated_at > ?")}
        AND (${changed("progress.status = 'paused'")} OR NOT ${isSessionMoving}))
      AND NOT ${changed(`progress.pause_reason IN ${listed(Jobs.heldFor)}`)}
      AND NOT ${changed(`progress.next_at > ? AND progress.counts LIKE '%"queued":%'`)}`

const isNewest = `job.reference IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM sendwright_job AS later
      WHERE later.reference = job.reference AND later.account = job.account AND later.seq > job.seq AND later.kind IN (?, ?)
    )`

const optional = (type: "bigint" | "text", condition: string): string =>
  `(CAST(? AS ${type}) IS NULL OR ${condition})`

const none: ReadonlyArray<string> = ['%"queued":%', '%"sending":%']

/** One text for all filters, so that it is prepared once; what is null filters nothing and costs nothing. */
const filter = `kind IN (?, ?) AND created_at >= ? AND created_at < ?
    AND ${[
      optional("text", `${Order.status} = ?`),
      optional("text", "job.account = ?"),
      optional("text", "job.session = ?"),
      optional("bigint", "job.template = ?"),
      optional("text", "job.reference = ?"),
      optional("bigint", changed("progress.completed_at >= ? AND progress.completed_at < ?")),
      optional("text", changed("progress.counts LIKE ?")),
      optional("bigint", changed("progress.failures > 0")),
      optional(
        "bigint",
        `NOT ${changed(none.map((each) => `progress.counts NOT LIKE '${each}'`).join(" AND "))}`
      ),
      optional("bigint", isStuck),
      optional("bigint", isNewest)
    ].join("\n    AND ")}`

const walk = (...columns: ReadonlyArray<string>) =>
  IndexScan.make("sendwright_job AS job", "seq, id", columns, filter)

/** Each has its index; the last is the table's own order. */
const walks = {
  publicKey: { kind: walk("public_key", "kind"), reference: walk("public_key", "reference") },
  account: { kind: walk("account", "kind"), reference: walk("reference", "account") },
  all: walk()
}

const isWithin = ({ completedAfter, completedBefore }: JobFilter): boolean =>
  completedAfter !== undefined || completedBefore !== undefined

const parametersOf = (query: ListJobs): ReadonlyArray<SqlParameter> => {
  const { by, completedAfter, completedBefore, createdAfter, createdBefore, has, kind } = query
  const { reference, status, stuckSince: stuck = null, templateId } = query
  const [first = kind, second = first] = storedKindsOf(kind)
  const twice = (value: SqlParameter | undefined) => [value ?? null, value ?? null]
  const likely = has === "failed" || has === "unknown" ? `%"${has}":%` : null
  return [
    ...[first, second, createdAfter ?? -end, createdBefore ?? end],
    ...[status, by.accountId, by.sessionId, templateId, reference].flatMap(twice),
    ...[isWithin(query) ? 1 : null, completedAfter ?? -end, completedBefore ?? end],
    ...twice(likely ?? undefined),
    has === "failures" ? 1 : null,
    has === "waiting" ? 1 : null,
    ...[stuck, stuck, stuck, stuck, stuck, stuck, stuck],
    ...[query.isNewestOfReference === true ? 1 : null, first, second]
  ]
}

/** False where the walk itself has all that is asked for, and no more. */
const isFiltered = ({ by, kind: _, page: __, ...query }: ListJobs, isAll: boolean): boolean =>
  isAll ||
  Object.values(query).some((each) => each !== undefined) ||
  Object.values(by).filter((each) => each !== undefined).length > 1 ||
  by.sessionId !== undefined

/** An index, with values of its columns before `seq`. */
interface Source {
  readonly walk: Pick<IndexScan.IndexScan, "lastLookedAt" | "rows">
  readonly values: ReadonlyArray<SqlParameter>
}

/** More owners than these are looked for among all jobs of their account, or among all. */
const mostOwners = 8

const keysOfSession = IndexScan.make("sendwright_api_key", "seq, public_key", ["session"])
const sessionOfTemplate = "SELECT session FROM sendwright_template WHERE id = ?"
const accountOfSession = "SELECT account FROM sendwright_session WHERE id = ?"
const nextAccount =
  "SELECT account FROM sendwright_job WHERE reference = ? AND account > ? ORDER BY account LIMIT 1"

/** The accounts whose jobs have the reference, at most so many. */
export function* accountsOf(reference: string, most: number): Program<ReadonlyArray<string>> {
  const found: Array<string> = []
  for (let last = ""; found.length < most; ) {
    const row = yield* get(nextAccount, reference, last)
    if (row === undefined) return found
    last = text(row, "account")
    found.push(last)
  }
  return found
}

const sourcesOf = (
  owner: "account" | "publicKey",
  ids: ReadonlyArray<string>,
  { kind, reference }: ListJobs
): ReadonlyArray<Source> =>
  ids.flatMap((id) =>
    reference === undefined
      ? storedKindsOf(kind).map((each) => ({ walk: walks[owner].kind, values: [id, each] }))
      : [
          {
            walk: walks[owner].reference,
            values: owner === "account" ? [reference, id] : [id, reference]
          }
        ]
  )

const everything: ReadonlyArray<Source> = [{ walk: walks.all, values: [] }]

/** The jobs with failures, which an index has by an expression, so that no other order is taken for it. */
const failing = ({ lookUp }: Dialect): ReadonlyArray<Source> => {
  const some = (rows: string): string => `SELECT failing.seq FROM sendwright_progress AS failing
    WHERE failing.failures > 0 AND failing.seq + 0 < ? AND failing.seq + 0 >= ? ORDER BY failing.seq + 0 DESC LIMIT ${rows}`
  const filtered = `SELECT job.seq, job.id FROM (${some(String(Page.mostLookedAt))}) AS found
    ${lookUp("sendwright_job", "job", "job.seq = found.seq")} WHERE ${filter} ${limited}`
  const lastLookedAt = some(`1 OFFSET ${Page.mostLookedAt - 1}`)
  const walk: Source["walk"] = {
    lastLookedAt: function* (_, before) {
      const row = yield* get(lastLookedAt, before, 0)
      return row === undefined ? null : seq(row)
    },
    rows: (_, { before, least, limit }, parameters = []) => all(filtered, before, least, ...parameters, limit)
  }
  return [{ walk, values: [] }]
}

const isFailing = ({ has }: ListJobs): boolean => has === "failed" || has === "failures" || has === "unknown"

/**
 * Walks by the filter that leaves the fewest jobs. A session's jobs are those of its keys, and of the process that owns the
 * engine.
 */
function* sources(query: ListJobs, dialect: Dialect): Program<ReadonlyArray<Source>> {
  const { accountId, publicKey, sessionId } = query.by
  if (publicKey !== undefined) return sourcesOf("publicKey", [publicKey], query)
  const ofTemplate =
    sessionId === undefined && query.templateId !== undefined
      ? yield* get(sessionOfTemplate, query.templateId)
      : undefined
  const session = sessionId ?? (ofTemplate === undefined ? undefined : text(ofTemplate, "session"))
  if (session !== undefined) {
    const keys = yield* keysOfSession.page([session], { limit: mostOwners, after: null })
    if (keys.next === null) {
      const ids = keys.items.map((each) => text(each, "public_key"))
      return sourcesOf("publicKey", [...ids, session], query)
    }
    const row = yield* get(accountOfSession, session)
    if (row !== undefined) return sourcesOf("account", [text(row, "account")], query)
  }
  if (accountId !== undefined) return sourcesOf("account", [accountId], query)
  if (query.reference !== undefined) {
    const known = yield* accountsOf(query.reference, mostOwners + 1)
    if (known.length <= mostOwners) return sourcesOf("account", known, query)
  }
  return isFailing(query) ? failing(dialect) : everything
}

/** Numbers of jobs are in the order of their making, but for clocks that differ by less than this. */
const clocksDiffer = Time.hour

const firstSince = "SELECT seq FROM sendwright_job WHERE id >= ? ORDER BY id LIMIT 1"

/** The number of the first job that was made at a time or later, by its id, whose first digits are that time. */
function* placeSince(time: Instant): Program<number | null> {
  const row = yield* get(firstSince, Ids.since(time))
  return row === undefined ? null : seq(row)
}

/** Between which numbers the jobs lie that were made between the times; null when there are none. */
function* range(query: ListJobs): Program<{ readonly before: number; readonly least: number } | null> {
  const { completedBefore = end, createdAfter, createdBefore = end } = query
  const [before] = newestFirst(query.page)
  const latest = Math.min(createdBefore, completedBefore)
  // Ids of one millisecond are in no order, and a test's first ones have none before them.
  const isAll = createdAfter === undefined || createdAfter <= clocksDiffer
  const first = isAll ? 0 : yield* placeSince(Time.before(createdAfter, clocksDiffer))
  if (first === null) return null
  const behind = latest === end ? null : yield* placeSince(Time.at(latest + clocksDiffer))
  return { before: Math.min(before, behind ?? end), least: first }
}

/** The next rows that pass the filters: there may be none although others follow. */
export function* rowsOf(query: ListJobs, dialect: Dialect): Program<Paged<Row>> {
  const { page } = query
  const found = yield* range(query)
  if (found === null) return { items: [], next: null }
  const { before, least } = found
  const from = yield* sources(query, dialect)
  const parameters = isFiltered(query, from === everything) ? parametersOf(query) : undefined
  const [, limit] = newestFirst(page)

  let last: number | null = null
  const rows: Array<Row> = []
  for (const { values, walk } of from) {
    const some = yield* walk.rows(values, { before, least, limit }, parameters)
    rows.push(...some)
    if (parameters === undefined || some.length >= limit) continue
    const lookedAt = yield* walk.lastLookedAt(values, before)
    if (lookedAt !== null && lookedAt > least) last = Math.max(last ?? 0, lookedAt)
  }
  const newest = rows
    .filter((row) => seq(row) >= (last ?? 0))
    .sort((a, b) => seq(b) - seq(a))
    .slice(0, limit)
  return Page.cut(newest, page.limit, seq, last)
}

const acceptedBetween = "FROM sendwright_job WHERE id >= ? AND id < ? ORDER BY id DESC"
const allAccepted = `SELECT id ${acceptedBetween} ${limited}`
const lastLookedAt = `SELECT created_at ${acceptedBetween} LIMIT 1 OFFSET ${Page.mostLookedAt - 1}`

const acceptedAsAsked = [
  optional("text", "account = ?"),
  optional("text", "session = ?"),
  optional("text", "kind IN (?, ?)")
].join(" AND ")

const someAccepted = `SELECT id FROM (SELECT id, account, session, kind ${acceptedBetween} LIMIT ${Page.mostLookedAt}) AS job
  WHERE ${acceptedAsAsked} ${limited}`

/** No time of an id is later. */
const latestOfIds = Time.at(2 ** 48 - 1)

const idAt = (time: Instant): string => Ids.since(Time.min(time, latestOfIds))

export const make = ({ dialect, select, toJob }: StoredJobs) => {
  const byIds = `${select} WHERE ${dialect.elements.among("job.id")}`

  function* jobsOf(rows: ReadonlyArray<Row>): Program<Array<StoredJob>> {
    const jobs: Array<StoredJob> = []
    for (const row of yield* all(byIds, JSON.stringify(rows.map((row) => text(row, "id")))))
      jobs.push(yield* toJob(row))
    return jobs
  }

  return {
    /** The jobs of a page. */
    page: function* (query: ListJobs): Program<Paged<Job>> {
      const { items, next } = yield* rowsOf(query, dialect)
      if (items.length === 0) return { items: [], next }
      const jobs = yield* jobsOf(items)
      return { items: jobs.sort((a, b) => b.seq - a.seq).map(({ job }) => job), next }
    },

    /** Jobs by the time of their acceptance, which their ids begin with. */
    accepted: function* (query: AcceptedQuery): Program<Looked<Job>> {
      const { accountId, from, kind, limit, sessionId, to } = query
      const range = [idAt(from), idAt(to)]
      const [first = null, second = first] = kind === undefined ? [] : storedKindsOf(kind)
      const asked = [accountId ?? null, accountId ?? null, sessionId ?? null, sessionId ?? null]
      const isFiltered = accountId !== undefined || sessionId !== undefined || kind !== undefined
      const rows = isFiltered
        ? yield* all(someAccepted, ...range, ...asked, first, first, second, limit)
        : yield* all(allAccepted, ...range, limit)
      const items = (yield* jobsOf(rows)).map(({ job }) => job)
      items.sort((a, b) => (a.id < b.id ? 1 : -1))
      const isWhole = !isFiltered || rows.length >= limit
      const end = isWhole ? undefined : yield* get(lastLookedAt, ...range)
      return { items, lookedTo: end === undefined ? null : instant(end, "created_at") }
    }
  }
}
