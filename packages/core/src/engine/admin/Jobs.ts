/** Any account's jobs and direct messages, for the operator; cancel and explicit retry. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { NotFound } from "../../domain/Errors.ts"
import type { Job, RecipientResult } from "../../domain/Job.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { Wake } from "../../worker/Wake.ts"
import type { DetailQuery } from "../Jobs.ts"
import * as Reading from "../Jobs.ts"
import type { JobDetail, JobQuery } from "../Operations.ts"

/** A direct message: its job and its one recipient. */
export interface Message {
  readonly job: Job
  readonly recipient: RecipientResult
}

export interface Jobs {
  readonly list: (accountId: string, query: JobQuery) => Effect.Effect<Paged<Job>, NotFound | StorageError>
  readonly find: (id: string, query: DetailQuery) => Effect.Effect<JobDetail, NotFound | StorageError>
  readonly cancel: (id: string) => Effect.Effect<Job, NotFound | StorageError>
  /** Queues failed and unknown recipients again; answers how many. */
  readonly retry: (
    id: string
  ) => Effect.Effect<{ readonly job: Job; readonly retried: number }, NotFound | StorageError>
  readonly messages: (accountId: string, page: Page) => Effect.Effect<Paged<Message>, NotFound | StorageError>
}

const missing = Effect.fail(new NotFound({ what: "job" }))

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const store = yield* JobStore
  const { detail } = yield* Reading.make
  const wake = yield* Wake
  const notify = Effect.zipRight(wake.sends.notify, wake.deliveries.notify)

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const jobs: Jobs = {
    list: Effect.fnUntraced(function* (accountId, query) {
      yield* account(accountId)
      return yield* store.list({ ...query, by: { accountId }, kind: "template" })
    }),
    find: Effect.fnUntraced(function* (id, query) {
      const job = yield* store.find(id)
      if (job === null || job.content.kind !== "template") return yield* missing
      return yield* detail(job, query)
    }),
    cancel: Effect.fnUntraced(function* (id) {
      const now = yield* Clock.currentTimeMillis
      const job = yield* store.cancel({ jobId: id, now })
      yield* notify
      return job ?? (yield* missing)
    }),
    retry: Effect.fnUntraced(function* (id) {
      const now = yield* Clock.currentTimeMillis
      const result = yield* store.retry({ jobId: id, now })
      yield* notify
      return result ?? (yield* missing)
    }),
    messages: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      const found = yield* store.list({ by: { accountId }, kind: "direct", page })
      const items = yield* Effect.forEach(found.items, (job) =>
        Effect.map(store.results({ jobId: job.id, page: { limit: 1, after: null } }), ({ items }) =>
          items.map((recipient) => ({ job, recipient }))
        )
      )
      return { items: items.flat(), next: found.next }
    })
  }
  return jobs
})
