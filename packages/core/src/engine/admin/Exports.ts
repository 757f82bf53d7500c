/** Rows of accounts, read as a whole: page by page, so that no statement holds the store for longer than a page takes. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Status as ConsentStatus, Scope } from "../../domain/consent/Consent.ts"
import { NotFound } from "../../domain/Errors.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Content, Job, RecipientResult } from "../../domain/job/Job.ts"
import { kinds as kindsOfJobs } from "../../domain/job/Job.ts"
import type { Status } from "../../domain/job/Recipient.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { FiledConsent, Filing } from "../../storage/ConsentStore.ts"
import { ConsentStore } from "../../storage/ConsentStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"

interface OfAccount {
  /** All accounts where it is left out. */
  readonly accountId?: string | undefined
}

/** Which recipients' results; each member narrows it. */
export interface ResultsQuery extends OfAccount {
  readonly sessionId?: string | undefined
  readonly jobId?: string | undefined
  /** Template sends or direct messages; both where it is left out. */
  readonly kind?: Content["kind"] | undefined
  readonly reference?: string | undefined
  readonly status?: Status | undefined
  /** Of a failure. */
  readonly code?: string | undefined
  /** Of the job, inclusive. */
  readonly createdAfter?: Instant | undefined
  /** Of the job, exclusive. */
  readonly createdBefore?: Instant | undefined
}

export interface ExportedResult {
  readonly job: Job
  readonly result: RecipientResult
}

export interface ConsentsQuery extends OfAccount {
  readonly status?: ConsentStatus | undefined
  readonly purpose?: Scope | undefined
  /** Inclusive. */
  readonly recordedAfter?: Instant | undefined
  /** Exclusive. */
  readonly recordedBefore?: Instant | undefined
}

export interface ExportedConsent extends FiledConsent {
  readonly accountId: string
}

/** Rows in the pages in which they were read. */
type Rows<A> = Stream.Stream<ReadonlyArray<A>, StorageError>

export interface Exports {
  /**
   * Account by account template sends and then direct messages, the newest job first, so that jobs that are accepted while it is read are not among them. Each recipient is as it was when its
   * page was read.
   */
  readonly results: (query: ResultsQuery) => Effect.Effect<Rows<ExportedResult>, NotFound | StorageError>
  /** Person by person, each record for everyone whom it holds for, in the order in which they count. */
  readonly consents: (query: ConsentsQuery) => Effect.Effect<Rows<ExportedConsent>, NotFound | StorageError>
}

const jobsAtOnce = 100
const resultsAtOnce = 250
const consentsAtOnce = 500

/** All pages of a list. */
const pages = <A>(
  limit: number,
  read: (page: Page) => Effect.Effect<Paged<A>, StorageError>
): Stream.Stream<ReadonlyArray<A>, StorageError> =>
  Stream.paginateEffect(null as number | null, (after) =>
    Effect.map(read({ limit, after }), ({ items, next }) => [items, Option.fromNullable(next)] as const)
  )

const isWithin = (at: Instant, from: Instant | undefined, until: Instant | undefined): boolean =>
  (from === undefined || at >= from) && (until === undefined || at < until)

const isAsked = (
  job: Job,
  { accountId, createdAfter, createdBefore, kind, reference, sessionId }: ResultsQuery
): boolean =>
  (kind === undefined || job.content.kind === kind) &&
  (accountId === undefined || job.accountId === accountId) &&
  (sessionId === undefined || job.sessionId === sessionId) &&
  (reference === undefined || job.reference === reference) &&
  isWithin(job.createdAt, createdAfter, createdBefore)

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const jobs = yield* JobStore
  const store = yield* ConsentStore

  /** The ids of the accounts that are asked for. */
  const accountsOf = Effect.fnUntraced(function* ({ accountId }: OfAccount) {
    if (accountId === undefined)
      return Stream.mapConcat(pages(jobsAtOnce, accounts.list), (found) => found.map(({ id }) => id))
    if ((yield* accounts.find(accountId)) === null) return yield* new NotFound({ what: "account" })
    return Stream.make(accountId)
  })

  const resultsOf = (job: Job, { code, status }: ResultsQuery): Rows<ExportedResult> =>
    Stream.map(
      pages(resultsAtOnce, (page) => jobs.results({ jobId: job.id, status, page })),
      (found) =>
        found.flatMap((result) =>
          code === undefined || result.failure?.code === code ? [{ job, result }] : []
        )
    )

  const jobsOf = Effect.fnUntraced(function* (query: ResultsQuery) {
    const { createdAfter, createdBefore, jobId, kind, reference } = query
    if (jobId !== undefined) {
      const job = yield* jobs.find(jobId)
      return job === null ? yield* new NotFound({ what: "job" }) : Stream.make(job)
    }
    const kinds = kind === undefined ? kindsOfJobs : [kind]
    return Stream.flatMap(yield* accountsOf(query), (accountId) =>
      Stream.flatMap(Stream.fromIterable(kinds), (kind) => {
        const list = { by: { accountId }, kind, reference, createdAfter, createdBefore }
        return Stream.mapConcat(
          pages(jobsAtOnce, (page) => jobs.list({ ...list, page })),
          (found) => found
        )
      })
    )
  })

  const exports: Exports = {
    results: (query) =>
      Effect.map(jobsOf(query), (found) =>
        found.pipe(
          Stream.filter((job) => isAsked(job, query)),
          Stream.flatMap((job) => resultsOf(job, query))
        )
      ),
    consents: (query) =>
      Effect.map(accountsOf(query), (found) =>
        Stream.flatMap(found, (accountId) =>
          Stream.paginateEffect(null as Filing | null, (after) =>
            Effect.map(store.page({ accountId, after, limit: consentsAtOnce }), (items) => {
              const last = items.length < consentsAtOnce ? undefined : items.at(-1)
              const asked = items.filter(
                ({ record: { purpose, recordedAt, status } }) =>
                  (query.status === undefined || status === query.status) &&
                  (query.purpose === undefined || purpose === query.purpose) &&
                  isWithin(recordedAt, query.recordedAfter, query.recordedBefore)
              )
              return [
                asked.map((each) => ({ accountId, ...each })),
                Option.fromNullable(last?.filing)
              ] as const
            })
          )
        )
      )
  }
  return exports
})
