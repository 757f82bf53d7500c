/** Lists of jobs and of their recipients, and what is told beside them. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import * as Paging from "../../domain/Page.ts"
import type { JobFacts, JobStore, ListJobs, ReferenceSum } from "../JobStore.ts"
import type { Database, JobRow } from "./MemoryDatabase.ts"
import { newestFirst } from "./MemoryDatabase.ts"

const isOne = <A>(asked: A | undefined, value: A): boolean => asked === undefined || asked === value

/** Null is at no time. */
const isWithin = (at: Instant | null, after: Instant | undefined, before: Instant | undefined): boolean =>
  (after === undefined && before === undefined) ||
  (at !== null && (after === undefined || at >= after) && (before === undefined || at < before))

const has = ({ counts }: Job, what: ListJobs["has"]): boolean => {
  if (what === undefined) return true
  if (what === "failures") return counts.failed + counts.unknown > 0
  return what === "waiting" ? counts.queued + counts.sending > 0 : counts[what] > 0
}

const isListed = (
  job: Job,
  { by, kind, reference, status, templateId, ...query }: ListJobs,
  sessionAt: (since: Instant) => Parameters<typeof Jobs.isStuck>[1]
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
  (query.stuckSince === undefined || Jobs.isStuck(job, sessionAt(query.stuckSince), query.stuckSince))

const ofReference = (db: Database, { accountId, reference }: Pick<Job, "accountId" | "reference">) =>
  [...db.jobs.values()].filter(
    ({ job }) => job.accountId === accountId && job.reference === reference && Jobs.isTemplateJob(job)
  )

const isNewest = (db: Database, { job, position }: JobRow): boolean =>
  job.reference !== null && !ofReference(db, job).some((each) => each.position > position)

const sumOf = (
  db: Database,
  of: { readonly accountId: string; readonly reference: string }
): ReferenceSum | null => {
  const jobs = ofReference(db, of).map(({ job }) => job)
  if (jobs.length === 0) return null
  const ended = jobs.flatMap(({ completedAt }) => completedAt ?? [])
  return {
    ...of,
    jobs: jobs.length,
    isExact: true,
    recipients: jobs.reduce((sum, { recipients }) => sum + recipients, 0),
    counts: Recipient.addCounts(jobs.map(({ counts }) => counts)),
    createdAt: Time.min(...jobs.map(({ createdAt }) => createdAt)),
    lastAt: Time.max(...jobs.map(({ createdAt }) => createdAt)),
    completedAt: ended.length < jobs.length ? null : Time.max(...ended)
  }
}

const factsOf = (db: Database, { job, recipients }: JobRow): JobFacts => ({
  accountName: db.accounts.get(job.accountId)?.value.name ?? null,
  sessionName: db.sessions.get(job.sessionId)?.value.name ?? null,
  failures: Recipient.failuresByCode(
    recipients.flatMap(({ recipient: { failure, status } }) =>
      failure !== null && Recipient.unreached.includes(status)
        ? [{ code: failure.code, status, recipients: 1 }]
        : []
    )
  )
})

export const make = (
  db: Database
): Pick<Context.Tag.Service<JobStore>, "acceptedBetween" | "facts" | "list" | "results" | "sum"> => ({
  acceptedBetween: ({ accountId, from, kind, limit, sessionId, to }) =>
    Effect.sync(() => {
      const items = [...db.jobs.values()]
        .map(({ job }) => job)
        .filter(
          (job) =>
            isWithin(job.createdAt, from, to) &&
            isOne(accountId, job.accountId) &&
            isOne(sessionId, job.sessionId) &&
            isOne(kind, job.content.kind)
        )
        .sort((a, b) => (a.id < b.id ? 1 : -1))
      return { items: items.slice(0, limit), lookedTo: null }
    }),

  list: (query) =>
    Effect.sync(() => {
      const sessionAt = (sessionId: string) => (since: Instant) => ({
        isMoving: [...db.jobs.values()].some(
          ({ job }) => job.sessionId === sessionId && Jobs.isMovedSince(job, since)
        ),
        outSince: db.sessions.get(sessionId)?.value.outage?.since ?? null
      })
      const rows = [...db.jobs.values()].filter(
        (row) =>
          isListed(row.job, query, sessionAt(row.job.sessionId)) &&
          (query.isNewestOfReference === undefined || isNewest(db, row))
      )
      return Paging.map(newestFirst(rows, query.page), ({ job }) => job)
    }),

  sum: (query) => Effect.sync(() => sumOf(db, query)),

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
    })
})
