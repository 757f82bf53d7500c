import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Idempotency from "../../domain/Idempotency.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job, RecipientResult } from "../../domain/Job.ts"
import * as Jobs from "../../domain/Job.ts"
import * as Pacing from "../../domain/Pacing.ts"
import * as Paging from "../../domain/Page.ts"
import * as Plan from "../../domain/Plan.ts"
import * as Progress from "../../domain/Progress.ts"
import * as Session from "../../domain/Session.ts"
import type { Template } from "../../domain/Template.ts"
import type { Step } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { AcceptSend, Claim, ClaimedJob, Report, Settlement } from "../JobStore.ts"
import { AcceptResult, isAtRisk, JobStore, parkedMs } from "../JobStore.ts"
import * as Events from "./Events.ts"
import * as Inbound from "./Inbound.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst, nextDue, openJobs, putJob } from "./MemoryDatabase.ts"

const keyOf = (publicKey: string, key: string): string => `${publicKey}|${key}`
const usageOf = (accountId: string, day: string, kind: string): string => `${accountId}|${day}|${kind}`
const pairOf = (sessionId: string, phone: string): string => `${sessionId}|${phone}`

/** Writes what a step made of a job: its recipients, its row, its events. */
const save = (db: Database, { drafts, held, moves }: Step<JobRow>, now: Instant): JobRow => {
  const recipients = [...held.recipients]
  for (const { after, fence } of moves) recipients[after.index] = { recipient: after, fence }
  const row = { ...held, recipients }
  const next = { ...row, nextDue: nextDue(row, held.job, now) }
  putJob(db, next)
  Events.append(db, held.job.accountId, drafts, now)
  return next
}

/** Not before the last message to each phone is long enough ago; the others' time is counted from now. */
const paired = (
  db: Database,
  { id, pacing }: Session.Session,
  recipients: ReadonlyArray<RecipientResult>,
  now: Instant
): { readonly ready: ReadonlyArray<RecipientResult>; readonly early: ReadonlyArray<RecipientResult> } => {
  const interval = pacing.pair_interval_ms
  if (interval === null) return { ready: recipients, early: [] }
  const ready: Array<RecipientResult> = []
  const early: Array<RecipientResult> = []
  for (const recipient of recipients) {
    const key = pairOf(id, recipient.phone)
    const at = Pacing.pairedUntil(db.pairs.get(key) ?? null, interval, now)
    if (at !== null) early.push(Progress.defer(recipient, at, now))
    else {
      ready.push(recipient)
      db.pairs.set(key, now + interval)
    }
  }
  return { ready, early }
}

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

  const job = Jobs.newJob({ ...command, recipients: command.recipients.length })
  const row: JobRow = {
    position: db.nextPosition(),
    job,
    recipients: command.recipients.map((recipient, index) => ({
      recipient: Jobs.newRecipient(recipient, index, now),
      fence: null
    })),
    nextDue: now,
    worker: null,
    fence: 0,
    inFlight: 0,
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
  if (command.claim === null) return AcceptResult.Accepted({ job, claimed: null })
  countPaced(db, command.sessionId, command.recipients, now)
  const recipients = row.recipients.map(({ recipient }) => recipient)
  const step = JobSteps.claim(row, recipients, command.claim, now)
  return AcceptResult.Accepted({ job: save(db, step, now).job, claimed: step.claimed })
}

/** A message that goes at once is counted, so that what waits keeps its distance. */
const countPaced = (
  db: Database,
  sessionId: string,
  recipients: ReadonlyArray<{ readonly phone: string }>,
  now: Instant
): void => {
  const pacing = db.sessions.get(sessionId)?.value.pacing ?? Pacing.unpaced
  for (const { phone } of recipients) {
    if (pacing.messages_per_second !== null) {
      const arrival = db.paces.get(sessionId) ?? null
      db.paces.set(sessionId, Pacing.count(arrival, pacing.messages_per_second, now))
    }
    if (pacing.pair_interval_ms !== null)
      db.pairs.set(pairOf(sessionId, phone), now + pacing.pair_interval_ms)
  }
}

const settle = (db: Database, settlements: ReadonlyArray<Settlement>, now: Instant): number => {
  let settled = 0
  for (const [jobId, group] of JobSteps.groupBy(settlements, (settlement) => settlement.jobId)) {
    const row = db.jobs.get(jobId)
    if (row === undefined) continue
    const step = JobSteps.settle(row, (index) => row.recipients[index], group, now, row.recipients)
    settled += step.settled
    if (step.moves.length > 0) save(db, step, now)
    if (step.answer !== undefined) remember(db, row, step.answer)
  }
  return settled
}

const isSuspect = ({ recipients }: ClaimedJob): boolean => recipients.some(({ suspect }) => suspect)

const templateOf = (db: Database, { content }: Job): Template | undefined =>
  content.kind === "template" ? db.templates.get(content.templateId) : undefined

const remember = (db: Database, { key }: JobRow, answer: string): void => {
  const earlier = key === null ? undefined : db.earlier.get(key)
  if (key !== null && earlier !== undefined) db.earlier.set(key, { ...earlier, answer })
}

/** Due jobs of connected sessions, the oldest due first within each. */
const dueBySession = (db: Database, now: Instant): ReadonlyMap<string, ReadonlyArray<JobRow>> => {
  const due = new Map<string, Array<JobRow>>()
  for (const row of openJobs(db)) {
    if (row.nextDue === null || row.nextDue > now) continue
    const { sessionId } = row.job
    const session = db.sessions.get(sessionId)?.value
    if (session === undefined || Session.obstacle(session) !== null) continue
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

    /** Takes at most `limit` due recipients of one session; a suspect alone, and only when nothing was taken. */
    const claimOf = (
      session: Session.Session,
      rows: ReadonlyArray<JobRow>,
      limit: number,
      { now, worker }: { readonly now: Instant; readonly worker: string },
      first: boolean
    ): ReadonlyArray<ClaimedJob> => {
      const claimed: Array<ClaimedJob> = []
      let left = limit
      for (const row of rows) {
        if (left <= 0) break
        const template = templateOf(db, row.job)
        if (template !== undefined && template.status !== "approved") {
          for (const step of JobSteps.become(row, Progress.pauseForTemplate(row.job, now)))
            save(db, step, now)
          continue
        }
        const due = row.recipients
          .map(({ recipient }) => recipient)
          .filter((recipient) => Progress.isDue(recipient, now))
          .slice(0, left)
        const together = due.slice(0, Progress.together(due))
        const suspect = together.some(Progress.isSuspect)
        if (suspect && !(first && claimed.length === 0)) break
        const { early, ready } = paired(db, session, together, now)
        const deferred = early.map((after) => ({ before: after, after, fence: null }))
        const waiting = save(db, { held: row, moves: deferred, drafts: [] }, now)
        if (ready.length === 0) continue
        const step = JobSteps.claim(waiting, ready, worker, now)
        save(db, step, now)
        left -= ready.length
        claimed.push(step.claimed)
        if (suspect) break
      }
      return claimed
    }

    /** Our id of the message: the report's, or by the platform's. */
    const placeOf = ({ messageId, providerId }: Report, sessionId: string | null) => {
      if (messageId !== null) return Ids.parseMessageId(messageId)
      if (sessionId === null || providerId === null) return undefined
      for (const { job, recipients } of db.jobs.values()) {
        if (job.sessionId !== sessionId) continue
        const found = recipients.find(({ recipient }) => recipient.providerId === providerId)
        if (found !== undefined) return { jobId: job.id, index: found.recipient.index }
      }
      return undefined
    }

    const receive = (reports: ReadonlyArray<Report>, sessionId: string | null, now: Instant) => {
      const places = reports.map((report) => ({ report, place: placeOf(report, sessionId) }))
      const unmatched = new Set<Report>()
      let applied = 0
      for (const [jobId, group] of JobSteps.groupBy(places, ({ place }) => place?.jobId ?? "")) {
        const row = db.jobs.get(jobId)
        if (row === undefined || (sessionId !== null && row.job.sessionId !== sessionId)) {
          for (const { report } of group) unmatched.add(report)
          continue
        }
        const told = group.map(({ place, report }) => ({ index: place?.index ?? -1, report }))
        const step = JobSteps.receive(row, (index) => row.recipients[index], told, now)
        if (step.moves.length > 0) save(db, step, now)
        applied += step.moves.length
        for (const report of step.unmatched) unmatched.add(report)
      }
      return { applied, unmatched: reports.filter((report) => unmatched.has(report)) }
    }

    const claimDue = (claim: Claim, now: Instant): ReadonlyArray<ClaimedJob> => {
      const due = dueBySession(db, now)
      const sessions = [...due.keys()].sort()
      const turn = sessions.findIndex((session) => session > lastServed)
      const order = turn < 0 ? sessions : [...sessions.slice(turn), ...sessions.slice(0, turn)]
      const claimed: Array<ClaimedJob> = []
      let left = claim.limit
      let atRisk = claim.atRisk?.limit ?? left
      for (const id of order) {
        const session = db.sessions.get(id)?.value
        if (session === undefined || left <= 0 || claimed.some(isSuspect)) continue
        if (claim.without?.includes(id)) continue
        const pace = session.pacing.messages_per_second
        const arrival = db.paces.get(id) ?? null
        const risky = isAtRisk(claim, session.provider)
        const room = risky ? Math.min(left, atRisk) : left
        if (room <= 0) continue
        const most = pace === null ? room : Pacing.grant(arrival, pace, room, now).granted
        const jobs = claimOf(
          session,
          due.get(id) ?? [],
          most,
          { now, worker: claim.worker },
          claimed.length === 0
        )
        const taken = jobs.reduce((sum, { recipients }) => sum + recipients.length, 0)
        if (pace !== null && taken > 0) db.paces.set(id, Pacing.grant(arrival, pace, taken, now).arrival)
        left -= taken
        if (risky) atRisk -= taken
        if (taken > 0) lastServed = id
        claimed.push(...jobs)
      }
      return claimed
    }

    return {
      earlier: ({ key, publicKey }) => Effect.sync(() => db.earlier.get(keyOf(publicKey, key)) ?? null),

      accept: (command) => Effect.sync(() => accept(db, command)),

      // Nothing waits.
      commitsTogether: false,

      exchange: ({ claim, now, settlements }) =>
        Effect.sync(() => {
          const settled = settle(db, settlements, now)
          for (const inbound of JobSteps.inbound(settlements)) Inbound.apply(db, inbound, now)
          return { settled, claimed: claim === null ? [] : claimDue(claim, now) }
        }),

      beat: ({ beats, dispatchesAt, workers }) =>
        Effect.sync(() => {
          for (const worker of workers) db.beats.set(worker, { beats, dispatchesAt })
        }),

      holders: Effect.sync(() => {
        const holding = [...openJobs(db), ...db.deliveries.values()].flatMap(({ worker }) => worker ?? [])
        const workers = new Set([...db.beats.keys(), ...holding])
        return [...workers].map((worker) => ({
          worker,
          beats: db.beats.get(worker)?.beats ?? 0,
          isDead: false
        }))
      }),

      dispatchesAt: Effect.sync(() => {
        let last: Instant | null = null
        for (const { dispatchesAt: at } of db.beats.values()) {
          if (at !== null && (last === null || at > last)) last = at
        }
        return last
      }),

      makeDue: ({ now }) =>
        Effect.sync(() => {
          const putOff = openJobs(db).filter(
            ({ job, nextDue }) => nextDue !== null && nextDue > now && Time.isAhead(job.updatedAt, now)
          )
          for (const row of putOff) putJob(db, { ...row, nextDue: now })
          return putOff.length
        }),

      rescue: ({ now, recoverable, worker }) =>
        Effect.sync(() => {
          let count = 0
          for (const row of openJobs(db)) {
            if (row.worker !== worker) continue
            const provider = db.sessions.get(row.job.sessionId)?.value.provider
            const awaited = row.recipients.flatMap(({ fence, recipient }) =>
              fence === null ? [] : [recipient]
            )
            const canRecover = provider !== undefined && recoverable.includes(provider)
            const step = JobSteps.rescue(row, awaited, canRecover, now)
            save(db, step, now)
            count += step.count
          }
          db.beats.delete(worker)
          return count
        }),

      receive: ({ now, reports, sessionId = null }) =>
        Effect.sync(() => {
          const { applied, unmatched } = receive(reports, sessionId, now)
          const parked = unmatched.filter(({ messageId }) => messageId === null)
          if (sessionId !== null) db.parked.push(...parked.map((report) => ({ sessionId, report, at: now })))
          return { applied, unmatched }
        }),

      unpark: ({ now }) =>
        Effect.sync(() => {
          let applied = 0
          const waiting = db.parked.splice(0).filter(({ at }) => now - at < parkedMs)
          for (const each of waiting) {
            const result = receive([each.report], each.sessionId, now)
            applied += result.applied
            if (result.unmatched.length > 0) db.parked.push(each)
          }
          return applied
        }),

      find: (jobId) => Effect.sync(() => db.jobs.get(jobId)?.job ?? null),

      list: ({ by, createdAfter, createdBefore, kind, page, reference, status }) =>
        Effect.sync(() => {
          const rows = [...db.jobs.values()].filter(
            ({ job }) =>
              ("publicKey" in by ? job.publicKey === by.publicKey : job.accountId === by.accountId) &&
              job.content.kind === kind &&
              (status === undefined || job.status === status) &&
              (reference === undefined || job.reference === reference) &&
              (createdAfter === undefined || job.createdAt >= createdAfter) &&
              (createdBefore === undefined || job.createdAt < createdBefore)
          )
          return Paging.map(newestFirst(rows, page), ({ job }) => job)
        }),

      results: ({ jobId, page, status }) =>
        Effect.sync(() => {
          const found = (db.jobs.get(jobId)?.recipients ?? [])
            .map(({ recipient }) => recipient)
            .filter(
              (each) =>
                (status === undefined || each.status === status) &&
                (page.after === null || each.index > page.after)
            )
            .slice(0, page.limit + 1)
          return Paging.cut(found, page.limit, ({ index }) => index)
        }),

      delivered: (jobId) =>
        Effect.sync(() =>
          (db.jobs.get(jobId)?.recipients ?? []).flatMap(
            ({ recipient: { deliveredAt, phone, price, pricing, readAt } }) =>
              deliveredAt !== null || readAt !== null ? [{ phone, price, pricing }] : []
          )
        ),

      cancel: ({ jobId, now }) =>
        Effect.sync(() => {
          const row = db.jobs.get(jobId)
          if (row === undefined) return null
          const { result, step } = JobSteps.cancel(row, row.recipients, now)
          if (step !== null) save(db, step, now)
          return result
        }),

      retry: (command) =>
        Effect.sync(() => {
          const row = db.jobs.get(command.jobId)
          if (row === undefined) return null
          const { result, step } = JobSteps.retry(row, row.recipients, command)
          if (step !== null) save(db, step, command.now)
          return result
        }),

      usage: ({ accountId, day }) =>
        Effect.sync(() => ({
          template: db.usage.get(usageOf(accountId, day, "template")) ?? 0,
          direct: db.usage.get(usageOf(accountId, day, "direct")) ?? 0
        })),

      nextDue: (now, without = []) =>
        Effect.sync(() => {
          let next: Instant | null = null
          for (const { job, nextDue } of openJobs(db)) {
            const session = db.sessions.get(job.sessionId)?.value
            if (nextDue === null || session?.state !== "connected" || without.includes(session.id)) continue
            const pace = session.pacing.messages_per_second
            const arrival = db.paces.get(session.id) ?? null
            const at = pace === null ? nextDue : Math.max(nextDue, Pacing.nextAt(arrival, pace, now))
            if (next === null || at < next) next = at
          }
          return next
        })
    }
  })
)
