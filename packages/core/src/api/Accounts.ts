/** Accounts, their plans, and what they used (contract.md §8). */
import * as Effect from "effect/Effect"
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import { Caps, type ClientTexts } from "../adapter.ts"
import * as Either from "../effect/Either.ts"
import type { Admin } from "../index.ts"
import {
  Currency,
  Errors,
  Fault,
  Instant,
  Plan as Plans,
  Retention as Retentions,
  Spending
} from "../index.ts"
import { inProcess, list, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { type Answer, forOperator, one, pageOf } from "./Operation.ts"
import { checkPeriods, id, Name, Paging, TimeText, timeOf } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

/** For how many days; null = for ever. */
const Days = Schema.NullOr(Wire.Count)

/** Each setting of a plan is told, and each may be changed. */
type OfPlan<Field> = { readonly [Name in keyof Plans.Plan as ClientTexts.Snake<Name>]: Field }

const plan = struct(
  {
    requests_per_minute: Wire.Count,
    minimum_wait_ms: Wire.Count,
    daily_direct_messages: Schema.NullOr(Wire.Count),
    daily_template_recipients: Schema.NullOr(Wire.Count),
    features: Schema.Array(Schema.Literal(...Plans.features)),
    subscription: Schema.Literal("active", "inactive")
  } satisfies OfPlan<Schema.Struct.Field>,
  "Plan"
)

const retention = struct(
  {
    deliveries_days: Days,
    contents_days: Days,
    results_days: Days,
    unread_hooks_days: Days,
    consents_days: Days
  },
  "Retention"
)

const account = struct(
  {
    id: Wire.Id,
    name: Wire.Text,
    currency: Wire.Text,
    plan,
    retention,
    caps: Schema.Struct(Records.map(Caps.none, () => Schema.NullOr(Caps.Cap))),
    created_at: Wire.Time,
    updated_at: Wire.Time
  },
  "Account"
)

const maximumCount = 1_000_000_000
const Limit = Schema.NullOr(Schema.Int.pipe(Schema.between(0, maximumCount)))

const PlanChange = Schema.Struct({
  requests_per_minute: optional(Schema.Int.pipe(Schema.between(1, 1_000_000))),
  minimum_wait_ms: optional(Schema.Int.pipe(Schema.between(0, 86_400_000))),
  daily_direct_messages: optional(Limit),
  daily_template_recipients: optional(Limit),
  features: optional(
    Schema.Array(Schema.Literal(...Plans.features)).pipe(Schema.maxItems(Plans.features.length))
  ),
  subscription: optional(Schema.Literal("active", "inactive"))
} satisfies OfPlan<Schema.Struct.Field>)

const days = (name: keyof Retentions.Retention, description: string) =>
  optional(
    Schema.NullOr(
      Schema.Int.pipe(Schema.between(Retentions.leastDays[name], Retentions.mostDays))
    ).annotations({
      description
    })
  )

/** The change of how long an account's rows are kept. */
const RetentionChange = Schema.Struct({
  deliveries_days: days("deliveriesDays", "Events with their deliveries and attempts, once none waits."),
  contents_days: days("contentsDays", "Variables of recipients, and texts: results stay without them."),
  results_days: days("resultsDays", "Ended jobs with their recipients and Idempotency-Keys."),
  unread_hooks_days: days("unreadHooksDays", "Parts of hooks that nobody understood."),
  consents_days: days("consentsDays", "Grants that a later grant has replaced; refusals stay.")
})

const settings = {
  currency: optional(Currency.Currency),
  plan: optional(PlanChange),
  retention: optional(RetentionChange),
  caps: optional(Caps.Change)
}

const settingsOf = <
  Payload extends {
    readonly plan?: typeof PlanChange.Type | undefined
    readonly retention?: typeof RetentionChange.Type | undefined
  }
>({
  plan,
  retention,
  ...rest
}: Payload) => ({ ...rest, plan: plan && inProcess(plan), retention: retention && inProcess(retention) })

const OfLimit = Schema.Struct({ used: Wire.Count, limit: Schema.NullOr(Wire.Count) })
const usage = struct({
  day: Wire.Text,
  template_recipients: OfLimit,
  direct_messages: OfLimit,
  resets_at: Wire.Time
})

const counts = Schema.Struct(Records.map(Spending.noCounts, () => Wire.Count))

const sum = struct(
  {
    day: Wire.NullableText,
    template_id: Schema.NullOr(Wire.Count),
    template: Wire.NullableText,
    market: Wire.NullableText,
    session_id: Schema.NullOr(Wire.Id),
    currency: Wire.Text,
    recipients: Wire.Count,
    counts,
    estimated: Wire.NullableAmount,
    actual: Wire.NullableAmount
  },
  "UsageSum"
)

const sums = struct({
  by: Schema.Literal(...Spending.groupings),
  from: Wire.Time,
  to: Wire.Time,
  whole_since: Wire.Time,
  groups: list(sum)
})

const UsageFilter = Schema.Struct({
  by: optional(
    Schema.Literal(...Spending.groupings).annotations({
      description: "Sums of recipients and money, one for each of these."
    })
  ),
  from: optional(TimeText),
  to: optional(TimeText)
})

/** Undefined where what of today's limits is used is asked for. */
const spendingOf = (
  query: typeof UsageFilter.Type
): Either.Either<Admin.SpendingQuery | undefined, Errors.InvalidRequest> => {
  const { by, from, to } = query
  if (by !== undefined)
    return Either.map(checkPeriods(query, ["from", "to"]), () => ({ by, from: timeOf(from), to: timeOf(to) }))
  if (from === undefined && to === undefined) return Either.right(undefined)
  const message = "`from` and `to` are asked for together with `by`."
  return Either.left(
    new Errors.InvalidRequest({ faults: [Fault.make(["query", "from"], "invalid_value", message)] })
  )
}

type Used = { readonly today: Admin.Usage } | { readonly sums: Admin.Spending }

const AnyUsage = Schema.Struct({ ok: Wire.Ok, usage: Schema.Union(usage.schema, sums.schema) })

const used: Answer<typeof AnyUsage, Used> = {
  schema: AnyUsage,
  of: (found, { prefix }) => ({
    ...Wire.ok,
    usage: "today" in found ? usage.of(found.today, prefix) : sums.of(found.sums, prefix)
  }),
  example: {
    ...Wire.ok,
    usage: {
      day: "2026-11-02",
      template_recipients: { used: 1, limit: 100_000 },
      direct_messages: { used: 0, limit: 1000 },
      resets_at: Instant.format(Instant.at(Date.UTC(2026, 10, 3)))
    }
  }
}

const example: typeof account.schema.Type = {
  id: Examples.ids.account,
  name: "Corner Shop",
  currency: "EUR",
  plan: plan.of(Plans.defaults, ""),
  retention: retention.of(Retentions.defaults, ""),
  caps: Caps.none,
  created_at: Examples.at,
  updated_at: Examples.at
}

export const admin = [
  forOperator(
    Endpoint.post("createAccount", "/admin/v1/accounts").setPayload(
      Schema.Struct({ name: Name, ...settings })
    ),
    one("account", account, example),
    {
      summary: "Create an account",
      description: "A tenant. What of the plan and of the retention is absent is by default.",
      status: 201,
      request: { name: example.name, currency: "EUR", plan: { daily_direct_messages: 500 } },
      command: { name: "accounts create", description: "Create an account." }
    },
    ({ admin }, { payload }) => admin.accounts.create(settingsOf(payload))
  ),
  forOperator(
    Endpoint.get("accounts", "/admin/v1/accounts").setUrlParams(Paging),
    pageOf("accounts", account, example),
    {
      summary: "List accounts",
      description: "All of them, a page at a time.",
      command: { name: "accounts list", description: "List the accounts." }
    },
    ({ admin }, { page }) => admin.accounts.list(page)
  ),
  forOperator(
    Endpoint.get("account", "/admin/v1/accounts/:id").setPath(id),
    one("account", account, example),
    {
      summary: "Read an account",
      description: "With its plan.",
      command: { name: "accounts show", description: "Show an account." }
    },
    ({ admin }, { path }) => admin.accounts.find(path.id)
  ),
  forOperator(
    Endpoint.patch("changeAccount", "/admin/v1/accounts/:id")
      .setPath(id)
      .setPayload(Schema.Struct({ name: optional(Name), ...settings })),
    one("account", account, { ...example, name: "Corner Shop Madrid" }),
    {
      summary: "Change an account",
      description: "What is absent stays as it was.",
      request: { name: "Corner Shop Madrid", plan: { minimum_wait_ms: 1000 } },
      command: {
        name: "accounts change",
        description: "Change an account, its plan, its caps, or how long its rows are kept."
      }
    },
    ({ admin }, { path, payload }) => admin.accounts.change(path.id, settingsOf(payload))
  ),
  forOperator(
    Endpoint.get("usage", "/admin/v1/accounts/:id/usage").setPath(id).setUrlParams(UsageFilter),
    used,
    {
      summary: "Read what an account used",
      description:
        "Without `by` what of today's limits is used: days are UTC; a limit that is null is none. With `by` the recipients of what was accepted between `from` (the begin of this month when absent) and `to`, and their money: `estimated` at the prices of their acceptance, `actual` of what was delivered by now, as the platform billed it. The newest 500,000 recipients are summed; `whole_since` is later than `from` where there were more, and then what was accepted before it may be there in part.",
      command: {
        name: "accounts usage",
        description:
          "Show what an account used today; with --by what it used between two times, by day, template, market or session."
      }
    },
    ({ admin }, { path, query }) =>
      Effect.flatMap(spendingOf(query), (asked) =>
        asked === undefined
          ? Effect.map(admin.accounts.usage(path.id), (today): Used => ({ today }))
          : Effect.map(admin.accounts.spending(path.id, asked), (sums): Used => ({ sums }))
      )
  )
]
