/** Jobs and their recipients. Every step costs what its window costs, however much waits behind it. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Draft } from "../../domain/Event.ts"
import * as Idempotency from "../../domain/Idempotency.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Content, Job, RecipientResult } from "../../domain/Job.ts"
import { newRecipient } from "../../domain/Job.ts"
import * as Page from "../../domain/Page.ts"
import * as Plan from "../../domain/Plan.ts"
import * as Progress from "../../domain/Progress.ts"
import * as Recipient from "../../domain/Recipient.ts"
import type { AcceptSend, ClaimedJob, Earlier, Lease, Report, Settlement } from "../JobStore.ts"
import { AcceptResult, JobStore } from "../JobStore.ts"
import type { SqlParameter, Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import type { Move } from "./Jobs.ts"
import * as Jobs from "./Jobs.ts"
import type { Held, StoredRecipient } from "./Rows.ts"
import {
  end,
  integer,
  integerOrNull,
  lastPlace,
  limited,
  newestFirst,
  oneOf,
  recipientKey,
  recipientsOf,
  seq,
  text,
  textOrNull,
  toRecipients
} from "./Rows.ts"

const kindOf = oneOf<Content["kind"]>(["template", "direct"])

// Accepting

const earlierTo = (sql: Statements, publicKey: string, key: string): Earlier | null => {
  const row = sql.get(
    "SELECT id, kind, fingerprint, recipients, answer FROM sendwright_job WHERE public_key = ? AND idempotency_key = ?",
    publicKey,
    key
  )
  if (row === undefined) return null
  return {
    fingerprint: text(row, "fingerprint"),
    jobId: text(row, "id"),
    kind: kindOf(row, "kind"),
    recipients: integer(row, "recipients"),
    answer: textOrNull(row, "answer")
  }
}

const usageOf = (sql: Statements, accountId: string, day: string): { template: number; direct: number } => {
  const row = sql.get(
    "SELECT template, direct FROM sendwright_usage WHERE account = ? AND day = ?",
    accountId,
    day
  )
  return row === undefined
    ? { template: 0, direct: 0 }
    : { template: integer(row, "template"), direct: integer(row, "direct") }
}

const lastAcceptedAt = (sql: Statements, publicKey: string): Instant | null => {
  const row = sql.get("SELECT accepted_at FROM sendwright_acceptance WHERE public_key = ?", publicKey)
  return row === undefined ? null : integer(row, "accepted_at")
}

const insertJob = `INSERT INTO sendwright_job (id, account, session, public_key, kind, snapshot, currency,
    estimated_cost, idempotency_key, fingerprint, status, recipients, queued, sending, accepted, sent, delivered, read,
    failed, skipped, canceled, unknown, in_flight, next_at, fence, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ?, 0, ?, ?)
  RETURNING seq`

const addUsage = `INSERT INTO sendwright_usage (account, day, template, direct) VALUES (?, ?, ?, ?)
  ON CONFLICT (account, day) DO UPDATE
  SET template = template + excluded.template, direct = direct + excluded.direct`

const noteAcceptance = `INSERT INTO sendwright_acceptance (public_key, accepted_at) VALUES (?, ?)
  ON CONFLICT (public_key) DO UPDATE SET accepted_at = excluded.accepted_at`

/** Rows per `INSERT`: enough to spread the cost of a call, few enough to keep a statement for every number below. */
const rowsPerInsert = 50

const insertRecipients = Array.from({ length: rowsPerInsert + 1 }, (_, rows) => {
  const values = Array.from({ length: rows }, () => "(?, ?, ?, ?, ?, ?, 'queued', 0, 0, ?, ?)")
  return `INSERT INTO sendwright_recipient
    (seq, phone, external_id, variables, market, price, status, attempts, sequence, next_at, updated_at)
    VALUES ${values.join(", ")}`
})

const addRecipients = (sql: Statements, job: number, recipients: ReadonlyArray<RecipientResult>): void => {
  if (recipients.length > lastPlace) throw new RangeError(`A job has ${lastPlace} recipients at most`)
  for (let from = 0; from < recipients.length; from += rowsPerInsert) {
    const parameters: Array<SqlParameter> = []
    const until = Math.min(from + rowsPerInsert, recipients.length)
    for (const each of recipients.slice(from, until)) {
      const { externalId, index, market, nextAt, phone, price, updatedAt, values } = each
      const key = recipientKey(job, index)
      parameters.push(key, phone, externalId, JSON.stringify(values), market, price, nextAt, updatedAt)
    }
    sql.run(insertRecipients[until - from] ?? "", ...parameters)
  }
}

const newJob = (command: AcceptSend): Job => ({
  id: command.jobId,
  accountId: command.accountId,
  sessionId: command.sessionId,
  publicKey: command.publicKey,
  content: command.content,
  status: "queued",
  pauseReason: null,
  recipients: command.recipients.length,
  counts: { ...Recipient.noCounts, queued: command.recipients.length },
  currency: command.currency,
  estimatedCost: command.estimatedCost,
  createdAt: command.now,
  updatedAt: command.now,
  completedAt: null
})

const accept = (step: Step, command: AcceptSend): AcceptResult => {
  const { sql } = step
  const { accountId, claim, content, demand, idempotency, now, publicKey, sessionId } = command
  const earlier = idempotency === null ? null : earlierTo(sql, publicKey, idempotency.key)
  if (earlier !== null && idempotency !== null) {
    return Idempotency.decide(earlier, idempotency.fingerprint) === "Replayed"
      ? AcceptResult.Replayed({ earlier })
      : AcceptResult.KeyConflict({ earlier })
  }
  const day = Time.utcDay(now)
  const usage = {
    usedToday: usageOf(sql, accountId, day)[content.kind],
    lastAcceptedAt: lastAcceptedAt(sql, publicKey)
  }
  const verdict = Plan.decide(demand, usage, now)
  if (verdict._tag === "QuotaExhausted") return AcceptResult.QuotaExhausted(verdict)
  if (verdict._tag === "TooSoon") return AcceptResult.TooSoon(verdict)

  const job = newJob(command)
  const recipients = command.recipients.map((recipient, index) => newRecipient(recipient, index, now))
  const row = sql.get(
    insertJob,
    job.id,
    accountId,
    sessionId,
    publicKey,
    content.kind,
    Jobs.freeze(sql, content),
    job.currency,
    job.estimatedCost,
    idempotency === null ? null : idempotency.key,
    idempotency === null ? null : idempotency.fingerprint,
    job.recipients,
    job.counts.queued,
    now,
    now,
    now
  )
  const held: Held = { seq: integer(row ?? {}, "seq"), job, inFlight: 0, lease: null, fence: 0 }
  addRecipients(sql, held.seq, recipients)
  const { units } = demand
  sql.run(
    addUsage,
    accountId,
    day,
    content.kind === "template" ? units : 0,
    content.kind === "direct" ? units : 0
  )
  sql.run(noteAcceptance, publicKey, now)
  if (claim === null) return AcceptResult.Accepted({ job, claimed: null })
  return AcceptResult.Accepted(take(step, held, recipients, claim))
}

// Claiming and settling

const dueRecipients = recipientsOf(`seq BETWEEN ? AND ? AND next_at <= ? ORDER BY seq ${limited}`)
const someRecipients = recipientsOf("seq BETWEEN ? AND ? ORDER BY seq")
const awaitedRecipients = recipientsOf("seq BETWEEN ? AND ? AND fence IS NOT NULL ORDER BY seq")
const openRecipients = recipientsOf("seq BETWEEN ? AND ? AND status IN ('queued', 'sending') ORDER BY seq")
const lostRecipients = recipientsOf("seq BETWEEN ? AND ? AND status IN ('failed', 'unknown') ORDER BY seq")
const pageOfRecipients = recipientsOf(
  `seq BETWEEN ? AND ? AND status = coalesce(?, status) ORDER BY seq ${limited}`
)

/** The first and the last key that a job's recipients can have. */
const keysOf = (job: number): readonly [number, number] => [
  recipientKey(job, 0),
  recipientKey(job, lastPlace)
]

/** A window as it was taken. */
interface Window {
  readonly fence: number
  readonly recipients: ReadonlyMap<number, RecipientResult>
}

/** How many windows are kept. */
const keptWindows = 256

/** What a step of a job works with. */
interface Step {
  readonly sql: Statements
  readonly ids: Ids.Ids
  readonly now: Instant
  /**
   * What was taken and not touched since, by job, so that settling need not read it again. A window counts only
   * under the job's fence, and each claim that raises the fence replaces it: one that was rolled back is never
   * taken for a later one.
   */
  readonly windows: Map<string, Window>
}

const save = (step: Step, held: Held, moves: ReadonlyArray<Move>, drafts: ReadonlyArray<Draft>): void => {
  step.windows.delete(held.job.id)
  Jobs.save(step.sql, step.ids, held, moves, drafts, step.now)
}

/** Gives recipients of one job to a worker under a fresh fence. */
const take = (
  step: Step,
  held: Held,
  recipients: ReadonlyArray<RecipientResult>,
  { until, worker }: Lease
): { readonly job: Job; readonly claimed: ClaimedJob } => {
  const { now, windows } = step
  const fence = held.fence + 1
  const moves = recipients.map((before): Move => ({ before, after: Progress.claim(before, now), fence }))
  const { drafts, job } = Progress.apply(held.job, moves, now)
  const inFlight = held.inFlight + moves.length
  save(step, { seq: held.seq, job, inFlight, lease: { worker, until }, fence }, moves, drafts)
  const { accountId, content, id: jobId, sessionId } = job
  const [oldest] = windows.keys()
  if (windows.size >= keptWindows && oldest !== undefined) windows.delete(oldest)
  windows.set(jobId, { fence, recipients: new Map(moves.map(({ after }) => [after.index, after])) })
  const taken = moves.map(({ after: { attempts, index, phone, values } }) => ({
    index,
    phone,
    values,
    attempts
  }))
  return { job, claimed: { jobId, accountId, sessionId, content, fence, recipients: taken } }
}

const waitingAfter = `SELECT session FROM sendwright_job
  WHERE next_at IS NOT NULL AND session > ? ORDER BY session LIMIT 1`

const dueSession = `SELECT 1 AS due FROM sendwright_session WHERE id = ? AND state = 'connected'
  AND EXISTS (SELECT 1 FROM sendwright_job WHERE session = ? AND next_at IS NOT NULL AND next_at <= ?)`

const dueJob = `${Jobs.select}
  WHERE job.session = ? AND job.next_at IS NOT NULL AND job.next_at <= ? ORDER BY job.next_at, job.seq LIMIT 1`

/** Sessions that have something due, in the order of their turn, at most so many. Jumps from session to session. */
const dueSessions = (sql: Statements, last: string, most: number, now: Instant): ReadonlyArray<string> => {
  const due: Array<string> = []
  const look = (from: string, to: string | undefined): void => {
    let at = from
    while (due.length < most) {
      const row = sql.get(waitingAfter, at)
      if (row === undefined) return
      at = text(row, "session")
      if (to !== undefined && at > to) return
      if (sql.get(dueSession, at, at, now) !== undefined) due.push(at)
    }
  }
  look(last, undefined)
  look("", last)
  return due
}

/** The recipients among the places from `low` to `high` that await an outcome under the job's fence. */
const awaited = (
  { sql, windows }: Step,
  { fence, job, seq: key }: Held,
  [low, high]: readonly [number, number]
): ReadonlyMap<number, RecipientResult> => {
  const window = windows.get(job.id)
  if (window !== undefined && window.fence === fence) return window.recipients
  const found = toRecipients(sql.get(someRecipients, recipientKey(key, low), recipientKey(key, high)))
  return new Map(
    found.flatMap((stored) => (stored.fence === fence ? [[stored.recipient.index, stored.recipient]] : []))
  )
}

const settle = (step: Step, jobId: string, settlements: ReadonlyArray<Settlement>): number => {
  const { now, sql } = step
  const held = Jobs.find(sql, jobId)
  if (held === undefined || held.inFlight === 0) return 0
  const fresh = settlements.filter(
    ({ fence, index }) => fence === held.fence && index >= 0 && index < lastPlace
  )
  if (fresh.length === 0) return 0
  const places = fresh.reduce<[number, number]>(
    ([low, high], { index }) => [Math.min(low, index), Math.max(high, index)],
    [lastPlace, 0]
  )
  const recipients = awaited(step, held, places)
  const moves = new Map<number, Move>()
  let answer: string | undefined
  for (const settlement of fresh) {
    const before = recipients.get(settlement.index)
    if (before === undefined || moves.has(settlement.index)) continue
    const after = Progress.settle(held.job, before, settlement.outcome, now)
    moves.set(settlement.index, { before, after, fence: null })
    answer = settlement.answer ?? answer
  }
  if (moves.size === 0) return 0
  const settled = [...moves.values()]
  const { drafts, job } = Progress.apply(held.job, settled, now)
  save(step, { ...held, job, inFlight: held.inFlight - settled.length }, settled, drafts)
  if (answer !== undefined) sql.run("UPDATE sendwright_job SET answer = ? WHERE seq = ?", answer, held.seq)
  return settled.length
}

const endedLeases = `${Jobs.select} WHERE job.lease_until IS NOT NULL AND job.lease_until <= ? ORDER BY job.lease_until`

const rescue = (step: Step, held: Held, deduplicates: boolean): number => {
  const { now, sql } = step
  const moves = toRecipients(sql.get(awaitedRecipients, ...keysOf(held.seq))).map(
    ({ recipient: before }): Move => {
      // What a report has settled needs no rescue; nobody will hand in its outcome.
      const after = Progress.inFlight(before) ? Progress.rescue(before, { deduplicates, now }) : before
      return { before, after, fence: null }
    }
  )
  const { drafts, job } = Progress.apply(held.job, moves, now)
  save(step, { ...held, job, inFlight: 0 }, moves, drafts)
  return moves.filter(({ after, before }) => after !== before).length
}

// Reports

interface Told {
  readonly index: number
  readonly report: Report
}

/** Applies one job's reports; those of recipients that it does not have are answered. */
const receive = (
  step: Step,
  held: Held,
  told: ReadonlyArray<Told>
): { readonly applied: number; readonly unmatched: ReadonlyArray<Report> } => {
  const { now, sql } = step
  const current = new Map<number, StoredRecipient>()
  const moves: Array<Move> = []
  const unmatched: Array<Report> = []
  for (const { index, report } of told) {
    const key = recipientKey(held.seq, index)
    const known = current.get(index) ?? toRecipients(sql.get(someRecipients, key, key))[0]
    if (known === undefined) {
      unmatched.push(report)
      continue
    }
    const { fence, recipient: before } = known
    const after = Progress.report(before, report, now)
    current.set(index, { recipient: after, fence })
    if (after !== before) moves.push({ before, after, fence })
  }
  if (moves.length > 0) {
    const { drafts, job } = Progress.apply(held.job, moves, now)
    save(step, { ...held, job }, moves, drafts)
  }
  return { applied: moves.length, unmatched }
}

// Reading

const listBy = (column: "public_key" | "account"): string => `${Jobs.select}
  WHERE job.${column} = ? AND job.kind = ? AND job.seq < ? AND job.status = coalesce(?, job.status)
    AND job.created_at >= ? AND job.created_at < ?
  ORDER BY job.seq DESC ${limited}`

const listByKey = listBy("public_key")
const listByAccount = listBy("account")

const seqOf = (sql: Statements, jobId: string): number | undefined => {
  const row = sql.get("SELECT seq FROM sendwright_job WHERE id = ?", jobId)
  return row === undefined ? undefined : seq(row)
}

const deliveredPrices = `SELECT price FROM sendwright_recipient
  WHERE seq BETWEEN ? AND ? AND price IS NOT NULL AND (delivered_at IS NOT NULL OR read_at IS NOT NULL) ORDER BY seq`

// One probe for each session that waits.
const nextDue = `WITH RECURSIVE waiting (session) AS (
    SELECT min(session) FROM sendwright_job WHERE next_at IS NOT NULL
    UNION ALL
    SELECT (SELECT min(session) FROM sendwright_job WHERE next_at IS NOT NULL AND session > waiting.session)
    FROM waiting WHERE session IS NOT NULL
  )
  SELECT min(due) AS due FROM (
    SELECT (SELECT min(next_at) FROM sendwright_job WHERE session = waiting.session AND next_at IS NOT NULL) AS due
    FROM waiting CROSS JOIN sendwright_session AS session ON session.id = waiting.session
    WHERE session.state = 'connected'
    UNION ALL SELECT min(lease_until) FROM sendwright_job WHERE lease_until IS NOT NULL
  )`

const groupBy = <A>(
  items: ReadonlyArray<A>,
  key: (item: A) => string
): ReadonlyMap<string, ReadonlyArray<A>> => {
  const groups = new Map<string, Array<A>>()
  for (const item of items) {
    const group = groups.get(key(item))
    if (group === undefined) groups.set(key(item), [item])
    else group.push(item)
  }
  return groups
}

export const layer: Layer.Layer<JobStore, never, Database> = Layer.effect(
  JobStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)

    // Whose turn it was. A verb that is run again only moves it on, which no session suffers from.
    let lastServed = ""

    const windows = new Map<string, Window>()
    const stepOf = (sql: Statements, now: Instant): Step => ({ sql, ids, now, windows })

    const claimDue = (step: Step, lease: Lease & { readonly limit: number }): ReadonlyArray<ClaimedJob> => {
      const { now, sql } = step
      const sessions = dueSessions(sql, lastServed, lease.limit, now)
      const claimed: Array<ClaimedJob> = []
      let left = lease.limit
      sessions.forEach((session, place) => {
        let share = Math.ceil(left / (sessions.length - place))
        while (share > 0) {
          const row = sql.get(dueJob, session, now)
          if (row === undefined) break
          const held = Jobs.heldOf(sql, row)
          const found = toRecipients(sql.get(dueRecipients, ...keysOf(held.seq), now, share))
          const recipients = found.map(({ recipient }) => recipient)
          if (recipients.length === 0) throw new Error(`Job ${held.job.id} is due and its recipients are not`)
          claimed.push(take(step, held, recipients, lease).claimed)
          share -= recipients.length
          left -= recipients.length
        }
        lastServed = session
      })
      return claimed
    }

    /** Moves recipients of a job at an operator's word. */
    const move = (
      step: Step,
      held: Held,
      job: Job,
      recipients: ReadonlyArray<StoredRecipient>,
      change: (recipient: RecipientResult) => RecipientResult
    ): { readonly job: Job; readonly moved: number } => {
      const moves = recipients
        .map(({ fence, recipient }): Move => ({ before: recipient, after: change(recipient), fence }))
        .filter(({ after, before }) => after !== before)
      const applied = Progress.apply(job, moves, step.now)
      save(step, { ...held, job: applied.job }, moves, applied.drafts)
      return { job: applied.job, moved: moves.length }
    }

    return {
      earlier: ({ key, publicKey }) => db.read("JobStore.earlier", (sql) => earlierTo(sql, publicKey, key)),

      accept: (command) => db.write("JobStore.accept", (sql) => accept(stepOf(sql, command.now), command)),

      exchange: ({ claim, now, settlements }) =>
        db.write("JobStore.exchange", (sql) => {
          const step = stepOf(sql, now)
          let settled = 0
          for (const [jobId, group] of groupBy(settlements, (each) => each.jobId)) {
            settled += settle(step, jobId, group)
          }
          return { settled, claimed: claim === null ? [] : claimDue(step, claim) }
        }),

      rescue: ({ deduplicating, now }) =>
        db.write("JobStore.rescue", (sql) => {
          const providers: ReadonlyArray<string> = deduplicating
          let count = 0
          for (const row of sql.all(endedLeases, now)) {
            const held = Jobs.heldOf(sql, row)
            const session = sql.get(
              "SELECT provider FROM sendwright_session WHERE id = ?",
              held.job.sessionId
            )
            const known = session !== undefined && providers.includes(text(session, "provider"))
            // A canceling job gives no further attempt, so its recipients cannot wait for one.
            count += rescue(stepOf(sql, now), held, known && held.job.status !== "canceling")
          }
          return count
        }),

      receive: ({ now, reports }) =>
        db.write("JobStore.receive", (sql) => {
          const places = reports.map((report) => ({ report, place: Ids.parseMessageId(report.messageId) }))
          const unmatched = new Set<Report>()
          let applied = 0
          for (const [jobId, group] of groupBy(places, ({ place }) => place?.jobId ?? "")) {
            const held = jobId === "" ? undefined : Jobs.find(sql, jobId)
            if (held === undefined) {
              for (const { report } of group) unmatched.add(report)
              continue
            }
            const told = group.map(({ place, report }) => ({ index: place?.index ?? -1, report }))
            const received = receive(stepOf(sql, now), held, told)
            applied += received.applied
            for (const report of received.unmatched) unmatched.add(report)
          }
          return { applied, unmatched: reports.filter((report) => unmatched.has(report)) }
        }),

      find: (jobId) => db.read("JobStore.find", (sql) => Jobs.find(sql, jobId)?.job ?? null),

      list: ({ by, createdAfter, createdBefore, kind, page, status }) =>
        db.read("JobStore.list", (sql) => {
          const [statement, owner] =
            "publicKey" in by ? [listByKey, by.publicKey] : [listByAccount, by.accountId]
          const [before, limit] = newestFirst(page)
          const rows = sql.all(
            statement,
            owner,
            kind,
            before,
            status ?? null,
            createdAfter ?? -end,
            createdBefore ?? end,
            limit
          )
          return Page.map(Page.cut(rows, page.limit, seq), (row) => Jobs.heldOf(sql, row).job)
        }),

      results: ({ jobId, page, status }) =>
        db.read("JobStore.results", (sql) => {
          const job = seqOf(sql, jobId)
          if (job === undefined) return { items: [], next: null }
          const found = sql.get(
            pageOfRecipients,
            recipientKey(job, page.after === null ? 0 : page.after + 1),
            recipientKey(job, lastPlace),
            status ?? null,
            page.limit + 1
          )
          const recipients = toRecipients(found).map(({ recipient }) => recipient)
          return Page.cut(recipients, page.limit, ({ index }) => index)
        }),

      deliveredPrices: (jobId) =>
        db.read("JobStore.deliveredPrices", (sql) => {
          const job = seqOf(sql, jobId)
          return job === undefined
            ? []
            : sql.all(deliveredPrices, ...keysOf(job)).map((row) => text(row, "price"))
        }),

      cancel: ({ jobId, now }) =>
        db.write("JobStore.cancel", (sql) => {
          const held = Jobs.find(sql, jobId)
          if (held === undefined) return null
          const job = Progress.canceling(held.job, now)
          if (job === held.job) return job
          const open = toRecipients(sql.get(openRecipients, ...keysOf(held.seq)))
          return move(stepOf(sql, now), held, job, open, (recipient) => Progress.cancel(recipient, now)).job
        }),

      retry: ({ jobId, now }) =>
        db.write("JobStore.retry", (sql) => {
          const held = Jobs.find(sql, jobId)
          if (held === undefined) return null
          const lost = toRecipients(sql.get(lostRecipients, ...keysOf(held.seq)))
          if (lost.length === 0) return { job: held.job, retried: 0 }
          const job = Progress.reopened(held.job, now)
          const queued = move(stepOf(sql, now), held, job, lost, (recipient) =>
            Progress.requeue(recipient, now)
          )
          return { job: queued.job, retried: queued.moved }
        }),

      usage: ({ accountId, day }) => db.read("JobStore.usage", (sql) => usageOf(sql, accountId, day)),

      nextDue: db.read("JobStore.nextDue", (sql) => integerOrNull(sql.get(nextDue) ?? {}, "due"))
    }
  })
)
