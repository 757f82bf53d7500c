/** Webhook endpoints: receivers of an account's events, and their deliveries (contract.md §8). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Either from "../effect/Either.ts"
import { Webhook as Domain, Event, Instant } from "../index.ts"
import { computed, inProcess, itself, list, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, done, forOperator, one, pageOf } from "./Operation.ts"
import {
  about,
  checkPeriods,
  id,
  overlap,
  Paging,
  paging,
  Rotation,
  TimeText,
  timeOf,
  Uuid
} from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const webhook = struct(
  {
    id: Wire.Id,
    account_id: Wire.Id,
    url: Wire.Text,
    events: Schema.Array(Wire.Text),
    description: Wire.NullableText,
    enabled: Schema.Boolean,
    disabled_reason: Wire.NullableText,
    failing_since: Wire.NullableTime,
    deliveries_per_second: Schema.NullOr(Schema.Number),
    batch_recipients: Schema.Boolean,
    secrets: list(Wire.Secret),
    created_at: Wire.Time,
    updated_at: Wire.Time
  },
  "Webhook"
)

const attempt = struct({
  number: Wire.Count,
  at: Wire.Time,
  status: Schema.NullOr(Wire.Count),
  duration_ms: Wire.Count,
  reason: Schema.NullOr(Schema.Literal(...Domain.failures)),
  response: computed(Wire.Text, ({ excerpt }: Domain.Attempt) => excerpt)
})

const deliveryMembers = {
  id: Wire.Id,
  webhook_id: computed(Wire.Id, ({ endpointId }: Domain.Delivery) => endpointId),
  event_id: Wire.Id,
  event_type: Wire.Text,
  status: Schema.Literal("pending", "delivered", "exhausted"),
  next_attempt_at: part(Wire.NullableTime, ({ nextAt }: Domain.Delivery) => nextAt),
  created_at: Wire.Time,
  attempts: list(attempt)
}

/** The answer of the last attempt, or why there was none. */
const deliveryColumns = [
  "id",
  "event_type",
  "status",
  ["attempts", "attempts.count"],
  ["answer", "attempts.last.status"],
  ["reason", "attempts.last.reason"]
] as const

const delivery = struct(deliveryMembers, "Delivery")

const maximumEvents = 100
const Url = Schema.String.annotations({
  description:
    "An absolute http or https URL without credentials whose host is not private, unless the operator allows its network.",
  jsonSchema: { format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?:", maxLength: Domain.maximumUrl }
})
const fields = {
  events: optional(
    Schema.Array(Schema.String.annotations({ jsonSchema: { enum: Event.patterns } }))
      .pipe(Schema.maxItems(maximumEvents))
      .annotations({
        description: `Types of events, families and \`*\`; ${Event.defaultSubscription.join(", ")} when absent.`,
        // A rule that is written here takes the place of that of `maxItems`.
        jsonSchema: { minItems: 1, maxItems: maximumEvents }
      })
  ),
  description: optional(
    Schema.String.annotations({
      description: "Text on one line that is not blank; an empty one removes it.",
      jsonSchema: { maxLength: Domain.maximumDescription }
    })
  ),
  deliveries_per_second: optional(
    Schema.NullOr(
      Schema.Number.annotations({ jsonSchema: { exclusiveMinimum: 0, maximum: Domain.maximumPace } })
    ).annotations({ description: "null = as fast as it answers." })
  ),
  batch_recipients: optional(
    Schema.Boolean.annotations({
      description: "Whether changes of recipients come up to a hundred to an event, `recipient.batch`."
    })
  )
}

const example = Examples.webhook

/** The secret is shown once. */
const registered = answer(
  struct({
    ok: Wire.isOk,
    webhook: part(webhook, ({ endpoint }: { readonly endpoint: Domain.Endpoint }) => endpoint),
    secret: Wire.Text
  }),
  { ...Wire.ok, webhook: example, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwM7vVj3nEx0A=" }
)

const told = struct(
  {
    ...deliveryMembers,
    payload: Wire.Text.annotations({ description: "The body that is signed and sent, byte for byte." })
  },
  "DeliveryDetail"
)

const exampleDelivery: typeof delivery.schema.Type = {
  id: Examples.ids.delivery,
  webhook_id: Examples.ids.webhook,
  event_id: Examples.ids.event,
  event_type: "job.completed",
  status: "delivered",
  next_attempt_at: null,
  created_at: Examples.at,
  attempts: [{ number: 1, at: Examples.at, status: 200, duration_ms: 41, reason: null, response: "ok" }]
}

const examplePayload = JSON.stringify({
  id: Examples.ids.event,
  type: "job.completed",
  created_at: Examples.at,
  data: {}
})

const deliveryFilter = {
  webhook_id: optional(Uuid),
  status: optional(
    Schema.Literal(...Domain.deliveryStatuses).annotations({
      description: "Only deliveries of this status."
    })
  ),
  type: optional(
    Schema.Literal(...Event.types, Event.batchType).annotations({
      description: "Only deliveries of this type of event."
    })
  ),
  after: optional(about(TimeText, "Only deliveries that were made since.")),
  before: optional(about(TimeText, "Only deliveries that were made before.")),
  about: optional(about(Uuid, "Only deliveries that tell of this message, or of this job and its messages."))
}
const DeliveryFilter = Schema.Struct(deliveryFilter)

const filterOf = (query: typeof DeliveryFilter.Type) =>
  Either.map(checkPeriods(query, ["after", "before"]), () => ({
    endpointId: query.webhook_id,
    status: query.status,
    type: query.type,
    since: timeOf(query.after),
    before: timeOf(query.before),
    about: query.about
  }))

export const admin = [
  forOperator(
    Endpoint.post("createWebhook", "/admin/v1/accounts/:id/webhooks")
      .setPath(id)
      .setPayload(Schema.Struct({ url: Url, ...fields })),
    registered,
    {
      summary: "Register a webhook endpoint",
      description: "`secret` signs its deliveries; it is shown now and never again.",
      status: 201,
      request: { url: example.url, events: example.events, description: example.description },
      command: { name: "webhooks create", description: "Register a receiver; its secret is shown once." }
    },
    ({ admin }, { path, payload }) => admin.webhooks.create(path.id, inProcess(payload)),
    ({ admin }, { payload }) => admin.webhooks.faults(inProcess(payload))
  ),
  forOperator(
    Endpoint.get("webhooks", "/admin/v1/accounts/:id/webhooks").setPath(id).setUrlParams(Paging),
    pageOf("webhooks", webhook, example),
    {
      summary: "List an account's webhook endpoints",
      description: "Without their secrets.",
      command: {
        name: "webhooks list",
        description: "List an account's receivers.",
        columns: ["id", "enabled", "failing_since", "disabled_reason", "url"]
      }
    },
    ({ admin }, { page, path }) => admin.webhooks.list(path.id, page)
  ),
  forOperator(
    Endpoint.get("allWebhooks", "/admin/v1/webhooks").setUrlParams(
      Schema.Struct({
        ...paging,
        failing: optional(
          Schema.Literal("true").annotations({
            description: "Only those that are disabled, or whose last attempt failed."
          })
        )
      })
    ),
    pageOf("webhooks", webhook, example),
    {
      summary: "List webhook endpoints of all accounts",
      description: "Newest first, without their secrets.",
      command: {
        name: "webhooks all",
        description: "List receivers of all accounts, or those that fail.",
        columns: ["id", "enabled", "failing_since", "disabled_reason", "url"]
      }
    },
    ({ admin }, { page, query }) => admin.webhooks.all({ isFailing: query.failing === "true", page })
  ),
  forOperator(
    Endpoint.get("webhook", "/admin/v1/webhooks/:id").setPath(id),
    one("webhook", webhook, example),
    {
      summary: "Read a webhook endpoint",
      description: "Without its secrets.",
      command: { name: "webhooks show", description: "Show a receiver." }
    },
    ({ admin }, { path }) => admin.webhooks.find(path.id)
  ),
  forOperator(
    Endpoint.get("allDeliveries", "/admin/v1/deliveries").setUrlParams(
      Schema.Struct({ ...paging, ...deliveryFilter })
    ),
    pageOf("deliveries", delivery, exampleDelivery),
    {
      summary: "List deliveries to all endpoints",
      description: "Newest first, each with its attempts and what was answered to them.",
      command: {
        name: "deliveries list",
        description: "List deliveries, by receiver, status, type, time, and the job or message they tell of.",
        columns: deliveryColumns
      }
    },
    ({ admin }, { page, query }) =>
      Effect.flatMap(filterOf(query), (wanted) => admin.webhooks.allDeliveries({ ...wanted, page }))
  ),
  forOperator(
    Endpoint.get("countDeliveries", "/admin/v1/counts/deliveries").setUrlParams(DeliveryFilter),
    answer(Wire.Counted, { ...Wire.ok, count: 3, is_exact: true }),
    {
      summary: "Count deliveries to all endpoints",
      description: "As many as one look at the newest thousands tells, by the filters of the list.",
      command: { name: "deliveries count", description: "Count deliveries, by the same filters." }
    },
    ({ admin }, { query }) => Effect.flatMap(filterOf(query), admin.webhooks.countDeliveries)
  ),
  forOperator(
    Endpoint.get("delivery", "/admin/v1/deliveries/:id").setPath(id),
    one("delivery", told, { ...exampleDelivery, payload: examplePayload }),
    {
      summary: "Read a delivery with what it brings",
      description: "And each attempt with its status, its duration and the answer.",
      command: { name: "deliveries show", description: "Show a delivery, its payload and its attempts." }
    },
    ({ admin }, { path }) => admin.webhooks.delivery(path.id)
  ),
  forOperator(
    Endpoint.patch("changeWebhook", "/admin/v1/webhooks/:id")
      .setPath(id)
      .setPayload(Schema.Struct({ url: optional(Url), ...fields, enabled: optional(Schema.Boolean) })),
    one("webhook", webhook, { ...example, events: ["*"] }),
    {
      summary: "Change a webhook endpoint",
      description:
        "What is absent stays as it was. A disabled endpoint loses nothing: its events wait until it is enabled.",
      request: { events: ["*"], enabled: true },
      command: { name: "webhooks change", description: "Change a receiver." }
    },
    ({ admin }, { path, payload }) => admin.webhooks.change(path.id, inProcess(payload)),
    ({ admin }, { payload }) => admin.webhooks.faults(inProcess(payload))
  ),
  forOperator(
    Endpoint.del("removeWebhook", "/admin/v1/webhooks/:id").setPath(id),
    done,
    {
      summary: "Remove a webhook endpoint",
      description: "With its deliveries.",
      command: { name: "webhooks remove", description: "Remove a receiver." }
    },
    ({ admin }, { path }) => admin.webhooks.remove(path.id)
  ),
  forOperator(
    Endpoint.post("rotateWebhook", "/admin/v1/webhooks/:id/rotate").setPath(id).setPayload(Rotation),
    registered,
    {
      summary: "Give a webhook endpoint a new secret",
      description:
        "The old ones sign beside it for `overlap_seconds`: a day unless said otherwise, 0 ends them at once.",
      request: { overlap_seconds: 3600 },
      command: { name: "webhooks rotate", description: "Give a receiver a new secret, shown once." }
    },
    ({ admin }, { path, payload }) => admin.webhooks.rotate(path.id, overlap(payload))
  ),
  forOperator(
    Endpoint.post("testWebhook", "/admin/v1/webhooks/:id/test").setPath(id),
    one("delivery_id", itself(Wire.Id), Examples.ids.delivery),
    {
      summary: "Send a test event",
      description: "A `webhook.test`, to this endpoint alone.",
      command: { name: "webhooks test", description: "Queue a test event." }
    },
    ({ admin }, { path }) => admin.webhooks.test(path.id)
  ),
  forOperator(
    Endpoint.get("deliveries", "/admin/v1/webhooks/:id/deliveries").setPath(id).setUrlParams(Paging),
    pageOf("deliveries", delivery, exampleDelivery),
    {
      summary: "List an endpoint's deliveries",
      description: "Newest first, each with its attempts and what was answered to them.",
      command: {
        name: "webhooks deliveries",
        description: "List a receiver's deliveries.",
        columns: deliveryColumns
      }
    },
    ({ admin }, { page, path }) => admin.webhooks.deliveries(path.id, page)
  ),
  forOperator(
    Endpoint.post("replayWebhook", "/admin/v1/webhooks/:id/replay")
      .setPath(id)
      .setPayload(
        Schema.Struct({
          since: TimeText,
          which: optional(Schema.Literal("failed", "missing")),
          dry_run: optional(Schema.Boolean.annotations({ description: "Counts only, up to 1,000." }))
        })
      ),
    one("replayed", itself(Wire.Count), 3),
    {
      summary: "Deliver again what did not arrive since a time",
      description:
        "`failed`: what was attempted and did not arrive. `missing`: what never was a delivery to this endpoint. Asked twice it finds nothing more. With `dry_run` nothing changes: `replayed` tells how many it would be, and 1,000 where it would be more.",
      request: { since: Examples.at, which: "failed" },
      role: "support",
      command: {
        name: "webhooks replay",
        description: "Deliver again what failed since a time, or is missing. --dry-run true only counts."
      }
    },
    ({ admin }, { path: { id }, payload: { dry_run: dryRun, since, which = "failed" } }) =>
      admin.webhooks.replaySince({ id, since: Instant.parse(since) ?? Instant.at(0), which, dryRun })
  ),
  forOperator(
    Endpoint.post("replayDelivery", "/admin/v1/deliveries/:id/replay").setPath(id),
    one("delivery", delivery, { ...exampleDelivery, status: "pending", next_attempt_at: Examples.at }),
    {
      summary: "Deliver one event again",
      description: "With the same id and body as before.",
      command: { name: "deliveries replay", description: "Deliver once more." },
      role: "support"
    },
    ({ admin }, { path }) => admin.webhooks.replay(path.id)
  )
]
