/** The statements of an acceptance: one that reads all its facts, and those that record it. */

import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import * as ClientTexts from "../../../domain/job/ClientTexts.ts"
import type { Content, Job } from "../../../domain/job/Job.ts"
import type { AcceptSend, IdempotencyRecord } from "../../JobStore.ts"
import type { Program, Row } from "../../Program.ts"
import { get, run } from "../../Program.ts"
import type { AcceptanceFacts, AcceptanceQuery, StoredJob } from "../../policy/JobRows.ts"
import type { Dialect } from "../Database.ts"
import { insertInto, onKeyConflict } from "../Insert.ts"
import * as QuarantineRows from "../QuarantineRows.ts"
import { lastPlace, recipientKey } from "../RecipientKeys.ts"
import { instantOrNull, integer, integerOrNull, json, text, textOrNull } from "../RowReader.ts"
import * as Contents from "./Contents.ts"
import { apart, contentKindOf, embedded, jobs, newJob } from "./JobColumns.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Order from "./Order.ts"
import { accepted, begun, writeAccepted } from "./RecipientColumns.ts"

/** The name that serializes an account's accepts: the key, the day's usage and the last acceptance are its. */
export const serialized = (accountId: string): string => `accept ${accountId}`

const withKey = "FROM sendwright_job WHERE public_key = ? AND idempotency_key = ?"

const recordColumns = jobs.only("id", "kind", "recipients", "answer")

const selectRecord = `SELECT ${recordColumns.list}, fingerprint ${withKey}`

export function* findRecord(publicKey: string, key: string): Program<IdempotencyRecord | null> {
  const row = yield* get(selectRecord, publicKey, key)
  if (row === undefined) return null
  const { answer, id, kind, recipients } = recordColumns.read(row)
  return {
    // The row of an Idempotency-Key has one.
    fingerprint: text(row, "fingerprint"),
    jobId: id,
    kind: contentKindOf(kind),
    recipients,
    answer
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

/**
 * Selects the units that the account sent on a day inside embedders' transactions. They are summed, since such a job's number
 * is not in the order of commits, and a total that it carried would hide others; its parameters are {@link ofDay}.
 */
const embeddedUnits = `SELECT SUM(recipients) FROM sendwright_job
      WHERE account = ? AND kind = '${embedded}' AND created_at < ? AND created_at >= ?`

const totals = `SELECT (${totalOf("template")}) AS template, (${totalOf("direct")}) AS direct, (${embeddedUnits}) AS embedded`

const ofDay = (accountId: string, now: Instant): readonly [string, Instant, Instant] => [
  accountId,
  Time.endOfUtcDay(now),
  Time.startOfUtcDay(now)
]

interface Totals {
  /** The numbers that jobs carry for templates and direct messages. */
  readonly template: number
  readonly direct: number
  /** Template recipients that were sent inside embedders' transactions. */
  readonly embedded: number
}

function* totalsOf(accountId: string, now: Instant): Program<Totals> {
  const of = ofDay(accountId, now)
  const row = (yield* get(totals, ...of, ...of, ...of)) ?? {}
  const total = (name: keyof Totals): number => integerOrNull(row, name) ?? 0
  return { template: total("template"), direct: total("direct"), embedded: total("embedded") }
}

/** The units that the account sent on the UTC day of `now`, by kind. */
export function* usage(
  accountId: string,
  now: Instant
): Program<{ readonly template: number; readonly direct: number }> {
  const { direct, embedded, template } = yield* totalsOf(accountId, now)
  return { template: template + embedded, direct }
}

/** Selects of the newest job of a kind what is its owner's last. */
const newest = (owner: "account" | "public_key", kind: Content["kind"], columns: string): string =>
  `SELECT ${columns} FROM sendwright_job WHERE ${owner} = ? AND ${ofKind(kind)} ${newestFirst} LIMIT 1`

const readFacts = ({ jsonArray, tryKey }: Dialect, kind: Content["kind"], asksLast: boolean): string => {
  const last = (of: Content["kind"]): string =>
    `(${newest("public_key", of, jsonArray("seq, created_at"))}) AS ${of}`
  return `SELECT
    ${tryKey} AS free,
    (SELECT id ${withKey}) AS earlier,
    (${Contents.findSnapshot}) AS snapshot,
    (${newest("account", kind, jsonArray("created_at, day_total"))}) AS used,
    ${asksLast ? `${last("template")}, ${last("direct")},` : ""}
    (${Order.lastDue}) AS due_at,
    (${Order.isBusy}) AS busy,
    (${QuarantineRows.isQuarantined}) AS held${kind === "template" ? `, (${embeddedUnits}) AS embedded` : ""}`
}

type Pair = readonly [first: number, second: number]

const pairOrNull = (row: Row, name: string): Pair | null =>
  textOrNull(row, name) === null ? null : json<Pair>(row, name)

const laterOf = (a: Pair | null, b: Pair | null): Pair | null =>
  a === null || (b !== null && b[0] > a[0]) ? b : a

/** When an API key's last send was accepted, of either kind. Those inside an embedder's transaction start no minimum wait. */
const lastAcceptance = (row: Row): Instant | null => {
  const newest = laterOf(pairOrNull(row, "template"), pairOrNull(row, "direct"))
  return newest === null ? null : Time.at(newest[1])
}

/** @param isKeyAwaited true when whoever had the key in an open transaction was waited for */
export const facts = (dialect: Dialect, isKeyAwaited = false) => {
  const statements = (asksLast: boolean) => ({
    template: readFacts(dialect, "template", asksLast),
    direct: readFacts(dialect, "direct", asksLast)
  })
  const [asking, plain] = [statements(true), statements(false)]

  function* usedToday(
    newest: Pair | null,
    accountId: string,
    kind: Content["kind"],
    now: Instant
  ): Program<number> {
    if (newest === null) return 0
    const [at, total] = newest
    // A new day begins, or clocks differ at its begin.
    return Time.utcDay(Time.at(at)) === Time.utcDay(now) ? total : (yield* totalsOf(accountId, now))[kind]
  }

  return function* (query: AcceptanceQuery): Program<AcceptanceFacts> {
    const { accountId, asksLast, content, isEmbedded, key, now, priority, publicKey, sessionId } = query
    if (isEmbedded && key !== null) yield* dialect.noteKey(publicKey, key)
    const ofKey = [publicKey, key]
    // Many transactions may have keys that are locked together.
    const tried = [publicKey, isEmbedded ? null : key]
    const last = asksLast ? [publicKey, publicKey] : []
    const queue = [sessionId, priority]
    const of = [Contents.digestOf(content), accountId, ...last, ...queue, ...queue]
    const day = content.kind === "template" ? ofDay(accountId, now) : []
    const statement = (asksLast ? asking : plain)[content.kind]
    const row = (yield* get(statement, ...tried, ...ofKey, ...of, ...day)) ?? {}
    const repeats = key !== null && textOrNull(row, "earlier") !== null
    const total = yield* usedToday(pairOrNull(row, "used"), accountId, content.kind, now)
    return {
      record: repeats ? yield* findRecord(publicKey, key) : null,
      isKeyLocked: !isEmbedded && !isKeyAwaited && integerOrNull(row, "free") === 0,
      usedToday: content.kind === "template" ? total + (integerOrNull(row, "embedded") ?? 0) : total,
      lastAcceptedAt: asksLast ? lastAcceptance(row) : null,
      isQuarantined: integerOrNull(row, "held") !== null,
      lastDueAt: instantOrNull(row, "due_at"),
      dayTotal: total,
      snapshot: integerOrNull(row, "snapshot"),
      isBusy: integerOrNull(row, "busy") !== null
    }
  }
}

/** Records a send. */
export const inserting = (rows: StoredJobs) => {
  const insertJob = rows.dialect.insertJob(newJob.names, accepted, begun)
  const insertEmbedded = rows.dialect.insertJob(newJob.names, accepted, begun, true)
  return function* (
    command: AcceptSend,
    job: Job,
    dueAt: Instant | null,
    { dayTotal, isBusy, snapshot }: AcceptanceFacts
  ): Program<boolean> {
    const { claim, content, demand, idempotency, now, recipients } = command
    const isEmbedded = command.isEmbedded === true
    if (recipients.length > lastPlace) throw new RangeError(`A job has ${lastPlace} recipients at most`)
    const frozen = snapshot ?? (yield* Contents.freeze(content))
    const insert = isEmbedded ? insertEmbedded : insertJob
    yield* insert(
      newJob.write({
        id: job.id,
        accountId: job.accountId,
        sessionId: job.sessionId,
        publicKey: job.publicKey,
        kind: isEmbedded ? embedded : content.kind,
        template: (content.kind === "template" ? content : content.otherwise)?.templateId ?? null,
        snapshot: frozen,
        ...ClientTexts.job.of(job),
        currency: job.currency,
        estimatedCost: job.estimatedCost,
        requestId: job.requestId,
        traceparent: job.traceparent,
        idempotencyKey: job.idempotencyKey,
        fingerprint: idempotency === null ? null : idempotency.fingerprint,
        recipients: job.recipients,
        createdAt: now,
        dayTotal: isEmbedded ? null : dayTotal + demand.units,
        dueAt,
        priority: job.priority,
        perMinute: job.perMinute,
        stopWhen: job.stopWhen
      }),
      (seq) =>
        recipients.map((each, index) => writeAccepted(each, recipientKey(seq, index), dueAt === null, now))
    )
    if (dueAt !== null && !isBusy) yield* run(Order.noteBusy, job.sessionId, job.priority)
    // A scheduled job has no place in the order, so a row of its own says when it is due.
    if (dueAt === null && claim === null) {
      const inserted = yield* findInserted(job)
      if (inserted === undefined) return false
      yield* rows.setDue([inserted], job.timing?.startsAt ?? now)
    }
    return true
  }
}

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

function* findInserted(job: Job): Program<StoredJob | undefined> {
  const row = yield* get(seqOfJob, job.id)
  return row === undefined ? undefined : apart(integer(row, "seq"), job)
}

/** The job that this commit has inserted. */
export function* insertedJob(job: Job): Program<StoredJob> {
  const inserted = yield* findInserted(job)
  if (inserted === undefined) throw new Error(`Job ${job.id} is not there`)
  return inserted
}

const keyOwnerColumns = jobs.only(
  "id",
  "accountId",
  "sessionId",
  "publicKey",
  "kind",
  "snapshot",
  "currency",
  "idempotencyKey",
  "recipients",
  "createdAt",
  "priority"
)
const lockKey = `${insertInto("sendwright_job", keyOwnerColumns.names)} ${onKeyConflict}`
const removeJob = "DELETE FROM sendwright_job WHERE id = ?"

/**
 * Waits until no open transaction of an embedder has the command's Idempotency-Key. Only an insertion waits for another's,
 * so one is made and taken back; outside the account's lock, which nobody else waits for meanwhile.
 */
export function* awaitKey(command: AcceptSend): Program<void> {
  const { accountId, currency, idempotency, jobId, now, priority, publicKey, sessionId } = command
  if (idempotency === null) return
  const row = keyOwnerColumns.write({
    id: jobId,
    accountId,
    sessionId,
    publicKey,
    kind: embedded,
    snapshot: 0,
    currency,
    idempotencyKey: idempotency.key,
    recipients: 0,
    createdAt: now,
    priority
  })
  yield* run(lockKey, ...row)
  yield* run(removeJob, jobId)
}

/** The name by which those wait together that repeat one send. */
export const repetitionsOf = ({ idempotency, publicKey }: AcceptSend): string =>
  `key ${publicKey} ${idempotency?.key ?? ""}`
