/** The jobs' operations as statements. Each costs what it answers or writes, however much waits behind it. */

import { groupBy } from "../../../domain/GroupBy.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { WaitingSession } from "../../../domain/job/Claiming.ts"
import * as Claiming from "../../../domain/job/Claiming.ts"
import type { RecipientResult } from "../../../domain/job/Job.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import * as Priority from "../../../domain/job/Priority.ts"
import * as Recipient from "../../../domain/job/Recipient.ts"
import * as RetrySelection from "../../../domain/job/RetrySelection.ts"
import * as Pacing from "../../../domain/session/Pacing.ts"
import * as Sessions from "../../../domain/session/Session.ts"
import type { Inbound } from "../../InboundStore.ts"
import type * as JobSteps from "../../JobSteps.ts"
import type { FencedRecipient } from "../../JobSteps.ts"
import type { Program } from "../../Program.ts"
import { all, changes, get, run } from "../../Program.ts"
import type { JobRows, RecipientPlace, StoredJob } from "../../policy/JobRows.ts"
import { listed } from "../Columns.ts"
import { block, failing, identity, outages, readOutages, writeOutages } from "../codec/Session.ts"
import { statusNow } from "../codec/Template.ts"
import type { Dialect } from "../Database.ts"
import * as Happenings from "../Happenings.ts"
import { insertRows } from "../Insert.ts"
import * as PaceRows from "../PaceRows.ts"
import * as People from "../People.ts"
import * as QuarantineRows from "../QuarantineRows.ts"
import { inRanges, rangesOf } from "../Ranges.ts"
import { inSql, jobOf, keysOf, lastPlace, recipientKey } from "../RecipientKeys.ts"
import { instant, instantOrNull, integer, json, limited, oneOf, realOrNull, seq, text } from "../RowReader.ts"
import * as WindowRows from "../WindowRows.ts"
import * as WorkerRows from "../WorkerRows.ts"
import * as Acceptance from "./Acceptance.ts"
import * as Claims from "./Claims.ts"
import * as Due from "./Due.ts"
import { placeOf, type StoredJobs } from "./Jobs.ts"
import * as Order from "./Order.ts"
import type { StoredRecipient } from "./RecipientColumns.ts"
import { readRecipients, recipientColumns, untouched } from "./RecipientColumns.ts"
import * as Timeline from "./Timeline.ts"
import * as Together from "./Together.ts"

const stateOf = oneOf(Sessions.states)

/** Selects the first session with a job that waits, due or not, between two ids, each as SQL. */
const firstIn = (after: string, last: string): string => `SELECT min(session) FROM (
      SELECT min(session) AS session FROM sendwright_progress
      WHERE next_at IS NOT NULL AND session > ${after} AND session <= ${last}
      UNION ALL
      SELECT (
        SELECT busy.session FROM sendwright_busy AS busy
        WHERE busy.session > ${after} AND busy.session <= ${last} AND (${Order.dueOf(Order.queueOf("busy"))}) IS NOT NULL
        ORDER BY busy.session LIMIT 1
      )
    ) AS next`

/** When the first job of a waiting session and a priority is due, of those with a row and of its order: two columns. */
const dueIn = (priority: Priority.Priority): string => `(
        SELECT min(next_at) FROM sendwright_progress
        WHERE session = waiting.session AND priority = '${priority}' AND next_at IS NOT NULL
      ) AS row_${priority}, (
        ${Order.dueOf({ session: "waiting.session", priority: `'${priority}'` })}
      ) AS order_${priority}`

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
    SELECT ${identity.of("session")}, session.pacing, session.state, ${block.of("session")},
      ${outages.of("session")}, ${failing.of("session")}, pace.arrival,
      ${Priority.all.map(dueIn).join(", ")}
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
const saveFailing = `UPDATE sendwright_session SET ${failing.assignments} WHERE id = ?`

const pacingOf = "SELECT pacing FROM sendwright_session WHERE id = ?"

const insertReports = insertRows("sendwright_parked", ["session", "provider_id", "report", "at"])

/** The most reports that one commit takes up. */
const reportsAtOnce = 500

// Only those whose message is known by now.
const knownReports = `SELECT parked.seq, parked.session, parked.report FROM sendwright_parked AS parked
  WHERE EXISTS (
    SELECT 1 FROM sendwright_recipient AS recipient, sendwright_job AS job
    WHERE recipient.provider_id = parked.provider_id AND job.seq = ${inSql.jobOf("recipient.seq")} AND job.session = parked.session
  )
  ORDER BY parked.seq ${limited}`

const crowdedSessions =
  "SELECT session FROM sendwright_parked GROUP BY session HAVING count(*) > ? ORDER BY session"

const forgetOldest = `DELETE FROM sendwright_parked WHERE session = ?
  AND seq <= (SELECT seq FROM sendwright_parked WHERE session = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`

const expiringJobs = `SELECT job.id FROM sendwright_progress AS progress CROSS JOIN sendwright_job AS job
  WHERE progress.expires_at IS NOT NULL AND progress.expires_at <= ? AND job.seq = progress.seq
  ORDER BY progress.expires_at ${limited}`

const repriceRecipient = "UPDATE sendwright_recipient SET market = ?, price = ? WHERE seq = ?"
const repriceJob = "UPDATE sendwright_job SET estimated_cost = ? WHERE seq = ?"

/**
 * Gives a direct message the price of the template that goes in its place, and a send that went later the price as it is then. The
 * estimate of a send stays.
 */
function* reprice(steps: ReadonlyArray<JobSteps.JobChange<StoredJob>>): Program<void> {
  for (const { changes, state } of steps) {
    const { job, seq } = state
    for (const { after, before } of changes) {
      if (after.market === before.market && after.price === before.price) continue
      yield* run(repriceRecipient, after.market, after.price, recipientKey(seq, after.index))
      if (job.content.kind === "direct") yield* run(repriceJob, job.estimatedCost, seq)
    }
  }
}

const providerOf = "SELECT provider FROM sendwright_session WHERE id = ?"

/** Sorts behind every time: nothing waits. */
const never = Time.at(Number.POSITIVE_INFINITY)

/** The recipients of platform's ids, and their jobs; its parameter is the ids. */
export const byProviderIds = ({ elements, lookUp }: Pick<Dialect, "elements" | "lookUp">): string => {
  const recipient = lookUp(
    "sendwright_recipient",
    "recipient",
    `recipient.provider_id = ${elements.value} AND recipient.provider_id IS NOT NULL`
  )
  const job = lookUp("sendwright_job", "job", `job.seq = ${inSql.jobOf("recipient.seq")}`)
  return `FROM ${elements.from} ${recipient} ${job}`
}

/** @param applyInbound applies inbound items, as `InboundStore.receive` does */
export const make = (
  rows: StoredJobs,
  applyInbound: (inbound: Inbound, now: Instant) => Program<unknown>
): JobRows => {
  const { dialect } = rows
  const { elements, entries } = dialect
  const lockDue = Due.locking(rows)
  // By `Transitions.isDue`.
  const isDue = "(recipient.next_at <= ? OR recipient.next_at IS NOT NULL AND recipient.updated_at > ?)"
  const recipients = recipientColumns(dialect)
  const everyDueIn = inRanges(
    "recipient.seq",
    (condition) =>
      `SELECT ${recipients} AS recipients FROM sendwright_recipient AS recipient WHERE ${isDue} AND ${condition}`
  )
  // A subquery for each job, which the primary key answers. Of a join over a range PostgreSQL expects a part of the whole
  // table, so it reads all recipients that there are. Of those that nobody touched claims may have the first.
  const dueOfEach = `SELECT (
      SELECT ${recipients} FROM (
        SELECT * FROM sendwright_recipient AS recipient
        WHERE ${isDue} AND recipient.seq BETWEEN ${inSql.first(entries.key)} AND ${inSql.last(entries.key)}
          AND (recipient.seq > CAST(${entries.value} AS bigint) OR NOT (${untouched}))
        ORDER BY recipient.seq ${limited}
      ) AS recipient
    ) AS recipients FROM ${entries.from}`
  const pairsOf = `SELECT phone, next_at FROM sendwright_pair
    WHERE session = ? AND next_at > ? AND phone IN (SELECT ${elements.value} FROM ${elements.from})`

  const keyedRecipients = rows.recipientsOf(
    `seq IN (SELECT ${elements.integer} FROM ${elements.from}) ORDER BY seq`
  )
  const rangedRecipients = inRanges("seq", rows.recipientsOf)
  const recipientsOf = {
    open: rows.recipientsOf(`seq BETWEEN ? AND ? AND status IN ${listed(Recipient.open)} ORDER BY seq`),
    lost: rows.recipientsOf(
      `seq BETWEEN ? AND ? AND status IN ${listed(RetrySelection.statuses)} ORDER BY seq`
    ),
    again: rows.recipientsOf(
      `seq BETWEEN ? AND ? AND requeued_at IS NOT NULL AND NOT status IN ${listed(RetrySelection.statuses)} ORDER BY seq`
    ),
    perhapsAwaited: rows.recipientsOf(
      `seq BETWEEN ? AND ? AND (fence IS NOT NULL OR ${untouched}) ORDER BY seq`
    )
  }
  const claimsOfWorkers = `SELECT claim.fence, claim.session, claim.jobs FROM sendwright_claim AS claim
    WHERE claim.worker IS NOT NULL AND claim.worker IN (SELECT ${elements.value} FROM ${elements.from})`
  const jobsInRanges = `SELECT job.id FROM sendwright_claim AS claim CROSS JOIN sendwright_job AS job
    WHERE claim.fence IN (SELECT ${elements.integer} FROM ${elements.from}) AND ${Order.isInRange}`
  const jobsBySeq = `SELECT id FROM sendwright_job WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const byProviderId = (condition: string): string =>
    `SELECT recipient.provider_id, job.session, job.id, ${inSql.placeOf("recipient.seq")} AS place
    ${byProviderIds(dialect)}${condition} ORDER BY recipient.seq`
  const ofAnySession = byProviderId("")
  const ofSession = byProviderId(" WHERE job.session = ?")
  const lockStanding = `SELECT state, ${block.list}, ${outages.list}, ${failing.list} FROM sendwright_session WHERE id = ?${dialect.skipLocked("sendwright_session")}`
  const lockTemplate = `SELECT ${statusNow} AS status FROM sendwright_template AS template WHERE id = ?${dialect.skipLocked("template")}`
  const putOffJobs = `UPDATE sendwright_progress SET next_at = ? WHERE seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const people = People.make(dialect)

  /** The first `limit` that are due, of all in the order of the jobs; no order is certain where there are fewer. */
  function* dueOf(
    jobs: ReadonlyArray<StoredJob>,
    limit: number,
    now: Instant
  ): Program<ReadonlyArray<StoredRecipient>> {
    const open = jobs.reduce((sum, { job: { counts } }) => sum + counts.queued + counts.sending, 0)
    const latest = Time.latestWritten(now)
    // Recipients of jobs that nobody touched lie side by side, so they are found together.
    const ranges =
      open > limit || jobs.some(({ hasRow }) => hasRow)
        ? undefined
        : rangesOf(jobs.map(({ seq }) => ({ key: recipientKey(seq, 0), next: recipientKey(seq + 1, 0) })))
    if (ranges !== undefined) {
      const ends = ranges.map((key, at) => (at % 2 === 0 ? key : key + lastPlace))
      const row = yield* get(everyDueIn(ranges), now, latest, ...ends)
      return readRecipients(text(row ?? {}, "recipients"))
    }
    const byJob = new Map<number, ReadonlyArray<StoredRecipient>>()
    const behind = jobs.map(({ claimedTo, seq }) => [seq, String(claimedTo ?? recipientKey(seq, 0) - 1)])
    for (const row of yield* all(dueOfEach, now, latest, limit, JSON.stringify(Object.fromEntries(behind)))) {
      const some = readRecipients(text(row, "recipients"))
      const [first] = some
      if (first !== undefined) byJob.set(jobOf(first.key), some)
    }
    return jobs.flatMap(({ seq }) => byJob.get(seq) ?? []).slice(0, limit)
  }

  /** The recipients of whom the workers' claims of these sessions await outcomes, by job. The sessions are locked. */
  function* awaitedBy(workers: ReadonlyArray<string>, locked: ReadonlySet<string>) {
    const claims = (yield* all(claimsOfWorkers, JSON.stringify(workers))).filter((row) =>
      locked.has(text(row, "session"))
    )
    const fences = new Set(claims.map((row) => integer(row, "fence")))
    const ids = new Set<string>()
    const listed = claims.flatMap((row) => Claims.claims.columns.jobs.read(row) ?? [])
    for (const row of yield* all(jobsBySeq, JSON.stringify(listed))) ids.add(text(row, "id"))
    for (const row of yield* all(jobsInRanges, JSON.stringify([...fences]))) ids.add(text(row, "id"))
    const found: Array<{ readonly job: StoredJob; readonly awaited: ReadonlyArray<StoredRecipient> }> = []
    for (const job of yield* rows.read([...ids])) {
      const some = yield* rows.recipients(recipientsOf.perhapsAwaited, job.job.sessionId, ...keysOf(job.seq))
      const awaited = some.filter(({ fence }) => fence !== null && fences.has(fence))
      if (awaited.length > 0) found.push({ job, awaited })
    }
    return found
  }

  return {
    waitingSessions: function* ({ after, limit, until }) {
      const found: Array<WaitingSession> = []
      for (const part of partsOf(after, until)) {
        if (found.length >= limit) break
        for (const row of yield* all(waitingSessions, ...part, limit - found.length)) {
          const dueAt = (priority: Priority.Priority): Instant =>
            Time.min(
              instantOrNull(row, `row_${priority}`) ?? never,
              instantOrNull(row, `order_${priority}`) ?? never
            )
          found.push({
            pacing: json<Pacing.Pacing>(row, "pacing"),
            state: stateOf(row, "state"),
            dueAt: { high: dueAt("high"), normal: dueAt("normal"), low: dueAt("low") },
            arrival: realOrNull(row, "arrival"),
            ...identity.read(row),
            ...block.read(row),
            ...failing.read(row),
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

    tryLockStanding: function* (sessionId) {
      const row = yield* get(lockStanding, sessionId)
      return row === undefined
        ? null
        : {
            state: stateOf(row, "state"),
            ...block.read(row),
            ...failing.read(row),
            outage: readOutages(row).outage
          }
    },

    saveOutage: (sessionId, outage) =>
      run(saveOutage, ...writeOutages({ outage, lastOutage: null }), sessionId),

    saveFailing: (sessionId, some) => run(saveFailing, ...failing.write({ failing: some }), sessionId),

    arrival: PaceRows.arrivalOf,

    saveArrival: PaceRows.save,

    othersOf: people.othersOf,

    phoneTimes: function* ({ latest, now, phones, sessionId }) {
      yield* run(forgetPairs, sessionId, now, latest)
      const found = yield* all(pairsOf, sessionId, now, JSON.stringify(phones))
      return new Map(found.map((row) => [text(row, "phone"), instant(row, "next_at")]))
    },

    savePhones: function* (sessionId, phones, nextAt) {
      yield* savePairs(phones.map((phone) => [sessionId, phone, nextAt]))
    },

    lockDueJobs: lockDue,

    tryLockTemplate: function* ({ job }) {
      const content = Jobs.isReadable(job.content) ? Jobs.outgoing(job, job.content).content : job.content
      const row = content.kind === "template" ? yield* get(lockTemplate, content.templateId) : undefined
      return row === undefined ? null : text(row, "status")
    },

    dueRecipients: function* ({ jobs, limit, now }) {
      const found = yield* dueOf(jobs, limit, now)
      const byJob = groupBy(found, ({ key }) => jobOf(key))
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

    saveClaims: function* (worker, steps, others, now) {
      const [first] = [...steps.map(({ step }) => step.state), ...others.map(({ state }) => state)]
      if (first === undefined) return []
      const planned = Claims.plan(steps, others, yield* Claims.between(steps), rows.drawFence(now))
      const { place } = planned
      if (planned.rows.length > 0)
        yield* Claims.insert(
          { session: first.job.sessionId, priority: first.job.priority },
          worker,
          planned.rows,
          place ?? 0,
          now
        )
      yield* rows.save(planned.written, now, { asks: true, unwritten: planned.whole })
      for (const [at, { step }] of steps.entries()) {
        const fence = planned.fences[at] ?? 0
        rows.held.put(
          fence,
          step.changes.map(({ after }) => [
            recipientKey(step.state.seq, after.index),
            { recipient: after, fence }
          ])
        )
      }
      return planned.fences
    },

    putOff: function* (jobs, until) {
      yield* run(putOffJobs, until, JSON.stringify(jobs.map(({ seq }) => seq)))
    },

    acceptanceFacts: Acceptance.facts(dialect),

    insertJob: Acceptance.inserting(rows),

    inserted: Acceptance.insertedJob,

    lockJobs: rows.lock,

    lockJobsInTime: rows.lockInTime,

    withBeside: function* (job) {
      return (yield* Together.withBeside([job]))[0] ?? job
    },

    lockTogether: function* (job) {
      return (yield* rows.lockInTime(yield* Together.openWith(job), false)).jobs
    },

    expiringJobs: function* (now, limit) {
      return (yield* all(expiringJobs, now, limit)).map((row) => text(row, "id"))
    },

    recipientsAt: function* (wanted) {
      const read = new Map<number, FencedRecipient>()
      for (const [sessionId, ofSession] of groupBy(wanted, ({ job }) => job.job.sessionId)) {
        const keys = ofSession.flatMap(({ job, places }) =>
          places
            .filter((place) => place >= 0 && place < job.job.recipients)
            .map((place) => placeOf(job, place))
            .filter(({ key }) => {
              const known = rows.held.find(key, job.claims)
              if (known !== undefined) read.set(key, known)
              return known === undefined
            })
        )
        const ranges = rangesOf(keys)
        const found =
          ranges === undefined
            ? yield* rows.recipients(keyedRecipients, sessionId, JSON.stringify(keys.map(({ key }) => key)))
            : ranges.length === 0
              ? []
              : yield* rows.recipients(rangedRecipients(ranges), sessionId, ...ranges)
        for (const each of found) read.set(each.key, each)
      }
      return (job, place) => read.get(recipientKey(job.seq, place))
    },

    recipientsOf: (job, which) => rows.recipients(recipientsOf[which], job.job.sessionId, ...keysOf(job.seq)),

    saveJobs: function* (steps, now) {
      yield* WindowRows.close(steps)
      yield* reprice(steps)
      yield* rows.save(steps, now)
    },

    saveAnswer: (job, answer) => run("UPDATE sendwright_job SET answer = ? WHERE seq = ?", answer, job.seq),

    lockJobsOf: function* (workers) {
      const claimed = yield* all(claimsOfWorkers, JSON.stringify(workers))
      const sessions = [...new Set(claimed.map((row) => text(row, "session")))].sort()
      const locked = yield* rows.lockSessionsInTime(sessions)
      const providers = new Map<string, string>()
      for (const id of locked) {
        const session = yield* get(providerOf, id)
        if (session !== undefined) providers.set(id, text(session, "provider"))
      }
      // Others may have settled some while a lock was waited for.
      return (yield* awaitedBy(workers, locked)).map((each) => ({
        ...each,
        provider: providers.get(each.job.job.sessionId) ?? null
      }))
    },

    forgetWorker: WorkerRows.forget,

    saveWorker: WorkerRows.save,

    saidOf: WorkerRows.saidOf,

    actsOn: (jobId) => Timeline.actsOn(jobId, Timeline.most.acts),

    note: Happenings.note,

    findByProviderIds: function* (sessionId, providerIds) {
      const ids = JSON.stringify(providerIds)
      const found = yield* sessionId === null ? all(ofAnySession, ids) : all(ofSession, ids, sessionId)
      const places = new Map<string, RecipientPlace>()
      for (const [providerId, some] of groupBy(found, (row) => text(row, "provider_id"))) {
        const [first = {}, ...others] = some
        if (others.every((row) => text(row, "session") === text(first, "session")))
          places.set(providerId, { jobId: text(first, "id"), index: integer(first, "place") })
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

    lockPeopleInTime: (accountId) => dialect.serializeInTime(People.serialized(accountId), true),

    applyInbound: function* (inbound, now) {
      yield* applyInbound(inbound, now)
    }
  }
}
