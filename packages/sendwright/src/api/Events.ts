/** Events: what changed, told to handlers in the process and to webhooks outside of it. */
import type {
  Counts,
  Failure,
  JobStatus,
  Moment,
  Purpose,
  RecipientStatus,
  RecipientTexts
} from "./Messages.ts"
import type { SendwrightError } from "./SendwrightError.ts"

/** Whose an event is. */
interface OfAccount {
  readonly accountId: string
  readonly sessionId: string | null
}

interface OfSession extends OfAccount {
  readonly sessionId: string
}

export interface JobEvent extends OfSession {
  readonly jobId: string
  readonly status: JobStatus
  readonly templateId: number
  readonly reference: string | null
  readonly recipients: number
  readonly counts: Counts
  readonly pauseReason: string | null
  readonly sendAt: Moment | null
  readonly expiresAt: Moment | null
  readonly createdAt: Date
  readonly completedAt: Date | null
}

interface ProgressEvent extends OfSession, RecipientTexts {
  readonly messageId: string
  readonly reference: string | null
  readonly status: RecipientStatus
  readonly error: Failure | null
  readonly attempts: number
  /** Grows with each event of this message, so that what comes late is known. */
  readonly sequence: number
  readonly sentAt: Date | null
  readonly deliveredAt: Date | null
  readonly readAt: Date | null
}

/** A recipient of a job. */
export interface RecipientEvent extends ProgressEvent {
  readonly jobId: string
  readonly phone: string | null
  readonly userId: string | null
}

/** A direct message. */
export interface DirectMessageEvent extends ProgressEvent {
  readonly to: string | null
  readonly userId: string | null
  /** `template`: `otherwise` goes in the place of what was written. */
  readonly sentAs: "text" | "template"
}

/** What a person wrote, or the button that they pressed. */
export interface ReceivedEvent extends OfSession {
  readonly messageId: string
  readonly from: string | null
  readonly userId: string | null
  readonly text: string
  readonly receivedAt: Date
  /** The platform's name of its kind: `text`, `image`, `reaction`. */
  readonly type: string | null
  readonly label: string | null
  readonly payload: string | null
  /** The platform's object for it, as it came. */
  readonly content: unknown
  /** The platform's id of the message that it answers. */
  readonly contextId: string | null
  readonly groupId: string | null
  /** Until when it may be answered with free text, by this message; null of one that opens nothing. */
  readonly windowUntil: Date | null
}

export interface UnattributedEvent extends OfSession {
  readonly unattributedId: string
  readonly kind: "message" | "opt_out" | "opt_in"
  readonly messageId: string | null
  readonly text: string
  readonly occurredAt: Date
}

export interface PerhapsRefusalEvent extends OfSession {
  readonly refusalId: string
  readonly messageId: string | null
  readonly from: string | null
  readonly userId: string | null
  readonly text: string
  readonly occurredAt: Date
}

export interface SessionEvent extends OfSession {
  readonly name: string
  readonly provider: string
  readonly state: "connected" | "connecting" | "disconnected"
  readonly reason: string | null
  readonly unavailableSince: Date | null
}

export interface SessionNewsEvent extends OfSession {
  readonly kind: string
  /** The platform's object, as it came. */
  readonly news: unknown
}

export interface TemplateEvent extends OfSession {
  readonly templateId: number
  readonly name: string
  readonly language: string
  readonly category: "marketing" | "utility" | "authentication"
  readonly status: string
  readonly quality: string | null
  /** Why its platform gave it its status, in the platform's words; null where it gave no reason. */
  readonly reason: string | null
  /** As the platform wrote them: what to do about a rejection, which pause it is, when it is disabled. */
  readonly rejectionInfo: object | null
  readonly otherInfo: object | null
  readonly disableInfo: object | null
  readonly correctCategory: string | null
}

/** `sessionId` is that of whose platform it came by; null for your own records. */
export interface ConsentEvent extends OfAccount {
  readonly consentId: string
  readonly phone: string | null
  readonly userId: string | null
  readonly purpose: Purpose | "all"
  readonly source: string
  readonly occurredAt: Date
  readonly reportedAt: Date | null
}

export interface WebhookTestEvent extends OfAccount {
  readonly webhookId: string
  readonly message: string
}

export interface WebhookDisabledEvent extends OfAccount {
  readonly webhookId: string
  readonly url: string
  readonly reason: string
}

/** The data of each type of event. */
export interface EventData {
  readonly "job.processing": JobEvent
  readonly "job.paused": JobEvent
  readonly "job.completed": JobEvent
  readonly "job.failed": JobEvent
  readonly "job.canceled": JobEvent
  readonly "recipient.accepted": RecipientEvent
  readonly "recipient.sent": RecipientEvent
  readonly "recipient.delivered": RecipientEvent
  readonly "recipient.read": RecipientEvent
  readonly "recipient.failed": RecipientEvent
  readonly "recipient.skipped": RecipientEvent
  readonly "recipient.unknown": RecipientEvent
  readonly "message.accepted": DirectMessageEvent
  readonly "message.sent": DirectMessageEvent
  readonly "message.delivered": DirectMessageEvent
  readonly "message.read": DirectMessageEvent
  readonly "message.failed": DirectMessageEvent
  readonly "message.received": ReceivedEvent
  readonly "inbound.unattributed": UnattributedEvent
  readonly "inbound.perhaps_refusal": PerhapsRefusalEvent
  readonly "session.connected": SessionEvent
  readonly "session.disconnected": SessionEvent
  readonly "session.unavailable": SessionEvent
  readonly "session.available": SessionEvent
  readonly "session.updated": SessionNewsEvent
  readonly "template.updated": TemplateEvent
  readonly "consent.granted": ConsentEvent
  readonly "consent.revoked": ConsentEvent
  readonly "webhook.test": WebhookTestEvent
  readonly "webhook.disabled": WebhookDisabledEvent
}

export type EventType = keyof EventData

/** The part of a type before its dot. */
type Family<Type extends string> = Type extends `${infer Name}.${string}` ? Name : never

/** A type, every type of a family (`job.*`), or everything (`*`). */
export type EventPattern = EventType | `${Family<EventType>}.*` | "*"

/** One event, by its type. */
export type SendwrightEvent<Type extends EventType = EventType> = {
  readonly [Each in Type]: {
    /** The same whenever it is told again. */
    readonly id: string
    readonly type: Each
    readonly createdAt: Date
    readonly data: EventData[Each]
  }
}[Type]

/** The types that a pattern stands for. */
export type Matching<Pattern extends EventPattern> = Pattern extends "*"
  ? EventType
  : Pattern extends `${infer Name}.*`
    ? Extract<EventType, `${Name}.${string}`>
    : Extract<EventType, Pattern>

/** What `on` takes: a pattern of events, or `error` for what failed in the background. */
export type Topic = EventPattern | "error"

/** What a handler is called with. */
export type Heard<Of extends Topic> = Of extends EventPattern
  ? SendwrightEvent<Matching<Of>>
  : SendwrightError

/** Done with an event when it returns, or its promise is fulfilled; called again later when it throws. Errors are told once. */
export type Handler<Of extends Topic = EventPattern> = (heard: Heard<Of>) => void | PromiseLike<void>

/** Handlers by what they want to hear. */
export type Handlers = { readonly [Of in Topic]?: Handler<Of> | undefined }
