/** Events of all accounts, derived from rows when they are asked for. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { DerivedEvent } from "../../domain/DerivedEvent.ts"
import * as Derived from "../../domain/DerivedEvent.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job, RecipientResult } from "../../domain/job/Job.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Pages from "../../domain/Page.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { AuditStore } from "../../storage/AuditStore.ts"
import { ConsentStore } from "../../storage/ConsentStore.ts"
import { HappeningStore } from "../../storage/HappeningStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"

/** Which events; each member narrows it. */
export interface EventsFilter {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  readonly jobId?: string | undefined
  /** A type, or a family of them such as `session.*`. */
  readonly type?: string | undefined
  /** Inclusive. */
  readonly after?: Instant | undefined
  /** Exclusive. */
  readonly before?: Instant | undefined
}

export interface EventsQuery extends EventsFilter {
  readonly page: Page
}

export interface Events {
  /**
   * Newest first: what has its time over all accounts (`DerivedEvent.ofTime`), or all of one job and its recipients. A page is
   * never empty while something is left to find, but for one behind {@link mostLookedAt} rows that did not pass the filter.
   */
  readonly list: (query: EventsQuery) => Effect.Effect<Paged<DerivedEvent>, NotFound | StorageError>
  /**
   * First the events that have a time over all accounts (`DerivedEvent.ofTime`), and then the others job by job, the newest
   * first. The export reads each job whose rows have changed since `after`.
   */
  readonly export: (
    filter: EventsFilter
  ) => Effect.Effect<Stream.Stream<ReadonlyArray<DerivedEvent>, StorageError>, NotFound | StorageError>
}

/** How often a list looks at some thousands of rows, and at how many rows that is. */
const reads = 200
export const mostLookedAt = reads * Pages.mostLookedAt

const eventsAtOnce = 250
const recipientsAtOnce = 250
const jobsAtOnce = 100

const isTimed = (type: Derived.Type): boolean => Derived.ofTime.some((each) => each === type)

const isWithin = (at: Instant, { after, before }: EventsFilter): boolean =>
  (after === undefined || at >= after) && (before === undefined || at < before)

const isOf = (job: Job, { accountId, sessionId }: EventsFilter): boolean =>
  (accountId === undefined || job.accountId === accountId) &&
  (sessionId === undefined || job.sessionId === sessionId)

/** A page of what has its time over all accounts, as each of its sources has it. */
const timing = Effect.gen(function* () {
  const acts = yield* AuditStore
  const consents = yield* ConsentStore
  const happenings = yield* HappeningStore
  const jobs = yield* JobStore

  return Effect.fnUntraced(function* (filter: EventsFilter, page: Page) {
    const { accountId, after: from = Time.at(0), before, sessionId, type } = filter
    const now = yield* Time.now
    // A clock that was ahead may have written the newest.
    const to = before ?? Time.after(now, 10 * Time.day)
    const place = page.after === null ? { at: Time.before(to, 1), skip: 0 } : Derived.placeOf(page.after)
    const asked = (some: Derived.Type): boolean => Derived.isAsked(type, some)
    const limit = place.skip + page.limit + 1
    const between = { accountId, sessionId, from, to: Time.after(place.at, 1), limit }
    const nothing: Derived.Looked<DerivedEvent> = { items: [], lookedTo: null }
    const accepted = (["template", "direct"] as const).filter((kind) =>
      asked(kind === "direct" ? "message.created" : "job.created")
    )
    const types = Happening.types.filter(asked)
    const sources = yield* Effect.all([
      types.length === 0
        ? Effect.succeed(nothing)
        : Effect.map(happenings.between({ ...between, types }), (items) => ({
            items: items.map(Derived.ofHappening),
            lookedTo: null
          })),
      accountId !== undefined || sessionId !== undefined || !asked("audit.recorded")
        ? Effect.succeed(nothing)
        : Effect.map(acts.between(between), (items) => ({ items: items.map(Derived.ofAct), lookedTo: null })),
      sessionId !== undefined || !asked("consent.revoked")
        ? Effect.succeed(nothing)
        : Effect.map(consents.revoked(between), (found) =>
            Derived.mapLooked(found, ({ accountId, record }) => Derived.ofRefusal(accountId, record))
          ),
      accepted.length === 0
        ? Effect.succeed(nothing)
        : Effect.map(
            jobs.acceptedBetween({ ...between, kind: accepted.length === 1 ? accepted[0] : undefined }),
            (found) => Derived.mapLooked(found, Derived.ofAcceptance)
          )
    ])
    return Derived.pageOf(sources, place, page.limit)
  })
})

/** The events of jobs and their recipients. */
const ofJobs = Effect.gen(function* () {
  const jobs = yield* JobStore

  const recipientsOf = Effect.fnUntraced(function* (jobId: string) {
    const all: Array<RecipientResult> = []
    let after: number | null = null
    do {
      const page: Paged<RecipientResult> = yield* jobs.results({
        jobId,
        page: { limit: recipientsAtOnce, after }
      })
      all.push(...page.items)
      after = page.next
    } while (after !== null)
    return all
  })

  const page = (job: Job, filter: EventsFilter, isMore: (type: Derived.Type) => boolean, asked: Page) =>
    Effect.map(recipientsOf(job.id), (recipients) => {
      const isIncluded = ({ at, type }: DerivedEvent): boolean =>
        isMore(type) && Derived.isAsked(filter.type, type) && isWithin(at, filter)
      return Derived.pageOfJob(job, recipients, isIncluded, asked)
    })

  const one = Effect.fnUntraced(function* (jobId: string, filter: EventsFilter) {
    const job = yield* jobs.find(jobId)
    return job !== null && isOf(job, filter) ? job : yield* new NotFound({ what: "job" })
  })

  const whole = (job: Job, filter: EventsFilter, isMore: (type: Derived.Type) => boolean) =>
    Stream.fromEffect(
      Effect.map(
        page(job, filter, isMore, { limit: Number.MAX_SAFE_INTEGER, after: null }),
        ({ items }) => items
      )
    )

  return { one, page, whole }
})

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const jobs = yield* JobStore
  const timed = yield* timing
  const ofJob = yield* ofJobs

  const checked = Effect.fnUntraced(function* ({ accountId }: EventsFilter) {
    if (accountId !== undefined && (yield* accounts.find(accountId)) === null)
      return yield* new NotFound({ what: "account" })
  })

  /** Goes on until something is found, nothing is left, or so many reads are made. */
  const found = (
    filter: EventsFilter,
    page: Page,
    left = reads
  ): Effect.Effect<Paged<DerivedEvent>, StorageError> =>
    Effect.flatMap(timed(filter, page), (some) =>
      some.items.length === 0 && some.next !== null && left > 1
        ? found(filter, { ...page, after: some.next }, left - 1)
        : Effect.succeed(some)
    )

  const pages = <A>(read: (after: number | null) => Effect.Effect<Paged<A>, StorageError>) =>
    Stream.paginateEffect(null as number | null, (after) =>
      Effect.map(read(after), ({ items, next }) => [items, Option.fromNullable(next)] as const)
    )

  const events: Events = {
    list: Effect.fnUntraced(function* ({ jobId, page, ...filter }) {
      yield* checked(filter)
      if (jobId === undefined) return yield* found(filter, page)
      return yield* ofJob.page(yield* ofJob.one(jobId, filter), filter, () => true, page)
    }),
    export: Effect.fnUntraced(function* ({ jobId, ...filter }) {
      yield* checked(filter)
      if (jobId !== undefined) return ofJob.whole(yield* ofJob.one(jobId, filter), filter, () => true)
      const { accountId, after, before, sessionId } = filter
      const ofTime = pages((after) => timed(filter, { limit: eventsAtOnce, after }))
      const isRest = (type: Derived.Type): boolean => !isTimed(type)
      const isAsked = Derived.types.some((type) => isRest(type) && Derived.isAsked(filter.type, type))
      if (!isAsked) return ofTime
      const by = { accountId, sessionId }
      const changed = Stream.flatMap(Stream.make("template" as const, "direct" as const), (kind) =>
        Stream.mapConcat(
          pages((after) =>
            jobs.list({ by, kind, createdBefore: before, page: { limit: jobsAtOnce, after } })
          ),
          (found) => found.filter(({ updatedAt }) => after === undefined || updatedAt >= after)
        )
      )
      return Stream.concat(
        ofTime,
        Stream.flatMap(changed, (job) => ofJob.whole(job, filter, isRest))
      )
    })
  }
  return events
})
