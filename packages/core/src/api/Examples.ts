/** Values of the examples in the description: one small shop, and what becomes of its order confirmations. */
import { ClientTexts } from "../adapter.ts"
import type { EventData } from "../index.ts"
import { Instant, Recipient } from "../index.ts"

export const ids = {
  account: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c01",
  session: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c02",
  job: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c03",
  message: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c04",
  consent: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c05",
  webhook: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c06",
  event: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c07",
  delivery: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c08",
  rateCard: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c09",
  unattributed: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c0a",
  request: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c0b",
  auditEntry: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c0c",
  retry: "01931b6e-7c1a-7d3a-9c57-0d2f5f7a1c0d"
}
export const publicKey = "pk_4fT0aZqL9xYw2RkVb7NcHd"
export const phone = "34600000100"
const begin = Instant.at(Date.UTC(2026, 10, 2, 9, 30))
export const at = Instant.format(begin)
export const later = Instant.format(Instant.after(begin, 2417))

export const counts = { ...Recipient.noCounts, delivered: 1 }

export const template = {
  template_id: 17,
  name: "order_confirmation",
  language: "en_US",
  category: "utility",
  status: "approved",
  components: [{ type: "body", text: "Hello {{1}}, your order is on its way." }],
  variables: [{ key: "body.1", type: "text", required: true }],
  sendable: true,
  unsendable_reason: null,
  quality: "green",
  reason: null,
  rejection_info: null,
  other_info: null,
  disable_info: null,
  max_price: null,
  updated_at: at
} as const

export const links = { status: `/api/v1/template-messages/${ids.job}` }

export const job = {
  job_id: ids.job,
  status: "completed",
  template_id: template.template_id,
  ...ClientTexts.job.examples,
  priority: "normal",
  pace: null,
  stop_when: null,
  send_at: null,
  expires_at: null,
  hours: null,
  starts_at: at,
  recipients: 1,
  counts,
  pause_reason: null,
  currency: "EUR",
  estimated_cost: "0.0250",
  created_at: at,
  updated_at: later,
  completed_at: later,
  content_expired_at: null,
  links
} as const

export const session = {
  id: ids.session,
  account_id: ids.account,
  name: "Orders",
  provider: "sandbox",
  pacing: { messages_per_second: 80, pair_interval_ms: null },
  retry_for: null,
  closed_markets: null,
  quiet_hours: { authentication: null, utility: null, marketing: null },
  keywords: { opt_out: null, opt_in: null },
  state: "connected",
  reason: null,
  blocked_until: null,
  block_reason: null,
  block_code: null,
  replies_blocked_until: null,
  unavailable_since: null,
  next_probe_at: null,
  connected_since: at,
  created_at: at,
  updated_at: at
} as const

export const consent = {
  consent_id: ids.consent,
  phone,
  user_id: null,
  purpose: "utility",
  status: "granted",
  source: "checkout form",
  proof: "order A-17",
  occurred_at: at,
  reported_at: null,
  recorded_at: at
} as const

export const webhook = {
  id: ids.webhook,
  account_id: ids.account,
  url: "https://shop.example/hooks/sendwright",
  events: ["job.*", "recipient.*"],
  description: "Order desk",
  enabled: true,
  disabled_reason: null,
  failing_since: null,
  deliveries_per_second: null,
  batch_recipients: false,
  secrets: [{ created_at: at, expires_at: null }],
  created_at: at,
  updated_at: at
}

const progress = {
  ...ClientTexts.job.examples,
  ...ClientTexts.recipient.examples,
  status: "delivered",
  error: null,
  attempts: 1,
  sequence: 3,
  sent_at: at,
  delivered_at: later,
  read_at: null
} as const

const owner = { account_id: ids.account, session_id: ids.session }
const ofAccount = { account_id: ids.account, session_id: null }

const recipientData: EventData.RecipientData = {
  ...owner,
  job_id: ids.job,
  message_id: ids.message,
  phone,
  user_id: null,
  ...progress
}

const jobData: EventData.JobData = {
  ...owner,
  job_id: ids.job,
  status: "completed",
  template_id: template.template_id,
  ...ClientTexts.job.examples,
  recipients: 1,
  counts,
  pause_reason: null,
  send_at: null,
  expires_at: null,
  created_at: at,
  completed_at: later
}

const messageData: EventData.MessageData = {
  ...owner,
  message_id: ids.message,
  to: phone,
  user_id: null,
  sent_as: "text",
  ...progress,
  ...ClientTexts.recipient.toBody({})
}

const sessionData: EventData.SessionData = {
  ...owner,
  name: session.name,
  provider: session.provider,
  state: "connected",
  reason: null,
  unavailable_since: null
}

const { recorded_at: _, proof: __, status: ___, ...consentData } = consent

/** The `data` of an event of each type. */
export const eventData = {
  "job.processing": { ...jobData, status: "processing", completed_at: null },
  "job.paused": { ...jobData, status: "paused", pause_reason: "session_disconnected", completed_at: null },
  "job.completed": jobData,
  "job.failed": { ...jobData, status: "failed" },
  "job.canceled": { ...jobData, status: "canceled" },
  "recipient.accepted": { ...recipientData, status: "accepted" },
  "recipient.sent": { ...recipientData, status: "sent" },
  "recipient.delivered": recipientData,
  "recipient.read": { ...recipientData, status: "read", read_at: later },
  "recipient.failed": { ...recipientData, status: "failed" },
  "recipient.skipped": { ...recipientData, status: "skipped" },
  "recipient.unknown": { ...recipientData, status: "unknown" },
  "recipient.batch": { ...owner, changes: [{ type: "recipient.delivered", data: recipientData }] },
  "message.accepted": { ...messageData, status: "accepted" },
  "message.sent": { ...messageData, status: "sent" },
  "message.delivered": messageData,
  "message.read": { ...messageData, status: "read", read_at: later },
  "message.failed": { ...messageData, status: "failed" },
  "message.received": {
    ...owner,
    message_id: "wamid.HBgLMzQ2MDAwMDAxMDA",
    from: phone,
    user_id: null,
    text: "When will it be here?",
    received_at: at,
    type: "text",
    label: null,
    payload: null,
    content: { body: "When will it be here?" },
    context_id: null,
    group_id: null,
    window_until: later
  },
  "inbound.unattributed": {
    ...owner,
    unattributed_id: ids.unattributed,
    kind: "opt_out",
    message_id: null,
    text: "STOP",
    occurred_at: at
  },
  "inbound.perhaps_refusal": {
    ...owner,
    refusal_id: ids.unattributed,
    message_id: "wamid.HBgLMzQ2MDAwMDAxMDA",
    from: phone,
    user_id: null,
    text: "can you stop the order",
    occurred_at: at
  },
  "session.connected": sessionData,
  "session.disconnected": { ...sessionData, state: "disconnected", reason: "operator" },
  "session.unavailable": { ...sessionData, unavailable_since: at },
  "session.available": sessionData,
  "session.updated": {
    ...owner,
    kind: "phone_number_quality_update",
    news: { display_phone_number: "15550100100", event: "FLAGGED", current_limit: "TIER_1K" }
  },
  "template.updated": {
    ...owner,
    template_id: template.template_id,
    name: template.name,
    language: template.language,
    category: template.category,
    status: template.status,
    quality: template.quality,
    reason: null,
    rejection_info: null,
    other_info: null,
    disable_info: null,
    correct_category: null
  },
  "consent.granted": { ...ofAccount, ...consentData },
  "consent.revoked": { ...owner, ...consentData },
  "webhook.test": { ...ofAccount, webhook_id: ids.webhook, message: "This is a test event." },
  "webhook.disabled": { ...ofAccount, webhook_id: ids.webhook, url: webhook.url, reason: "It answered 410." }
} as const satisfies {
  readonly [Type in keyof typeof EventData.byType]: (typeof EventData.byType)[Type]["Type"]
}
