/** Accounts, their plans, and what they used (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import { Currency, Plan as Plans, Retention as Retentions } from "@sendwright/core"
import * as Schema from "effect/Schema"
import { inProcess, struct } from "./Codec.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one, pageOf } from "./Operation.ts"
import { id, Name, Paging } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

/** For how many days; null = for ever. */
const Days = Schema.NullOr(Wire.Count)

const plan = struct(
  {
    requests_per_minute: Wire.Count,
    minimum_wait_ms: Wire.Count,
    daily_direct_messages: Schema.NullOr(Wire.Count),
    daily_template_recipients: Schema.NullOr(Wire.Count),
    features: Schema.Array(Schema.Literal(...Plans.features)),
    subscription: Schema.Literal("active", "inactive")
  },
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
})

const days = (name: keyof Retentions.Retention, description: string) =>
  optional(
    Schema.NullOr(
      Schema.Int.pipe(Schema.between(Retentions.leastDays[name], Retentions.mostDays))
    ).annotations({
      description
    })
  )

/** What its rows are kept for. */
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
  retention: optional(RetentionChange)
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

const Used = Schema.Struct({ used: Wire.Count, limit: Schema.NullOr(Wire.Count) })
const usage = struct({
  day: Wire.Text,
  template_recipients: Used,
  direct_messages: Used,
  resets_at: Wire.Time
})

const example: typeof account.schema.Type = {
  id: Examples.ids.account,
  name: "Corner Shop",
  currency: "EUR",
  plan: plan.of(Plans.defaults, ""),
  retention: retention.of(Retentions.defaults, ""),
  created_at: Examples.at,
  updated_at: Examples.at
}

export const admin = [
  forOperator(
    HttpApiEndpoint.post("createAccount", "/admin/v1/accounts").setPayload(
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
    HttpApiEndpoint.get("accounts", "/admin/v1/accounts").setUrlParams(Paging),
    pageOf("accounts", account, example),
    {
      summary: "List accounts",
      description: "All of them, a page at a time.",
      command: { name: "accounts list", description: "List the accounts." }
    },
    ({ admin }, { page }) => admin.accounts.list(page)
  ),
  forOperator(
    HttpApiEndpoint.get("account", "/admin/v1/accounts/:id").setPath(id),
    one("account", account, example),
    {
      summary: "Read an account",
      description: "With its plan.",
      command: { name: "accounts show", description: "Show an account." }
    },
    ({ admin }, { path }) => admin.accounts.find(path.id)
  ),
  forOperator(
    HttpApiEndpoint.patch("changeAccount", "/admin/v1/accounts/:id")
      .setPath(id)
      .setPayload(Schema.Struct({ name: optional(Name), ...settings })),
    one("account", account, { ...example, name: "Corner Shop Madrid" }),
    {
      summary: "Change an account",
      description: "What is absent stays as it was.",
      request: { name: "Corner Shop Madrid", plan: { minimum_wait_ms: 0 } },
      command: {
        name: "accounts change",
        description: "Change an account, its plan, or how long its rows are kept."
      }
    },
    ({ admin }, { path, payload }) => admin.accounts.change(path.id, settingsOf(payload))
  ),
  forOperator(
    HttpApiEndpoint.get("usage", "/admin/v1/accounts/:id/usage").setPath(id),
    one("usage", usage, {
      day: "2026-11-02",
      template_recipients: { used: 1, limit: 100_000 },
      direct_messages: { used: 0, limit: 1000 },
      resets_at: "2026-11-03T00:00:00.000Z"
    }),
    {
      summary: "Read what of today's limits is used",
      description: "Days are UTC; a limit that is null is none.",
      command: { name: "accounts usage", description: "Show what an account used today." }
    },
    ({ admin }, { path }) => admin.accounts.usage(path.id)
  )
]
