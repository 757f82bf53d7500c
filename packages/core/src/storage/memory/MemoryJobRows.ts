/**
 * The jobs' operations over the tables in memory. A verb is one synchronous step: nothing comes between its operations,
 * so there is nothing to lock.
 */

import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { WaitingSession } from "../../domain/job/Claiming.ts"
import type { RecipientResult } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import * as Pacing from "../../domain/session/Pacing.ts"
import * as Session from "../../domain/session/Session.ts"
import type { Template } from "../../domain/template/Template.ts"
import { changedStatus } from "../../domain/template/TemplateCheck.ts"
import type { FencedRecipient, JobChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { AcceptanceFacts, Backend, JobRows, RecipientPlace, Tx } from "../policy/JobRows.ts"
import * as Events from "./Events.ts"
import * as Happenings from "./Happenings.ts"
import * as InboundRows from "./InboundRows.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { nextDue, openJobs, putJob } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

export interface Memory extends Backend {
  readonly request: never
  readonly reply: never
  readonly job: JobRow
  readonly facts: AcceptanceFacts
}

/** Runs a verb. It asks for nothing, so it is over with its first step. */
export const perform = <A>(verb: Tx<A, Memory>): A => {
  const step = verb.next()
  if (step.done !== true) throw new TypeError("Memory was asked for something")
  return step.value
}

export const keyOf = (publicKey: string, key: string): string => `${publicKey}|${key}`
export const usageOf = (accountId: string, day: string, kind: string): string => `${accountId}|${day}|${kind}`
const pairOf = (sessionId: string, phone: string): string => `${sessionId}|${phone}`

const isOf: Record<"again" | "lost" | "open", (tracked: FencedRecipient) => boolean> = {
  open: ({ recipient: { status } }) => status === "queued" || status === "sending",
  again: ({ recipient }) => recipient.requeuedAt !== null && !Recipient.isRetryable(recipient.status),
  lost: ({ recipient }) => Recipient.isRetryable(recipient.status)
}

/** The template of a job, with the status that a claim reads. */
export const templateOf = (db: Database, content: Jobs.Job["content"]): Template | null => {
  const found = content.kind === "template" ? db.templates.get(content.templateId) : undefined
  if (found === undefined) return null
  const isAsked = (db.templateChecks.get(found.templateId)?.at ?? null) !== null
  return isAsked && found.status !== "paused" ? { ...found, status: changedStatus } : found
}

const byDueTime = (a: JobRow, b: JobRow): number =>
  (a.nextDue ?? 0) - (b.nextDue ?? 0) || a.position - b.position

/** Awaits one outcome more, or one less, under a fence. */
const count = (db: Database, worker: string, fence: number, more: 1 | -1): void => {
  const claim = db.claims.get(fence) ?? { worker, awaited: 0 }
  const awaited = claim.awaited + more
  if (awaited === 0) db.claims.delete(fence)
  else db.claims.set(fence, { ...claim, awaited })
}

/** Writes a step of a job: its recipients, its row, its events. */
const save = (db: Database, { changes, drafts, state }: JobChange<JobRow>, now: Instant): void => {
  const recipients = [...state.recipients]
  for (const { after, earlier, fence, fenceBefore } of changes) {
    recipients[after.index] = { recipient: after, fence }
    if (earlier !== undefined) {
      const id = Ids.messageId(state.job.id, after.index)
      const known = db.earlierAttempts.get(id) ?? []
      const fresh = earlier.filter(
        ({ at, number }) => !known.some((each) => each.at === at && each.number === number)
      )
      db.earlierAttempts.set(id, [...known, ...fresh])
    }
    if (fenceBefore !== null && fence === null) count(db, "", fenceBefore, -1)
  }
  putJob(db, { ...state, recipients, nextDue: nextDue({ recipients }, state.job, now) })
  Events.append(db, state.job.accountId, drafts, now)
}

export const make = (db: Database): JobRows<Memory> => ({
  waitingSessions: function* ({ after, limit, until }) {
    if (db.restored.quarantine !== null) return []
    const dueAt = new Map<string, Instant>()
    for (const { job, nextDue } of openJobs(db)) {
      if (nextDue !== null) dueAt.set(job.sessionId, Time.min(nextDue, dueAt.get(job.sessionId) ?? nextDue))
    }
    const ids = [...dueAt.keys()].sort()
    const circle =
      after < until
        ? ids.filter((id) => id > after && id <= until)
        : [...ids.filter((id) => id > after), ...ids.filter((id) => id <= until)]
    const sessions = circle.flatMap((id): ReadonlyArray<WaitingSession> => {
      const session = db.sessions.get(id)?.value
      const at = dueAt.get(id)
      if (session === undefined || at === undefined) return []
      return [{ ...session, dueAt: at, arrival: db.paces.get(id) ?? null }]
    })
    return sessions.slice(0, limit)
  },

  isQuarantined: function* () {
    return db.restored.quarantine !== null
  },

  pacing: function* (sessionId) {
    return db.sessions.get(sessionId)?.value.pacing ?? Pacing.unpaced
  },

  lockPacing: function* () {},

  tryLockPacing: function* () {
    return true
  },

  tryLockStanding: function* (sessionId) {
    return db.sessions.get(sessionId)?.value ?? null
  },

  saveOutage: function* (sessionId, outage) {
    const row = db.sessions.get(sessionId)
    if (row !== undefined) db.sessions.set(sessionId, { ...row, value: { ...row.value, outage } })
  },

  saveFailing: function* (sessionId, failing) {
    const row = db.sessions.get(sessionId)
    if (row !== undefined) db.sessions.set(sessionId, { ...row, value: { ...row.value, failing } })
  },

  arrival: function* (sessionId) {
    return db.paces.get(sessionId) ?? null
  },

  saveArrival: function* (sessionId, arrival) {
    db.paces.set(sessionId, arrival)
  },

  numbersOf: function* (accountId, phones) {
    return People.numbersOf(db, accountId, phones)
  },

  phoneTimes: function* ({ latest, now, phones, sessionId }) {
    const times = new Map<string, Instant>()
    for (const phone of phones) {
      const at = db.pairs.get(pairOf(sessionId, phone))
      if (at !== undefined && at > now && at <= latest) times.set(phone, at)
    }
    return times
  },

  savePhones: function* (sessionId, phones, nextAt) {
    for (const phone of phones) db.pairs.set(pairOf(sessionId, phone), nextAt)
  },

  tryLockTemplate: function* ({ job: { content } }) {
    return templateOf(db, content)?.status ?? null
  },

  lockDueJobs: function* ({ limit, now, sessionId }) {
    const found = db.sessions.get(sessionId)?.value
    if (found === undefined) return []
    const session = Session.outbound(found)
    const due = openJobs(db, sessionId).filter(({ nextDue }) => nextDue !== null && nextDue <= now)
    return due
      .sort(byDueTime)
      .slice(0, limit)
      .map((job) => ({
        job,
        template: templateOf(db, job.job.content),
        dueAt: job.nextDue ?? now,
        content: job.job.content,
        session
      }))
  },

  dueRecipients: function* ({ jobs, limit, now }) {
    const due = new Map<string, ReadonlyArray<RecipientResult>>()
    let left = limit
    for (const { job, recipients } of jobs) {
      const some: Array<RecipientResult> = []
      for (const { recipient } of recipients) {
        if (some.length === left) break
        if (Transitions.isDue(recipient, now)) some.push(recipient)
      }
      left -= some.length
      due.set(job.id, some)
    }
    return due
  },

  saveClaims: function* (worker, claims, others, now) {
    const fence = db.nextPosition()
    for (const { deferred, step } of claims) {
      const claimed = step.changes.map((change) => ({ ...change, fenceBefore: null, fence }))
      for (const _ of claimed) count(db, worker, fence, 1)
      save(db, { ...step, changes: [...deferred, ...claimed] }, now)
    }
    for (const step of others) save(db, step, now)
    return claims.map(() => fence)
  },

  putOff: function* (jobs, until) {
    for (const job of jobs) putJob(db, { ...job, nextDue: until })
  },

  acceptanceFacts: function* ({ accountId, content, key, now, publicKey, sessionId }) {
    return {
      record: key === null ? null : (db.idempotency.get(keyOf(publicKey, key)) ?? null),
      isKeyLocked: false,
      usedToday: db.usage.get(usageOf(accountId, Time.utcDay(now), content.kind)) ?? 0,
      lastAcceptedAt: db.lastAccepted.get(publicKey) ?? null,
      isQuarantined: db.restored.quarantine !== null,
      lastDueAt: db.lastDue.get(sessionId) ?? null
    }
  },

  insertJob: function* (command, job, dueAt, { usedToday }) {
    const { demand, idempotency, isEmbedded, now, publicKey, recipients } = command
    if (db.jobs.has(job.id)) throw new Error("A job with this id exists.")
    const key = idempotency === null ? null : keyOf(publicKey, idempotency.key)
    putJob(db, {
      position: db.nextPosition(),
      job,
      recipients: recipients.map((each, index) => ({
        recipient: Jobs.newRecipient(each, index, now),
        fence: null
      })),
      nextDue: dueAt ?? now,
      key
    })
    db.usage.set(usageOf(job.accountId, Time.utcDay(now), job.content.kind), usedToday + demand.units)
    if (isEmbedded !== true) db.lastAccepted.set(publicKey, now)
    if (dueAt !== null) db.lastDue.set(job.sessionId, dueAt)
    if (key === null || idempotency === null) return true
    const { fingerprint } = idempotency
    const { content, id, recipients: count } = job
    db.idempotency.set(key, { fingerprint, jobId: id, kind: content.kind, recipients: count, answer: null })
    return true
  },

  inserted: function* ({ id }) {
    const row = db.jobs.get(id)
    if (row === undefined) throw new Error(`There is no job "${id}".`)
    return row
  },

  lockJobs: function* (ids) {
    return ids.toSorted().flatMap((id) => db.jobs.get(id) ?? [])
  },

  lockJobsInTime: function* (ids) {
    return { jobs: ids.toSorted().flatMap((id) => db.jobs.get(id) ?? []), busy: [] }
  },

  recipientsAt: function* () {
    return ({ recipients }, place) => recipients[place]
  },

  recipientsOf: function* ({ recipients }, which) {
    return recipients.filter(isOf[which])
  },

  saveJobs: function* (steps, now) {
    for (const step of steps) save(db, step, now)
  },

  saveAnswer: function* ({ key }, answer) {
    const record = key === null ? undefined : db.idempotency.get(key)
    if (key !== null && record !== undefined) db.idempotency.set(key, { ...record, answer })
  },

  lockJobsOf: function* (workers) {
    const isTheirs = ({ fence }: FencedRecipient): boolean =>
      fence !== null && workers.includes(db.claims.get(fence)?.worker ?? "")
    return [...db.jobs.values()]
      .map((job) => ({ job, awaited: job.recipients.filter(isTheirs) }))
      .filter(({ awaited }) => awaited.length > 0)
      .sort((a, b) => (a.job.job.id < b.job.job.id ? -1 : 1))
      .map((each) => ({
        ...each,
        provider: db.sessions.get(each.job.job.sessionId)?.value.provider ?? null
      }))
  },

  forgetWorker: function* (worker, beats) {
    if (beats !== undefined && beats !== (db.beats.get(worker)?.beats ?? 0)) return false
    db.beats.delete(worker)
    return true
  },

  saveWorker: function* (worker, said) {
    db.beats.set(worker, said)
  },

  saidOf: function* (worker) {
    return db.beats.get(worker)?.process ?? null
  },

  actsOn: function* (jobId) {
    return db.audit.flatMap(({ value }) => (value.target === jobId ? [value] : []))
  },

  note: function* (happenings) {
    Happenings.note(db, happenings)
  },

  findByProviderIds: function* (sessionId, providerIds) {
    const wanted = new Set(providerIds)
    const places = new Map<string, RecipientPlace>()
    for (const { job, recipients } of db.jobs.values()) {
      if (job.sessionId !== sessionId) continue
      for (const { recipient } of recipients) {
        const { index, providerId } = recipient
        if (providerId !== null && wanted.has(providerId) && !places.has(providerId))
          places.set(providerId, { jobId: job.id, index })
      }
    }
    return places
  },

  saveEarlyReports: function* (sessionId, reports, at) {
    for (const { report } of reports) db.earlyReports.push({ sessionId, report, at })
  },

  removeMatchedReports: function* () {
    const candidates = db.earlyReports.splice(0)
    if (candidates.length === 0) return candidates
    const known = new Set<string>()
    for (const { job, recipients } of db.jobs.values())
      for (const { recipient } of recipients) known.add(`${job.sessionId} ${recipient.providerId}`)
    const isKnown = ({ report, sessionId }: (typeof candidates)[number]): boolean =>
      known.has(`${sessionId} ${report.providerId}`)
    db.earlyReports.push(...candidates.filter((each) => !isKnown(each)))
    return candidates.filter(isKnown)
  },

  forgetEarlyReports: function* (until, most) {
    const forgotten = new Map<string, number>()
    const bySession = JobSteps.groupBy(
      db.earlyReports.splice(0).filter(({ at }) => at > until),
      ({ sessionId }) => sessionId
    )
    for (const [sessionId, reports] of bySession) {
      const over = reports.length - most
      if (over > 0) forgotten.set(sessionId, over)
      for (const report of reports.slice(Math.max(0, over))) db.earlyReports.push(report)
    }
    return forgotten
  },

  lockPeopleInTime: function* () {
    return true
  },

  applyInbound: function* (inbound, now) {
    InboundRows.apply(db, inbound, now)
  }
})
