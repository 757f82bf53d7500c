/** Sends, jobs and messages, as they are given and answered. */

export type Purpose = "marketing" | "utility" | "authentication" | "direct"

export type JobStatus = "queued" | "processing" | "paused" | "canceling" | "canceled" | "completed" | "failed"

export type RecipientStatus =
  | "queued"
  | "sending"
  | "accepted"
  | "sent"
  | "delivered"
  | "read"
  | "failed"
  | "unknown"
  | "skipped"
  | "canceled"

/** What you say of a recipient for yourself: it comes with the send, and answers and events tell it; null without it. */
export interface RecipientTexts {
  /** Your reference for this person. */
  readonly externalId: string | null
}

type GivenTexts = { readonly [Name in keyof RecipientTexts]?: string | undefined }

/** Somebody who gets a template, with what is their own. */
export interface Recipient extends GivenTexts {
  /** Digits with the country calling code: `34600001234`. */
  readonly phone?: string | undefined
  /** The platform's id of them, such as `US.1349`, beside or instead of the number. */
  readonly userId?: string | undefined
  /** Values by name, such as `body.1`; they go before those of all. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** The recipient's own, instead of the send's. */
  readonly sendAt?: Moment | undefined
  readonly expiresAt?: Moment | undefined
  /** Where the recipient is, where you know it better than the country of its number tells. */
  readonly timeZone?: string | undefined
}

/** One phone or user id, one recipient, or a list of them. */
export type To = string | Recipient | ReadonlyArray<string | Recipient>

/** A template and who gets it. */
export interface Message {
  /** The template's name, or its id. */
  readonly template: string | number
  /** Needed only where the template is there in several languages. */
  readonly language?: string | undefined
  /** At most 250. */
  readonly to: To
  /** Values of all, by name. */
  readonly variables?: Readonly<Record<string, string>> | undefined
  /** ISO 4217; the account's when absent. */
  readonly currency?: string | undefined
  /** Your name for the send, which its events tell. */
  readonly reference?: string | undefined
  /**
   * What goes first within the session. Without one it follows the template's category: authentication high, utility normal,
   * marketing low. What is lower keeps a tenth of the session's pace.
   */
  readonly priority?: Priority | undefined
  /** So many of its messages go in a minute at most, however fast its session is. */
  readonly pace?: Pace | undefined
  /**
   * Pauses the send (`pauseReason: "failing"`) once `failedPercent` of `ofFirst` failed for good among its first `ofFirst`
   * recipients. It is asked no more once the send was resumed.
   */
  readonly stopWhen?: StopWhen | undefined
  /**
   * When it is sent: a date, or a local time with its zone, at most 366 days ahead. With the `timeZone` `recipient` it is that
   * time at each recipient's place. What lies in the past is now.
   */
  readonly sendAt?: Moment | undefined
  /** After it nobody is sent anything any more: who is left is `skipped` as `expired`. */
  readonly expiresAt?: Moment | undefined
  /** The hours at each recipient's place in which messages go. */
  readonly hours?: Hours | undefined
}

export interface Pace {
  readonly perMinute: number
}

export interface StopWhen {
  /** 1 to 100. */
  readonly failedPercent: number
  readonly ofFirst: number
  /**
   * `reference`: the send is counted with the account's other sends of its `reference` that say so, of its newest 1,000, and all
   * that have not ended are paused together. One that is sent afterwards is paused before anything of it goes. Each is resumed by
   * itself. Absent: `job`, its own outcomes alone.
   */
  readonly over?: "job" | "reference" | undefined
}

export type Moment = Date | { readonly local: string; readonly timeZone: string }

/** When a job's recipients may be sent instead; what is absent stays, and null takes it away. */
export interface OtherTimes {
  readonly sendAt?: Moment | undefined
  readonly expiresAt?: Moment | null | undefined
  readonly hours?: Hours | null | undefined
}

/** Hours of the day, such as 09:00 to 20:00; over midnight where `to` is before `from`. */
export interface Hours {
  readonly from: string
  readonly to: string
  /** Monday is 1; all days when absent. */
  readonly days?: ReadonlyArray<number> | undefined
  /** What becomes of a message whose turn comes at another hour: it waits for the next that is allowed, or is `skipped`. */
  readonly outside?: "hold" | "skip" | undefined
}

export type Priority = "high" | "low" | "normal"

export interface Send extends Message {
  /** The same key never sends twice: use the id of what the message is about. */
  readonly idempotencyKey: string
}

export interface Sent {
  readonly jobId: string
  readonly recipients: number
  /** True when an earlier send under the same key is answered again. */
  readonly replayed: boolean
}

export interface InTransaction {
  /** The app's open transaction, by an adapter: `fromDrizzle(tx)`. The message goes out after its commit, or never. */
  readonly tx?: Transaction
}

/** A transaction of the app, as an adapter of `sendwright/postgres` or `sendwright/sqlite` gives it. */
export interface Transaction {
  readonly database: "sqlite" | "postgres"
}

/** The one whom a text goes to, as {@link To} names them. */
type OneTo = string | Pick<Recipient, "phone" | "userId">

/** What the platform fetches from an https URL and shows. */
export interface Media {
  readonly type: "image" | "video" | "audio" | "document" | "sticker"
  readonly url: string
  /** At most 1,024 characters; none of audio and stickers. */
  readonly caption?: string | undefined
  /** Of a document alone. */
  readonly filename?: string | undefined
}

export interface Location {
  readonly latitude: number
  readonly longitude: number
  readonly name?: string | undefined
  readonly address?: string | undefined
}

/** Below a text; what it sends when pressed has the id as its `payload`. */
export interface ReplyButton {
  readonly id: string
  /** At most 20 characters, other than those of the other buttons. */
  readonly title: string
}

/** A direct message has a text, `media` or a `location`. */
export interface DirectMessage {
  /** One person. */
  readonly to: OneTo | readonly [OneTo]
  readonly text?: string | undefined
  readonly linkPreview?: boolean | undefined
  /** Of a text: 1 to 3. */
  readonly buttons?: ReadonlyArray<ReplyButton> | undefined
  readonly media?: Media | undefined
  readonly location?: Location | undefined
  /** The id of the message of theirs that it answers, as `message.received` tells it. */
  readonly replyTo?: string | undefined
  /** Of a text: the template that goes in its place where the person's window is closed. Never both go. */
  readonly otherwise?:
    | { readonly templateId: number; readonly variables?: Readonly<Record<string, string>> | undefined }
    | undefined
  readonly reference?: string | undefined
  readonly idempotencyKey?: string | undefined
}

export interface DirectSent {
  readonly messageId: string
  /** Null where only a user id was given. */
  readonly to: string | null
  readonly userId: string | null
  /** `queued`: the template that goes in the place of the text waits; events tell the rest. */
  readonly status: "accepted" | "queued" | "sent"
  /** `template`: `otherwise` goes in the place of what was written. */
  readonly sentAs: "text" | "template"
  readonly createdAt: Date
  readonly replayed: boolean
}

/** Until when a person may be answered with free text. */
export interface Window {
  readonly open: boolean
  /** When it closes, or has closed; null where they did not write, as far as is known. */
  readonly until: Date | null
  /** Until when messages are free of charge; null where an advertisement did not bring them. */
  readonly freeUntil: Date | null
  /** False where the platform may know more: another app or an agent has messages of the session, too. */
  readonly certain: boolean
}

/** Why a message failed. */
export interface Failure {
  readonly code: string
  /** The platform's own code; null where it gave none. */
  readonly providerCode: string | null
  readonly message: string
  /** True when trying again unchanged fails again. */
  readonly permanent: boolean
}

/** How far a message came. */
interface Progress {
  readonly messageId: string
  readonly userId: string | null
  readonly status: RecipientStatus
  /** Null unless it failed, or nobody knows. */
  readonly error: Failure | null
  readonly updatedAt: Date
  readonly sentAt: Date | null
  readonly deliveredAt: Date | null
  readonly readAt: Date | null
}

/** What became of one recipient of a job. */
export interface Result extends Progress, RecipientTexts {
  /** Null where only a user id was given. */
  readonly phone: string | null
  readonly attempts: number
  /** The market that priced it, and the decimal price that is due once it is delivered; null without a rate card. */
  readonly market: string | null
  readonly unitPrice: string | null
  /** As what the platform billed it; null until a receipt said so. */
  readonly pricing: { readonly category: string; readonly free: boolean } | null
}

/** A direct message as far as a session and operators are told the same. */
export interface DirectMessageNow extends Progress {
  /** The phone; null where only a user id was given. */
  readonly to: string | null
  /** `template`: `otherwise` goes in the place of what was written. */
  readonly sentAs: "text" | "template"
  readonly reference: string | null
  readonly currency: string
  /** Decimal; null where it has no price. */
  readonly estimatedCost: string | null
  readonly actualCost: string | null
  readonly createdAt: Date
}

/** A direct message as it is now. */
export interface DirectResult extends DirectMessageNow {
  /** `unknown` while nobody knows whether the platform took it; null before and after. */
  readonly outcome: "unknown" | null
}

export type Counts = Readonly<Record<RecipientStatus, number>>

/** One accepted send. */
export interface Job {
  readonly jobId: string
  readonly templateId: number
  readonly status: JobStatus
  /** Why it is paused; null unless it is. */
  readonly pauseReason: string | null
  readonly reference: string | null
  readonly priority: Priority
  readonly pace: Pace | null
  readonly stopWhen: StopWhen | null
  readonly sendAt: Moment | null
  readonly expiresAt: Moment | null
  readonly hours: Hours | null
  /** When the first of its recipients is due. */
  readonly startsAt: Date
  readonly recipients: number
  /** One number for each status; they sum to `recipients`. */
  readonly counts: Counts
  readonly currency: string
  /** Decimal; null where nothing could be priced. */
  readonly estimatedCost: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly completedAt: Date | null
  /** When its recipients' variables were forgotten, as the account's `retention` says; null while they are kept. */
  readonly contentExpiredAt: Date | null
}

/** What an expected end comes from. */
export type EndLimiter = "hours" | "pace" | "retry" | "schedule"

/** A job with what became of each recipient. */
export interface JobDetail extends Job {
  readonly template: { readonly templateId: number; readonly name: string; readonly language: string }
  readonly results: ReadonlyArray<Result>
  /** Decimal; null where nothing could be priced. */
  readonly actualCost: string | null
  /** What keeps it waiting; null when nothing does. */
  readonly waitingFor: { readonly limiter: string; readonly until: Date | null } | null
  /** When the last of its recipients is expected to go; null where nothing limits it. Other sends and retries may make it later. */
  readonly endsAt: Date | null
  readonly limitedBy: EndLimiter | null
  /** The same as `endsAt`. */
  readonly expectedCompletionAt: Date | null
}

export interface JobQuery {
  readonly status?: JobStatus | undefined
  readonly reference?: string | undefined
  readonly createdAfter?: Date | undefined
  readonly createdBefore?: Date | undefined
}

/** Which recipients are queued again: the failed whose failure is not permanent, unless something is said. */
export interface Retry {
  /** `unknown` may send twice. */
  readonly statuses?: ReadonlyArray<"failed" | "unknown"> | undefined
  /** Codes of failures; a permanent one is retried only by its code or its recipient. */
  readonly codes?: ReadonlyArray<string> | undefined
  /** Phones, or user ids. */
  readonly phones?: ReadonlyArray<string> | undefined
  /** Counts only; nothing is queued. */
  readonly dryRun?: boolean | undefined
}

export type FailuresByCode = ReadonlyArray<{
  readonly code: string
  readonly status: RecipientStatus
  readonly recipients: number
}>

interface SomeJobs {
  readonly jobs: number
  readonly recipients: number
  /** One of them. */
  readonly jobId: string
}

/** Who is retried, or would be. */
export interface RetrySums {
  readonly jobs: number
  readonly recipients: number
  readonly counts: Readonly<Record<"failed" | "unknown", number>>
  readonly codes: FailuresByCode
  readonly left: {
    /** Recipients who are left since nobody named them. */
    readonly unknown: FailuresByCode
    readonly permanent: FailuresByCode
    /** Recipients that changed after it began. */
    readonly changed: number
  }
  readonly refused: ReadonlyArray<SomeJobs & { readonly reason: "job_ended" | "content_expired" }>
  /** Retried, and waiting for their session or template. */
  readonly waiting: ReadonlyArray<
    SomeJobs & { readonly limiter: "client" | "platform" | "session" | "template" }
  >
  /** By the prices of the acceptance; `total` is null where nothing could be priced. */
  readonly estimates: ReadonlyArray<{
    readonly currency: string
    readonly total: string | null
    readonly complete: boolean
  }>
  /** Why it is nobody; null where it is somebody, and while it goes on. */
  readonly why: string | null
}

export interface Retried {
  readonly job: Job
  readonly retried: number
  readonly counts: Readonly<Record<"failed" | "unknown", number>>
  readonly dryRun: boolean
  readonly counted: RetrySums
}

/** A recipient who has no price, or gets nothing, and why. */
export interface LeftOut {
  readonly phone: string | null
  readonly userId: string | null
  readonly reason: string
}

/** What a send would cost. It binds nobody. */
export interface Estimate {
  readonly binding: false
  readonly currency: string
  /** Decimal; null where nothing has a price. */
  readonly total: string | null
  /** True when everything that can be delivered has a price. */
  readonly complete: boolean
  readonly priority: Priority
  /** When the first of the recipients is due. */
  readonly startsAt: Date
  /** When the last of them is expected to go; null where nothing limits it. Other sends and retries may make it later. */
  readonly endsAt: Date | null
  readonly limitedBy: EndLimiter | null
  readonly recipients: number
  readonly billableRecipients: number
  readonly withoutConsent: number
  /** Null where none was in force. */
  readonly rateCard: { readonly id: string; readonly effectiveFrom: Date } | null
  readonly breakdown: ReadonlyArray<{
    readonly market: string
    readonly category: "authentication" | "authentication_international" | "marketing" | "service" | "utility"
    readonly recipients: number
    readonly unitPrice: string
    readonly subtotal: string
  }>
  readonly unpriced: ReadonlyArray<LeftOut>
  readonly undeliverable: ReadonlyArray<LeftOut>
}

/** Something that a search found. */
export interface Found {
  /** A session finds messages and jobs alone. */
  readonly kind: "message" | "job" | "person" | "delivery" | "webhook" | "session" | "key" | "template"
  /** Of a person the phone, or a platform's user id. */
  readonly id: string
  /** For people. */
  readonly title: string
  /** By the words of its kind; null of a person. */
  readonly status: string | null
  readonly accountId: string
  readonly at: Date
  /** The path of the REST API where there is more of it. */
  readonly link: string
}
