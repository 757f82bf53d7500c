/** The store at a glance, what needs somebody, and the report of health (contract.md §12). */
import * as Schema from "effect/Schema"
import { Attention, type Figures, Health, Session, Waiting } from "../index.ts"
import { codec, computed, list, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one } from "./Operation.ts"
import * as Storage from "./Storage.ts"
import { Link } from "./Texts.ts"
import * as Wire from "./Wire.ts"

const PerSecond = Schema.Number.annotations({ jsonSchema: { type: "number", minimum: 0 } })

const pathOf = ({ id, of }: Attention.Target): string => {
  switch (of) {
    case "account":
      return `/admin/v1/accounts/${id}`
    case "doubts":
      return `/admin/v1/accounts/${id}/perhaps-refusals`
    case "erasures":
      return "/admin/v1/people/erasures"
    case "hooks":
      return `/admin/v1/sessions/${id}/hooks/unread`
    case "jobs_unknown":
      return "/admin/v1/jobs?has=unknown"
    case "jobs_failed":
      return `/admin/v1/jobs?has=failed&session_id=${id}`
    case "jobs_waiting":
      return "/admin/v1/jobs?has=waiting"
    case "overview":
      return "/admin/v1/overview"
    case "readiness":
      return "/health/ready"
    case "session":
      return `/admin/v1/sessions/${id}`
    case "storage":
      return "/admin/v1/storage"
    case "templates":
      return `/admin/v1/sessions/${id}/templates`
    case "webhook":
      return `/admin/v1/webhooks/${id}`
  }
}

const link = part(
  codec(Link, (target: Attention.Target, prefix) => `${prefix}${pathOf(target)}`),
  ({ target }: { readonly target: Attention.Target }) => target
)

const item = struct(
  {
    kind: Schema.Literal(...Attention.kinds),
    since: Wire.NullableTime,
    title: Wire.Text,
    text: computed(Wire.Text, ({ cause, cost, next }: Attention.Item) => `${cost} ${cause} ${next}`),
    count: Wire.Count,
    link
  },
  "AttentionItem"
)

const minute = struct({
  at: Wire.Time,
  accepted: Wire.Count,
  done: Wire.Count,
  failed: Wire.Count,
  unknown: Wire.Count
})

type Shown = Figures.SessionFigures

const session = struct(
  {
    id: computed(Wire.Id, ({ session }: Shown) => session.id),
    name: computed(Wire.Text, ({ session }: Shown) => session.name),
    account_id: computed(Wire.Id, ({ account }: Shown) => account.id),
    account: computed(Wire.Text, ({ account }: Shown) => account.name),
    provider: computed(Wire.Text, ({ session }: Shown) => session.provider),
    state: computed(Wire.SessionState, ({ session }: Shown) => session.state),
    reason: computed(
      Wire.NullableText.annotations({ description: "Why nothing may be sent over it; null where it may." }),
      ({ session }: Shown) => Session.situation(session).reason
    ),
    since: part(Wire.Time, ({ session }: Shown) => Session.situation(session).since),
    waiting: Wire.Count,
    oldest_at: Wire.NullableTime,
    sent_per_second: PerSecond,
    pace_per_second: computed(
      Schema.NullOr(Schema.Number),
      ({ session }: Shown) => session.pacing.messagesPerSecond
    ),
    failed_last_hour: Wire.Count,
    empty_at: Wire.NullableTime
  },
  "SessionAtAGlance"
)

const Limiter = Schema.Literal(...Waiting.limiters)

const overview = struct(
  {
    at: Wire.Time,
    version: Wire.NullableText,
    rates: struct({ accepted_per_minute: PerSecond, outcomes_per_minute: PerSecond }),
    waiting: struct({
      total: Wire.Count,
      total_is_exact: Schema.Boolean,
      oldest_at: Wire.NullableTime,
      by: list(struct({ limiter: Limiter, recipients: Wire.Count, until: Wire.NullableTime })),
      by_priority: Schema.Struct({ high: Wire.Count, normal: Wire.Count, low: Wire.Count }).annotations({
        description: "The same recipients by their priority."
      })
    }),
    minutes: list(minute),
    attention: list(item),
    sessions: list(session),
    processes: list(
      struct({
        id: Wire.Text,
        role: Wire.Text,
        version: Wire.Text,
        since: Wire.Time,
        seen_at: Wire.Time,
        in_flight: Wire.Count,
        slots: Wire.Count
      })
    ),
    webhooks: struct({
      healthy: Wire.Count,
      failing: Wire.Count,
      disabled: Wire.Count,
      waiting: Wire.Count,
      p95_ms: Schema.NullOr(Wire.Count)
    }),
    storage: Storage.storage
  },
  "Overview"
)

const line = struct(
  {
    kind: Schema.Literal(...Attention.kinds, Health.notReady),
    verdict: Schema.Literal("degraded", "failing"),
    lacks: Schema.Literal(...Attention.promises),
    since: Wire.NullableTime,
    says: Wire.Text,
    cause: Wire.Text,
    next: Wire.Text,
    count: Wire.Count,
    link
  },
  "HealthLine"
)

const report = struct(
  {
    at: Wire.Time,
    version: Wire.NullableText,
    verdict: Schema.Literal(...Health.verdicts),
    lines: list(line)
  },
  "HealthReport"
)

const outage = {
  title: "The platform of Newsletter (whatsapp_cloud, Acme) cannot be reached",
  cost: "1,200 recipients wait for it, the oldest since 2026-01-01T11:40:00Z.",
  cause: "It is out, or cannot be reached from here. Its attempts end with provider_unreachable.",
  next: "It is asked again by itself, next at 2026-01-01T12:01:00Z. Look at the platform's status and at the way to it."
}

const target = `/admin/v1/sessions/${Examples.ids.session}`

const example: typeof overview.schema.Type = {
  at: Examples.at,
  version: "0.1.0",
  rates: { accepted_per_minute: 1250, outcomes_per_minute: 1190.4 },
  waiting: {
    total: 1450,
    total_is_exact: true,
    oldest_at: Examples.at,
    by: [
      { limiter: "pace", recipients: 250, until: Examples.at },
      { limiter: "platform", recipients: 1200, until: Examples.at }
    ],
    by_priority: { high: 0, normal: 250, low: 1200 }
  },
  minutes: [{ at: Examples.at, accepted: 1250, done: 1180, failed: 11, unknown: 0 }],
  attention: [
    {
      kind: "session_unavailable",
      since: Examples.at,
      title: outage.title,
      text: `${outage.cost} ${outage.cause} ${outage.next}`,
      count: 1200,
      link: target
    }
  ],
  sessions: [
    {
      id: Examples.ids.session,
      name: "Newsletter",
      account_id: Examples.ids.account,
      account: "Acme",
      provider: "whatsapp_cloud",
      state: "connected",
      reason: "platform_unavailable",
      since: Examples.at,
      waiting: 1200,
      oldest_at: Examples.at,
      sent_per_second: 0,
      pace_per_second: 80,
      failed_last_hour: 4,
      empty_at: null
    }
  ],
  processes: [
    {
      id: Examples.ids.account,
      role: "all",
      version: "0.1.0",
      since: Examples.at,
      seen_at: Examples.at,
      in_flight: 12,
      slots: 64
    }
  ],
  webhooks: { healthy: 4, failing: 1, disabled: 0, waiting: 37, p95_ms: 140 },
  storage: Storage.sizeExample
}

// As constants, since TypeScript infers nothing of an endpoint without parameters that stands where it is passed.
const overviewEndpoint = Endpoint.get("overview", "/admin/v1/overview").setUrlParams(Schema.Struct({}))
const healthEndpoint = Endpoint.get("health", "/admin/v1/health/report").setUrlParams(Schema.Struct({}))

/** The answers' schemas, for whoever reads them. */
export const Overview = overview.schema
export const Report = report.schema

export const admin = [
  forOperator(
    overviewEndpoint,
    one("overview", overview, example),
    {
      summary: "See everything at a glance",
      description:
        "`attention` has what needs somebody, the most urgent first: what it costs, the likely cause and the next step. `waiting.by` tells what keeps recipients, and in `until` when that may end by itself (of `platform`: when it is asked again). `minutes` are the last hour; of other processes the last two are told late. Rates are the mean of the last five minutes. At most 100 `sessions` are shown, those in need first. A process computes it at most every two seconds, whoever asks.",
      command: {
        name: "overview",
        description:
          "Show everything at a glance: what needs somebody, what waits and for what, sessions, processes and webhooks."
      }
    },
    ({ admin }) => admin.overview.now
  ),
  forOperator(
    healthEndpoint,
    one("report", report, {
      at: Examples.at,
      version: "0.1.0",
      verdict: "degraded",
      lines: [
        {
          kind: "session_unavailable",
          verdict: "degraded",
          lacks: "flowing",
          since: Examples.at,
          says: `${outage.title}. ${outage.cost}`,
          cause: outage.cause,
          next: outage.next,
          count: 1200,
          link: target
        }
      ]
    }),
    {
      summary: "Ask how it does",
      description:
        "A verdict by the same rules as `attention` of the overview, and a line for each thing that is not flowing, succeeding or fresh: what it is, its likely cause and the next step. `failing`: nothing is sent, or soon.",
      command: {
        name: "health",
        description:
          "Tell how it does: a verdict, and for each thing that is wrong its cause and the next step.",
        ends: "It ends with 0 when all is well, with 1 when something is not, and with 2 when nothing is sent, or the host does not answer or refuses the token."
      }
    },
    ({ admin }) => admin.overview.health
  )
]
