/** Webhook endpoints: receivers of an account's events, and their deliveries (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Event from "@sendwright/core/Event"
import * as Instant from "@sendwright/core/Instant"
import * as Domain from "@sendwright/core/Webhook"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { id, overlap, Paging, page, Rotation, TimeText } from "./Parameters.ts"
import {
  Count,
  Done,
  Id,
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  Secret,
  secret,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const optional = Schema.optional

const WebhookBody = Schema.Struct({
  id: Id,
  account_id: Id,
  url: Text,
  events: Schema.Array(Text),
  description: NullableText,
  enabled: Schema.Boolean,
  disabled_reason: NullableText,
  failing_since: NullableTime,
  deliveries_per_second: Schema.NullOr(Schema.Number),
  batch_recipients: Schema.Boolean,
  secrets: Schema.Array(Secret),
  created_at: Time,
  updated_at: Time
}).annotations({ identifier: "Webhook" })

const webhook = (found: Domain.Endpoint): View<typeof WebhookBody> => ({
  id: found.id,
  account_id: found.accountId,
  url: found.url,
  events: found.events,
  description: found.description,
  enabled: found.enabled,
  disabled_reason: found.disabledReason,
  failing_since: timeOrNull(found.failingSince),
  deliveries_per_second: found.deliveriesPerSecond,
  batch_recipients: found.batchRecipients,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

const Webhook = Schema.Struct({ ok: Ok, webhook: WebhookBody })
/** The secret is shown once. */
const RegisteredWebhook = Schema.Struct({ ok: Ok, webhook: WebhookBody, secret: Text })
const Webhooks = Schema.Struct({ ok: Ok, webhooks: Schema.Array(WebhookBody), next_cursor: NextCursor })

const DeliveryBody = Schema.Struct({
  id: Id,
  event_id: Id,
  event_type: Text,
  status: Schema.Literal("pending", "delivered", "exhausted"),
  next_attempt_at: NullableTime,
  created_at: Time,
  attempts: Schema.Array(
    Schema.Struct({
      number: Count,
      at: Time,
      status: Schema.NullOr(Count),
      duration_ms: Count,
      reason: Schema.NullOr(Schema.Literal(...Domain.failures)),
      response: Text
    })
  )
}).annotations({ identifier: "Delivery" })

const delivery = (found: Domain.Delivery): View<typeof DeliveryBody> => ({
  id: found.id,
  event_id: found.eventId,
  event_type: found.eventType,
  status: found.status,
  next_attempt_at: timeOrNull(found.nextAt),
  created_at: time(found.createdAt),
  attempts: found.attempts.map(({ at, durationMs, excerpt, number, reason, status }) => ({
    number,
    at: time(at),
    status,
    duration_ms: durationMs,
    reason,
    response: excerpt
  }))
})

const Delivery = Schema.Struct({ ok: Ok, delivery: DeliveryBody })
const Deliveries = Schema.Struct({ ok: Ok, deliveries: Schema.Array(DeliveryBody), next_cursor: NextCursor })

const TestDelivery = Schema.Struct({ ok: Ok, delivery_id: Id })
const Replayed = Schema.Struct({ ok: Ok, replayed: Count })
const Replay = Schema.Struct({ since: TimeText, which: optional(Schema.Literal("failed", "missing")) })

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

/** Of a new endpoint and of a change alike; also of as much of it as can be read. */
const settings = <
  Payload extends {
    readonly batch_recipients?: boolean | undefined
    readonly deliveries_per_second?: number | null | undefined
  }
>({
  batch_recipients: batchRecipients,
  deliveries_per_second: deliveriesPerSecond,
  ...rest
}: Payload) => ({ ...rest, batchRecipients, deliveriesPerSecond })

const example = Examples.webhook
const exampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwM7vVj3nEx0A="

const exampleDelivery: View<typeof DeliveryBody> = {
  id: Examples.ids.delivery,
  event_id: Examples.ids.event,
  event_type: "job.completed",
  status: "delivered",
  next_attempt_at: null,
  created_at: Examples.at,
  attempts: [{ number: 1, at: Examples.at, status: 200, duration_ms: 41, reason: null, response: "ok" }]
}

export const admin = [
  forOperator(
    HttpApiEndpoint.post("createWebhook", "/admin/v1/accounts/:id/webhooks")
      .setPath(id)
      .setPayload(Schema.Struct({ url: Url, ...fields }))
      .addSuccess(RegisteredWebhook, { status: 201 }),
    {
      summary: "Register a webhook endpoint",
      description: "`secret` signs its deliveries; it is shown now and never again.",
      request: { url: example.url, events: example.events, description: example.description },
      answer: { ...ok, webhook: example, secret: exampleSecret },
      refusals: ["not_found"],
      command: { name: "webhooks create", description: "Register a receiver; its secret is shown once." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.webhooks.create(path.id, settings(payload)), ({ endpoint, secret }) =>
          reply({ ...ok, webhook: webhook(endpoint), secret })
        ),
    ({ admin }) =>
      ({ payload }) =>
        Effect.succeed(admin.webhooks.faults(settings(payload)))
  ),
  forOperator(
    HttpApiEndpoint.get("webhooks", "/admin/v1/accounts/:id/webhooks")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(Webhooks),
    {
      summary: "List an account's webhook endpoints",
      description: "Without their secrets.",
      answer: { ...ok, webhooks: [example], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "webhooks list", description: "List an account's receivers." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.webhooks.list(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, webhooks: items.map(webhook), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.patch("changeWebhook", "/admin/v1/webhooks/:id")
      .setPath(id)
      .setPayload(Schema.Struct({ url: optional(Url), ...fields, enabled: optional(Schema.Boolean) }))
      .addSuccess(Webhook),
    {
      summary: "Change a webhook endpoint",
      description:
        "What is absent stays as it was. A disabled endpoint loses nothing: its events wait until it is enabled.",
      request: { events: ["*"], enabled: true },
      answer: { ...ok, webhook: { ...example, events: ["*"] } },
      refusals: ["not_found"],
      command: { name: "webhooks change", description: "Change a receiver." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.webhooks.change(path.id, settings(payload)), (found) =>
          reply({ ...ok, webhook: webhook(found) })
        ),
    ({ admin }) =>
      ({ payload }) =>
        Effect.succeed(admin.webhooks.faults(settings(payload)))
  ),
  forOperator(
    HttpApiEndpoint.del("removeWebhook", "/admin/v1/webhooks/:id").setPath(id).addSuccess(Done),
    {
      summary: "Remove a webhook endpoint",
      description: "With its deliveries.",
      answer: ok,
      refusals: ["not_found"],
      command: { name: "webhooks remove", description: "Remove a receiver." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.as(admin.webhooks.remove(path.id), reply(ok))
  ),
  forOperator(
    HttpApiEndpoint.post("rotateWebhook", "/admin/v1/webhooks/:id/rotate")
      .setPath(id)
      .setPayload(Rotation)
      .addSuccess(RegisteredWebhook),
    {
      summary: "Give a webhook endpoint a new secret",
      description:
        "The old ones sign beside it for `overlap_seconds`: a day unless said otherwise, 0 ends them at once.",
      request: { overlap_seconds: 3600 },
      answer: { ...ok, webhook: example, secret: exampleSecret },
      refusals: ["not_found"],
      command: { name: "webhooks rotate", description: "Give a receiver a new secret, shown once." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.webhooks.rotate(path.id, overlap(payload)), ({ endpoint, secret }) =>
          reply({ ...ok, webhook: webhook(endpoint), secret })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("testWebhook", "/admin/v1/webhooks/:id/test").setPath(id).addSuccess(TestDelivery),
    {
      summary: "Send a test event",
      description: "A `webhook.test`, to this endpoint alone.",
      answer: { ...ok, delivery_id: Examples.ids.delivery },
      refusals: ["not_found"],
      command: { name: "webhooks test", description: "Queue a test event." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.webhooks.test(path.id), (deliveryId) => reply({ ...ok, delivery_id: deliveryId }))
  ),
  forOperator(
    HttpApiEndpoint.get("deliveries", "/admin/v1/webhooks/:id/deliveries")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(Deliveries),
    {
      summary: "List an endpoint's deliveries",
      description: "Newest first, each with its attempts and what was answered to them.",
      answer: { ...ok, deliveries: [exampleDelivery], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "webhooks deliveries", description: "List a receiver's deliveries." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.webhooks.deliveries(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, deliveries: items.map(delivery), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("replayWebhook", "/admin/v1/webhooks/:id/replay")
      .setPath(id)
      .setPayload(Replay)
      .addSuccess(Replayed),
    {
      summary: "Deliver again what did not arrive since a time",
      description:
        "`failed`: what was attempted and did not arrive. `missing`: what never was a delivery to this endpoint. Asked twice it finds nothing more.",
      request: { since: Examples.at, which: "failed" },
      answer: { ...ok, replayed: 3 },
      refusals: ["not_found"],
      command: {
        name: "webhooks replay",
        description: "Deliver again what failed since a time, or is missing."
      }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(
          admin.webhooks.replaySince(path.id, Instant.parse(payload.since) ?? 0, payload.which ?? "failed"),
          (replayed) => reply({ ...ok, replayed })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("replayDelivery", "/admin/v1/deliveries/:id/replay")
      .setPath(id)
      .addSuccess(Delivery),
    {
      summary: "Deliver one event again",
      description: "With the same id and body as before.",
      answer: {
        ...ok,
        delivery: { ...exampleDelivery, status: "pending", next_attempt_at: Examples.at }
      },
      refusals: ["not_found"],
      command: { name: "deliveries replay", description: "Deliver once more." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.webhooks.replay(path.id), (found) => reply({ ...ok, delivery: delivery(found) }))
  )
]
