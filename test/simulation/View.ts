/** What a simulated installation's store holds, read from outside by its stores; in memory by its rows, too. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Instant } from "../../packages/core/src/domain/Instant.ts"
import { utcDay } from "../../packages/core/src/domain/Instant.ts"
import type { Job, RecipientResult } from "../../packages/core/src/domain/job/Job.ts"
import * as Transitions from "../../packages/core/src/domain/job/Transitions.ts"
import type { Paged } from "../../packages/core/src/domain/Page.ts"
import { JobStore } from "../../packages/core/src/storage/JobStore.ts"
import type { StorageError } from "../../packages/core/src/storage/StorageError.ts"
import type { Stores } from "../../packages/core/src/storage/Stores.ts"
import type { Handle } from "../../packages/core/src/storage/sqlite/Driver.ts"
import { WebhookStore } from "../../packages/core/src/storage/WebhookStore.ts"

export interface SeenJob {
  readonly job: Job
  readonly recipients: ReadonlyArray<RecipientResult>
  /** Whether the outcome of an attempt of a recipient, by its place, is awaited. */
  readonly awaits: (index: number) => boolean
}

export interface SeenDelivery {
  readonly id: string
  readonly url: string
  readonly status: string
  readonly eventId: string
  /** Null where the store does not tell. */
  readonly body: string | null
}

export interface View {
  readonly jobs: ReadonlyMap<string, SeenJob>
  /** The fences under which outcomes of recipients are awaited, and how many each claim says that it awaits; null where the store does not tell. */
  readonly claims: {
    readonly awaited: ReadonlyArray<number>
    readonly counted: ReadonlyMap<number, number>
  } | null
  /** Units of template messages, by account and UTC day. */
  readonly usage: ReadonlyMap<string, number>
  readonly deliveries: ReadonlyArray<SeenDelivery>
}

export const usageKey = (accountId: string, day: string): string => `${accountId}|${day}`

/** Every page of a list. */
const allOf = <A>(
  list: (page: {
    readonly limit: number
    readonly after: number | null
  }) => Effect.Effect<Paged<A>, StorageError>
): Effect.Effect<ReadonlyArray<A>, StorageError> =>
  Effect.gen(function* () {
    const items: Array<A> = []
    let after: number | null = null
    do {
      const page: Paged<A> = yield* list({ limit: 250, after })
      items.push(...page.items)
      after = page.next
    } while (after !== null)
    return items
  })

export const ofStores = (
  stores: Context.Context<Stores>,
  accountIds: ReadonlyArray<string>
): Effect.Effect<View, StorageError> =>
  Effect.gen(function* () {
    const jobs = Context.get(stores, JobStore)
    const webhooks = Context.get(stores, WebhookStore)
    const seen = new Map<string, SeenJob>()
    const usage = new Map<string, number>()
    const deliveries: Array<SeenDelivery> = []
    for (const accountId of accountIds) {
      const days = new Set<Instant | string>()
      for (const kind of ["template", "direct"] as const) {
        for (const job of yield* allOf((page) => jobs.list({ by: { accountId }, kind, page }))) {
          const recipients = yield* allOf((page) => jobs.results({ jobId: job.id, page }))
          const awaits = (index: number): boolean => {
            const recipient = recipients[index]
            return recipient !== undefined && Transitions.inFlight(recipient)
          }
          seen.set(job.id, { job, recipients, awaits })
          days.add(utcDay(job.createdAt))
        }
      }
      for (const day of days) {
        const { template } = yield* jobs.usage({ accountId, day: String(day) })
        usage.set(usageKey(accountId, String(day)), template)
      }
      for (const { id: endpointId, url } of yield* allOf((page) => webhooks.list({ accountId, page }))) {
        for (const { eventId, id, status } of yield* allOf((page) =>
          webhooks.deliveries({ endpointId, page })
        ))
          deliveries.push({ id, url, status, eventId, body: null })
      }
    }
    return { jobs: seen, claims: null, usage, deliveries }
  })

/** As the view `sendwright_recipients` tells which of them are in flight. */
const awaited = `SELECT coalesce(recipient.fence, claim.fence) AS fence
  FROM sendwright_job AS job
    JOIN sendwright_recipients AS told ON told.job = job.id AND told.is_in_flight = 1
    JOIN sendwright_recipient AS recipient ON recipient.seq = told.seq
    LEFT JOIN sendwright_claim AS claim ON claim.session = job.session AND claim.worker IS NOT NULL
      AND recipient.seq BETWEEN claim.first AND claim.last AND recipient.fence IS NULL`
const counted = "SELECT fence, open FROM sendwright_claim"
const bodies = `SELECT delivery.id, event.body FROM sendwright_delivery AS delivery
  JOIN sendwright_event AS event ON event.seq = delivery.event`

const columnsOf = (database: Handle, select: string): ReadonlyArray<ReadonlyArray<unknown>> =>
  database
    .prepare(select)
    .all()
    .map((row) => Object.values(Object(row)))

/** With what the stores keep to themselves. */
export const ofRows = (database: Handle, view: View): View => {
  const bodyOf = new Map(columnsOf(database, bodies).map(([id, body]) => [id, String(body)]))
  return {
    ...view,
    claims: {
      awaited: columnsOf(database, awaited).map(([fence]) => Number(fence)),
      counted: new Map(columnsOf(database, counted).map(([fence, open]) => [Number(fence), Number(open)]))
    },
    deliveries: view.deliveries.map((each) => ({ ...each, body: bodyOf.get(each.id) ?? null }))
  }
}
