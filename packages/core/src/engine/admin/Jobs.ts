/** Any account's jobs and direct messages, for the operator; cancel and explicit retry. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { ContentExpired, JobEnded, NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import type { Job } from "../../domain/job/Job.ts"
import * as RetrySelection from "../../domain/job/RetrySelection.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Phone from "../../domain/Phone.ts"
import { Signals } from "../../runtime/Signals.ts"
import type { Readable } from "../../schema/Readable.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import type { DetailQuery } from "../JobAccess.ts"
import * as Reading from "../JobAccess.ts"
import * as Messages from "../Messages.ts"
import type { JobDetail, JobQuery, Message } from "../Operations.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

export interface RetryCommand extends RetrySelection.RetrySelection {
  /** Counts only; nothing is queued. */
  readonly dryRun?: boolean | undefined
}

export interface Retried {
  readonly job: Job
  /** How many were queued again, or would be. */
  readonly counts: RetrySelection.RetryCounts
  readonly dryRun: boolean
}

export interface Jobs {
  readonly list: (accountId: string, query: JobQuery) => Effect.Effect<Paged<Job>, NotFound | StorageError>
  readonly find: (id: string, query: DetailQuery) => Effect.Effect<JobDetail, NotFound | StorageError>
  readonly cancel: (id: string) => Effect.Effect<Job, JobEnded | NotFound | StorageError>
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
  readonly messages: (accountId: string, page: Page) => Effect.Effect<Paged<Message>, NotFound | StorageError>
}

const faultsOf = ({ codes = [], phones = [] }: Readable<RetryCommand>): ReadonlyArray<Fault.Fault> => [
  ...codes.flatMap((code, index) =>
    code === undefined
      ? []
      : ValidateName.validateName(code, "code", RetrySelection.maximumCodeLength, ["codes", index])
  ),
  ...phones.flatMap((phone, index) => {
    const fault = phone === undefined ? undefined : Phone.check(phone)
    return fault === undefined ? [] : [Fault.make(["phones", index], "recipient_invalid", fault)]
  })
]

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const store = yield* JobStore
  const { any, cancelFound, detail } = yield* Reading.make
  const messages = yield* Messages.make
  const signals = yield* Signals

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const jobs: Jobs = {
    list: Effect.fnUntraced(function* (accountId, query) {
      yield* account(accountId)
      return yield* store.list({ ...query, by: { accountId }, kind: "template" })
    }),
    find: Effect.fnUntraced(function* (id, query) {
      return yield* detail(yield* any(id), query)
    }),
    cancel: (id) => Effect.flatMap(any(id), cancelFound),
    retry: Effect.fnUntraced(function* (id, command = {}) {
      const { dryRun = false, ...selection } = command
      yield* refuseIf(faultsOf(command))
      const { id: jobId } = yield* any(id)
      const now = yield* Clock.currentTimeMillis
      const result = yield* store.retry({ jobId, now, selection, dryRun })
      if (result === null) return yield* new NotFound({ what: "job" })
      if (result._tag === "Ended") return yield* new JobEnded({ status: result.job.status })
      if (result._tag === "Expired")
        return yield* new ContentExpired({ at: result.job.contentExpiredAt ?? now })
      yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      return { job: result.job, counts: result.counts, dryRun }
    }),
    retryFaults: faultsOf,
    messages: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      return yield* messages.list(accountId, page)
    })
  }
  return jobs
})
