/**
 * Who gets what next: sessions in turn, each within its pace, a job's due recipients in windows. Costs what it
 * takes, however much waits.
 */
import * as Arrays from "effect/Array"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { RecipientResult } from "../../domain/Job.ts"
import * as Pacing from "../../domain/Pacing.ts"
import * as Progress from "../../domain/Progress.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Claim, ClaimedJob } from "../JobStore.ts"
import { isAtRisk } from "../JobStore.ts"
import { insertRows } from "./Insert.ts"
import type { JobRows } from "./Jobs.ts"
import * as Pace from "./Pace.ts"
import type { Program } from "./Program.ts"
import { all, get, run } from "./Program.ts"
import type { StoredJob } from "./Rows.ts"
import {
  integer,
  integerOrNull,
  jobOf,
  json,
  lastPlace,
  limited,
  realOrNull,
  recipientColumns,
  seq,
  text,
  textOrNull
} from "./Rows.ts"
import * as Taken from "./Taken.ts"

export interface Claims {
  /** @param keep is told of each window once it is written, before the commit, with the version of the job's row */
  readonly claim: (
    claim: Claim,
    now: Instant,
    keep: (step: JobSteps.Step<StoredJob>, version: string) => void
  ) => Program<ReadonlyArray<ClaimedJob>>
  /** A message that goes at once is counted, so that what waits keeps its distance. */
  readonly count: (sessionId: string, phone: string, now: Instant) => Program<void>
  readonly nextDue: (now: Instant, without?: ReadonlyArray<string>) => Program<Instant | null>
}

// Jumps from session to session, so that a long backlog of one costs nothing.
const waitingIn = (table: string): string => `WITH RECURSIVE waiting (session) AS (
    SELECT min(session) FROM ${table} WHERE next_at IS NOT NULL AND session > ?
    UNION ALL
    SELECT (SELECT min(session) FROM ${table} WHERE next_at IS NOT NULL AND session > waiting.session)
    FROM waiting WHERE session IS NOT NULL
  )`

const dueSessionsIn = (table: string): string => `SELECT * FROM (${waitingIn(table)}
  SELECT session.id, session.provider, session.pacing
  FROM waiting CROSS JOIN sendwright_session AS session
  WHERE session.id = waiting.session AND session.state = 'connected' AND session.blocked_until IS NULL
    AND waiting.session <= ?
    AND EXISTS (SELECT 1 FROM ${table} WHERE session = waiting.session AND next_at IS NOT NULL AND next_at <= ?)
  ${limited}) AS due`

const earliestOfSessionsIn = (table: string): string => `${waitingIn(table)}
  SELECT session.id, session.pacing, pace.arrival,
    (SELECT min(next_at) FROM ${table} WHERE session = waiting.session AND next_at IS NOT NULL) AS due
  FROM waiting CROSS JOIN sendwright_session AS session LEFT JOIN sendwright_pace AS pace ON pace.paced = session.id
  WHERE session.id = waiting.session AND session.state = 'connected' AND session.blocked_until IS NULL`

/** Above every session's id. */
const lastSession = "\u{10ffff}"

const findPairs = (place: string): string =>
  `SELECT phone, next_at FROM sendwright_pair WHERE session = ? AND next_at > ? AND phone IN (${place})`

// Those that hold nobody up, by `Pacing.pairedUntil`.
const forgetPairs = "DELETE FROM sendwright_pair WHERE session = ? AND (next_at <= ? OR next_at > ?)"

const setPair = `INSERT INTO sendwright_pair (session, phone, next_at) VALUES (?, ?, ?)
  ON CONFLICT (session, phone) DO UPDATE SET next_at = excluded.next_at`

const insertPairs = insertRows("sendwright_pair", ["session", "phone", "next_at"])

const pacingOf = "SELECT pacing FROM sendwright_session WHERE id = ?"

/**
 * When a window is full enough to end with a job. Where the next is taken whole it costs less than in parts; a small
 * window is filled, because its attempts take longer than to take it.
 */
const enough = (limit: number): number => (limit < 100 ? limit : limit / 2)

const isSuspect = ({ recipients }: ClaimedJob): boolean => recipients.some(({ suspect }) => suspect)

interface Paced {
  readonly id: string
  readonly provider: string
  readonly pacing: Pacing.Pacing
}

export const make = (rows: JobRows): Claims => {
  const { dialect } = rows
  const { as, table } = dialect.progress
  const dueSessions = dueSessionsIn(table)
  /** From the one after the last that was served, and then from the first to that one. */
  const sessionsInOrder = `${dueSessions} UNION ALL ${dueSessions}`
  const earliestOfSessions = earliestOfSessionsIn(table)
  const { elements } = dialect
  // Their rows alone, in a statement that is soon over: what another takes meanwhile has to be looked at once more.
  const dueKeys = `SELECT seq FROM ${table} WHERE session = ? AND next_at IS NOT NULL AND next_at <= ?
    ORDER BY next_at, seq ${limited}${dialect.skipLocked(table)}`
  const dueJobs = `${rows.select(", template.status AS template", `${elements.from} CROSS JOIN `)}
    LEFT JOIN sendwright_template AS template ON template.id = job.template
    WHERE job.snapshot = snapshot.seq AND ${as}.seq = ${elements.integer}`
  // By `Progress.isDue`.
  const dueOfJobs = `FROM ${elements.from} CROSS JOIN sendwright_recipient AS recipient
    WHERE (recipient.next_at <= ? OR recipient.next_at IS NOT NULL AND recipient.updated_at > ?)
      AND recipient.seq BETWEEN ${elements.integer} * 4096 AND ${elements.integer} * 4096 + ${lastPlace}`
  const recipients = dialect.jsonArrays(recipientColumns(dialect))
  const everyDue = `SELECT ${recipients} AS recipients ${dueOfJobs}`
  // To be cut they have to be sorted, which takes as long as all the rest: only their keys are.
  const firstDue = `SELECT ${recipients} AS recipients FROM (
      SELECT recipient.seq AS key ${dueOfJobs} ORDER BY ${elements.place}, recipient.seq ${limited}
    ) AS due CROSS JOIN sendwright_recipient AS recipient WHERE recipient.seq = due.key`
  const pairsOf = findPairs(`SELECT ${elements.value} FROM ${elements.from}`)

  // Whose turn it was. A verb that is run again only moves it on, which no session suffers from.
  let lastServed = ""
  // How many open recipients the last jobs had, on the average. What is locked and not taken is kept from others.
  let perJob = Number.POSITIVE_INFINITY

  function* sessionsInTurn(
    most: number,
    without: ReadonlyArray<string>,
    now: Instant
  ): Program<ReadonlyArray<Paced>> {
    const some = most + without.length
    const found = yield* all(sessionsInOrder, lastServed, lastSession, now, some, "", lastServed, now, some)
    const served = found.filter((row) => !without.includes(text(row, "id"))).slice(0, most)
    return served.map((row) => ({
      id: text(row, "id"),
      provider: text(row, "provider"),
      pacing: json(row, "pacing")
    }))
  }

  /** Those whose phone had no message lately, and when the others may have theirs. */
  function* paired(
    { id, pacing }: Paced,
    recipients: ReadonlyArray<RecipientResult>,
    now: Instant
  ): Program<ReadonlyMap<RecipientResult, Instant>> {
    const early = new Map<RecipientResult, Instant>()
    const interval = pacing.pair_interval_ms
    if (interval === null || recipients.length === 0) return early
    yield* dialect.serialize(`pairs ${id}`)
    yield* run(forgetPairs, id, now, now + interval)
    const found = yield* all(pairsOf, id, now, JSON.stringify(recipients.map(({ phone }) => phone)))
    const times = new Map(found.map((row) => [text(row, "phone"), integer(row, "next_at")]))
    const fresh: Array<string> = []
    for (const recipient of recipients) {
      const at = times.get(recipient.phone)
      if (at !== undefined) {
        early.set(recipient, at)
        continue
      }
      fresh.push(recipient.phone)
      times.set(recipient.phone, now + interval)
    }
    yield* insertPairs(fresh.map((phone) => [id, phone, now + interval]))
    return early
  }

  /** Due jobs of the session with their due recipients, `limit` in all at the most. */
  function* dueOf(
    session: Paced,
    jobs: number,
    limit: number,
    now: Instant
  ): Program<
    ReadonlyArray<{
      readonly job: StoredJob
      readonly approved: boolean
      readonly due: ReadonlyArray<RecipientResult>
    }>
  > {
    const keys = (yield* all(dueKeys, session.id, now, jobs)).map(seq)
    if (keys.length === 0) return []
    const read = new Map<number, { readonly job: StoredJob; readonly approved: boolean }>()
    for (const row of yield* all(dueJobs, JSON.stringify(keys))) {
      const status = textOrNull(row, "template")
      const job = yield* rows.toJob(row)
      read.set(job.seq, { job, approved: status === null || status === "approved" })
    }
    const found: Array<{ readonly job: StoredJob; readonly approved: boolean }> = []
    let open = 0
    for (const key of keys) {
      const next = read.get(key)
      if (next === undefined) throw new Error(`Job ${key} is due and has no row`)
      const { queued, sending } = next.job.job.counts
      if (open >= enough(limit) && open + queued + sending > limit) break
      found.push(next)
      open += queued + sending
    }
    if (open > 0) perJob = open / found.length
    const latest = Time.latestWritten(now)
    const approved = Arrays.flatMap(found, ({ approved, job }) => (approved ? [job.seq] : []))
    const recipients =
      approved.length === 0
        ? []
        : open <= limit
          ? yield* rows.recipients(everyDue, JSON.stringify(approved), now, latest)
          : yield* rows.recipients(firstDue, JSON.stringify(approved), now, latest, limit)
    const byJob = JobSteps.groupBy(recipients, ({ key }) => jobOf(key))
    return found.map(({ approved, job }) => ({
      job,
      approved,
      due: (byJob.get(job.seq) ?? []).map(({ recipient }) => recipient).sort((a, b) => a.index - b.index)
    }))
  }

  /** At most `limit` due recipients of one session; a suspect alone, and only when nothing else was taken. */
  function* claimOf(
    session: Paced,
    limit: number,
    worker: string,
    first: boolean,
    now: Instant,
    keep: (step: JobSteps.Step<StoredJob>, version: string) => void
  ): Program<ReadonlyArray<ClaimedJob>> {
    const claimed: Array<ClaimedJob> = []
    let left = limit
    // As many together as are likely to fill the window.
    let jobs = Math.max(1, Math.round(limit / perJob))
    for (let over = false; left > 0 && left > limit - enough(limit) && !over; ) {
      const batch = yield* dueOf(session, jobs, left, now)
      if (batch.length === 0) break
      const candidates: Array<{ readonly job: StoredJob; readonly due: ReadonlyArray<RecipientResult> }> = []
      const steps: Array<JobSteps.Step<StoredJob>> = []
      const windows: Array<JobSteps.Step<StoredJob>> = []
      for (const { approved, due, job } of batch) {
        if (!approved) {
          steps.push(...JobSteps.become(job, Progress.pauseForTemplate(job.job, now)))
          continue
        }
        // The window was full before its turn came.
        if (due.length === 0 && candidates.length > 0) break
        if (due.length === 0) throw new Error(`Job ${job.job.id} is due and its recipients are not`)
        const together = due.slice(0, Progress.together(due))
        const suspect = together.some(Progress.isSuspect)
        over = suspect || together.length < due.length
        if (suspect && !(first && claimed.length === 0 && candidates.length === 0)) break
        candidates.push({ job, due: together })
        if (over) break
      }
      const early = yield* paired(
        session,
        Arrays.flatMap(candidates, ({ due }) => due),
        now
      )
      const before = left
      for (const { due, job } of candidates) {
        const ready = due.filter((recipient) => !early.has(recipient))
        const deferred = Arrays.flatMap(due, (recipient): ReadonlyArray<JobSteps.Move> => {
          const at = early.get(recipient)
          return at === undefined
            ? []
            : [{ before: recipient, after: Progress.defer(recipient, at, now), fence: null }]
        })
        if (ready.length === 0) {
          steps.push({ held: job, moves: deferred, drafts: [] })
          continue
        }
        const { claimed: given, step, written } = Taken.claim(job, ready, worker, now)
        steps.push({ ...written, moves: [...deferred, ...written.moves] })
        windows.push(step)
        claimed.push(given)
        left -= ready.length
      }
      if (steps.length === 0) break
      const version = yield* rows.save(steps, now)
      for (const window of windows) keep(window, version)
      const each = Math.max(1, (before - left) / batch.length)
      jobs = Math.min(limit, Math.ceil(left / each))
    }
    return claimed
  }

  return {
    claim: function* (asked, now, keep) {
      const { limit, without = [], worker } = asked
      const sessions = yield* sessionsInTurn(limit, without, now)
      const claimed: Array<ClaimedJob> = []
      let left = limit
      let atRisk = asked.atRisk?.limit ?? limit
      for (const session of sessions) {
        if (left <= 0 || claimed.some(isSuspect)) break
        const pace = session.pacing.messages_per_second
        const arrival = pace === null ? null : yield* Pace.arrivalOf(dialect, session.id)
        const risky = isAtRisk(asked, session.provider)
        const room = risky ? Math.min(left, atRisk) : left
        if (room <= 0) continue
        const most = pace === null ? room : Pacing.grant(arrival, pace, room, now).granted
        const jobs = yield* claimOf(session, most, worker, claimed.length === 0, now, keep)
        const taken = jobs.reduce((sum, { recipients }) => sum + recipients.length, 0)
        if (taken === 0) continue
        if (pace !== null) {
          yield* Pace.save(session.id, Pacing.grant(arrival, pace, taken, now).arrival)
        }
        left -= taken
        if (risky) atRisk -= taken
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

    nextDue: function* (now, without = []) {
      let next: Instant | null = null
      for (const row of yield* all(earliestOfSessions, "")) {
        const due = integerOrNull(row, "due")
        if (due === null || without.includes(text(row, "id"))) continue
        const pace = json<Pacing.Pacing>(row, "pacing").messages_per_second
        const arrival = realOrNull(row, "arrival")
        const at = pace === null ? due : Math.max(due, Pacing.nextAt(arrival, pace, now))
        if (next === null || at < next) next = at
      }
      return next
    }
  }
}
