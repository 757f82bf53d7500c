/**
 * Who gets what next: sessions in turn, each within its pace, a job's due recipients in windows. Costs what it
 * takes, however much waits.
 */
import * as Event from "../../domain/Event.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { RecipientResult } from "../../domain/Job.ts"
import * as Pacing from "../../domain/Pacing.ts"
import * as Progress from "../../domain/Progress.ts"
import * as JobSteps from "../JobSteps.ts"
import type { ClaimedJob } from "../JobStore.ts"
import type { JobRows } from "./Jobs.ts"
import * as Pace from "./Pace.ts"
import type { Program } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import type { StoredJob } from "./Rows.ts"
import {
  insertRows,
  integer,
  integerOrNull,
  json,
  keysOf,
  limited,
  realOrNull,
  text,
  textOrNull
} from "./Rows.ts"

export interface Claim {
  readonly worker: string
  readonly limit: number
}

export interface Claims {
  /** @param taken is told of each window, before the commit */
  readonly claim: (
    claim: Claim,
    now: Instant,
    taken: (step: JobSteps.Step<StoredJob>) => void
  ) => Program<ReadonlyArray<ClaimedJob>>
  /** A message that goes at once is counted, so that what waits keeps its distance. */
  readonly count: (sessionId: string, phone: string, now: Instant) => Program<void>
  readonly nextDue: (now: Instant) => Program<Instant | null>
}

// Jumps from session to session, so that a long backlog of one costs nothing.
const waiting = `WITH RECURSIVE waiting (session) AS (
    SELECT min(session) FROM sendwright_job WHERE next_at IS NOT NULL AND session > ?
    UNION ALL
    SELECT (SELECT min(session) FROM sendwright_job WHERE next_at IS NOT NULL AND session > waiting.session)
    FROM waiting WHERE session IS NOT NULL
  )`

const dueSessions = `${waiting}
  SELECT session.id, session.pacing
  FROM waiting CROSS JOIN sendwright_session AS session
  WHERE session.id = waiting.session AND session.state = 'connected' AND session.blocked_until IS NULL
    AND waiting.session <= ?
    AND EXISTS (SELECT 1 FROM sendwright_job WHERE session = waiting.session AND next_at IS NOT NULL AND next_at <= ?)
  ${limited}`

const earliestOfSessions = `${waiting}
  SELECT session.pacing, pace.arrival,
    (SELECT min(next_at) FROM sendwright_job WHERE session = waiting.session AND next_at IS NOT NULL) AS due
  FROM waiting CROSS JOIN sendwright_session AS session LEFT JOIN sendwright_pace AS pace ON pace.paced = session.id
  WHERE session.id = waiting.session AND session.state = 'connected' AND session.blocked_until IS NULL`

/** Above every session's id. */
const lastSession = "\u{10ffff}"

const findPairs = (place: string): string =>
  `SELECT phone, next_at FROM sendwright_pair WHERE session = ? AND next_at > ? AND phone IN (${place})`

const forgetPairs = "DELETE FROM sendwright_pair WHERE session = ? AND next_at <= ?"

const setPair = `INSERT INTO sendwright_pair (session, phone, next_at) VALUES (?, ?, ?)
  ON CONFLICT (session, phone) DO UPDATE SET next_at = excluded.next_at`

const insertPairs = insertRows("sendwright_pair", ["session", "phone", "next_at"])

const pacingOf = "SELECT pacing FROM sendwright_session WHERE id = ?"

const isSuspect = ({ recipients }: ClaimedJob): boolean => recipients.some(({ suspect }) => suspect)

interface Paced {
  readonly id: string
  readonly pacing: Pacing.Pacing
}

export const make = (rows: JobRows): Claims => {
  const { dialect } = rows
  const dueJob = `${rows.select(", template.status AS template")}
    LEFT JOIN sendwright_template AS template ON template.id = job.template
    WHERE job.snapshot = snapshot.seq AND job.session = ? AND job.next_at IS NOT NULL AND job.next_at <= ?
    ORDER BY job.next_at, job.seq LIMIT 1${dialect.skipLocked("job")}`
  const dueRecipients = rows.recipientsOf(`seq BETWEEN ? AND ? AND next_at <= ? ORDER BY seq ${limited}`)
  const pairsOf = findPairs(`SELECT ${dialect.elements.value} FROM ${dialect.elements.from}`)

  // Whose turn it was. A verb that is run again only moves it on, which no session suffers from.
  let lastServed = ""

  function* sessionsInTurn(most: number, now: Instant): Program<ReadonlyArray<Paced>> {
    const after = yield* all(dueSessions, lastServed, lastSession, now, most)
    const before =
      after.length < most && lastServed !== ""
        ? yield* all(dueSessions, "", lastServed, now, most - after.length)
        : []
    return [...after, ...before].map((row) => ({ id: text(row, "id"), pacing: json(row, "pacing") }))
  }

  /** Those whose phone had no message lately; the others are put off. */
  function* paired(
    { id, pacing }: Paced,
    job: StoredJob,
    recipients: ReadonlyArray<RecipientResult>,
    now: Instant
  ): Program<ReadonlyArray<RecipientResult>> {
    const interval = pacing.pair_interval_ms
    if (interval === null) return recipients
    yield* dialect.serialize(`pairs ${id}`)
    yield* run(forgetPairs, id, now)
    const found = yield* all(pairsOf, id, now, JSON.stringify(recipients.map(({ phone }) => phone)))
    const times = new Map(found.map((row) => [text(row, "phone"), integer(row, "next_at")]))
    const known = new Set(times.keys())
    const ready: Array<RecipientResult> = []
    const early: Array<JobSteps.Move> = []
    for (const recipient of recipients) {
      const at = times.get(recipient.phone)
      if (at === undefined) {
        ready.push(recipient)
        times.set(recipient.phone, now + interval)
      } else {
        early.push({ before: recipient, after: Progress.defer(recipient, at), fence: null })
      }
    }
    const fresh = ready.filter(({ phone }) => !known.has(phone))
    yield* insertPairs(fresh.map(({ phone }) => [id, phone, now + interval]))
    if (early.length > 0) yield* rows.save({ held: job, moves: early, drafts: [] }, now)
    return ready
  }

  /** At most `limit` due recipients of one session; a suspect alone, and only when nothing else was taken. */
  function* claimOf(
    session: Paced,
    limit: number,
    worker: string,
    first: boolean,
    now: Instant,
    taken: (step: JobSteps.Step<StoredJob>) => void
  ): Program<ReadonlyArray<ClaimedJob>> {
    const claimed: Array<ClaimedJob> = []
    let left = limit
    while (left > 0) {
      const row = yield* get(dueJob, session.id, now)
      if (row === undefined) break
      const job = yield* rows.toJob(row)
      const status = textOrNull(row, "template")
      if (status !== null && status !== "approved") {
        const paused = Progress.pauseForTemplate(job.job, now)
        const draft = Event.jobChanged(paused, job.job.status)
        const drafts = draft === undefined ? [] : [draft]
        yield* rows.save({ held: { ...job, job: paused }, moves: [], drafts }, now)
        continue
      }
      const found = yield* rows.recipients(dueRecipients, ...keysOf(job.seq), now, left)
      const due = found.map(({ recipient }) => recipient)
      if (due.length === 0) throw new Error(`Job ${job.job.id} is due and its recipients are not`)
      const together = due.slice(0, Progress.together(due))
      const suspect = together.some(Progress.isSuspect)
      if (suspect && !(first && claimed.length === 0)) break
      const ready = yield* paired(session, job, together, now)
      if (ready.length === 0) continue
      const step = JobSteps.claim(job, ready, worker, now)
      yield* rows.save(step, now)
      taken(step)
      claimed.push(step.claimed)
      left -= ready.length
      if (suspect) break
    }
    return claimed
  }

  return {
    claim: function* ({ limit, worker }, now, told) {
      const sessions = yield* sessionsInTurn(limit, now)
      const claimed: Array<ClaimedJob> = []
      let left = limit
      for (const session of sessions) {
        if (left <= 0 || claimed.some(isSuspect)) break
        const pace = session.pacing.messages_per_second
        const arrival = pace === null ? null : yield* Pace.arrivalOf(dialect, session.id)
        const most = pace === null ? left : Pacing.grant(arrival, pace, left, now).granted
        const jobs = yield* claimOf(session, most, worker, claimed.length === 0, now, told)
        const taken = jobs.reduce((sum, { recipients }) => sum + recipients.length, 0)
        if (taken === 0) continue
        if (pace !== null) {
          yield* Pace.save(session.id, Pacing.grant(arrival, pace, taken, now).arrival)
        }
        left -= taken
        lastServed = session.id
        claimed.push(...jobs)
      }
      return claimed
    },

    count: function* (sessionId, phone, now) {
      const row = yield* get(pacingOf, sessionId)
      const pacing: Pacing.Pacing = row === undefined ? Pacing.unpaced : json(row, "pacing")
      const { messages_per_second: pace, pair_interval_ms: interval } = pacing
      if (pace !== null) {
        const arrival = Pacing.count(yield* Pace.arrivalOf(dialect, sessionId), pace, now)
        yield* Pace.save(sessionId, arrival)
      }
      if (interval !== null) {
        yield* dialect.serialize(`pairs ${sessionId}`)
        yield* run(setPair, sessionId, phone, now + interval)
      }
    },

    nextDue: function* (now) {
      let next: Instant | null = null
      for (const row of yield* all(earliestOfSessions, "")) {
        const due = integerOrNull(row, "due")
        if (due === null) continue
        const pace = json<Pacing.Pacing>(row, "pacing").messages_per_second
        const arrival = realOrNull(row, "arrival")
        const at = pace === null ? due : Math.max(due, Pacing.nextAt(arrival, pace, now))
        if (next === null || at < next) next = at
      }
      return next
    }
  }
}
