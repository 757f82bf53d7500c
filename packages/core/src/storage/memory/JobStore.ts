import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Idempotency from "../../domain/Idempotency.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job, RecipientResult } from "../../domain/Job.ts"
import * as Jobs from "../../domain/Job.ts"
import * as Paging from "../../domain/Page.ts"
import * as Plan from "../../domain/Plan.ts"
import type { Change } from "../../domain/Progress.ts"
import * as Progress from "../../domain/Progress.ts"
import * as Recipient from "../../domain/Recipient.ts"
import type { AcceptSend, ClaimedJob, Lease, Report, Settlement } from "../JobStore.ts"
import { AcceptResult, JobStore } from "../JobStore.ts"
import * as Events from "./Events.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst, openJobs, putJob } from "./MemoryDatabase.ts"

const keyOf = (publicKey: string, key: string): string => `${publicKey}|${key}`
const usageOf = (accountId: string, day: string, kind: string): string => `${accountId}|${day}|${kind}`

/** The row once the outcomes of these are no longer waited for; with none left the lease goes. */
const released = (row: JobRow, changes: ReadonlyArray<Change>): JobRow => {
  const awaited = new Set(row.awaited)
  for (const { after } of changes) awaited.delete(after.index)
  return { ...row, awaited, lease: awaited.size === 0 ? null : row.lease }
}

/** Writes changed recipients, the job they add up to, and the events. */
const write = (db: Database, row: JobRow, changes: ReadonlyArray<Change>, now: Instant): JobRow => {
  const { drafts, job } = Progress.apply(row.job, changes, now)
  const recipients = [...row.recipients]
  for (const { after } of changes) recipients[after.index] = after
  const nextDue = row.lease === null ? Progress.nextDue(job, recipients) : null
  const next = { ...row, job, recipients, nextDue }
  putJob(db, next)
  Events.append(db, job.accountId, drafts, now)
  return next
}

/** The recipients that a step moves. */
const changed = (row: JobRow, step: (recipient: RecipientResult) => RecipientResult): ReadonlyArray<Change> =>
  row.recipients
    .map((before) => ({ before, after: step(before) }))
    .filter(({ after, before }) => after !== before)

/** Takes due recipients of one job under a fresh fence. */
const claim = (db: Database, row: JobRow, lease: Lease, limit: number, now: Instant): ClaimedJob => {
  const changes = row.recipients
    .filter((recipient) => Progress.isDue(recipient, now))
    .slice(0, limit)
    .map((before) => ({ before, after: Progress.claim(before, now) }))
  const held = {
    ...row,
    lease: { worker: lease.worker, until: lease.until },
    fence: row.fence + 1,
    awaited: new Set(changes.map(({ after }) => after.index))
  }
  write(db, held, changes, now)
  const { accountId, content, id: jobId, sessionId } = row.job
  return {
    jobId,
    accountId,
    sessionId,
    content,
    fence: held.fence,
    recipients: changes.map(({ after }) => ({
      index: after.index,
      phone: after.phone,
      values: after.values,
      attempts: after.attempts
    }))
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

const accept = (db: Database, command: AcceptSend): AcceptResult => {
  const { content, demand, idempotency, now, publicKey } = command
  const key = idempotency === null ? null : keyOf(publicKey, idempotency.key)
  const earlier = key === null ? undefined : db.earlier.get(key)
  if (earlier !== undefined && idempotency !== null) {
    return Idempotency.decide(earlier, idempotency.fingerprint) === "Replayed"
      ? AcceptResult.Replayed({ earlier })
      : AcceptResult.KeyConflict({ earlier })
  }
  const usageKey = usageOf(command.accountId, Time.utcDay(now), content.kind)
  const usedToday = db.usage.get(usageKey) ?? 0
  const verdict = Plan.decide(
    demand,
    { usedToday, lastAcceptedAt: db.lastAccepted.get(publicKey) ?? null },
    now
  )
  if (verdict._tag === "QuotaExhausted") return AcceptResult.QuotaExhausted(verdict)
  if (verdict._tag === "TooSoon") return AcceptResult.TooSoon(verdict)
  if (db.jobs.has(command.jobId)) throw new Error("A job with this id exists.")

  const job = newJob(command)
  const recipients = command.recipients.map((recipient, index) => Jobs.newRecipient(recipient, index, now))
  const row: JobRow = {
    position: db.nextPosition(),
    job,
    recipients,
    nextDue: now,
    lease: null,
    fence: 0,
    awaited: new Set(),
    key
  }
  putJob(db, row)
  db.usage.set(usageKey, usedToday + demand.units)
  db.lastAccepted.set(publicKey, now)
  if (key !== null && idempotency !== null) {
    const { fingerprint } = idempotency
    db.earlier.set(key, {
      fingerprint,
      jobId: job.id,
      kind: content.kind,
      recipients: job.recipients,
      answer: null
    })
  }
  const claimed = command.claim === null ? null : claim(db, row, command.claim, recipients.length, now)
  return AcceptResult.Accepted({ job: db.jobs.get(job.id)?.job ?? job, claimed })
}

const settle = (db: Database, settlements: ReadonlyArray<Settlement>, now: Instant): number => {
  const byJob = new Map<string, Array<Settlement>>()
  for (const settlement of settlements) {
    const group = byJob.get(settlement.jobId)
    if (group === undefined) byJob.set(settlement.jobId, [settlement])
    else group.push(settlement)
  }
  let settled = 0
  for (const [jobId, group] of byJob) {
    const row = db.jobs.get(jobId)
    if (row === undefined) continue
    const awaited = new Set(row.awaited)
    const changes = group.flatMap(({ answer, fence, index, outcome }) => {
      const before = row.recipients[index]
      if (before === undefined || fence !== row.fence || !awaited.delete(index)) return []
      if (answer !== undefined) remember(db, row, answer)
      return [{ before, after: Progress.settle(row.job, before, outcome, now) }]
    })
    settled += changes.length
    if (changes.length > 0) write(db, released(row, changes), changes, now)
  }
  return settled
}

const remember = (db: Database, { key }: JobRow, answer: string): void => {
  const earlier = key === null ? undefined : db.earlier.get(key)
  if (key !== null && earlier !== undefined) db.earlier.set(key, { ...earlier, answer })
}

/** Due jobs of connected sessions, the oldest due first within each. */
const dueBySession = (db: Database, now: Instant): ReadonlyMap<string, ReadonlyArray<JobRow>> => {
  const due = new Map<string, Array<JobRow>>()
  for (const row of openJobs(db)) {
    if (row.lease !== null || row.nextDue === null || row.nextDue > now) continue
    const { sessionId } = row.job
    if (db.sessions.get(sessionId)?.value.state !== "connected") continue
    const rows = due.get(sessionId)
    if (rows === undefined) due.set(sessionId, [row])
    else rows.push(row)
  }
  for (const rows of due.values())
    rows.sort((a, b) => (a.nextDue ?? 0) - (b.nextDue ?? 0) || a.position - b.position)
  return due
}

export const layer: Layer.Layer<JobStore, never, MemoryDatabase> = Layer.effect(
  JobStore,
  Effect.map(MemoryDatabase, (db) => {
    /** The session that was served last, so that the next is first next time. */
    let lastServed = ""

    const claimDue = (lease: Lease & { readonly limit: number }, now: Instant): ReadonlyArray<ClaimedJob> => {
      const due = dueBySession(db, now)
      const sessions = [...due.keys()].sort()
      const turn = sessions.findIndex((session) => session > lastServed)
      const order = turn < 0 ? sessions : [...sessions.slice(turn), ...sessions.slice(0, turn)]
      const claimed: Array<ClaimedJob> = []
      let left = lease.limit
      order.forEach((session, place) => {
        let share = Math.ceil(left / (order.length - place))
        for (const row of due.get(session) ?? []) {
          if (share <= 0) break
          const job = claim(db, row, lease, share, now)
          share -= job.recipients.length
          left -= job.recipients.length
          claimed.push(job)
          lastServed = session
        }
      })
      return claimed
    }

    return {
      earlier: ({ key, publicKey }) => Effect.sync(() => db.earlier.get(keyOf(publicKey, key)) ?? null),

      accept: (command) => Effect.sync(() => accept(db, command)),

      exchange: ({ claim, now, settlements }) =>
        Effect.sync(() => {
          const settled = settle(db, settlements, now)
          return { settled, claimed: claim === null ? [] : claimDue(claim, now) }
        }),

      rescue: ({ deduplicating, now }) =>
        Effect.sync(() => {
          let count = 0
          for (const row of openJobs(db)) {
            if (row.lease === null || row.lease.until > now) continue
            const provider = db.sessions.get(row.job.sessionId)?.value.provider
            // A canceling job gives no further attempt, so its recipients cannot wait for one.
            const deduplicates =
              provider !== undefined && deduplicating.includes(provider) && row.job.status !== "canceling"
            const changes = row.recipients
              .filter(Progress.inFlight)
              .map((before) => ({ before, after: Progress.rescue(before, { deduplicates, now }) }))
            count += changes.length
            write(db, { ...row, lease: null, awaited: new Set() }, changes, now)
          }
          return count
        }),

      receive: ({ now, reports }) =>
        Effect.sync(() => {
          const unmatched: Array<Report> = []
          let applied = 0
          for (const told of reports) {
            const place = Ids.parseMessageId(told.messageId)
            const row = place === undefined ? undefined : db.jobs.get(place.jobId)
            const before = place === undefined ? undefined : row?.recipients[place.index]
            if (row === undefined || before === undefined) {
              unmatched.push(told)
              continue
            }
            const after = Progress.report(before, told, now)
            if (after === before) continue
            applied += 1
            write(db, row, [{ before, after }], now)
          }
          return { applied, unmatched }
        }),

      find: (jobId) => Effect.sync(() => db.jobs.get(jobId)?.job ?? null),

      list: ({ by, createdAfter, createdBefore, kind, page, status }) =>
        Effect.sync(() => {
          const rows = [...db.jobs.values()].filter(
            ({ job }) =>
              ("publicKey" in by ? job.publicKey === by.publicKey : job.accountId === by.accountId) &&
              job.content.kind === kind &&
              (status === undefined || job.status === status) &&
              (createdAfter === undefined || job.createdAt >= createdAfter) &&
              (createdBefore === undefined || job.createdAt < createdBefore)
          )
          return Paging.map(newestFirst(rows, page), ({ job }) => job)
        }),

      results: ({ jobId, page, status }) =>
        Effect.sync(() => {
          const found = (db.jobs.get(jobId)?.recipients ?? [])
            .filter(
              (each) =>
                (status === undefined || each.status === status) &&
                (page.after === null || each.index > page.after)
            )
            .slice(0, page.limit + 1)
          return Paging.cut(found, page.limit, ({ index }) => index)
        }),

      deliveredPrices: (jobId) =>
        Effect.sync(() =>
          (db.jobs.get(jobId)?.recipients ?? []).flatMap(({ deliveredAt, price, readAt }) =>
            price !== null && (deliveredAt !== null || readAt !== null) ? [price] : []
          )
        ),

      cancel: ({ jobId, now }) =>
        Effect.sync(() => {
          const row = db.jobs.get(jobId)
          if (row === undefined) return null
          const canceling = Progress.canceling(row.job, now)
          if (canceling === row.job) return row.job
          const changes = changed(row, (recipient) => Progress.cancel(recipient, now))
          return write(db, { ...row, job: canceling }, changes, now).job
        }),

      retry: ({ jobId, now }) =>
        Effect.sync(() => {
          const row = db.jobs.get(jobId)
          if (row === undefined) return null
          const changes = changed(row, (recipient) => Progress.requeue(recipient, now))
          if (changes.length === 0) return { job: row.job, retried: 0 }
          // An attempt that a report of failure overtook is over: its late outcome must not settle the new one.
          const reopened = { ...released(row, changes), job: Progress.reopened(row.job, now) }
          return { job: write(db, reopened, changes, now).job, retried: changes.length }
        }),

      usage: ({ accountId, day }) =>
        Effect.sync(() => ({
          template: db.usage.get(usageOf(accountId, day, "template")) ?? 0,
          direct: db.usage.get(usageOf(accountId, day, "direct")) ?? 0
        })),

      nextDue: Effect.sync(() => {
        let next: Instant | null = null
        for (const { job, lease, nextDue } of openJobs(db)) {
          const connected = db.sessions.get(job.sessionId)?.value.state === "connected"
          const at = lease?.until ?? (connected ? nextDue : null)
          if (at !== null && (next === null || at < next)) next = at
        }
        return next
      })
    }
  })
)
