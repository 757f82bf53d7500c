/** Accounts and their plans. */
import * as Effect from "effect/Effect"
import type { Account } from "../../domain/account/Account.ts"
import * as Caps from "../../domain/account/Caps.ts"
import type { Plan } from "../../domain/account/Plan.ts"
import * as Plans from "../../domain/account/Plan.ts"
import * as Currency from "../../domain/billing/Currency.ts"
import type { Grouping, Sum } from "../../domain/billing/Spending.ts"
import { categoryOf, summing } from "../../domain/billing/Spending.ts"
import { type Change, changed } from "../../domain/Change.ts"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { RetentionChange } from "../../domain/Retention.ts"
import * as Retention from "../../domain/Retention.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { ListJobs } from "../../storage/JobStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import { RateCardStore } from "../../storage/RateCardStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

export type PlanChange = Change<Plan>

export interface Usage {
  readonly day: string
  readonly templateRecipients: { readonly used: number; readonly limit: number | null }
  readonly directMessages: { readonly used: number; readonly limit: number | null }
  readonly resetsAt: Instant
}

export interface Accounts {
  readonly create: (input: {
    readonly name: string
    readonly currency?: string | undefined
    readonly plan?: PlanChange | undefined
    readonly retention?: RetentionChange | undefined
    readonly caps?: Caps.CapsChange | undefined
  }) => Effect.Effect<Account, InvalidRequest | StorageError>
  readonly find: (id: string) => Effect.Effect<Account, NotFound | StorageError>
  readonly list: (page: Page) => Effect.Effect<Paged<Account>, StorageError>
  readonly change: (
    id: string,
    input: {
      readonly name?: string | undefined
      readonly currency?: string | undefined
      readonly plan?: PlanChange | undefined
      readonly retention?: RetentionChange | undefined
      readonly caps?: Caps.CapsChange | undefined
    }
  ) => Effect.Effect<Account, InvalidRequest | NotFound | StorageError>
  /**
   * Recipients and money of jobs that were accepted between two times, this month unless said otherwise. It reads the newest
   * {@link mostSummed} recipients, and tells since when all are among them.
   */
  readonly spending: (id: string, query: SpendingQuery) => Effect.Effect<Spending, NotFound | StorageError>
  /** The used part of today's limits. */
  readonly usage: (id: string) => Effect.Effect<Usage, NotFound | StorageError>
}

export interface SpendingQuery {
  readonly by: Grouping
  /** Inclusive. */
  readonly from?: Instant | undefined
  /** Exclusive. */
  readonly to?: Instant | undefined
}

export interface Spending {
  readonly by: Grouping
  readonly from: Instant
  readonly to: Instant
  /** The jobs that were accepted since are summed, as far as they lie between the times; `from` where all are. */
  readonly wholeSince: Instant
  readonly groups: ReadonlyArray<Sum>
}

/** A sum reads no more recipients, but for those of its last hundred jobs. */
export const mostSummed = 500_000
const jobsAtOnce = 100

const nameFaults = (name: string | undefined) =>
  name === undefined ? [] : ValidateName.validateName(name, "name", 255)

/** The plan with the given fields in place. */
const changedPlan = (plan: Plan, change: PlanChange | undefined): Plan => {
  const next = changed(plan, change)
  return { ...next, features: Array.from(new Set(next.features)) }
}

type Input = Parameters<Accounts["change"]>[1]

const faultsOf = ({ caps, currency, name, retention }: Input) => [
  ...nameFaults(name),
  ...Currency.faults(currency),
  ...Retention.faults(retention),
  ...Caps.faults(caps)
]

const changeOf = (account: Account, { caps, currency, name, plan, retention }: Input): Partial<Account> => ({
  ...(name === undefined ? {} : { name }),
  ...(currency === undefined ? {} : { currency }),
  ...(plan === undefined ? {} : { plan: changedPlan(account.plan, plan) }),
  ...(caps === undefined ? {} : { caps: changed(account.caps, caps) }),
  ...(retention === undefined ? {} : { retention: changed(account.retention, retention) })
})

const missing = Effect.fail(new NotFound({ what: "account" }))

export const make = Effect.gen(function* () {
  const store = yield* AccountStore
  const cards = yield* RateCardStore
  const jobs = yield* JobStore
  const ids = Ids.make(yield* Ids.RandomBytes)

  const find: Accounts["find"] = Effect.fnUntraced(function* (id) {
    return (yield* store.find(id)) ?? (yield* missing)
  })

  /** Adds a page of jobs; answers how many recipients they have. */
  const addJobs = Effect.fnUntraced(function* (
    found: ReadonlyArray<Job>,
    { add }: ReturnType<typeof summing>
  ) {
    const asked = found.map((job) => ({ id: job.id, category: categoryOf(job) }))
    const charges = yield* jobs.charges(asked)
    for (const job of found) {
      const ofJob = charges.get(job.id) ?? []
      const { createdAt: now, currency } = job
      const isOtherwise = ofJob.some(({ address }) => address !== null)
      add(job, ofJob, isOtherwise ? yield* cards.inForce({ currency, now }) : null)
    }
    return found.reduce((sum, { recipients }) => sum + recipients, 0)
  })

  /** Sums the jobs of one kind; answers since when all are among them. */
  const addAll = Effect.fnUntraced(function* (
    list: Omit<ListJobs, "page">,
    sums: ReturnType<typeof summing>,
    from: Instant
  ) {
    let [left, after]: [number, number | null] = [mostSummed, null]
    do {
      const { items, next }: Paged<Job> = yield* jobs.list({ ...list, page: { limit: jobsAtOnce, after } })
      left -= yield* addJobs(items, sums)
      after = next
      const last = items.at(-1)
      if (left <= 0 && next !== null && last !== undefined) return last.createdAt
    } while (after !== null)
    return from
  })

  const accounts: Accounts = {
    find,
    spending: Effect.fnUntraced(function* (id, { by, from: asked, to: until }) {
      yield* find(id)
      const to = until ?? Time.after(yield* Time.now, 1)
      const from = asked ?? Time.startOfUtcMonth(Time.before(to, 1))
      const sums = summing(by)
      const between = { by: { accountId: id }, createdAfter: from, createdBefore: to }
      const since = [
        yield* addAll({ ...between, kind: "template" }, sums, from),
        yield* addAll({ ...between, kind: "direct" }, sums, from)
      ]
      return { by, from, to, wholeSince: Time.max(...since), groups: sums.sums() }
    }),
    list: store.list,
    create: Effect.fnUntraced(function* ({ caps, currency, name, plan, retention }) {
      yield* refuseIf(faultsOf({ caps, currency, name, retention }))
      const now = yield* Time.now
      const account: Account = {
        id: ids.uuid(now),
        name,
        currency: currency ?? "USD",
        plan: changedPlan(Plans.defaults, plan),
        retention: changed(Retention.defaults, retention),
        caps: changed(Caps.none, caps),
        createdAt: now,
        updatedAt: now
      }
      yield* store.create(account)
      return account
    }),
    change: Effect.fnUntraced(function* (id, input) {
      yield* refuseIf(faultsOf(input))
      const account = yield* find(id)
      const now = yield* Time.now
      return (yield* store.change({ id, change: changeOf(account, input), now })) ?? (yield* missing)
    }),
    usage: Effect.fnUntraced(function* (id) {
      const { plan } = yield* find(id)
      const now = yield* Time.now
      const day = Time.utcDay(now)
      const used = yield* jobs.usage({ accountId: id, day })
      return {
        day,
        templateRecipients: { used: used.template, limit: plan.dailyTemplateRecipients },
        directMessages: { used: used.direct, limit: plan.dailyDirectMessages },
        resetsAt: Time.endOfUtcDay(now)
      }
    })
  }
  return accounts
})
