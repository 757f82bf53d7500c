/**
 * Where a job is.
 *
 * Its own row (`sendwright_job`) is written once, with its recipients (`sendwright_recipient`), who lie side by side behind
 * it: `seq` × 4096 + place. A recipient is untouched, as it was accepted, or its row tells what became of it.
 *
 * An untouched recipient waits, or a claim has it: a claim is one row over a range of recipients (`Claims`). Of a session's
 * untouched jobs a claim takes the next in their order, whose cursor it is then (`Order`).
 *
 * A job has a row of what changes (`sendwright_progress`) once more became of it than that a claim has it: its status, its
 * counts, when it has work next. Until then it is queued, or processing if a claim has it.
 *
 * Jobs have one lock, that of their session ({@link Order.locked}): whoever writes anything of a session's jobs has it, and
 * several sessions are locked in the order of their ids. So a step reads a job as it is: {@link StoredJobs.lock} locates and
 * locks, {@link StoredJobs.save} writes.
 */

import * as Arrays from "effect/Array"
import type { Ids } from "../../../domain/Ids.ts"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import * as Jobs from "../../../domain/job/Job.ts"
import * as Pace from "../../../domain/job/Pace.ts"
import type { Draft } from "../../../domain/webhook/Event.ts"
import type { JobChange, RecipientChange } from "../../JobSteps.ts"
import type { Program, Row, SqlParameter } from "../../Program.ts"
import { all, get, run } from "../../Program.ts"
import type { Locked, StoredJob } from "../../policy/JobRows.ts"
import type { Dialect } from "../Database.ts"
import * as Events from "../Events.ts"
import type { Group } from "../GroupEqual.ts"
import { groupEqual } from "../GroupEqual.ts"
import type { Place } from "../Ranges.ts"
import { inRanges, rangesOf } from "../Ranges.ts"
import { inSql, keysOf, recipientKey } from "../RecipientKeys.ts"
import { flag, instant, instantOrNull, integer, text } from "../RowReader.ts"
import * as Claims from "./Claims.ts"
import * as ClaimsCache from "./ClaimsCache.ts"
import * as Contents from "./Contents.ts"
import * as EarlierAttempts from "./EarlierAttempts.ts"
import type { AcceptedJob } from "./JobColumns.ts"
import {
  changedColumns,
  changedOf,
  jobColumns,
  progressOf,
  readJob,
  storedJob,
  writtenProgress
} from "./JobColumns.ts"
import * as Order from "./Order.ts"
import type { StoredRecipient } from "./RecipientColumns.ts"
import {
  areEqual,
  readRecipients,
  recipientColumns,
  untouched,
  writeChanged,
  changed as writtenColumns
} from "./RecipientColumns.ts"
import * as Together from "./Together.ts"

/** Jobs that are remembered as they were accepted: as many as processes of some size have under way. */
const maximumRemembered = 4096

/** A recipient's row and the step that wrote it last. */
interface Written extends Place {
  readonly change: RecipientChange
}

/** Where a recipient lies. Behind a job's last one comes the first of the next job. */
export const placeOf = ({ job, seq }: StoredJob, index: number): Place => {
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

/**
 * True when only the recipients' rows tell when the job has work next: some that waited do so no longer, or wait again, or a
 * clock ahead of ours said when.
 */
const isUncertain = ({ changes, state }: JobChange<StoredJob>, now: Instant): boolean =>
  !state.wasClaimable ||
  state.job.firsts !== null ||
  Time.isAhead(state.writtenAt, now) ||
  changes.some(({ before }) => before.nextAt !== null)

/** When the job has work next, of a step that made others wait and none that waited before do anything else. */
const nextOf = ({ changes, state }: JobChange<StoredJob>): Instant | null => {
  let next = state.nextAt
  for (const { after } of changes)
    if (after.nextAt !== null && (next === null || after.nextAt < next)) next = after.nextAt
  return next
}

/** The jobs of one database. */
export interface StoredJobs {
  readonly dialect: Dialect
  readonly ids: Ids
  readonly drawFence: (now: Instant) => () => number
  readonly contentOf: ReturnType<typeof Contents.reader>
  /** Selects jobs, to be followed by a condition on `job`; {@link StoredJobs.toJob} reads them. */
  readonly select: string
  readonly toJob: (row: Row) => Program<StoredJob>
  readonly remember: (accepted: AcceptedJob) => void
  readonly held: ClaimsCache.ClaimsCache
  readonly find: (jobId: string) => Program<StoredJob | undefined>
  /** Locks the jobs' sessions; answers the jobs that there are, in the order of their ids. */
  readonly lock: (jobIds: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** As `JobRows.lockJobsInTime`. @param waits false where it waits for no other commit */
  readonly lockInTime: (jobIds: ReadonlyArray<string>, waits?: boolean) => Program<Locked<StoredJob>>
  /** Locks the jobs of these sessions, which are in order; answers those whose lock was given in time. */
  readonly lockSessionsInTime: (sessions: ReadonlyArray<string>) => Program<ReadonlySet<string>>
  /** The same of jobs of these sessions, which are locked. */
  readonly read: (jobIds: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** A statement for the recipients of a session that a condition on their rows selects, with its order. */
  readonly recipientsOf: (condition: string) => string
  /** @param parameters the session's id first */
  readonly recipients: (
    statement: string,
    ...parameters: ReadonlyArray<SqlParameter>
  ) => Program<ReadonlyArray<StoredRecipient>>
  /**
   * Writes what steps made of locked jobs: their recipients, their rows, their events.
   *
   * @param options.asks whether the recipients are asked when each job has work next
   * @param options.unwritten steps of which a claim tells: of these only the events are written
   */
  readonly save: (
    steps: ReadonlyArray<JobChange<StoredJob>>,
    now: Instant,
    options?: { readonly asks?: boolean; readonly unwritten?: ReadonlyArray<JobChange<StoredJob>> }
  ) => Program<void>
  /** Gives each locked job a row that says when it has work next. */
  readonly setDue: (jobs: ReadonlyArray<StoredJob>, at: Instant) => Program<void>
}

export const make = (dialect: Dialect, ids: Ids): StoredJobs => {
  const { elements, entries } = dialect
  const select = `SELECT ${dialect.jsonArray(jobColumns(dialect))} AS job
    FROM sendwright_job AS job JOIN sendwright_snapshot AS snapshot ON snapshot.seq = job.snapshot
      LEFT JOIN sendwright_progress AS progress ON progress.seq = job.seq`
  const byId = `${select} WHERE job.id = ?`
  const ofIds = `job.id IN (SELECT ${elements.value} FROM ${elements.from})`
  const byIds = `${select} WHERE ${ofIds} ORDER BY job.id`
  const locate = `SELECT job.id, job.session FROM sendwright_job AS job WHERE ${ofIds}`
  const updateEqual = `UPDATE sendwright_recipient SET ${writtenColumns.assignments}, provider_id = ? WHERE`
  const updateRanges = inRanges("seq", (condition) => `${updateEqual} ${condition}`)
  const updateScattered = `${updateEqual} seq IN (SELECT ${elements.integer} FROM ${elements.from})`
  const updateKind = `UPDATE sendwright_recipient SET ${writtenColumns.assignments}, provider_id = ${entries.value}
    FROM ${entries.from} WHERE seq = ${entries.key}`
  const updateRows = dialect.update("sendwright_progress", writtenProgress.ordered)
  const insertRows = dialect.insert("sendwright_progress", writtenProgress.ordered)
  // By `Transitions.dueAt`. Behind those that claims have lies the first that nobody touched, if there is one: none has
  // waited longer. Otherwise all are looked through who wait by themselves.
  const due = "CASE WHEN updated_at > ? THEN ? ELSE next_at END"
  const end = inSql.last(entries.key)
  const earliest = `SELECT ${entries.key} AS job, coalesce((
      SELECT ${due} FROM sendwright_recipient
      WHERE seq > CAST(${entries.value} AS bigint) AND seq <= ${end} AND ${untouched} ORDER BY seq LIMIT 1
    ), (
      SELECT min(${due}) FROM sendwright_recipient
      WHERE seq BETWEEN ${inSql.first(entries.key)} AND ${end} AND next_at IS NOT NULL AND NOT (${untouched})
    )) AS next_at FROM ${entries.from}`

  const openClaims = `SELECT claim.fence, claim.session, claim.first, claim.last, claim.at, claim.open, claim.overtaken FROM sendwright_claim AS claim
    WHERE claim.worker IS NOT NULL AND ${elements.among("claim.session")}`
  const changedRows = `SELECT progress.seq, ${changedColumns(dialect, dialect.jsonArray)} AS changed
    FROM sendwright_progress AS progress WHERE progress.seq IN (SELECT ${elements.integer} FROM ${elements.from})`

  const contentOf = Contents.reader()
  // What never changes; one that is rolled back is never asked for by its id again.
  const held = ClaimsCache.make()
  const remembered = new Map<string, AcceptedJob>()

  const remember = (accepted: AcceptedJob): void => {
    // One whose content cannot be read may be mended.
    if (!Jobs.isReadable(accepted.job.content) || remembered.has(accepted.job.id)) return
    if (remembered.size >= maximumRemembered) {
      const [oldest] = remembered.keys()
      if (oldest !== undefined) remembered.delete(oldest)
    }
    remembered.set(accepted.job.id, accepted)
  }

  function* toJob(row: Row): Program<StoredJob> {
    const { digest, of, seq, snapshot } = readJob(text(row, "job"))
    const { accepted, stored } = of(yield* contentOf(digest, snapshot, seq))
    // A job that has ended may be deleted by others while it is remembered.
    if (!Jobs.hasEnded(stored.job.status)) remember(accepted)
    return stored
  }

  function* read(jobIds: ReadonlyArray<string>): Program<ReadonlyArray<StoredJob>> {
    const jobs: Array<StoredJob> = []
    for (const row of yield* all(byIds, JSON.stringify(jobIds))) jobs.push(yield* toJob(row))
    return jobs
  }

  /** Jobs as they are, of whom it is remembered how they were accepted. */
  function* readRemembered(jobs: ReadonlyArray<AcceptedJob>): Program<ReadonlyArray<StoredJob>> {
    const sessions = new Set(jobs.map(({ job }) => job.sessionId))
    const claims = (yield* all(openClaims, JSON.stringify([...sessions]))).map((row) => ({
      fence: integer(row, "fence"),
      session: text(row, "session"),
      first: integer(row, "first"),
      last: integer(row, "last"),
      at: instant(row, "at"),
      open: integer(row, "open"),
      isOvertaken: flag(row, "overtaken")
    }))
    const byFence = new Map(claims.map((claim) => [claim.fence, claim]))
    const changed = new Map<number, ReturnType<typeof changedOf.parse>>()
    for (const row of yield* all(changedRows, JSON.stringify(jobs.map(({ seq }) => seq))))
      changed.set(integer(row, "seq"), changedOf.parse(text(row, "changed")))
    return jobs.map((accepted) => {
      const { job, seq } = accepted
      const [first, last] = keysOf(seq)
      let claim: { readonly last: number; readonly at: Instant } | null = null
      for (const each of claims)
        if (each.session === job.sessionId && each.first <= last && each.last >= first)
          if (claim === null || each.last > claim.last) claim = each
      return storedJob(accepted, changed.get(seq) ?? null, claim, byFence)
    })
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
    const times = new Map<number, Instant>()
    if (jobs.length === 0) return times
    const behind = Object.fromEntries(
      jobs.map(({ claimedTo, seq }) => [seq, String(claimedTo ?? recipientKey(seq, 0) - 1)])
    )
    const latest = Time.latestWritten(now)
    for (const row of yield* all(earliest, latest, now, latest, now, JSON.stringify(behind))) {
      const at = instantOrNull(row, "next_at")
      if (at !== null) times.set(integer(row, "job"), at)
    }
    return times
  }

  function* appendEvents(steps: ReadonlyArray<JobChange<StoredJob>>, now: Instant): Program<void> {
    const drafts = new Map<string, Array<Draft>>()
    for (const { drafts: jobDrafts, state } of steps) {
      if (jobDrafts.length === 0) continue
      const { accountId } = state.job
      const ofAccount = drafts.get(accountId)
      if (ofAccount === undefined) drafts.set(accountId, [...jobDrafts])
      else ofAccount.push(...jobDrafts)
    }
    for (const [accountId, jobDrafts] of drafts) yield* Events.append(ids, accountId, jobDrafts, now)
  }

  /** Writes the jobs' rows. */
  function* saveRows(steps: ReadonlyArray<JobChange<StoredJob>>, asks: boolean, now: Instant): Program<void> {
    const waits = ({ job }: StoredJob) => Jobs.isClaimable(job) && job.counts.queued + job.counts.sending > 0
    const asked = steps.filter((step) => waits(step.state) && (asks || isUncertain(step, now)))
    const times = yield* nextTimes(
      asked.map(({ state }) => state),
      now
    )
    const isAsked = new Set(asked)
    const rowOf = (step: JobChange<StoredJob>) => {
      const { state } = step
      const next = !waits(state) ? null : isAsked.has(step) ? (times.get(state.seq) ?? null) : nextOf(step)
      return writtenProgress.write(progressOf(state, Pace.dueAt(state.job, next, now)))
    }
    const [fresh, known] = Arrays.partition(steps, ({ state }) => state.hasRow)
    yield* insertRows(fresh.map(rowOf))
    yield* updateRows(known.map(rowOf))
  }

  type Lock = (sessions: ReadonlyArray<string>) => Program<ReadonlySet<string>>

  function* lockSessions(sessions: ReadonlyArray<string>): Program<ReadonlySet<string>> {
    for (const session of sessions) yield* dialect.serialize(Order.locked(session))
    return new Set(sessions)
  }

  /** Once one was not given in time, nothing waits for another. */
  function* lockSessionsInTime(
    sessions: ReadonlyArray<string>,
    mayWait = true
  ): Program<ReadonlySet<string>> {
    const locked = new Set<string>()
    let waits = mayWait
    for (const session of sessions) {
      const isGiven: boolean = yield* dialect.serializeInTime(Order.locked(session), waits)
      if (isGiven) locked.add(session)
      waits &&= isGiven
    }
    return locked
  }

  /** The jobs of the sessions whose lock is given, by their ids, in that order; and the ids of those of the other sessions. */
  function* lockIn(jobIds: ReadonlyArray<string>, lock: Lock): Program<Locked<StoredJob>> {
    if (jobIds.length === 0) return { jobs: [], busy: [] }
    const sessionOf = new Map<string, string>()
    const unknown: Array<string> = []
    for (const id of new Set(jobIds)) {
      const accepted = remembered.get(id)
      if (accepted === undefined) unknown.push(id)
      else sessionOf.set(id, accepted.job.sessionId)
    }
    if (unknown.length > 0)
      for (const row of yield* all(locate, JSON.stringify(unknown)))
        sessionOf.set(text(row, "id"), text(row, "session"))
    const locked = yield* lock([...new Set(sessionOf.values())].sort())
    const known: Array<AcceptedJob> = []
    const others: Array<string> = []
    const busy: Array<string> = []
    for (const [id, session] of sessionOf) {
      const accepted = remembered.get(id)
      if (!locked.has(session)) busy.push(id)
      else if (accepted === undefined) others.push(id)
      else known.push(accepted)
    }
    const jobs = [
      ...(known.length === 0 ? [] : yield* readRemembered(known)),
      ...(others.length === 0 ? [] : yield* read(others))
    ]
    return {
      jobs: (yield* Together.statesWithBeside(jobs)).toSorted((a, b) => (a.job.id < b.job.id ? -1 : 1)),
      busy
    }
  }

  return {
    dialect,
    ids,
    drawFence: (now) => () => Claims.fenceOf(ids, now),
    contentOf,
    select,
    toJob,
    remember,
    held,
    read,
    find: function* (jobId) {
      const row = yield* get(byId, jobId)
      return row === undefined ? undefined : yield* toJob(row)
    },
    lock: function* (jobIds) {
      return (yield* lockIn(jobIds, lockSessions)).jobs
    },
    lockInTime: (jobIds, waits) => lockIn(jobIds, (sessions) => lockSessionsInTime(sessions, waits)),
    lockSessionsInTime,
    recipientsOf: (condition) => `SELECT ${recipientColumns(dialect, "?")} AS recipients
      FROM (SELECT * FROM sendwright_recipient WHERE ${condition}) AS recipient`,
    recipients: function* (statement, ...parameters) {
      return readRecipients(text((yield* get(statement, ...parameters)) ?? {}, "recipients"))
    },
    save: function* (steps, now, { asks = false, unwritten = [] } = {}) {
      for (const kind of kindsOf(steps)) yield* saveKind(kind)
      yield* EarlierAttempts.save(steps)
      yield* Claims.settle(steps, held)
      for (const { state } of steps) if (Jobs.hasEnded(state.job.status)) remembered.delete(state.job.id)
      yield* saveRows(steps, asks, now)
      yield* appendEvents([...steps, ...unwritten], now)
    },
    setDue: function* (states, at) {
      const [fresh, known] = Arrays.partition(states, ({ hasRow }) => hasRow)
      const rowOf = (state: StoredJob) => writtenProgress.write(progressOf(state, at))
      yield* insertRows(fresh.map(rowOf))
      yield* updateRows(known.map(rowOf))
    }
  }
}
