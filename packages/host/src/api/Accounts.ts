/** Accounts, their plans, and what they used (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Admin } from "@sendwright/core"
import type * as Domain from "@sendwright/core/Account"
import { Currency } from "@sendwright/core/Currency"
import * as Plans from "@sendwright/core/Plan"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { id, Name, Paging, page } from "./Parameters.ts"
import { Count, Id, NextCursor, Ok, ok, Text, Time, time, type View } from "./Wire.ts"

const optional = Schema.optional

/** In process the plan has the same names. */
const Plan = Schema.Struct({
  requests_per_minute: Count,
  minimum_wait_ms: Count,
  daily_direct_messages: Schema.NullOr(Count),
  daily_template_recipients: Schema.NullOr(Count),
  features: Schema.Array(Schema.Literal(...Plans.features)),
  subscription: Schema.Literal("active", "inactive")
}).annotations({ identifier: "Plan" })

const AccountBody = Schema.Struct({
  id: Id,
  name: Text,
  currency: Text,
  plan: Plan,
  created_at: Time,
  updated_at: Time
}).annotations({ identifier: "Account" })

const account = (found: Domain.Account): View<typeof AccountBody> => ({
  id: found.id,
  name: found.name,
  currency: found.currency,
  plan: found.plan,
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

const Account = Schema.Struct({ ok: Ok, account: AccountBody })
const Accounts = Schema.Struct({ ok: Ok, accounts: Schema.Array(AccountBody), next_cursor: NextCursor })

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

const NewAccount = Schema.Struct({ name: Name, currency: optional(Currency), plan: optional(PlanChange) })
const AccountChange = Schema.Struct({
  name: optional(Name),
  currency: optional(Currency),
  plan: optional(PlanChange)
})

const Used = Schema.Struct({ used: Count, limit: Schema.NullOr(Count) })
const Usage = Schema.Struct({
  ok: Ok,
  usage: Schema.Struct({ day: Text, template_recipients: Used, direct_messages: Used, resets_at: Time })
})

const usage = ({
  day,
  directMessages,
  resetsAt,
  templateRecipients
}: Admin.Usage): View<typeof Usage>["usage"] => ({
  day,
  template_recipients: templateRecipients,
  direct_messages: directMessages,
  resets_at: time(resetsAt)
})

const example: View<typeof AccountBody> = {
  id: Examples.ids.account,
  name: "Corner Shop",
  currency: "EUR",
  plan: Plans.defaults,
  created_at: Examples.at,
  updated_at: Examples.at
}

export const admin = [
  forOperator(
    HttpApiEndpoint.post("createAccount", "/admin/v1/accounts")
      .setPayload(NewAccount)
      .addSuccess(Account, { status: 201 }),
    {
      summary: "Create an account",
      description: "A tenant. What of the plan is absent is by default.",
      request: { name: example.name, currency: "EUR", plan: { daily_direct_messages: 500 } },
      answer: { ...ok, account: example },
      command: { name: "accounts create", description: "Create an account." }
    },
    ({ admin }) =>
      ({ payload }) =>
        Effect.map(admin.accounts.create(payload), (found) => reply({ ...ok, account: account(found) }))
  ),
  forOperator(
    HttpApiEndpoint.get("accounts", "/admin/v1/accounts").setUrlParams(Paging).addSuccess(Accounts),
    {
      summary: "List accounts",
      description: "All of them, a page at a time.",
      answer: { ...ok, accounts: [example], next_cursor: null },
      command: { name: "accounts list", description: "List the accounts." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        Effect.map(admin.accounts.list(page(query, after)), ({ items, next }) =>
          reply({ ...ok, accounts: items.map(account), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.get("account", "/admin/v1/accounts/:id").setPath(id).addSuccess(Account),
    {
      summary: "Read an account",
      description: "With its plan.",
      answer: { ...ok, account: example },
      refusals: ["not_found"],
      command: { name: "accounts show", description: "Show an account." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.accounts.find(path.id), (found) => reply({ ...ok, account: account(found) }))
  ),
  forOperator(
    HttpApiEndpoint.patch("changeAccount", "/admin/v1/accounts/:id")
      .setPath(id)
      .setPayload(AccountChange)
      .addSuccess(Account),
    {
      summary: "Change an account",
      description: "What is absent stays as it was.",
      request: { name: "Corner Shop Madrid", plan: { minimum_wait_ms: 0 } },
      answer: { ...ok, account: { ...example, name: "Corner Shop Madrid" } },
      refusals: ["not_found"],
      command: { name: "accounts change", description: "Change an account or its plan." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.accounts.change(path.id, payload), (found) =>
          reply({ ...ok, account: account(found) })
        )
  ),
  forOperator(
    HttpApiEndpoint.get("usage", "/admin/v1/accounts/:id/usage").setPath(id).addSuccess(Usage),
    {
      summary: "Read what of today's limits is used",
      description: "Days are UTC; a limit that is null is none.",
      answer: {
        ...ok,
        usage: {
          day: "2026-11-02",
          template_recipients: { used: 1, limit: 100_000 },
          direct_messages: { used: 0, limit: 1000 },
          resets_at: "2026-11-03T00:00:00.000Z"
        }
      },
      refusals: ["not_found"],
      command: { name: "accounts usage", description: "Show what an account used today." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.accounts.usage(path.id), (found) => reply({ ...ok, usage: usage(found) }))
  )
]
