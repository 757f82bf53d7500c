/** Template sends: what they would cost, and the sends themselves (interface.md §2.3, §2.4). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Engine, Estimates } from "@sendwright/core"
import * as RateCards from "@sendwright/core/RateCard"
import * as Requests from "@sendwright/core/Requests"
import * as Template from "@sendwright/core/Template"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import { ConsentRecord, consentRecord, VerdictStatus, verdictStatus } from "./Consents.ts"
import * as Examples from "./Examples.ts"
import { links } from "./Jobs.ts"
import { forKeyUnchecked } from "./Operation.ts"
import { IdempotencyKey, replayed } from "./Parameters.ts"
import { Amount, Count, Id, Links, NullableText, Ok, ok, Text, Time, time, type View } from "./Wire.ts"

const Rendered = Schema.Struct({
  header: Schema.optional(Text),
  body: Text,
  footer: Schema.optional(Text),
  buttons: Schema.optional(Schema.Array(Template.Button))
})

const Explanation = Schema.Struct({
  phone: Text,
  external_id: NullableText,
  variables: Schema.Array(
    Schema.Struct({ key: Text, value: Text, origin: Schema.Literal("common", "recipient") })
  ),
  rendered: Rendered,
  market: NullableText,
  unit_price: Schema.NullOr(Amount),
  consent: Schema.Struct({ status: VerdictStatus, record: Schema.NullOr(ConsentRecord) })
})

const explanation = (each: Estimates.Explanation): View<typeof Explanation> => ({
  phone: each.phone,
  external_id: each.externalId,
  variables: each.variables,
  rendered: each.rendered,
  market: each.market,
  unit_price: each.unitPrice,
  consent: {
    status: verdictStatus(each.consent),
    record: each.consent._tag === "Missing" ? null : consentRecord(each.consent.record)
  }
})

const Estimate = Schema.Struct({
  ok: Ok,
  estimate: Schema.Struct({
    binding: Schema.Literal(false),
    currency: Text,
    total: Schema.NullOr(Amount).annotations({
      description: "What the recipients that have a price cost together; null when none has one."
    }),
    complete: Schema.Boolean.annotations({
      description: "Whether every recipient that can be reached has a price."
    }),
    recipients: Count,
    billable_recipients: Count,
    rate_card: Schema.NullOr(Schema.Struct({ id: Id, effective_from: Time })),
    breakdown: Schema.Array(
      Schema.Struct({
        market: Text,
        category: Schema.Literal(...RateCards.categories),
        recipients: Count,
        unit_price: Amount,
        subtotal: Amount
      })
    ),
    unpriced: Schema.Array(Schema.Struct({ phone: Text, reason: Text })),
    undeliverable: Schema.Array(Schema.Struct({ phone: Text, reason: Text })).annotations({
      description:
        "Recipients to whom the platform delivers nothing of the category: they would end without an attempt."
    }),
    without_consent: Count,
    recipients_explained: Schema.optional(Schema.Array(Explanation))
  })
}).annotations({ identifier: "Estimate" })

const estimate = (found: Estimates.Estimate): View<typeof Estimate> => ({
  ok: true,
  estimate: {
    binding: false,
    currency: found.currency,
    total: found.cost.total,
    complete: found.cost.complete,
    recipients: found.recipients,
    billable_recipients: found.cost.billableRecipients,
    rate_card:
      found.rateCard === null
        ? null
        : { id: found.rateCard.id, effective_from: time(found.rateCard.effectiveFrom) },
    breakdown: found.cost.breakdown.map(({ category, market, recipients, subtotal, unitPrice }) => ({
      market,
      category,
      recipients,
      unit_price: unitPrice,
      subtotal
    })),
    unpriced: found.cost.unpriced,
    undeliverable: found.cost.undeliverable,
    without_consent: found.withoutConsent,
    ...(found.explanations === null ? {} : { recipients_explained: found.explanations.map(explanation) })
  }
})

const Acknowledgement = Schema.Struct({
  ok: Ok,
  job_id: Id,
  status: Schema.Literal("queued"),
  recipients: Count,
  links: Links
}).annotations({ identifier: "Acknowledgement" })

const acknowledgement = ({ jobId, recipients }: Engine.Acknowledgement): View<typeof Acknowledgement> => ({
  ok: true,
  job_id: jobId,
  status: "queued",
  recipients,
  links: links(jobId)
})

const request = {
  template_id: Examples.template.template_id,
  ...Examples.clientTexts,
  recipients: [{ phone: Examples.phone, external_id: "customer-9", variables: { "body.1": "Ana" } }]
}

export const versioned = [
  forKeyUnchecked(
    HttpApiEndpoint.post("estimate", "/api/v1/template-messages/estimate")
      .setUrlParams(
        Schema.Struct({
          explain: Schema.optional(
            Schema.Literal("true", "false").annotations({
              description: "Whether each recipient is explained."
            })
          )
        })
      )
      .setPayload(Requests.TemplateMessageRequest)
      .addSuccess(Estimate),
    "messages:estimate",
    {
      summary: "Estimate the cost of a send, not binding",
      description:
        "Takes the body of a send, needs no consent, and creates nothing. With `explain=true` it tells per recipient which value won, the rendered text, the price, and the consent.",
      request,
      answer: {
        ...ok,
        estimate: {
          binding: false,
          currency: "EUR",
          total: "0.0250",
          complete: true,
          recipients: 1,
          billable_recipients: 1,
          rate_card: { id: Examples.ids.rateCard, effective_from: Examples.at },
          breakdown: [
            { market: "Spain", category: "utility", recipients: 1, unit_price: "0.0250", subtotal: "0.0250" }
          ],
          unpriced: [],
          undeliverable: [],
          without_consent: 0
        }
      }
    },
    (engine) =>
      (caller) =>
      ({ payload, query }) =>
        Effect.map(engine.estimate(caller, payload, { explain: query.explain === "true" }), (found) =>
          reply(estimate(found))
        )
  ),
  forKeyUnchecked(
    HttpApiEndpoint.post("send", "/api/v1/template-messages/send")
      .setHeaders(Schema.Struct({ "idempotency-key": IdempotencyKey }))
      .setPayload(Requests.TemplateMessageRequest)
      .addSuccess(Acknowledgement, { status: 202 }),
    "messages:send",
    {
      summary: "Send a template to 1 to 250 recipients",
      description:
        "Creates a job, and answers once it is durable. The same `Idempotency-Key` with the same body answers the same again; with another body it is a conflict. A refused request leaves its key free.",
      request,
      answer: { ...ok, job_id: Examples.ids.job, status: "queued", recipients: 1, links: Examples.links },
      refusals: ["consent_required", "quota_exceeded", "idempotency_conflict", "minimum_wait_active"],
      isIdempotent: true
    },
    (engine) =>
      (caller) =>
      ({ idempotencyKey, payload }) =>
        Effect.map(engine.send(caller, { idempotencyKey, request: payload }), (accepted) =>
          reply(acknowledgement(accepted), replayed(accepted))
        )
  )
]
