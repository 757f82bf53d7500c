/**
 * Events (contract.md §7): the messages that webhooks send. Each is written in the same commit as the change it
 * reports. Its body is encoded once, so that id and bytes are the same in all attempts.
 */

import * as Arrays from "effect/Array"
import * as Address from "../Address.ts"
import type { ConsentRecord } from "../consent/Consent.ts"
import type { PerhapsRefusal } from "../consent/PerhapsRefusal.ts"
import * as Ids from "../Ids.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as ClientTexts from "../job/ClientTexts.ts"
import type { Job, Status as JobStatus, RecipientResult } from "../job/Job.ts"
import { sentAs } from "../job/Job.ts"
import type * as Recipient from "../job/Recipient.ts"
import * as When from "../job/When.ts"
import type { Person } from "../Person.ts"
import type { Session } from "../session/Session.ts"
import type { Template } from "../template/Template.ts"
import { whyToWire } from "../template/Template.ts"
import type { Unattributed } from "../Unattributed.ts"
import type * as EventData from "./EventData.ts"
import { batchType, ofStatus, type Single, type Type, types } from "./EventType.ts"

export { batchType, type Type, types } from "./EventType.ts"

/** The job's statuses that have an event. */
const jobTypes: ReadonlyMap<string, Type> = new Map(
  types.flatMap((type) => (type.startsWith("job.") ? [[type.slice("job.".length), type]] : []))
)

/** An event before it has an id. */
export interface Draft {
  readonly type: Type
  /** Of the job that it tells of, if that has one. */
  readonly traceparent?: string | null
  readonly data: Readonly<Record<string, unknown>>
}

export interface Event {
  readonly id: string
  readonly accountId: string
  readonly type: Type
  /** The span below which its webhooks are told; null where nobody traced what it tells of. */
  readonly traceparent: string | null
  readonly createdAt: Instant
  /** The exact JSON text that is signed and sent. */
  readonly body: string
}

/** The data of every event begin with whose it is; `session_id` is null where it is of no session. */
export const encode = (id: string, accountId: string, { data, type }: Draft, createdAt: Instant): string =>
  JSON.stringify({
    id,
    type,
    created_at: Time.format(createdAt),
    data: { account_id: accountId, session_id: null, ...data }
  })

/** The data of a draft, which {@link encode} adds the account to. */
type Drafted<Data> = Omit<Data, "account_id">

/** The pattern that an endpoint subscribes to: a type, every type of a family (`job.*`), or everything (`*`). */
export const defaultSubscription: ReadonlyArray<string> = ["job.*", "recipient.*", "message.*"]

/** Everything that can be subscribed to. */
export const patterns: ReadonlyArray<string> = [
  "*",
  ...new Set(types.map((type) => `${type.split(".")[0]}.*`)),
  ...types
]

const known: ReadonlySet<string> = new Set(patterns)

/** True when a pattern can ever match. */
export const isPattern = (pattern: string): boolean => known.has(pattern)

export const matches = (patterns: ReadonlyArray<string>, type: Type): boolean =>
  patterns.some(
    (pattern) =>
      pattern === "*" || pattern === type || (pattern.endsWith(".*") && type.startsWith(pattern.slice(0, -1)))
  )

/** Changes in one event of many. */
export const batchSize = 100

const batch = (drafts: ReadonlyArray<Draft>): Draft => {
  const changes = drafts.map(({ data, type }) => ({ type, data }))
  const [session, other] = new Set(changes.map(({ data }) => data["session_id"]))
  const [traceparent, another] = new Set(drafts.map(({ traceparent }) => traceparent))
  return {
    type: batchType,
    ...(another === undefined ? { traceparent } : {}),
    data: { session_id: other === undefined ? session : null, changes }
  }
}

/** An endpoint as the outbox sees it. */
export interface Subscriber<Key> {
  readonly key: Key
  readonly events: ReadonlyArray<string>
  readonly batchRecipients: boolean
}

/** The endpoints that each event of a commit goes to. An event without a subscriber is not made. */
export const address = <Key>(
  drafts: ReadonlyArray<Draft>,
  subscribers: ReadonlyArray<Subscriber<Key>>
): ReadonlyArray<{ readonly draft: Draft; readonly to: ReadonlyArray<Key> }> => {
  const isRecipient = ({ type }: Draft) => type.startsWith("recipient.")
  const single = drafts.map((draft) => ({
    draft,
    to: Arrays.flatMap(subscribers, ({ batchRecipients, events, key }) =>
      matches(events, draft.type) && !(batchRecipients && isRecipient(draft)) ? [key] : []
    )
  }))
  const batched = subscribers
    .filter(({ batchRecipients }) => batchRecipients)
    .flatMap(({ events, key }) => {
      const changes = drafts.filter((draft) => isRecipient(draft) && matches(events, draft.type))
      return Arrays.chunksOf(changes, batchSize).map((some) => ({ draft: batch(some), to: [key] }))
    })
  return [...batched, ...single].filter(({ to }) => to.length > 0)
}

/** The failure that tells of a canceled message. */
const canceled: Recipient.Failure = {
  code: "canceled",
  provider_code: null,
  message: "It was canceled before it was sent.",
  permanent: false
}

type Owner = Pick<Job, "id" | "accountId" | "content" | "replacedAt" | "sessionId" | "traceparent"> &
  ClientTexts.JobTexts

const recipientData = (
  job: Owner,
  recipient: RecipientResult
): EventData.MessageData | EventData.RecipientData => {
  const { accountId: account_id, content, id, sessionId: session_id } = job
  const message_id = Ids.messageId(id, recipient.index)
  const { phone, userId: user_id } = Address.personOf(recipient.address)
  const rest = {
    ...ClientTexts.job.toBody(job),
    ...ClientTexts.recipient.toBody(recipient),
    status: recipient.status,
    error: recipient.failure ?? (recipient.status === "canceled" ? canceled : null),
    attempts: recipient.attempts,
    sequence: recipient.sequence,
    sent_at: Time.formatOrNull(recipient.sentAt),
    delivered_at: Time.formatOrNull(recipient.deliveredAt),
    read_at: Time.formatOrNull(recipient.readAt)
  }
  return content.kind === "direct"
    ? { account_id, session_id, message_id, to: phone, user_id, sent_as: sentAs(job) ?? "text", ...rest }
    : { account_id, session_id, job_id: id, message_id, phone, user_id, ...rest }
}

/** A draft whose data are made once an endpoint subscribes to it. */
class Told implements Draft {
  readonly type: Type
  readonly traceparent: string | null
  readonly #data: () => Draft["data"]

  constructor(type: Type, { traceparent }: Pick<Job, "traceparent">, data: () => Draft["data"]) {
    this.type = type
    this.traceparent = traceparent
    this.#data = data
  }

  get data(): Draft["data"] {
    return this.#data()
  }
}

/** The status by which a direct message's event is called: one that was given up has failed, and its data have how. */
const toldAs = (status: Recipient.Status): Recipient.Status =>
  status === "skipped" || status === "canceled" ? "failed" : status

/** The event of a recipient's change; nothing for statuses that have no event. */
export const recipientChanged = (job: Owner, recipient: RecipientResult): Draft | undefined => {
  const { status } = recipient
  const type =
    job.content.kind === "direct" ? ofStatus("message", toldAs(status)) : ofStatus("recipient", status)
  return type === undefined ? undefined : new Told(type, job, () => recipientData(job, recipient))
}

const jobData = (job: Job, templateId: number): Drafted<EventData.JobData> => ({
  session_id: job.sessionId,
  job_id: job.id,
  status: job.status,
  template_id: templateId,
  ...ClientTexts.job.toBody(job),
  recipients: job.recipients,
  counts: job.counts,
  pause_reason: job.pauseReason,
  send_at: When.told(job.timing?.sendAt ?? null),
  expires_at: When.told(job.timing?.expiresAt ?? null),
  created_at: Time.format(job.createdAt),
  completed_at: Time.formatOrNull(job.completedAt)
})

/** The event of a job's change of status; none for a direct message, which has `message.*` events. */
export const jobChanged = (job: Job, before: JobStatus): Draft | undefined => {
  if (job.status === before || job.content.kind === "direct") return undefined
  const type = jobTypes.get(job.status)
  const { templateId } = job.content
  return type === undefined ? undefined : new Told(type, job, () => jobData(job, templateId))
}

/**
 * The events of a change of a session: of its state, and of its platform. A disconnection also ends an outage, and
 * says so in its data: whether the platform answers is not known.
 */
export const sessionChanged = (before: Session, after: Session): ReadonlyArray<Draft> => {
  const listed: Array<Single> = []
  if (before.state !== after.state && after.state !== "connecting")
    listed.push(after.state === "connected" ? "session.connected" : "session.disconnected")
  if ((before.outage === null) !== (after.outage === null) && after.state === "connected")
    listed.push(after.outage === null ? "session.available" : "session.unavailable")
  return listed.map((type) => ({
    type,
    data: {
      session_id: after.id,
      name: after.name,
      provider: after.provider,
      state: after.state,
      reason: after.reason,
      unavailable_since: Time.formatOrNull(after.outage?.since ?? null)
    } satisfies Drafted<EventData.SessionData>
  }))
}

/** Tells the platform's news of a session's account or number. */
export const sessionUpdated = (session: Pick<Session, "id">, kind: string, news: unknown): Draft => ({
  type: "session.updated",
  data: { session_id: session.id, kind, news } satisfies Drafted<EventData.SessionNewsData>
})

export const templateUpdated = (template: Template): Draft => ({
  type: "template.updated",
  data: {
    template_id: template.templateId,
    session_id: template.sessionId,
    name: template.name,
    language: template.language,
    category: template.category,
    status: template.status,
    quality: template.quality,
    ...whyToWire(template),
    correct_category: template.correctCategory ?? null
  } satisfies Drafted<EventData.TemplateData>
})

export const consentRecorded = (record: ConsentRecord): Draft => ({
  type: record.status === "granted" ? "consent.granted" : "consent.revoked",
  data: {
    session_id: record.datedBy,
    consent_id: record.id,
    phone: record.phone,
    user_id: record.userId,
    purpose: record.purpose,
    source: record.source,
    occurred_at: Time.format(record.occurredAt),
    reported_at: record.reportedAt === null ? null : Time.format(record.reportedAt)
  } satisfies Drafted<EventData.ConsentData>
})

/** A person's inbound text as it is stored. */
export interface Received {
  readonly id: string
  readonly person: Person
  readonly text: string
  readonly at: Instant
  /** As the platform names its kind; null where it does not. */
  readonly type: string | null
  /** Of a pressed button. */
  readonly label: string | null
  readonly payload: string | null
  /** The platform's object for it, of at most `ExternalText.longestJson`; null where there is none. */
  readonly content: unknown
  /** The message that it answers. */
  readonly contextId: string | null
  readonly groupId: string | null
  /** Until when free text may be answered, by this message; null of one that opens nothing. */
  readonly windowUntil: Instant | null
}

export const messageReceived = (session: Pick<Session, "id">, message: Received): Draft => ({
  type: "message.received",
  data: {
    message_id: message.id,
    session_id: session.id,
    from: message.person.phone,
    user_id: message.person.userId,
    text: message.text,
    received_at: Time.format(message.at),
    type: message.type,
    label: message.label,
    payload: message.payload,
    content: message.content,
    context_id: message.contextId,
    group_id: message.groupId,
    window_until: Time.formatOrNull(message.windowUntil)
  } satisfies Drafted<EventData.ReceivedData>
})

export const inboundUnattributed = (found: Unattributed): Draft => ({
  type: "inbound.unattributed",
  data: {
    unattributed_id: found.id,
    session_id: found.sessionId,
    kind: found.kind,
    message_id: found.messageId,
    text: found.text,
    occurred_at: Time.format(found.occurredAt)
  } satisfies Drafted<EventData.UnattributedData>
})

export const inboundPerhapsRefusal = (found: PerhapsRefusal): Draft => ({
  type: "inbound.perhaps_refusal",
  data: {
    refusal_id: found.id,
    session_id: found.sessionId,
    message_id: found.messageId,
    from: found.phone,
    user_id: found.userId,
    text: found.text,
    occurred_at: Time.format(found.occurredAt)
  } satisfies Drafted<EventData.PerhapsRefusalData>
})

export const webhookTest = (endpointId: string): Draft => ({
  type: "webhook.test",
  data: {
    session_id: null,
    webhook_id: endpointId,
    message: "This is a test event."
  } satisfies Drafted<EventData.WebhookTestData>
})

export const webhookDisabled = (
  endpoint: { readonly id: string; readonly url: string },
  reason: string
): Draft => ({
  type: "webhook.disabled",
  data: {
    session_id: null,
    webhook_id: endpoint.id,
    url: endpoint.url,
    reason
  } satisfies Drafted<EventData.WebhookDisabledData>
})
