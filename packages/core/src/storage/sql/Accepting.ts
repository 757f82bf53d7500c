/** The statements of an acceptance: one that reads all its facts, and those that record it. */
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Content, Job } from "../../domain/Job.ts"
import type { Step } from "../JobSteps.ts"
import type { AcceptSend, Earlier } from "../JobStore.ts"
import type { AcceptanceQuery } from "../policy/JobRows.ts"
import * as Backlog from "./Backlog.ts"
import type { Column, Dialect } from "./Database.ts"
import type { Sql } from "./JobRows.ts"
import * as Jobs from "./Jobs.ts"
import type { Program, Row, SqlValue } from "./Program.ts"
import { get, run } from "./Program.ts"
import type { StoredJob } from "./Rows.ts"
import { integer, integerOrNull, json, lastPlace, oneOf, recipientKey, text, textOrNull } from "./Rows.ts"

/** The name that serializes an account's accepts: the key, the day's usage and the last acceptance are its. */
export const serialized = (accountId: string): string => `accept ${accountId}`

const kindOf = oneOf<Content["kind"]>(["template", "direct"])

const withKey = "FROM sendwright_job WHERE public_key = ? AND idempotency_key = ?"

const findEarlier = `SELECT id, kind, fingerprint, recipients, answer ${withKey}`

export function* earlierTo(publicKey: string, key: string): Program<Earlier | null> {
  const row = yield* get(findEarlier, publicKey, key)
  if (row === undefined) return null
  return {
    fingerprint: text(row, "fingerprint"),
    jobId: text(row, "id"),
    kind: kindOf(row, "kind"),
    recipients: integer(row, "recipients"),
    answer: textOrNull(row, "answer")
  }
}

/**
 * The newest jobs of a kind. Written as a range with its order, which PostgreSQL finds in the index of the owner's jobs
 * alone: to take the order from the index of all jobs is to read all that others have sent since.
 */
const ofKind = (kind: Content["kind"]): string => `kind BETWEEN '${kind}' AND '${kind}'`
const newestFirst = "ORDER BY kind DESC, seq DESC"

/** How many jobs are looked through for the last of a day, where clocks differed at midnight. */
const dayLookedAt = 100

/** Selects the day's units, which its last job of the kind carries; its parameters are {@link ofDay}. */
const totalOf = (kind: Content["kind"]): string => `SELECT day_total FROM (
      SELECT seq, created_at, day_total FROM sendwright_job
      WHERE account = ? AND ${ofKind(kind)} AND created_at < ? ${newestFirst} LIMIT ${dayLookedAt}
    ) AS job WHERE created_at >= ? ORDER BY seq DESC LIMIT 1`

const totals = `SELECT (${totalOf("template")}) AS template, (${totalOf("direct")}) AS direct`

const ofDay = (accountId: string, now: Instant): readonly [string, Instant, Instant] => [
  accountId,
  Time.endOfUtcDay(now),
  Time.startOfUtcDay(now)
]

/** The units that the account sent on the UTC day of `now`, by kind. */
export function* usage(
  accountId: string,
  now: Instant
): Program<{ readonly template: number; readonly direct: number }> {
  const of = ofDay(accountId, now)
  const row = (yield* get(totals, ...of, ...of)) ?? {}
  return { template: integerOrNull(row, "template") ?? 0, direct: integerOrNull(row, "direct") ?? 0 }
}

/** Selects of the newest job of a kind what is its owner's last. */
const newest = (owner: "account" | "public_key", kind: Content["kind"], columns: string): string =>
  `SELECT ${columns} FROM sendwright_job WHERE ${owner} = ? AND ${ofKind(kind)} ${newestFirst} LIMIT 1`

const readFacts = ({ jsonArray }: Dialect, kind: Content["kind"]): string => `SELECT
    (SELECT id ${withKey}) AS earlier,
    (${Jobs.findSnapshot}) AS snapshot,
    (${newest("account", kind, jsonArray("created_at, day_total"))}) AS used,
    (${newest("public_key", "template", jsonArray("seq, created_at"))}) AS template,
    (${newest("public_key", "direct", jsonArray("seq, created_at"))}) AS direct,
    (${Backlog.lastDue}) AS due_at,
    (${Backlog.isBusy}) AS busy`

type Pair = readonly [first: number, second: number]

const pairOrNull = (row: Row, name: string): Pair | null =>
  textOrNull(row, name) === null ? null : json<Pair>(row, name)

const laterOf = (a: Pair | null, b: Pair | null): Pair | null =>
  a === null || (b !== null && b[0] > a[0]) ? b : a

export const facts = (dialect: Dialect) => {
  const statements = { template: readFacts(dialect, "template"), direct: readFacts(dialect, "direct") }

  function* usedToday(
    newest: Pair | null,
    accountId: string,
    kind: Content["kind"],
    now: Instant
  ): Program<number> {
    if (newest === null) return 0
    const [at, total] = newest
    // A new day begins, or clocks differ at its begin.
    return Time.utcDay(at) === Time.utcDay(now) ? total : (yield* usage(accountId, now))[kind]
  }

  return function* (query: AcceptanceQuery): Program<Sql["facts"]> {
    const { accountId, content, key, now, publicKey, sessionId } = query
    const of = [publicKey, key, Jobs.digestOf(content), accountId, publicKey, publicKey, sessionId, sessionId]
    const row = (yield* get(statements[content.kind], ...of)) ?? {}
    const repeats = key !== null && textOrNull(row, "earlier") !== null
    const last = laterOf(pairOrNull(row, "template"), pairOrNull(row, "direct"))
    return {
      earlier: repeats ? yield* earlierTo(publicKey, key) : null,
      usedToday: yield* usedToday(pairOrNull(row, "used"), accountId, content.kind, now),
      lastAcceptedAt: last === null ? null : last[1],
      lastDueAt: integerOrNull(row, "due_at"),
      snapshot: integerOrNull(row, "snapshot"),
      isBusy: integerOrNull(row, "busy") !== null
    }
  }
}

const jobColumns = [
  "id",
  "account",
  "session",
  "public_key",
  "kind",
  "template",
  "snapshot",
  "reference",
  "currency",
  "estimated_cost",
  "idempotency_key",
  "fingerprint",
  "recipients",
  "created_at",
  "day_total",
  "backlog_at"
]

/** The columns that are the same for all recipients of most sends come first. */
const newRecipient: ReadonlyArray<Column> = [
  ["next_at", "bigint"],
  ["updated_at", "bigint"],
  ["market", "text"],
  ["price", "text"],
  ["external_id", "text"],
  ["variables", "text"],
  ["phone", "text"],
  ["seq", "bigint"]
]

/** As `Job.newRecipient` begins each. */
const newRecipients = { status: "'queued'", attempts: "0", sequence: "0" }

const fromNew = (
  job: number,
  recipient: AcceptSend["recipients"][number],
  index: number,
  now: Instant
): ReadonlyArray<SqlValue> => [
  now,
  now,
  recipient.market,
  recipient.price,
  recipient.externalId,
  JSON.stringify(recipient.values),
  recipient.phone,
  recipientKey(job, index)
]

/** Records a send. */
export const inserting = (rows: Jobs.JobRows) => {
  const insertJob = rows.dialect.insertJob(jobColumns, newRecipient, newRecipients)
  return function* (
    command: AcceptSend,
    job: Job,
    dueAt: Instant | null,
    { isBusy, snapshot, usedToday }: Sql["facts"]
  ): Program<void> {
    const { claim, content, demand, idempotency, now, recipients } = command
    if (recipients.length > lastPlace) throw new RangeError(`A job has ${lastPlace} recipients at most`)
    const frozen = snapshot ?? (yield* Jobs.freeze(content))
    yield* insertJob(
      [
        job.id,
        job.accountId,
        job.sessionId,
        job.publicKey,
        content.kind,
        content.kind === "template" ? content.templateId : null,
        frozen,
        job.reference,
        job.currency,
        job.estimatedCost,
        idempotency === null ? null : idempotency.key,
        idempotency === null ? null : idempotency.fingerprint,
        job.recipients,
        now,
        usedToday + demand.units,
        dueAt
      ],
      (seq) => recipients.map((each, index) => fromNew(seq, each, index, now))
    )
    if (dueAt !== null && !isBusy) yield* run(Backlog.noteBusy, job.sessionId)
    // It has no place in the backlog, so a row of its own says when it is due.
    if (dueAt === null && claim === null) yield* rows.save([unchanged(yield* insertedJob(job))], now)
  }
}

const unchanged = (held: StoredJob): Step<StoredJob> => ({ held, moves: [], drafts: [] })

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

/** The job that this commit has inserted. */
export function* insertedJob(job: Job): Program<StoredJob> {
  const row = yield* get(seqOfJob, job.id)
  return {
    seq: integer(row ?? {}, "seq"),
    job,
    inFlight: 0,
    worker: null,
    fence: 0,
    taken: null,
    hasRow: false,
    batch: null,
    behind: undefined,
    version: ""
  }
}
