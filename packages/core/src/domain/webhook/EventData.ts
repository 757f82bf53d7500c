/**
 * The `data` of an event, by the event's type (contract.md §7). The API describes events by these schemas, and `Event` writes
 * values of their types, so that the two cannot differ.
 */
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import * as Consent from "../consent/Consent.ts"
import * as ClientTexts from "../job/ClientTexts.ts"
import * as Job from "../job/Job.ts"
import * as Recipient from "../job/Recipient.ts"
import * as Template from "../template/Template.ts"
import * as Unattributed from "../Unattributed.ts"
import type { Type } from "./EventType.ts"

const Id = Schema.String.annotations({ jsonSchema: { format: "uuid" } })
const Time = Schema.String.annotations({ jsonSchema: { format: "date-time" } })
const NullableText = Schema.NullOr(Schema.String)
const NullableTime = Schema.NullOr(Time)
const Count = Schema.Number.annotations({ jsonSchema: { type: "integer", minimum: 0 } })

/** An object of the platform's own. */
const PlatformObject = Schema.Unknown.annotations({
  jsonSchema: { type: ["object", "null"], additionalProperties: true, description: "The platform's own." }
})

export const Failure = Schema.Struct({
  code: Schema.String,
  provider_code: NullableText,
  message: Schema.String,
  permanent: Schema.Boolean
}).annotations({ identifier: "Failure" })

export const Counts = Schema.Struct(Records.map(Recipient.noCounts, () => Count)).annotations({
  identifier: "Counts"
})

/** Whose it is, of every event. */
const ofAccount = { account_id: Id, session_id: Schema.NullOr(Id) }
const ofSession = { account_id: Id, session_id: Id }

/** An instant, or a local time with its zone; null where none was asked for. */
const Moment = Schema.NullOr(
  Schema.Union(Time, Schema.Struct({ local: Schema.String, time_zone: Schema.String }))
)

export const JobData = Schema.Struct({
  ...ofSession,
  job_id: Id,
  status: Schema.Literal(...Job.statuses),
  template_id: Count,
  ...ClientTexts.job.told,
  recipients: Count,
  counts: Counts,
  pause_reason: NullableText,
  send_at: Moment,
  expires_at: Moment,
  created_at: Time,
  completed_at: NullableTime
}).annotations({ identifier: "JobEventData" })
export type JobData = typeof JobData.Type

const progress = {
  ...ClientTexts.job.told,
  ...ClientTexts.recipient.told,
  status: Schema.Literal(...Recipient.statuses),
  error: Schema.NullOr(Failure),
  attempts: Count,
  sequence: Count.annotations({
    jsonSchema: { type: "integer", minimum: 0, description: "Grows with each event of this recipient." }
  }),
  sent_at: NullableTime,
  delivered_at: NullableTime,
  read_at: NullableTime
}

export const RecipientData = Schema.Struct({
  ...ofSession,
  job_id: Id,
  message_id: Id,
  phone: NullableText,
  user_id: NullableText,
  ...progress
}).annotations({ identifier: "RecipientEventData" })
export type RecipientData = typeof RecipientData.Type

/** The `data` of a direct message's events. */
export const MessageData = Schema.Struct({
  ...ofSession,
  message_id: Id,
  to: NullableText,
  user_id: NullableText,
  sent_as: Schema.Literal("text", "template"),
  ...progress
}).annotations({ identifier: "MessageEventData" })
export type MessageData = typeof MessageData.Type

/** Many recipients' changes, each with the `data` of its own event. */
export const BatchData = Schema.Struct({
  ...ofAccount,
  changes: Schema.Array(Schema.Struct({ type: Schema.String, data: RecipientData }))
}).annotations({ identifier: "RecipientBatchEventData" })

export const ReceivedData = Schema.Struct({
  ...ofSession,
  message_id: Schema.String,
  from: NullableText,
  user_id: NullableText,
  text: Schema.String,
  received_at: Time,
  type: NullableText,
  label: NullableText,
  payload: NullableText,
  content: PlatformObject,
  context_id: NullableText,
  group_id: NullableText,
  window_until: NullableTime
}).annotations({ identifier: "ReceivedEventData" })
export type ReceivedData = typeof ReceivedData.Type

export const UnattributedData = Schema.Struct({
  ...ofSession,
  unattributed_id: Id,
  kind: Schema.Literal(...Unattributed.kinds),
  message_id: NullableText,
  text: Schema.String,
  occurred_at: Time
}).annotations({ identifier: "UnattributedEventData" })
export type UnattributedData = typeof UnattributedData.Type

export const PerhapsRefusalData = Schema.Struct({
  ...ofSession,
  refusal_id: Id,
  message_id: NullableText,
  from: NullableText,
  user_id: NullableText,
  text: Schema.String,
  occurred_at: Time
}).annotations({ identifier: "PerhapsRefusalEventData" })
export type PerhapsRefusalData = typeof PerhapsRefusalData.Type

export const SessionData = Schema.Struct({
  ...ofSession,
  name: Schema.String,
  provider: Schema.String,
  state: Schema.Literal("connected", "connecting", "disconnected"),
  reason: NullableText,
  unavailable_since: NullableTime
}).annotations({ identifier: "SessionEventData" })
export type SessionData = typeof SessionData.Type

export const SessionNewsData = Schema.Struct({
  ...ofSession,
  kind: Schema.String,
  news: PlatformObject
}).annotations({ identifier: "SessionNewsEventData" })
export type SessionNewsData = typeof SessionNewsData.Type

export const TemplateData = Schema.Struct({
  ...ofSession,
  template_id: Count,
  name: Schema.String,
  language: Schema.String,
  category: Template.Category,
  status: Schema.String,
  quality: NullableText,
  ...Template.whyFields,
  correct_category: NullableText.annotations({
    description: "The category that the platform is going to give it; null when none is announced."
  })
}).annotations({ identifier: "TemplateEventData" })
export type TemplateData = typeof TemplateData.Type

export const ConsentData = Schema.Struct({
  ...ofAccount,
  consent_id: Id,
  phone: NullableText,
  user_id: NullableText,
  purpose: Schema.Literal(...Consent.scopes),
  source: Schema.String,
  occurred_at: Time,
  reported_at: NullableTime
}).annotations({ identifier: "ConsentEventData" })
export type ConsentData = typeof ConsentData.Type

export const WebhookTestData = Schema.Struct({
  ...ofAccount,
  webhook_id: Id,
  message: Schema.String
}).annotations({ identifier: "WebhookTestEventData" })
export type WebhookTestData = typeof WebhookTestData.Type

export const WebhookDisabledData = Schema.Struct({
  ...ofAccount,
  webhook_id: Id,
  url: Schema.String,
  reason: Schema.String
}).annotations({ identifier: "WebhookDisabledEventData" })
export type WebhookDisabledData = typeof WebhookDisabledData.Type

export const byType = {
  "job.processing": JobData,
  "job.paused": JobData,
  "job.completed": JobData,
  "job.failed": JobData,
  "job.canceled": JobData,
  "recipient.accepted": RecipientData,
  "recipient.sent": RecipientData,
  "recipient.delivered": RecipientData,
  "recipient.read": RecipientData,
  "recipient.failed": RecipientData,
  "recipient.skipped": RecipientData,
  "recipient.unknown": RecipientData,
  "recipient.batch": BatchData,
  "message.accepted": MessageData,
  "message.sent": MessageData,
  "message.delivered": MessageData,
  "message.read": MessageData,
  "message.failed": MessageData,
  "message.received": ReceivedData,
  "inbound.unattributed": UnattributedData,
  "inbound.perhaps_refusal": PerhapsRefusalData,
  "session.connected": SessionData,
  "session.disconnected": SessionData,
  "session.unavailable": SessionData,
  "session.available": SessionData,
  "session.updated": SessionNewsData,
  "template.updated": TemplateData,
  "consent.granted": ConsentData,
  "consent.revoked": ConsentData,
  "webhook.test": WebhookTestData,
  "webhook.disabled": WebhookDisabledData
} as const satisfies { readonly [T in Type]: Schema.Schema.AnyNoContext }
