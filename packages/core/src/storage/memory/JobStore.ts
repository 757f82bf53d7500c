import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import type { Backlog, Group } from "../../domain/job/Waiting.ts"
import * as Paging from "../../domain/Page.ts"
import type { JobFacts, KnownWorker, ListJobs } from "../JobStore.ts"
import { JobStore } from "../JobStore.ts"
import { accept } from "../policy/Acceptance.ts"
import * as Changes from "../policy/Changes.ts"
import * as Claims from "../policy/Claims.ts"
import type { RecipientPlace, Tx } from "../policy/JobRows.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst, openJobs, putJob } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"
import * as SessionRows from "./SessionStore.ts"

const isOne = <A>(asked: A | undefined, value: A): boolean => asked === undefined || asked === value

/** Null is at no time. */
const isWithin = (at: Instant | null, after: Instant | undefined, before: Instant | undefined): boolean =>
  (after === undefined && before === undefined) ||
  (at !== null && (after === undefined || at >= after) && (before === undefined || at < before))

const has = ({ counts }: Job, what: ListJobs["has"]): boolean => {
  if (what === undefined) return true
  return what === "waiting" ? counts.queued + counts.sending > 0 : counts[what] > 0
}

const isListed = (
  job: Job,
  { by, kind, reference, status, templateId, ...query }: ListJobs,
  isSessionMoving: (since: Instant) => boolean
): boolean =>
  job.content.kind === kind &&
  isOne(by.publicKey, job.publicKey) &&
  isOne(by.sessionId, job.sessionId) &&
  isOne(by.accountId, job.accountId) &&
  isOne(templateId, job.content.kind === "template" ? job.content.templateId : 0) &&
  isOne(status, job.status) &&
  isOne(reference, job.reference) &&
  has(job, query.has) &&
  isWithin(job.createdAt, query.createdAfter, query.createdBefore) &&
  isWithin(job.completedAt, query.completedAfter, query.completedBefore) &&
  (query.stuckSince === undefined || Jobs.isStuck(job, isSessionMoving(query.stuckSince), query.stuckSince))

const factsOf = (db: Database, { job, key, recipients }: JobRow): JobFacts => ({
  accountName: db.accounts.get(job.accountId)?.value.name ?? null,
  sessionName: db.sessions.get(job.sessionId)?.value.name ?? null,
  idempotencyKey: key === null ? null : key.slice(JobRows.keyOf(job.publicKey, "").length),
  failures: Recipient.failuresByCode(
    recipients.flatMap(({ recipient: { failure, status } }) =>
      failure !== null && Recipient.unreached.includes(status)
        ? [{ code: failure.code, status, recipients: 1 }]
        : []
    )
  )
})

/** Every worker that has a name or holds something. */
const workersOf = (db: Database): ReadonlyArray<KnownWorker> => {
  const claiming = [...db.claims.values(), ...db.deliveries.values()].flatMap(({ worker }) => worker ?? [])
  const workers = new Set([...db.beats.keys(), ...claiming])
  return [...workers].map((worker) => ({ worker, beats: db.beats.get(worker)?.beats ?? 0, isDead: false }))
}

const lastDispatch = (db: Database): Instant | null => {
  let last: Instant | null = null
  for (const { dispatchesAt: at } of db.beats.values()) {
    if (at !== null && (last === null || at > last)) last = at
  }
  return last
}

const backlogOf = (db: Database, most: number): Backlog => {
  const waiting = openJobs(db).flatMap(({ job, nextDue }): ReadonlyArray<readonly [Instant, Group]> => {
    const session = db.sessions.get(job.sessionId)?.value
    if (session === undefined || job.status === "canceling") return []
    const { queued, sending } = job.counts
    const isPaused = job.status === "paused"
    const group = {
      session,
      status: job.status,
      pauseReason: job.pauseReason,
      waiting: queued + (isPaused ? sending : 0),
      retrying: !isPaused && queued === 0 && nextDue !== null ? sending : 0
    }
    return group.waiting + group.retrying === 0 ? [] : [[job.createdAt, group]]
  })
  const oldestAt = Time.firstOf(waiting.map(([at]) => at))
  return {
    groups: waiting.slice(0, most).map(([, group]) => group),
    oldestAt,
    isExact: waiting.length < most
  }
}

const phonesAt = (db: Database, places: ReadonlyMap<string, RecipientPlace>): ReadonlyMap<string, string> => {
  const phones = new Map<string, string>()
  for (const [name, { index, jobId }] of places) {
    const phone = db.jobs.get(jobId)?.recipients[index]?.recipient.phone
    if (phone !== undefined) phones.set(name, phone)
  }
  return phones
}

export const layer: Layer.Layer<JobStore, never, MemoryDatabase> = Layer.effect(
  JobStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = JobRows.make(db)
    const sessions = SessionRows.rowsOf(db)
    const claims = Claims.make(rows)

    const perform = <A>(verb: () => Tx<A, JobRows.Memory>) => Effect.sync(() => JobRows.perform(verb()))

    return {
      findByIdempotencyKey: ({ key, publicKey }) =>
        Effect.sync(() => db.idempotency.get(JobRows.keyOf(publicKey, key)) ?? null),

      accept: (command) => perform(() => accept(rows, command)),

      // Nothing waits.
      commitsInGroups: false,

      settleAndClaim: (command) => perform(() => Changes.settleAndClaim(rows, sessions, claims, command)),

      heartbeat: ({ beats, dispatchesAt, ended = [], workers }) =>
        Effect.sync(() => {
          for (const worker of workers) db.beats.set(worker, { beats, dispatchesAt })
          for (const worker of ended) db.beats.delete(worker)
        }),

      workers: Effect.sync(() => workersOf(db)),

      backlog: ({ most }) => Effect.sync(() => backlogOf(db, most)),

      dispatchesAt: Effect.sync(() => lastDispatch(db)),

      makeDue: ({ now }) =>
        Effect.sync(() => {
          const putOff = openJobs(db).filter(
            ({ job, nextDue }) => nextDue !== null && nextDue > now && Time.isAhead(job.updatedAt, now)
          )
          for (const row of putOff) putJob(db, { ...row, nextDue: now })
          return putOff.length
        }),

      rescue: (command) => perform(() => Changes.rescue(rows, command)),

      giveBack: (command) => perform(() => Changes.giveBack(rows, command)),

      receive: (command) => perform(() => Changes.receive(rows, command)),

      applyEarlyReports: ({ now }) => perform(() => Changes.applyEarlyReports(rows, now)),

      sentTo: ({ providerIds, sessionId }) =>
        Effect.map(
          perform(() => rows.findByProviderIds(sessionId, providerIds)),
          (places) => phonesAt(db, places)
        ),

      find: (jobId) => Effect.sync(() => db.jobs.get(jobId)?.job ?? null),

      list: (query) =>
        Effect.sync(() => {
          const isMoving = (sessionId: string) => (since: Instant) =>
            [...db.jobs.values()].some(
              ({ job }) => job.sessionId === sessionId && Jobs.isMovedSince(job, since)
            )
          const rows = [...db.jobs.values()].filter(({ job }) =>
            isListed(job, query, isMoving(job.sessionId))
          )
          return Paging.map(newestFirst(rows, query.page), ({ job }) => job)
        }),

      facts: (jobs) =>
        Effect.sync(
          () =>
            new Map(
              jobs.flatMap(({ id }) => {
                const row = db.jobs.get(id)
                return row === undefined ? [] : [[id, factsOf(db, row)] as const]
              })
            )
        ),

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

      abandon: (command) => perform(() => Changes.abandon(rows, command)),
      cancel: (command) => perform(() => Changes.cancel(rows, command)),

      retry: (command) => perform(() => Changes.retry(rows, command)),

      usage: ({ accountId, day }) =>
        Effect.sync(() => ({
          template: db.usage.get(JobRows.usageOf(accountId, day, "template")) ?? 0,
          direct: db.usage.get(JobRows.usageOf(accountId, day, "direct")) ?? 0
        })),

      nextDue: (now, admits) => perform(() => claims.nextDue(now, admits))
    }
  })
)
