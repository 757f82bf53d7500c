/** Template sends: what they would cost, and the sends themselves (contract.md §A2.3, §2.4). */

import * as Schema from "effect/Schema"
import { ClientTexts } from "../adapter.ts"
import * as End from "../domain/job/End.ts"
import type { Engine, Estimates } from "../index.ts"
import { Priority, RateCard as RateCards, Requests, Template } from "../index.ts"
import { codec, computed, list, nullOr, struct } from "./Codec.ts"
import { consentRecord, verdictStatus } from "./Consents.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { links } from "./Jobs.ts"
import { forKeyUnchecked, one, replayed } from "./Operation.ts"
import { IdempotencyKey } from "./Parameters.ts"
import * as Texts from "./Texts.ts"
import * as Wire from "./Wire.ts"

const Rendered = Schema.Struct({
  header: Schema.optional(Wire.Text),
  body: Wire.Text,
  footer: Schema.optional(Wire.Text),
  buttons: Schema.optional(Schema.Array(Template.Button))
})

const explanation = struct({
  phone: Texts.NullablePhone,
  user_id: Texts.NullableUserId,
  ...ClientTexts.recipient.told,
  variables: Schema.Array(
    Schema.Struct({ key: Wire.Text, value: Wire.Text, origin: Schema.Literal("common", "recipient") })
  ),
  rendered: Rendered,
  market: Wire.NullableText,
  unit_price: Wire.NullableAmount,
  consent: codec(
    Schema.Struct({ status: verdictStatus.schema, record: Schema.NullOr(consentRecord.schema) }),
    (consent: Estimates.Explanation["consent"], prefix) => ({
      status: verdictStatus.of(consent, prefix),
      record: consent._tag === "Missing" ? null : consentRecord.of(consent.record, prefix)
    })
  )
})

const rateCard = struct({ id: Wire.Id, effective_from: Wire.Time })

const priced = struct({
  market: Wire.Text,
  category: Schema.Literal(...RateCards.categories),
  recipients: Wire.Count,
  unit_price: Wire.Amount,
  subtotal: Wire.Amount
})

const reasons = list(struct({ phone: Texts.NullablePhone, user_id: Texts.NullableUserId, reason: Wire.Text }))

const binding = computed(Schema.Literal(false), () => false as const)

const costs = struct({
  binding,
  currency: Wire.Text,
  total: Schema.NullOr(Wire.Amount).annotations({
    description: "What the recipients that have a price cost together; null when none has one."
  }),
  complete: Schema.Boolean.annotations({
    description: "Whether every recipient that can be reached has a price."
  }),
  recipients: Wire.Count,
  priority: Priority.Priority,
  starts_at: Wire.Time,
  ends_at: Wire.describedTime(
    "When the last of the recipients is expected to go, by the times, the hours, and the pace of the session and the send; null where nothing limits it. Other jobs of the session and retries may make it later."
  ),
  limited_by: Schema.NullOr(Schema.Literal(...End.limiters)).annotations({
    description: "What `ends_at` comes from; null with it."
  }),
  billable_recipients: Wire.Count,
  rate_card: nullOr(rateCard),
  breakdown: list(priced),
  unpriced: reasons,
  /** To whom the platform delivers nothing of the category: they would end without an attempt. */
  undeliverable: reasons,
  without_consent: Wire.Count
})

const explained = list(explanation)

export const estimate = codec(
  Schema.Struct({ ...costs.schema.fields, recipients_explained: Schema.optional(explained.schema) }),
  ({ cost, explanations, ...found }: Estimates.Estimate, prefix) => ({
    ...costs.of({ ...found, ...cost }, prefix),
    ...(explanations === null ? {} : { recipients_explained: explained.of(explanations, prefix) })
  })
)

const queued = computed(Schema.Literal("queued"), () => "queued" as const)

const acknowledgement = struct(
  {
    ok: Wire.isOk,
    job_id: Wire.Id,
    status: queued,
    recipients: Wire.Count,
    links: computed(Wire.Links, ({ jobId }: Engine.Acknowledgement, prefix) => links(jobId, prefix))
  },
  "Acknowledgement"
)

const example: typeof estimate.schema.Type = {
  binding: false,
  currency: "EUR",
  total: "0.0250",
  complete: true,
  recipients: 1,
  priority: "normal",
  starts_at: Examples.at,
  ends_at: null,
  limited_by: null,
  billable_recipients: 1,
  rate_card: { id: Examples.ids.rateCard, effective_from: Examples.at },
  breakdown: [
    { market: "Spain", category: "utility", recipients: 1, unit_price: "0.0250", subtotal: "0.0250" }
  ],
  unpriced: [],
  undeliverable: [],
  without_consent: 0
}

const request = {
  template_id: Examples.template.template_id,
  ...ClientTexts.job.examples,
  recipients: [{ phone: Examples.phone, ...ClientTexts.recipient.examples, variables: { "body.1": "Ana" } }]
}

export const versioned = [
  forKeyUnchecked(
    Endpoint.post("estimate", "/api/v1/template-messages/estimate")
      .setUrlParams(
        Schema.Struct({
          explain: Schema.optional(
            Schema.Literal("true", "false").annotations({
              description: "Whether each recipient is explained."
            })
          )
        })
      )
      .setPayload(Requests.TemplateMessageRequest),
    "messages:estimate",
    one("estimate", estimate, example, "Estimate"),
    {
      summary: "Estimate the cost of a send, not binding",
      description:
        "Takes the body of a send, needs no consent, and creates nothing. With `explain=true` it tells per recipient which value won, the rendered text, the price, and the consent.",
      request
    },
    (engine, caller, { payload, query }) =>
      engine.estimate(caller, payload, { explain: query.explain === "true" })
  ),
  forKeyUnchecked(
    Endpoint.post("send", "/api/v1/template-messages/send")
      .setHeaders(Schema.Struct({ "idempotency-key": IdempotencyKey }))
      .setPayload(Requests.TemplateMessageRequest),
    "messages:send",
    replayed(acknowledgement, {
      ...Wire.ok,
      job_id: Examples.ids.job,
      status: "queued",
      recipients: 1,
      links: Examples.links
    }),
    {
      summary: "Send a template to 1 to 250 recipients",
      description:
        "Creates a job, and answers once it is durable. The same `Idempotency-Key` with the same body answers the same again; with another body it is a conflict. A refused request leaves its key free.",
      status: 202,
      request,
      refusals: ["consent_required", "quota_exceeded", "idempotency_conflict", "minimum_wait_active"],
      isIdempotent: true
    },
    (engine, caller, { idempotencyKey, payload, requestId }) =>
      engine.send(caller, { idempotencyKey, requestId, request: payload })
  )
]
