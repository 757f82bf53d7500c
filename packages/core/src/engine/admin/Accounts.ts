/** Accounts and their plans. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Account } from "../../domain/account/Account.ts"
import type { Plan } from "../../domain/account/Plan.ts"
import * as Plans from "../../domain/account/Plan.ts"
import * as Currency from "../../domain/billing/Currency.ts"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { RetentionChange } from "../../domain/Retention.ts"
import * as Retention from "../../domain/Retention.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

/** Plan fields that are given; the others keep what they were. */
export type PlanChange = { readonly [Field in keyof Plan]?: Plan[Field] | undefined }

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
    }
  ) => Effect.Effect<Account, InvalidRequest | NotFound | StorageError>
  /** The used part of today's limits. */
  readonly usage: (id: string) => Effect.Effect<Usage, NotFound | StorageError>
}

const nameFaults = (name: string | undefined) =>
  name === undefined ? [] : ValidateName.validateName(name, "name", 255)

/** The plan with the given fields in place; fields that are absent stay. */
const changed = (plan: Plan, change: PlanChange | undefined): Plan => ({
  requestsPerMinute: change?.requestsPerMinute ?? plan.requestsPerMinute,
  minimumWaitMs: change?.minimumWaitMs ?? plan.minimumWaitMs,
  dailyDirectMessages:
    change?.dailyDirectMessages === undefined ? plan.dailyDirectMessages : change.dailyDirectMessages,
  dailyTemplateRecipients:
    change?.dailyTemplateRecipients === undefined
      ? plan.dailyTemplateRecipients
      : change.dailyTemplateRecipients,
  features: Array.from(new Set(change?.features ?? plan.features)),
  subscription: change?.subscription ?? plan.subscription
})

const missing = Effect.fail(new NotFound({ what: "account" }))

export const make = Effect.gen(function* () {
  const store = yield* AccountStore
  const jobs = yield* JobStore
  const ids = Ids.make(yield* Ids.RandomBytes)

  const find: Accounts["find"] = Effect.fnUntraced(function* (id) {
    return (yield* store.find(id)) ?? (yield* missing)
  })

  const accounts: Accounts = {
    find,
    list: store.list,
    create: Effect.fnUntraced(function* ({ currency, name, plan, retention }) {
      yield* refuseIf([...nameFaults(name), ...Currency.faults(currency), ...Retention.faults(retention)])
      const now = yield* Clock.currentTimeMillis
      const account: Account = {
        id: ids.uuid(now),
        name,
        currency: currency ?? "USD",
        plan: changed(Plans.defaults, plan),
        retention: Retention.changed(Retention.defaults, retention),
        createdAt: now,
        updatedAt: now
      }
      yield* store.create(account)
      return account
    }),
    change: Effect.fnUntraced(function* (id, { currency, name, plan, retention }) {
      yield* refuseIf([...nameFaults(name), ...Currency.faults(currency), ...Retention.faults(retention)])
      const account = yield* find(id)
      const now = yield* Clock.currentTimeMillis
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(currency === undefined ? {} : { currency }),
        ...(plan === undefined ? {} : { plan: changed(account.plan, plan) }),
        ...(retention === undefined ? {} : { retention: Retention.changed(account.retention, retention) })
      }
      return (yield* store.change({ id, change, now })) ?? (yield* missing)
    }),
    usage: Effect.fnUntraced(function* (id) {
      const { plan } = yield* find(id)
      const now = yield* Clock.currentTimeMillis
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
