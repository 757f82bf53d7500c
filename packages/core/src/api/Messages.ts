/** Direct messages: sent and read with an API key (contract.md §A2.8, §2.9), listed by operators (contract.md §8). */

import * as Schema from "effect/Schema"
import { ClientTexts } from "../adapter.ts"
import * as Address from "../domain/Address.ts"
import * as Direct from "../domain/job/Direct.ts"
import * as Jobs from "../domain/job/Job.ts"
import type { Engine } from "../index.ts"
import { Ids, Requests } from "../index.ts"
import { codec, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forKey, forKeyUnchecked, forOperator, one, pageOf, replayed } from "./Operation.ts"
import { byAccount, IdempotencyKey, Person, paging, Uuid } from "./Parameters.ts"
import * as Texts from "./Texts.ts"
import * as Wire from "./Wire.ts"

const SentAs = Schema.Literal(...Jobs.allSentAs).annotations({
  description: "template where `otherwise` goes in the place of what was written, and text of all else."
})

const acknowledgement = struct(
  {
    ok: Wire.isOk,
    messageId: Wire.Id,
    to: Wire.NullableText,
    user_id: Texts.NullableUserId,
    status: Schema.Literal("accepted", "queued", "sent").annotations({
      description: "queued while the template that goes in the place of the text waits; events tell the rest."
    }),
    sent_as: SentAs,
    createdAt: Wire.Time
  },
  "DirectAcknowledgement"
)

const told = struct(
  {
    ok: Wire.isOk,
    open: Schema.Boolean,
    until: Wire.NullableTime,
    free_until: Wire.NullableTime,
    certain: Schema.Boolean
  },
  "Window"
)

/** Of a job and of its only recipient, what is told of a message. */
const flat = (
  { actualCost, job, recipient }: Engine.Message,
  person = Address.personOf(recipient.address)
) => ({
  ...recipient,
  messageId: Ids.messageId(job.id, recipient.index),
  sessionId: job.sessionId,
  to: person.phone,
  userId: person.userId,
  sentAs: Jobs.sentAs(job) ?? "text",
  outcome: recipient.status === "unknown" ? ("unknown" as const) : null,
  error: recipient.failure,
  ...ClientTexts.job.toBody(job),
  currency: job.currency,
  estimatedCost: job.estimatedCost,
  actualCost,
  createdAt: job.createdAt
})

const shown = struct({
  messageId: Wire.Id,
  to: Wire.NullableText,
  user_id: Texts.NullableUserId,
  status: Wire.RecipientStatus,
  sent_as: SentAs,
  outcome: Schema.NullOr(Schema.Literal("unknown")).annotations({
    description:
      "unknown while it is not known whether the platform took the message; null before and after, and the status tells."
  }),
  error: Wire.Failure,
  ...ClientTexts.job.told,
  currency: Wire.Text,
  estimatedCost: Schema.NullOr(Wire.Amount).annotations({
    description:
      "The price of a message without a template (`service`) by the rate card; null when it has none."
  }),
  actualCost: Schema.NullOr(Wire.Amount).annotations({
    description: "What it cost by its receipts: 0 until it was delivered; null when it has no price."
  }),
  createdAt: Wire.Time,
  updatedAt: Wire.Time,
  sentAt: Wire.NullableTime,
  deliveredAt: Wire.NullableTime,
  readAt: Wire.NullableTime
})

const listed = struct({
  message_id: Wire.Id,
  session_id: Wire.Id,
  to: Texts.NullablePhone,
  user_id: Texts.NullableUserId,
  status: Wire.RecipientStatus,
  sent_as: SentAs,
  error: Wire.Failure,
  ...ClientTexts.job.told,
  currency: Wire.Text,
  estimated_cost: Wire.NullableAmount,
  actual_cost: Wire.NullableAmount,
  attempts: Wire.Count,
  created_at: Wire.Time,
  updated_at: Wire.Time,
  sent_at: Wire.NullableTime,
  delivered_at: Wire.NullableTime,
  read_at: Wire.NullableTime
})

const { at, ids, later, phone } = Examples

/** A body that names a person and has one content: none is empty, although each of its members may be left out. */
const DirectBody = Requests.DirectMessageRequest.pipe(
  Schema.filter((request) => Direct.mixed(request).length === 0, {
    identifier: "DirectMessageRequest",
    jsonSchema: { minProperties: 2 }
  })
)

export const direct = [
  forKeyUnchecked(
    Endpoint.post("sendDirect", "/api/public/messages/send")
      .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(IdempotencyKey) }))
      .setPayload(DirectBody),
    "direct:send",
    replayed(acknowledgement, {
      ...Wire.ok,
      messageId: ids.message,
      to: phone,
      user_id: null,
      status: "accepted",
      sent_as: "text",
      createdAt: at
    }),
    {
      summary: "Send one text message now",
      description:
        "Answers once the platform took it. Where the person's window is certainly over it is refused with `window_closed`, and the platform is not asked; with `otherwise` that template goes instead, and so it does once the platform refuses the text for it, by its answer or later: one message, of which `sent_as` tells as what it goes. An `Idempotency-Key` is optional, and works as it does for template sends: a request that repeats one still under way waits for its answer. While the session's platform does not answer, the message is refused with `send_failed` and without a `messageId`: nothing is recorded, and the same request may be repeated under the same key.",
      request: { to: phone, message: "Your order is ready.", linkPreview: false },
      refusals: [
        "consent_required",
        "daily_limit_reached",
        "idempotency_conflict",
        "minimum_wait_active",
        "send_failed",
        "window_closed"
      ],
      isIdempotent: true
    },
    (engine, caller, { idempotencyKey, payload, requestId }) =>
      engine.sendDirect(caller, { idempotencyKey, requestId, request: payload })
  ),
  forKey(
    Endpoint.get("window", "/api/public/window/:person").setPath(Schema.Struct({ person: Person })),
    "direct:send",
    answer(told, { ...Wire.ok, open: true, until: later, free_until: null, certain: true }),
    {
      summary: "Read until when a person may be answered with free text",
      description:
        "By their number or their user id, over all names that are known of them: a day from their last message to the session (`until`, which may be past), and free of charge for three where an advertisement brought them (`free_until`). `certain` is false where the platform is left to decide: where another app or an agent has messages of the session, of somebody who is not known to have written, and of a window that is over where something is still free of charge, or whose platform has no windows. A text into a window that is `certain` and not `open` is refused with `window_closed`.",
      refusals: ["invalid_request"]
    },
    (engine, caller, { path }) => engine.window(caller, path.person)
  ),
  forKey(
    Endpoint.get("message", "/api/public/messages/:messageId").setPath(Schema.Struct({ messageId: Uuid })),
    "direct:read",
    one(
      "message",
      codec(shown.schema, (found: Engine.Message, prefix) => shown.of(flat(found), prefix)),
      {
        messageId: ids.message,
        to: phone,
        user_id: null,
        status: "delivered",
        sent_as: "text",
        outcome: null,
        error: null,
        ...ClientTexts.job.toBody({}),
        currency: "EUR",
        estimatedCost: "0.0170",
        actualCost: "0.0170",
        createdAt: at,
        updatedAt: later,
        sentAt: at,
        deliveredAt: later,
        readAt: null
      },
      "DirectMessage"
    ),
    {
      summary: "Read a direct message",
      description:
        "Where its outcome was unknown a receipt may have settled it meanwhile. Another key's is not found."
    },
    (engine, caller, { path }) => engine.message(caller, path.messageId)
  )
]

export const admin = [
  forOperator(
    Endpoint.get("messages", "/admin/v1/messages").setUrlParams(
      Schema.Struct({ ...paging, ...byAccount, phone: Schema.optional(Person) })
    ),
    pageOf(
      "messages",
      codec(listed.schema, (found: Engine.Message, prefix) => listed.of(flat(found), prefix)),
      {
        message_id: ids.message,
        session_id: ids.session,
        to: phone,
        user_id: null,
        status: "delivered",
        sent_as: "text",
        error: null,
        ...ClientTexts.job.toBody({}),
        currency: "EUR",
        estimated_cost: "0.0170",
        actual_cost: "0.0170",
        attempts: 1,
        created_at: at,
        updated_at: later,
        sent_at: at,
        delivered_at: later,
        read_at: null
      }
    ),
    {
      summary: "List an account's direct messages",
      description: "Newest first; with `phone` those to one person. A page may be short where others are.",
      refusals: ["not_found"],
      command: {
        name: "messages list",
        description: "List an account's direct messages, or those to one person."
      }
    },
    ({ admin }, { page, query }) =>
      admin.jobs.messages({ accountId: query.account_id, phone: query.phone, page })
  )
]
