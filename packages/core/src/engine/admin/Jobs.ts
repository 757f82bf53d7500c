/** Any account's jobs and direct messages, for the operator; cancel and explicit retry. */
import * as Effect from "effect/Effect"
import * as Address from "../../domain/Address.ts"
import type { Account } from "../../domain/account/Account.ts"
import * as Erasure from "../../domain/Erasure.ts"
import { ContentExpired, InvalidRequest, JobEnded, NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import { stuckAfterMs } from "../../domain/job/Job.ts"
import * as Overlaps from "../../domain/job/Overlap.ts"
import * as Recipient from "../../domain/job/Recipient.ts"
import type { Sums } from "../../domain/job/RetryPlan.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import type * as RetrySelection from "../../domain/job/RetrySelection.ts"
import type { Hour, Part } from "../../domain/job/Starts.ts"
import * as Starts from "../../domain/job/Starts.ts"
import type { Story } from "../../domain/job/Timeline.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Pages from "../../domain/Page.ts"
import * as Phone from "../../domain/Phone.ts"
import * as EventLoopBudget from "../../runtime/EventLoopBudget.ts"
import { Signals } from "../../runtime/Signals.ts"
import type { Readable } from "../../schema/Readable.ts"
import type { TimesChange } from "../../schema/Requests.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { JobDetails, ListJobs, ReferenceSum } from "../../storage/JobStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import type { DetailQuery } from "../JobAccess.ts"
import * as Reading from "../JobAccess.ts"
import * as Messages from "../Messages.ts"
import type { JobDetail, JobQuery, Message } from "../Operations.ts"
import * as Timelines from "../Timelines.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as RetryFaults from "./RetryFaults.ts"

export interface RetryCommand extends RetrySelection.RetrySelection {
  /** Counts only; nothing is queued. */
  readonly dryRun?: boolean | undefined
}

export interface Retried {
  readonly job: Job
  /** How many were queued again, or would be. */
  readonly counts: RetrySelection.RetryCounts
  /** How many are retried, how many are left, and what it costs. */
  readonly sums: Sums
  readonly dryRun: boolean
}

/** Of jobs of all accounts, unless it names whose. */
export interface AdminJobQuery extends JobQuery {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  readonly publicKey?: string | undefined
  readonly templateId?: number | undefined
  /** Some of its recipients failed, are unknown, or wait. */
  readonly has?: "failed" | "unknown" | "waiting" | undefined
  /** Nothing becomes of it, and it is not its turn that it waits for (`Job.isStuck`). */
  readonly isStuck?: boolean | undefined
  readonly completedAfter?: Instant | undefined
  readonly completedBefore?: Instant | undefined
  /** Some of its recipients failed with this code, or are unknown for it. */
  readonly code?: string | undefined
}

/** The recipients who wait for their time, or for hours in which they may go. */
export interface Schedule {
  readonly at: Instant
  readonly hours: ReadonlyArray<Hour>
  /** False where there are more jobs than were read, which are the oldest. */
  readonly isExact: boolean
}

/** The people whom both of two campaigns reached. */
export interface Overlap {
  readonly people: ReadonlyArray<Overlaps.Both>
  /**
   * False where a campaign has more recipients than were read, which are of its newest jobs; where one of them was erased; and
   * where the account is older than its results are kept.
   */
  readonly isExact: boolean
}

/** A page, and how many jobs were looked at for it where that is not {@link mostLookedAt}. */
export interface Looked<A> extends Paged<A> {
  readonly lookedAt?: number
}

/** A job with what an operator is told of it beside itself. */
export interface ToldJob extends Job, JobDetails {}

export interface Jobs {
  /**
   * Newest first. A page is never empty while something is left to find, but for one behind {@link mostLookedAt} jobs that
   * did not pass the filter: then it continues from there.
   */
  readonly list: (query: AdminJobQuery) => Effect.Effect<Looked<ToldJob>, NotFound | StorageError>
  /** How many a list has, as far as one look at some thousands of jobs tells. Of a failure's code nothing is counted. */
  readonly count: (
    query: Omit<AdminJobQuery, "code" | "page">
  ) => Effect.Effect<Pages.Counted, NotFound | StorageError>
  /** The jobs of each reference together, those with the newest job first. */
  readonly references: (
    query: Pick<AdminJobQuery, "accountId" | "createdAfter" | "createdBefore" | "page" | "reference">
  ) => Effect.Effect<Paged<ReferenceSum>, NotFound | StorageError>
  readonly find: (id: string, query: DetailQuery) => Effect.Effect<ToldDetail, NotFound | StorageError>
  /** How many recipients start in which hour, and in which countries they are. */
  readonly schedule: (query?: {
    readonly reference?: string | undefined
  }) => Effect.Effect<Schedule, StorageError>
  /** Who got a message of jobs with the one reference and of jobs with the other. */
  readonly overlap: (query: {
    readonly accountId: string
    readonly reference: string
    readonly other: string
  }) => Effect.Effect<Overlap, InvalidRequest | NotFound | StorageError>
  readonly cancel: (id: string) => Effect.Effect<Job, JobEnded | NotFound | StorageError>
  /** Holds a job until somebody lets it go on; what is in flight finishes. */
  readonly pause: (id: string) => Effect.Effect<Job, JobEnded | NotFound | StorageError>
  readonly resume: (id: string) => Effect.Effect<Job, JobEnded | NotFound | StorageError>
  /** Changes when those may be sent whom nobody attempted yet. */
  readonly change: (
    id: string,
    times: TimesChange
  ) => Effect.Effect<Job, InvalidRequest | JobEnded | NotFound | StorageError>
  /**
   * Queues recipients again, as `RetrySelection` chooses them: by default the failed whose failure is not permanent. A
   * retry of an `unknown` recipient may send twice.
   */
  readonly retry: (
    id: string,
    command?: RetryCommand
  ) => Effect.Effect<Retried, ContentExpired | InvalidRequest | JobEnded | NotFound | StorageError>
  /** The rules that a command breaks, as far as it can be read. */
  readonly retryFaults: (command: Readable<RetryCommand>) => ReadonlyArray<Fault.Fault>
  /** Newest first; with `phone` those to this number, in any spelling. */
  readonly messages: (query: {
    readonly accountId: string
    readonly phone?: string | undefined
    readonly page: Page
  }) => Effect.Effect<Paged<Message>, NotFound | StorageError>
  /** The story of a message of any account, a recipient's or a direct one. */
  readonly timeline: (messageId: string) => Effect.Effect<Story, NotFound | StorageError>
}

/** A job's detail with what an operator is told of it beside. */
export interface ToldDetail extends JobDetail {
  readonly facts: JobDetails
}

/** How often a list looks at some thousands of jobs, and at how many jobs that is. */
const reads = 200
export const mostLookedAt = reads * Pages.mostLookedAt

/** So many pages of jobs with failures are looked at for those of one code. */
const mostPages = 40

/** So many reads of some hundred jobs has a schedule at most. */
const mostReads = 10

/** So many recipients of a campaign are looked at for whom it reached. */
const mostRecipients = 50_000
const jobsAtATime = 100

const noFacts: JobDetails = { accountName: null, sessionName: null, failures: [] }

const faultsOf = ({ codes = [], phones = [] }: Readable<RetryCommand>): ReadonlyArray<Fault.Fault> => [
  ...RetryFaults.ofCodes(codes, ["codes"]),
  ...phones.flatMap((phone, index) => {
    const check = Address.userIdForm.test(phone ?? "") ? Address.checkUserId : Phone.check
    const fault = phone === undefined ? undefined : check(phone)
    return fault === undefined ? [] : [Fault.make(["phones", index], "recipient_invalid", fault)]
  })
]

/** Pages of jobs with failures, until some of them have the code. */
const failedWith = Effect.fnUntraced(function* (
  code: string,
  query: ListJobs,
  told: (query: ListJobs) => Effect.Effect<Paged<ToldJob>, StorageError>
) {
  let page = query.page
  for (let looks = 1; ; looks += 1) {
    const { items, next } = yield* told({ ...query, has: query.has ?? "failures", page })
    const found = items.filter(({ failures }) => failures.some((failure) => failure.code === code))
    if (found.length > 0 || next === null || looks === mostPages)
      return { items: found, next, lookedAt: looks * page.limit }
    page = { ...page, after: next }
  }
})

type Campaigns = Pick<JobStore["Type"], "list" | "results">

/** The recipients of the newest jobs of a reference whom a message reached. */
const reachedBy = Effect.fnUntraced(function* (store: Campaigns, accountId: string, reference: string) {
  const reached: Array<Overlaps.Reached> = []
  let [after, left]: [number | null, number] = [null, mostRecipients]
  do {
    const query: ListJobs = {
      by: { accountId },
      reference,
      kind: "template",
      reads,
      page: { limit: jobsAtATime, after }
    }
    const found = yield* store.list(query)
    for (const { id, recipients } of found.items) {
      if (left < recipients) return { reached, isAll: false }
      left -= recipients
      yield* EventLoopBudget.yieldIfSpent
      const page = { limit: recipients, after: null }
      for (const { address, index, status } of (yield* store.results({ jobId: id, page })).items)
        if (Recipient.wasAccepted(status)) reached.push({ jobId: id, index, address, status })
    }
    after = found.next
  } while (after !== null)
  return { reached, isAll: true }
})

const overlapIn = Effect.fnUntraced(function* (
  store: Campaigns,
  { createdAt, id, retention }: Account,
  { other, reference }: Parameters<Jobs["overlap"]>[0]
) {
  if (other === reference)
    return yield* new InvalidRequest({
      faults: [
        Fault.make(
          ["query", "other"],
          "invalid_value",
          "`other` must name another campaign than `reference`."
        )
      ]
    })
  const first = yield* reachedBy(store, id, reference)
  const second = yield* reachedBy(store, id, other)
  const isErased = [...first.reached, ...second.reached].some(({ address }) => Erasure.isErased(address))
  const days = retention.resultsDays
  const isKept = days === null || createdAt > Time.before(yield* Time.now, days * Time.day)
  const people = Overlaps.overlap(first.reached, second.reached)
  return { people, isExact: first.isAll && second.isAll && isKept && !isErased }
})

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const store = yield* JobStore
  const { any, cancelFound, changeFound, detail, pauseFound, resumeFound } = yield* Reading.make
  const messages = yield* Messages.make
  const signals = yield* Signals
  const timelines = yield* Timelines.make

  const account = Effect.fnUntraced(function* (id: string) {
    return (yield* accounts.find(id)) ?? (yield* new NotFound({ what: "account" }))
  })

  const filterOf = Effect.fnUntraced(function* ({
    accountId,
    isStuck = false,
    publicKey,
    sessionId,
    ...filter
  }: Omit<AdminJobQuery, "code" | "page">) {
    if (accountId !== undefined) yield* account(accountId)
    const stuckSince = isStuck ? Time.before(yield* Time.now, stuckAfterMs) : undefined
    return { ...filter, by: { accountId, publicKey, sessionId }, stuckSince, kind: "template" } as const
  })

  const told = Effect.fnUntraced(function* (query: ListJobs) {
    const { items, next } = yield* store.list({ ...query, reads })
    const facts = yield* store.facts(items)
    return { items: items.map((job) => ({ ...job, ...(facts.get(job.id) ?? noFacts) })), next }
  })

  const jobs: Jobs = {
    list: Effect.fnUntraced(function* ({ code, ...query }) {
      const wanted = { ...(yield* filterOf(query)), page: query.page }
      return yield* code === undefined ? told(wanted) : failedWith(code, wanted, told)
    }),
    count: (query) => Effect.flatMap(filterOf(query), store.count),
    references: Effect.fnUntraced(function* ({ accountId, ...query }) {
      if (accountId !== undefined) yield* account(accountId)
      const newest = {
        ...query,
        by: { accountId },
        isNewestOfReference: true,
        kind: "template",
        reads
      } as const
      const { items, next } = yield* store.list(newest)
      const sums = yield* Effect.forEach(items, ({ accountId, reference }) =>
        reference === null ? Effect.succeed(null) : store.sum({ accountId, reference })
      )
      return { items: sums.filter((sum) => sum !== null), next }
    }),
    schedule: Effect.fnUntraced(function* ({ reference } = {}) {
      const now = yield* Time.now
      const parts: Array<Part> = []
      let [after, reads]: [number | null, number] = [0, 0]
      for (; after !== null && reads < mostReads; reads += 1) {
        yield* EventLoopBudget.yieldIfSpent
        const found: { readonly parts: ReadonlyArray<Part>; readonly next: number | null } =
          yield* store.starts({ now, reference, after })
        parts.push(...found.parts)
        after = found.next
      }
      return { at: now, hours: Starts.hoursOf(parts), isExact: after === null }
    }),
    overlap: (query) => Effect.flatMap(account(query.accountId), (found) => overlapIn(store, found, query)),
    find: Effect.fnUntraced(function* (id, query) {
      const job = yield* any(id)
      const facts = (yield* store.facts([job])).get(job.id) ?? noFacts
      return { ...(yield* detail(job, query)), facts }
    }),
    cancel: (id) => Effect.flatMap(any(id), cancelFound),
    pause: (id) => Effect.flatMap(any(id), pauseFound),
    resume: (id) => Effect.flatMap(any(id), resumeFound),
    change: (id, times) => Effect.flatMap(any(id), changeFound(times)),
    retry: Effect.fnUntraced(function* (id, command = {}) {
      const { dryRun = false, ...selection } = command
      yield* refuseIf(faultsOf(command))
      const { id: jobId } = yield* any(id)
      const now = yield* Time.now
      const result = yield* store.retry({ jobId, now, selection, dryRun })
      if (result === null) return yield* new NotFound({ what: "job" })
      if (result._tag === "Ended") return yield* new JobEnded({ status: result.job.status })
      if (result._tag === "Expired")
        return yield* new ContentExpired({ at: result.job.contentExpiredAt ?? now })
      yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      const { counts, job, sums } = result
      return { job, counts, sums: RetryPlan.withForeign(sums, selection), dryRun }
    }),
    retryFaults: faultsOf,
    messages: Effect.fnUntraced(function* (query) {
      yield* account(query.accountId)
      return yield* messages.list(query)
    }),
    timeline: timelines.any
  }
  return jobs
})
