/** The jobs' operations as statements. Each costs what it answers or writes, however much waits behind it. */

import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { WaitingSession } from "../../domain/job/Claiming.ts"
import * as Claiming from "../../domain/job/Claiming.ts"
import type { RecipientResult } from "../../domain/job/Job.ts"
import * as Pacing from "../../domain/session/Pacing.ts"
import type { Outbound } from "../../domain/session/Session.ts"
import * as Sessions from "../../domain/session/Session.ts"
import type { Inbound } from "../InboundStore.ts"
import type { JobChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { AcceptanceFacts, Backend, DueJob, JobRows, RecipientPlace } from "../policy/JobRows.ts"
import * as AcceptanceRows from "./AcceptanceRows.ts"
import * as Backlog from "./Backlog.ts"
import * as BatchClaims from "./BatchClaims.ts"
import * as ClaimCache from "./ClaimCache.ts"
import type { StoredJob } from "./codec/Job.ts"
import { inBatch, rowColumns, selectWaiting } from "./codec/Job.ts"
import type { StoredRecipient } from "./codec/Recipient.ts"
import { readRecipients, recipientColumns } from "./codec/Recipient.ts"
import { identity, outages, outbound, readOutages, writeOutages } from "./codec/Session.ts"
import { statusNow, templateNow } from "./codec/Template.ts"
import { insertRows } from "./Insert.ts"
import type { StoredJobs } from "./JobTable.ts"
import * as PaceRows from "./PaceRows.ts"
import * as People from "./People.ts"
import type { Answer, Program, Row, Statement } from "./Program.ts"
import { all, changes, get, run } from "./Program.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import * as RangeClaim from "./RangeClaim.ts"
import { inRanges, rangesOf } from "./Ranges.ts"
import { jobOf, keysOf, lastPlace, recipientKey } from "./RecipientKeys.ts"
import { integer, integerOrNull, json, limited, oneOf, realOrNull, seq, text } from "./RowReader.ts"
import * as WorkerRows from "./WorkerRows.ts"

/** `Program<A>` is `Tx<A, Sql>`. */
export interface Sql extends Backend {
  readonly request: Statement
  readonly reply: Answer
  readonly job: StoredJob
  readonly facts: AcceptanceFacts & {
    /** The units of the day that the newest job carries, without those of embedded sends. */
    readonly dayTotal: number
    /** The number of the send's content; null when that is new. */
    readonly snapshot: number | null
    /** True when it is noted that the session has a backlog. */
    readonly isBusy: boolean
  }
  readonly session: WaitingSession & {
    /** When the first of its jobs with a row is due; null when none of them waits. */
    readonly rowDueAt: Instant | null
    /** When the first of its backlog is due; null when it has none. */
    readonly backlogDueAt: Instant | null
  }
}

const stateOf = oneOf(Sessions.states)

/** Selects the first session with a job that waits, due or not, between two ids, each as SQL. */
const firstIn = (after: string, last: string): string => `SELECT min(session) FROM (
      SELECT min(session) AS session FROM sendwright_progress
      WHERE next_at IS NOT NULL AND session > ${after} AND session <= ${last}
      UNION ALL
      SELECT (
        SELECT busy.session FROM sendwright_busy AS busy
        WHERE busy.session > ${after} AND busy.session <= ${last} AND (${Backlog.dueOf("busy.session")}) IS NOT NULL
        ORDER BY busy.session LIMIT 1
      )
    ) AS next`

/**
 * Selects waiting sessions from behind an id to another, by jumps from one to the next, so that a long backlog of one
 * costs nothing; none of a store that is held. Its parameters are both ids and the number of sessions. The first is of a session's column to PostgreSQL,
 * which asks for one collation.
 */
const waitingSessions = `WITH RECURSIVE waiting (session, last, place) AS (
      SELECT coalesce((SELECT session FROM sendwright_busy LIMIT 0), ?), ?, 0 WHERE NOT EXISTS (${QuarantineRows.isQuarantined})
      UNION ALL
      SELECT (${firstIn("waiting.session", "waiting.last")}), waiting.last, place + 1
      FROM waiting WHERE waiting.session IS NOT NULL AND place < ?
    )
    SELECT ${identity.of("session")}, session.pacing, session.state, session.blocked_until,
      ${outages.of("session")}, pace.arrival, (
        SELECT min(next_at) FROM sendwright_progress WHERE session = waiting.session AND next_at IS NOT NULL
      ) AS row_due, (${Backlog.dueOf("waiting.session")}) AS backlog_due
    FROM waiting CROSS JOIN sendwright_session AS session LEFT JOIN sendwright_pace AS pace ON pace.paced = session.id
    WHERE waiting.place > 0 AND session.id = waiting.session ORDER BY waiting.place`

/** Sorts behind every session's id. */
const lastSession = "\u{10ffff}"

/** The parts of the circle of ids, each from behind one to another. */
const partsOf = (after: string, until: string): ReadonlyArray<readonly [after: string, last: string]> => {
  if (after < until) return [[after, until]]
  const behind = [after, lastSession] as const
  return until === Claiming.noSession ? [behind] : [behind, [Claiming.noSession, until]]
}

// Deletes the times that hold nobody up, by `Pacing.pairedUntil`.
const forgetPairs = "DELETE FROM sendwright_pair WHERE session = ? AND (next_at <= ? OR next_at > ?)"

const savePairs = insertRows("sendwright_pair", ["session", "phone", "next_at"], {
  onConflict: "(session, phone) DO UPDATE SET next_at = excluded.next_at"
})

const saveOutage = `UPDATE sendwright_session SET ${outages.assignments} WHERE id = ?`

const outboundOf = `SELECT ${outbound.list} FROM sendwright_session WHERE id = ?`

const pacingOf = "SELECT pacing FROM sendwright_session WHERE id = ?"

const insertReports = insertRows("sendwright_parked", ["session", "provider_id", "report", "at"])

/** The most reports that one commit takes up. */
const reportsAtOnce = 500

// Only those whose message is known by now.
const knownReports = `SELECT parked.seq, parked.session, parked.report FROM sendwright_parked AS parked
  WHERE EXISTS (
    SELECT 1 FROM sendwright_recipient AS recipient, sendwright_job AS job
    WHERE recipient.provider_id = parked.provider_id AND job.seq = recipient.seq >> 12 AND job.session = parked.session
  )
  ORDER BY parked.seq ${limited}`

const crowdedSessions =
  "SELECT session FROM sendwright_parked GROUP BY session HAVING count(*) > ? ORDER BY session"

const forgetOldest = `DELETE FROM sendwright_parked WHERE session = ?
  AND seq <= (SELECT seq FROM sendwright_parked WHERE session = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`

const providerOf = "SELECT provider FROM sendwright_session WHERE id = ?"

/** Sorts behind every time. Of the two times of a session that waits, one is there. */
const never = Number.POSITIVE_INFINITY

const dueJob = (job: StoredJob, row: Row, dueAt: Instant, session: Outbound): DueJob<Sql> => ({
  job,
  content: job.job.content,
  template: templateNow(row),
  dueAt,
  session
})

/** @param applyInbound applies inbound items, as `InboundStore.receive` does */
export const make = (
  rows: StoredJobs,
  applyInbound: (inbound: Inbound, now: Instant) => Program<unknown>
): JobRows<Sql> => {
  const { dialect, ids } = rows
  const { elements } = dialect
  // Locks keys alone, in a short statement: PostgreSQL reads a row again that another claim locked meanwhile.
  const dueKeys = `SELECT seq, next_at FROM sendwright_progress WHERE session = ? AND next_at IS NOT NULL AND next_at <= ?
    ORDER BY next_at, seq ${limited}${dialect.skipLocked("sendwright_progress")}`
  const dueJobs = `SELECT ${dialect.jsonArray(rowColumns(dialect))} AS job, ${statusNow} AS template, template.category
    FROM ${elements.from} CROSS JOIN sendwright_progress AS progress CROSS JOIN sendwright_job AS job
      CROSS JOIN sendwright_snapshot AS snapshot LEFT JOIN sendwright_template AS template ON template.id = job.template
    WHERE progress.seq = ${elements.integer} AND job.seq = progress.seq AND snapshot.seq = job.snapshot`
  const waitingJobs = selectWaiting(
    dialect,
    `SELECT * FROM sendwright_job AS job
      WHERE ${dialect.isSerialized} AND ${Backlog.waitsOf("?")} ${Backlog.inOrder} ${limited}`
  )
  // By `Transitions.isDue`.
  const isDue = "(recipient.next_at <= ? OR recipient.next_at IS NOT NULL AND recipient.updated_at > ?)"
  const recipients = recipientColumns(dialect)
  const everyDueIn = inRanges(
    "recipient.seq",
    (condition) =>
      `SELECT ${recipients} AS recipients FROM sendwright_recipient AS recipient WHERE ${isDue} AND ${condition}`
  )
  // A subquery for each job, which the primary key answers. Of a join over a range PostgreSQL expects a part of the whole
  // table, so it reads all recipients that there are.
  const dueOfEach = `SELECT (
      SELECT ${recipients} FROM (
        SELECT * FROM sendwright_recipient AS recipient
        WHERE ${isDue} AND recipient.seq BETWEEN ${elements.integer} * 4096 AND ${elements.integer} * 4096 + ${lastPlace}
        ORDER BY recipient.seq ${limited}
      ) AS recipient
    ) AS recipients FROM ${elements.from} ORDER BY ${elements.place}`
  const pairsOf = `SELECT phone, next_at FROM sendwright_pair
    WHERE session = ? AND next_at > ? AND phone IN (SELECT ${elements.value} FROM ${elements.from})`

  const keyedRecipients = rows.recipientsOf(
    `seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY seq`
  )
  const recipientsOf = {
    open: rows.recipientsOf("seq BETWEEN ? AND ? AND status IN ('queued', 'sending') ORDER BY seq"),
    lost: rows.recipientsOf("seq BETWEEN ? AND ? AND status IN ('failed', 'unknown') ORDER BY seq"),
    awaited: rows.recipientsOf(
      `seq BETWEEN ? AND ? AND (fence IS NOT NULL OR ${RangeClaim.isInRange}) ORDER BY seq`
    )
  }
  const jobsOfWorkers = `SELECT job.id FROM sendwright_progress AS progress CROSS JOIN sendwright_job AS job
    WHERE progress.worker IS NOT NULL AND progress.worker IN (SELECT ${elements.value} FROM ${elements.from})
      AND job.seq = progress.seq
    UNION ALL
    SELECT job.id FROM sendwright_batch AS batch CROSS JOIN sendwright_job AS job
    WHERE batch.worker IS NOT NULL AND batch.worker IN (SELECT ${elements.value} FROM ${elements.from})
      AND ${Backlog.isInBatch}`
  const byProviderId = `SELECT recipient.provider_id, job.id, recipient.seq & 4095 AS place
    FROM ${elements.from} CROSS JOIN sendwright_recipient AS recipient CROSS JOIN sendwright_job AS job
    WHERE recipient.provider_id = ${elements.value} AND job.seq = recipient.seq >> 12 AND job.session = ?
    ORDER BY recipient.seq`
  const lockOutage = `SELECT ${outages.list} FROM sendwright_session WHERE id = ?${dialect.skipLocked("sendwright_session")}`
  const lockTemplate = `SELECT ${statusNow} AS status FROM sendwright_template AS template WHERE id = ?${dialect.skipLocked("template")}`
  const claimBatch = Backlog.claiming(dialect)
  const cache = ClaimCache.make()
  const putOffJobs = `UPDATE sendwright_progress SET next_at = ? WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const people = People.make(dialect)

  /** Locks and reads what waits untouched of a session; none of it when another commit keeps it locked. */
  function* lockWaiting(
    sessionId: string,
    limit: number,
    waits: boolean
  ): Program<ReadonlyArray<DueJob<Sql>>> {
    const name = Backlog.serialized(sessionId)
    const found = yield* dialect.readSerialized(name, waits, waitingJobs, sessionId, sessionId, limit)
    return yield* rows.waiting(found)
  }

  /** The first `limit` that are due, of all in the order of the jobs; no order is certain where there are fewer. */
  function* dueOf(
    jobs: ReadonlyArray<StoredJob>,
    limit: number,
    now: Instant
  ): Program<ReadonlyArray<StoredRecipient>> {
    const open = jobs.reduce((sum, { job: { counts } }) => sum + counts.queued + counts.sending, 0)
    const latest = Time.latestWritten(now)
    // Those of jobs that were accepted one behind the other lie side by side: they are found together.
    const ranges =
      open > limit
        ? undefined
        : rangesOf(jobs.map(({ seq }) => ({ key: recipientKey(seq, 0), next: recipientKey(seq + 1, 0) })))
    if (ranges !== undefined) {
      const ends = ranges.map((key, at) => (at % 2 === 0 ? key : key + lastPlace))
      return yield* rows.recipients(everyDueIn(ranges), now, latest, ...ends)
    }
    const keys = JSON.stringify(jobs.map(({ seq }) => seq))
    const found = yield* all(dueOfEach, now, latest, limit, keys)
    return found.flatMap((row) => readRecipients(text(row, "recipients"))).slice(0, limit)
  }

  return {
    waitingSessions: function* ({ after, limit, until }) {
      const found: Array<Sql["session"]> = []
      for (const part of partsOf(after, until)) {
        if (found.length >= limit) break
        for (const row of yield* all(waitingSessions, ...part, limit - found.length)) {
          const rowDueAt = integerOrNull(row, "row_due")
          const backlogDueAt = integerOrNull(row, "backlog_due")
          // Spreads last: V8 takes 15 µs for a literal that begins with one.
          found.push({
            pacing: json<Pacing.Pacing>(row, "pacing"),
            state: stateOf(row, "state"),
            blockedUntil: integerOrNull(row, "blocked_until"),
            dueAt: Math.min(rowDueAt ?? never, backlogDueAt ?? never),
            rowDueAt,
            backlogDueAt,
            arrival: realOrNull(row, "arrival"),
            ...identity.read(row),
            ...readOutages(row)
          })
        }
      }
      return found
    },

    isQuarantined: function* () {
      return (yield* get(QuarantineRows.isQuarantined)) !== undefined
    },

    pacing: function* (sessionId) {
      const row = yield* get(pacingOf, sessionId)
      return row === undefined ? Pacing.unpaced : json(row, "pacing")
    },

    lockPacing: (sessionId) => dialect.serialize(PaceRows.serialized(sessionId)),

    tryLockPacing: (sessionId) => dialect.trySerialize(PaceRows.serialized(sessionId)),

    tryLockOutage: function* (sessionId) {
      const row = yield* get(lockOutage, sessionId)
      return row === undefined ? null : readOutages(row).outage
    },

    saveOutage: (sessionId, outage) =>
      run(saveOutage, ...writeOutages({ outage, lastOutage: null }), sessionId),

    arrival: PaceRows.arrivalOf,

    saveArrival: PaceRows.save,

    numbersOf: people.numbersOf,

    phoneTimes: function* ({ latest, now, phones, sessionId }) {
      yield* run(forgetPairs, sessionId, now, latest)
      const found = yield* all(pairsOf, sessionId, now, JSON.stringify(phones))
      return new Map(found.map((row) => [text(row, "phone"), integer(row, "next_at")]))
    },

    savePhones: function* (sessionId, phones, nextAt) {
      yield* savePairs(phones.map((phone) => [sessionId, phone, nextAt]))
    },

    lockDueJobs: function* ({ changed, limit, now, session: { backlogDueAt, id, rowDueAt }, waits }) {
      const mayHave = (dueAt: Instant | null): boolean => changed || (dueAt ?? never) <= now
      const keys = mayHave(rowDueAt) ? yield* all(dueKeys, id, now, limit) : []
      const waiting = mayHave(backlogDueAt) ? yield* lockWaiting(id, limit, waits) : []
      const later = waiting.findIndex(({ dueAt }) => dueAt > now)
      // Jobs behind one that is not due are not due either.
      const due = later < 0 ? waiting : waiting.slice(0, later)
      if (keys.length === 0) return due
      const first = [
        ...keys.map((row) => ({ seq: seq(row), at: integer(row, "next_at"), waiting: undefined })),
        ...due.map((waiting) => ({ seq: waiting.job.seq, at: waiting.dueAt, waiting }))
      ]
        .sort((a, b) => a.at - b.at || a.seq - b.seq)
        .slice(0, limit)
      const times = new Map<number, Instant>()
      for (const { at, seq, waiting } of first) if (waiting === undefined) times.set(seq, at)
      const session = outbound.read((yield* get(outboundOf, id)) ?? {})
      const read = new Map<number, DueJob<Sql>>()
      for (const row of yield* all(dueJobs, JSON.stringify([...times.keys()]))) {
        const found = yield* rows.toJob(row)
        const { seq } = found
        read.set(seq, dueJob(found, row, times.get(seq) ?? now, session))
      }
      return first.map(({ seq, waiting }) => {
        const found = waiting ?? read.get(seq)
        if (found === undefined) throw new Error(`Job ${seq} is due and has no row`)
        return found
      })
    },

    tryLockTemplate: function* ({ job: { content } }) {
      const row = content.kind === "template" ? yield* get(lockTemplate, content.templateId) : undefined
      return row === undefined ? null : text(row, "status")
    },

    dueRecipients: function* ({ jobs, limit, now }) {
      const found = yield* dueOf(jobs, limit, now)
      const byJob = JobSteps.groupBy(found, ({ key }) => jobOf(key))
      const due = new Map<string, ReadonlyArray<RecipientResult>>()
      for (const { job, seq } of jobs) {
        const some = byJob.get(seq) ?? []
        due.set(
          job.id,
          some.map(({ recipient }) => recipient).sort((a, b) => a.index - b.index)
        )
      }
      return due
    },

    saveClaims: function* (claims, others, now) {
      const batch = BatchClaims.of(claims, others)
      const version = ids.uuid(now)
      const steps: Array<JobChange<StoredJob>> = [...others]
      const inBatchRows: Array<JobChange<StoredJob>> = []
      const inRows: Array<JobChange<StoredJob>> = []
      for (const { deferred, step: claim } of claims) {
        const { changes: recipientChanges, drafts, state } = claim
        if (batch?.jobs.has(state.seq) === true) {
          const { first, worker } = batch
          const claimed = inBatch(state.seq, state.job, { first, worker, at: now, version })
          inBatchRows.push({ state: claimed, changes: recipientChanges, drafts })
          continue
        }
        const { step, written } = RangeClaim.ofClaim(claim, now)
        inRows.push({ ...step, state: { ...step.state, hasRow: true } })
        steps.push(
          deferred.length === 0 ? written : { ...written, changes: [...deferred, ...written.changes] }
        )
      }
      for (const { state } of others) cache.remove(state.job.id)
      yield* rows.save(steps, now, inBatchRows)
      if (batch !== undefined) yield* claimBatch(batch, version, now)
      const [first] = inRows
      // One commit writes them all in one version, or the others are read again.
      if (first !== undefined) cache.put(inRows, yield* rows.versionOf(first.state))
      cache.put(inBatchRows, version)
    },

    putOff: function* (jobs, until) {
      for (const { job } of jobs) cache.remove(job.id)
      yield* run(putOffJobs, until, JSON.stringify(jobs.map(({ seq }) => seq)))
    },

    acceptanceFacts: AcceptanceRows.facts(dialect),

    insertJob: AcceptanceRows.inserting(rows),

    inserted: AcceptanceRows.insertedJob,

    lockJobs: function* (ids) {
      const known: Array<StoredJob> = []
      for (const id of ids) {
        const claimed = cache.jobOf(id)
        if (claimed !== undefined) known.push(claimed)
      }
      // By one statement, in one order: two would lock some of them out of it.
      return known.length === ids.length ? yield* rows.lockKnown(known) : yield* rows.lockAll(ids)
    },

    recipientsAt: function* (wanted) {
      const claimed = new Map<StoredJob, ClaimCache.Recipients>()
      const keys: Array<number> = []
      for (const { job, places } of wanted) {
        const recipients = cache.recipientsOf(job)
        if (recipients !== undefined) claimed.set(job, recipients)
        // A report may be of another recipient than those that were claimed.
        for (const place of places) {
          if (recipients?.(place) === undefined && place >= 0 && place < lastPlace)
            keys.push(recipientKey(job.seq, place))
        }
      }
      const read = new Map<number, StoredRecipient>()
      if (keys.length > 0) {
        for (const each of yield* rows.recipients(keyedRecipients, JSON.stringify(keys)))
          read.set(each.key, each)
      }
      return (job, place) => {
        const known = claimed.get(job)?.(place)
        if (known !== undefined) return known
        const found = read.get(recipientKey(job.seq, place))
        return found && RangeClaim.effectiveRecipient(job, found)
      }
    },

    recipientsOf: function* (job, which) {
      const of = which === "awaited" ? [...keysOf(job.seq), ...RangeClaim.ends(job)] : keysOf(job.seq)
      const found = yield* rows.recipients(recipientsOf[which], ...of)
      return found.map((each) => RangeClaim.effectiveRecipient(job, each))
    },

    saveJobs: function* (steps, now) {
      const locked = new Map<number, string>()
      for (const { state } of steps) {
        cache.remove(state.job.id)
        if (state.batch !== null) locked.set(state.batch, state.version)
      }
      const released = yield* rows.save(steps, now)
      for (const { first, version } of released) cache.renew(first, locked.get(first) ?? "", version)
    },

    saveAnswer: (job, answer) => run("UPDATE sendwright_job SET answer = ? WHERE seq = ?", answer, job.seq),

    lockJobsOf: function* (workers) {
      const providers = new Map<string, string | null>()
      const found: Array<{ readonly job: StoredJob; readonly provider: string | null }> = []
      const of = JSON.stringify(workers)
      const ofWorkers = yield* all(jobsOfWorkers, of, of)
      for (const job of yield* rows.lockAll(ofWorkers.map((row) => text(row, "id")))) {
        // Another may have settled it while its lock was waited for.
        if (job.worker === null || !workers.includes(job.worker)) continue
        const { sessionId } = job.job
        let provider = providers.get(sessionId)
        if (provider === undefined) {
          const session = yield* get(providerOf, sessionId)
          provider = session === undefined ? null : text(session, "provider")
          providers.set(sessionId, provider)
        }
        found.push({ job, provider })
      }
      return found
    },

    forgetWorker: WorkerRows.forget,

    findByProviderIds: function* (sessionId, providerIds) {
      const places = new Map<string, RecipientPlace>()
      for (const row of yield* all(byProviderId, JSON.stringify(providerIds), sessionId)) {
        const providerId = text(row, "provider_id")
        if (!places.has(providerId))
          places.set(providerId, { jobId: text(row, "id"), index: integer(row, "place") })
      }
      return places
    },

    saveEarlyReports: function* (sessionId, reports, now) {
      yield* insertReports(
        reports.map(({ providerId, report }) => [sessionId, providerId, JSON.stringify(report), now])
      )
    },

    removeMatchedReports: function* () {
      const found = yield* all(knownReports + dialect.forUpdate("parked"), reportsAtOnce)
      for (const row of found) yield* run("DELETE FROM sendwright_parked WHERE seq = ?", seq(row))
      return found.map((row) => ({ sessionId: text(row, "session"), report: json(row, "report") }))
    },

    forgetEarlyReports: function* (until, most) {
      yield* run("DELETE FROM sendwright_parked WHERE at <= ?", until)
      const forgotten = new Map<string, number>()
      for (const row of yield* all(crowdedSessions, most)) {
        const session = text(row, "session")
        forgotten.set(session, yield* changes(forgetOldest, session, session, most))
      }
      return forgotten
    },

    lockPeople: (accountId) => dialect.serialize(People.serialized(accountId)),

    applyInbound: function* (inbound, now) {
      yield* applyInbound(inbound, now)
    }
  }
}
