/** Direct messages: sent and read with an API key (interface.md §2.8, §2.9), listed by operators (decisions.md §8). */

import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Engine } from "@sendwright/core"
import * as Ids from "@sendwright/core/Ids"
import { ClientTexts } from "@sendwright/core/internal"
import * as Requests from "@sendwright/core/Requests"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forKey, forKeyUnchecked, forOperator } from "./Operation.ts"
import { byAccount, IdempotencyKey, page, paging, replayed, Uuid } from "./Parameters.ts"
import {
  Amount,
  Count,
  Failure,
  Id,
  NextCursor,
  NullableTime,
  Ok,
  ok,
  RecipientStatus,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const DirectAcknowledgement = Schema.Struct({
  ok: Ok,
  messageId: Id,
  to: Text,
  status: Schema.Literal("accepted", "sent"),
  createdAt: Time
}).annotations({ identifier: "DirectAcknowledgement" })

const directAcknowledgement = (sent: Engine.DirectAcknowledgement): View<typeof DirectAcknowledgement> => ({
  ok: true,
  messageId: sent.messageId,
  to: sent.to,
  status: sent.status,
  createdAt: time(sent.createdAt)
})

const DirectMessage = Schema.Struct({
  ok: Ok,
  message: Schema.Struct({
    messageId: Id,
    to: Text,
    status: RecipientStatus,
    outcome: Schema.NullOr(Schema.Literal("unknown")).annotations({
      description:
        "unknown while it is not known whether the platform took the message; null before and after, and the status tells."
    }),
    error: Failure,
    ...ClientTexts.told,
    currency: Text,
    estimatedCost: Schema.NullOr(Amount).annotations({
      description:
        "The price of a message without a template (`service`) by the rate card; null when it has none."
    }),
    actualCost: Schema.NullOr(Amount).annotations({
      description: "What it cost by its receipts: 0 until it was delivered; null when it has no price."
    }),
    createdAt: Time,
    updatedAt: Time,
    sentAt: NullableTime,
    deliveredAt: NullableTime,
    readAt: NullableTime
  })
}).annotations({ identifier: "DirectMessage" })

const directMessage = ({ actualCost, job, recipient }: Engine.Message): View<typeof DirectMessage> => ({
  ok: true,
  message: {
    messageId: Ids.messageId(job.id, recipient.index),
    to: recipient.phone,
    status: recipient.status,
    outcome: recipient.status === "unknown" ? "unknown" : null,
    error: recipient.failure,
    ...ClientTexts.of(job),
    currency: job.currency,
    estimatedCost: job.estimatedCost,
    actualCost,
    createdAt: time(job.createdAt),
    updatedAt: time(recipient.updatedAt),
    sentAt: timeOrNull(recipient.sentAt),
    deliveredAt: timeOrNull(recipient.deliveredAt),
    readAt: timeOrNull(recipient.readAt)
  }
})

const ListedMessage = Schema.Struct({
  message_id: Id,
  session_id: Id,
  to: Text,
  status: RecipientStatus,
  error: Failure,
  ...ClientTexts.told,
  currency: Text,
  estimated_cost: Schema.NullOr(Amount),
  actual_cost: Schema.NullOr(Amount),
  attempts: Count,
  created_at: Time,
  updated_at: Time,
  sent_at: NullableTime,
  delivered_at: NullableTime,
  read_at: NullableTime
})

const listedMessage = ({ actualCost, job, recipient }: Engine.Message): View<typeof ListedMessage> => ({
  message_id: Ids.messageId(job.id, recipient.index),
  session_id: job.sessionId,
  to: recipient.phone,
  status: recipient.status,
  error: recipient.failure,
  ...ClientTexts.of(job),
  currency: job.currency,
  estimated_cost: job.estimatedCost,
  actual_cost: actualCost,
  attempts: recipient.attempts,
  created_at: time(job.createdAt),
  updated_at: time(recipient.updatedAt),
  sent_at: timeOrNull(recipient.sentAt),
  delivered_at: timeOrNull(recipient.deliveredAt),
  read_at: timeOrNull(recipient.readAt)
})

const Messages = Schema.Struct({ ok: Ok, messages: Schema.Array(ListedMessage), next_cursor: NextCursor })

const { at, ids, later, phone } = Examples

export const direct = [
  forKeyUnchecked(
    HttpApiEndpoint.post("sendDirect", "/api/public/messages/send")
      .setHeaders(Schema.Struct({ "idempotency-key": Schema.optional(IdempotencyKey) }))
      .setPayload(Requests.DirectMessageRequest)
      .addSuccess(DirectAcknowledgement),
    "direct:send",
    {
      summary: "Send one text message now",
      description:
        "Answers once the platform took it. An `Idempotency-Key` is optional, and works as it does for template sends: a request that repeats one still under way waits for its answer. While the session's platform does not answer, the message is refused with `send_failed` and without a `messageId`: nothing is recorded, and the same request may be repeated under the same key.",
      request: { to: phone, message: "Your order is ready.", linkPreview: false },
      answer: { ...ok, messageId: ids.message, to: phone, status: "accepted", createdAt: at },
      refusals: [
        "consent_required",
        "daily_limit_reached",
        "idempotency_conflict",
        "minimum_wait_active",
        "send_failed"
      ],
      isIdempotent: true
    },
    (engine) =>
      (caller) =>
      ({ idempotencyKey, payload }) =>
        Effect.map(engine.sendDirect(caller, { idempotencyKey, request: payload }), (sent) =>
          reply(directAcknowledgement(sent), replayed(sent))
        )
  ),
  forKey(
    HttpApiEndpoint.get("message", "/api/public/messages/:messageId")
      .setPath(Schema.Struct({ messageId: Uuid }))
      .addSuccess(DirectMessage),
    "direct:read",
    {
      summary: "Read a direct message",
      description:
        "Where its outcome was unknown a receipt may have settled it meanwhile. Another key's is not found.",
      answer: {
        ...ok,
        message: {
          messageId: ids.message,
          to: phone,
          status: "delivered",
          outcome: null,
          error: null,
          ...ClientTexts.of({}),
          currency: "EUR",
          estimatedCost: "0.0170",
          actualCost: "0.0170",
          createdAt: at,
          updatedAt: later,
          sentAt: at,
          deliveredAt: later,
          readAt: null
        }
      },
      refusals: ["not_found"]
    },
    (engine) =>
      (caller) =>
      ({ path }) =>
        Effect.map(engine.message(caller, path.messageId.toLowerCase()), (found) =>
          reply(directMessage(found))
        )
  )
]

export const admin = [
  forOperator(
    HttpApiEndpoint.get("messages", "/admin/v1/messages")
      .setUrlParams(Schema.Struct({ ...paging, ...byAccount }))
      .addSuccess(Messages),
    {
      summary: "List an account's direct messages",
      description: "Newest first.",
      answer: {
        ...ok,
        messages: [
          {
            message_id: ids.message,
            session_id: ids.session,
            to: phone,
            status: "delivered",
            error: null,
            ...ClientTexts.of({}),
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
        ],
        next_cursor: null
      },
      refusals: ["not_found"],
      command: { name: "messages list", description: "List an account's direct messages." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        Effect.map(admin.jobs.messages(query.account_id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, messages: items.map(listedMessage), next_cursor: cursor(next) })
        )
  )
]
