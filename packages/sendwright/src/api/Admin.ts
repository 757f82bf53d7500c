/** The operator's side: one object per call, and a list of any length for each list. */
import type { EventData } from "./Events.ts"
import type {
  Counts,
  DirectMessageNow,
  FailuresByCode,
  Found,
  Hours,
  InTransaction,
  Job,
  JobDetail,
  JobQuery,
  OtherTimes,
  Purpose,
  RecipientStatus,
  RecipientTexts,
  Retried,
  Retry,
  RetrySums
} from "./Messages.ts"
import type { HealthReport, Overview, StorageSize } from "./Overview.ts"
import type { Issue } from "./SendwrightError.ts"
import type { PlatformTemplate, Template } from "./Templates.ts"
import type { Timeline } from "./Timelines.ts"

// Accounts

/** What an account may do, and how much of it. */
export interface Plan {
  /** Per API key; 600 unless said otherwise. What this process sends is no request. */
  readonly requestsPerMinute: number
  /** Between accepted sends of one API key; 0 = none unless said otherwise. What this process sends waits for nothing. */
  readonly minimumWaitMs: number
  /** Per UTC day; null = unlimited. */
  readonly dailyDirectMessages: number | null
  /** Per UTC day; null = unlimited. */
  readonly dailyTemplateRecipients: number | null
  readonly features: ReadonlyArray<"templates" | "direct">
  readonly subscription: "active" | "inactive"
}

/** For how many days what is over is kept; null = for ever. */
export interface Retention {
  /** Events with their deliveries and attempts; 30 unless said otherwise. */
  readonly deliveriesDays: number | null
  /** Variables of recipients, and texts: results stay without them. 90 unless said otherwise. */
  readonly contentsDays: number | null
  /** Jobs with their recipients and Idempotency-Keys: at least 7, and 400 unless said otherwise. */
  readonly resultsDays: number | null
  /** Parts of hooks that nobody understood; 30 unless said otherwise. */
  readonly unreadHooksDays: number | null
  /** Grants that a later grant has replaced; refusals stay. null unless said otherwise. */
  readonly consentsDays: number | null
}

/** At most so many messages of a purpose to a person within so many of the person's days. */
export interface Cap {
  readonly most: number
  readonly days: number
}

/** Over all sessions of an account; null for no cap. One more is skipped with the code `capped`. */
export type Caps = { readonly [Purpose in "authentication" | "marketing" | "utility"]: Cap | null }

export type CapsInput = { readonly [Purpose in keyof Caps]?: Caps[Purpose] | undefined }

/** A tenant: it owns sessions, consents and webhooks. */
export interface Account {
  readonly id: string
  readonly name: string
  /** ISO 4217. */
  readonly currency: string
  readonly plan: Plan
  readonly retention: Retention
  readonly caps: Caps
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The used part of today's limits. */
export interface Usage {
  /** The UTC day: `2026-01-31`. */
  readonly day: string
  readonly templateRecipients: { readonly used: number; readonly limit: number | null }
  readonly directMessages: { readonly used: number; readonly limit: number | null }
  readonly resetsAt: Date
}

export type RetentionInput = { readonly [Field in keyof Retention]?: Retention[Field] | undefined }

export type PlanInput = { readonly [Field in keyof Plan]?: Plan[Field] | undefined }

export interface AccountInput {
  readonly name: string
  /** USD unless said otherwise. */
  readonly currency?: string | undefined
  /** Fields that are absent have their defaults. */
  readonly plan?: PlanInput | undefined
  readonly retention?: RetentionInput | undefined
  readonly caps?: CapsInput | undefined
}

export interface AccountChange {
  readonly id: string
  readonly name?: string | undefined
  readonly currency?: string | undefined
  readonly plan?: PlanInput | undefined
  readonly retention?: RetentionInput | undefined
  readonly caps?: CapsInput | undefined
}

export interface UsageInput {
  readonly id: string
  /** One sum for each of these; what of today's limits is used without it. */
  readonly by?: "day" | "template" | "market" | "session" | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

/** The members that a sum is not of are null. */
export interface UsageSum {
  readonly day: string | null
  readonly templateId: number | null
  readonly template: string | null
  readonly market: string | null
  readonly sessionId: string | null
  readonly currency: string
  readonly recipients: number
  /** What they have come to; those in flight wait, too. */
  readonly counts: Readonly<
    Record<
      "accepted" | "canceled" | "delivered" | "failed" | "read" | "sent" | "skipped" | "unknown" | "waiting",
      number
    >
  >
  /** At the prices of their acceptance; null when none has one. */
  readonly estimated: string | null
  /** Of what was delivered by now, as the platform billed it. */
  readonly actual: string | null
}

export interface UsageSums {
  readonly by: "day" | "template" | "market" | "session"
  readonly from: Date
  readonly to: Date
  /** Later than `from` where there were more than 500,000 recipients: what was accepted before may be there in part. */
  readonly wholeSince: Date
  readonly groups: ReadonlyArray<UsageSum>
}

export interface Accounts {
  readonly create: (input: AccountInput) => Promise<Account>
  readonly find: (input: { readonly id: string }) => Promise<Account>
  readonly list: () => AsyncIterable<Account>
  /** Fields that are absent stay. */
  readonly change: (input: AccountChange) => Promise<Account>
  /**
   * What of today's limits is used, or with `by` the recipients and money of what was accepted between two times: since the begin
   * of this month unless said otherwise.
   */
  readonly usage: (input: UsageInput) => Promise<Usage | UsageSums>
}

// Sessions

/** How fast a session sends. What is over it waits. */
export interface Pacing {
  /** null = unlimited. */
  readonly messagesPerSecond: number | null
  /** Between two messages to one person; null = none. */
  readonly pairIntervalMs: number | null
}

/**
 * The words by which people withdraw and give consent; null = those that come with Sendwright, CANCEL among them. A list
 * takes their place: none of them counts beside it.
 */
export interface Keywords {
  readonly optOut: ReadonlyArray<string> | null
  readonly optIn: ReadonlyArray<string> | null
}

/** A market to which the platform delivers nothing of a category. */
export interface ClosedMarket {
  /** Digits that its numbers begin with. */
  readonly prefixes: ReadonlyArray<string>
  readonly category: "marketing" | "utility" | "authentication"
}

/** The hours in which a session's messages of a purpose go, at each recipient's place; null for all hours. A send's `hours` narrow them. */
export type QuietHours = {
  readonly [Purpose in "authentication" | "marketing" | "utility"]: Hours | null
}

export type QuietHoursInput = { readonly [Purpose in keyof QuietHours]?: QuietHours[Purpose] | undefined }

/** One connection of an account to a messaging platform. */
export interface SessionRecord {
  readonly id: string
  readonly accountId: string
  readonly name: string
  /** `sandbox`, `http`, `whatsapp_cloud`, or the name of a sender of yours. */
  readonly provider: string
  readonly state: "connected" | "connecting" | "disconnected"
  /** Why it is not connected; null while it is. */
  readonly reason: string | null
  readonly pacing: Pacing
  /** Seconds for which a passing failure is tried again; null = by what is sent. */
  readonly retryFor: number | null
  /** null = those of the provider. */
  readonly closedMarkets: ReadonlyArray<ClosedMarket> | null
  readonly quietHours: QuietHours
  readonly keywords: Keywords
  /** Since when its platform does not answer; null while it does. */
  readonly unavailableSince: Date | null
  /** Until when its platform takes no templates; the year 9999 where only the platform or you end that. */
  readonly blockedUntil: Date | null
  readonly blockReason: "provider_blocked" | "platform_restriction" | "same_failure" | null
  /** The code that its last attempts ended with, where that is why. */
  readonly blockCode: string | null
  /** Until when its platform takes no direct messages, as `blockedUntil`. */
  readonly repliesBlockedUntil: Date | null
  /** When a message asks its platform again that does not answer. */
  readonly nextProbeAt: Date | null
  readonly connectedSince: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** What a session may be given, when it is made and later. */
export interface SessionSettings {
  /**
   * By the provider: `{ phoneNumberId, wabaId, accessToken, appSecret, verifyToken }` of WhatsApp, `{ url, secret }` of a gateway,
   * and of a sender of yours what it takes. Kept encrypted. A change takes what it names, and null takes a member away.
   */
  readonly config?: Readonly<Record<string, unknown>> | undefined
  readonly pacing?: { readonly [Field in keyof Pacing]?: Pacing[Field] | undefined } | undefined
  readonly retryFor?: number | null | undefined
  /** Markets to which nothing of a category is sent; null = those of the provider, `[]` = none. */
  readonly closedMarkets?: ReadonlyArray<ClosedMarket> | null | undefined
  /** Purposes that are absent stay. Direct messages go at any hour. */
  readonly quietHours?: QuietHoursInput | undefined
  readonly keywords?: { readonly [List in keyof Keywords]?: Keywords[List] | undefined } | undefined
}

export interface SessionInput extends SessionSettings {
  readonly accountId: string
  readonly name: string
  readonly provider: string
}

export interface SessionChange extends SessionSettings {
  readonly id: string
  readonly name?: string | undefined
  /** `null` ends a block by hand, and what the platform restricts. */
  readonly blockedUntil?: null | undefined
}

/** A part of a platform's post that nobody understood. */
export interface UnreadHook {
  readonly id: string
  readonly field: string
  readonly reason: string
  /** The hook's JSON; only its beginning where `isCut`. */
  readonly content: string
  readonly isCut: boolean
  readonly receivedAt: Date
}

export interface Sessions {
  /** A session of the sandbox begins connected, any other is connected by `connect`. */
  readonly create: (input: SessionInput) => Promise<SessionRecord>
  /** Fields that are absent stay. */
  readonly change: (input: SessionChange) => Promise<SessionRecord>
  readonly find: (input: { readonly id: string }) => Promise<SessionRecord>
  readonly list: (input: { readonly accountId: string }) => AsyncIterable<SessionRecord>
  /** Of all accounts, or of one; with `down` those over which nothing can be sent now. */
  readonly all: (input?: {
    readonly accountId?: string | undefined
    readonly down?: boolean | undefined
  }) => AsyncIterable<SessionRecord>
  /** Asks the platform first; one that does not know us leaves the session disconnected, with the reason. */
  readonly connect: (input: { readonly id: string }) => Promise<SessionRecord>
  readonly disconnect: (input: { readonly id: string }) => Promise<SessionRecord>
  readonly unread: (input: { readonly id: string }) => AsyncIterable<UnreadHook>
}

/** When a secret was made, and until when it is accepted: null while it is the newest. */
export interface SecretTimes {
  readonly createdAt: Date
  readonly expiresAt: Date | null
}

// API keys, for those who send over the REST API

export type Permission =
  | "connection:read"
  | "templates:read"
  | "messages:estimate"
  | "messages:send"
  | "jobs:read"
  | "direct:send"
  | "direct:read"

export interface ApiKey {
  readonly publicKey: string
  readonly sessionId: string
  readonly name: string | null
  readonly permissions: ReadonlyArray<Permission>
  readonly status: "active" | "inactive" | "revoked"
  readonly secrets: ReadonlyArray<SecretTimes>
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** A key with its secret, which is shown now and never again. */
export interface IssuedKey extends ApiKey {
  readonly secretKey: string
}

export interface KeyInput {
  readonly sessionId: string
  readonly name?: string | undefined
  /** All unless said otherwise. */
  readonly permissions?: ReadonlyArray<Permission> | undefined
}

export interface KeyChange {
  readonly publicKey: string
  readonly name?: string | undefined
  readonly permissions?: ReadonlyArray<Permission> | undefined
  readonly status?: "active" | "inactive" | undefined
}

export interface Keys {
  readonly issue: (input: KeyInput) => Promise<IssuedKey>
  readonly list: (input: { readonly sessionId: string }) => AsyncIterable<ApiKey>
  /** Of all sessions. */
  readonly all: () => AsyncIterable<ApiKey>
  /** The old secret lives on for the overlap: a day unless said otherwise. */
  readonly rotate: (input: {
    readonly publicKey: string
    readonly overlapSeconds?: number | undefined
  }) => Promise<IssuedKey>
  readonly revoke: (input: { readonly publicKey: string }) => Promise<ApiKey>
  readonly change: (input: KeyChange) => Promise<ApiKey>
}

// Templates

/** What became of the templates of an import. */
export interface ImportedTemplates {
  readonly imported: number
  readonly templates: ReadonlyArray<Template>
  /** One for each that was given, in their order. */
  readonly results: ReadonlyArray<{
    readonly index: number
    readonly name: string | null
    readonly language: string | null
    readonly status: "imported" | "refused"
    readonly templateId?: number | undefined
    readonly sendable?: boolean | undefined
    readonly unsendableReason?: string | null | undefined
    readonly errors?: ReadonlyArray<Issue> | undefined
  }>
}

export interface SyncedTemplates extends ImportedTemplates {
  /** The platform's templates that could not be taken over, and why. */
  readonly skipped: ReadonlyArray<{
    readonly name: string
    readonly language: string
    readonly reason: string
  }>
}

/** A template as a recipient would read it. */
export interface TemplatePreview {
  readonly templateId: number
  readonly name: string
  readonly language: string
  readonly status: string
  readonly header: string | null
  readonly body: string
  readonly footer: string | null
  readonly buttons: ReadonlyArray<{
    readonly type: string
    readonly text: string
    readonly url: string | null
  }>
  /** The keys of required variables that were not given. */
  readonly missing: ReadonlyArray<string>
}

/** A template with its session. */
export interface OwnedTemplate extends Template {
  readonly sessionId: string
}

export interface Templates {
  /** Templates of every status, or of one, in the platform's words; `reason` and what stands beside it tell why. */
  readonly list: (input: {
    readonly sessionId: string
    readonly status?: string | undefined
  }) => AsyncIterable<Template>
  /** Of all sessions, or of one. */
  readonly all: (input?: {
    readonly sessionId?: string | undefined
    readonly status?: string | undefined
  }) => AsyncIterable<OwnedTemplate>
  /** Inserts or replaces by name and language; throws when none could be taken. */
  readonly import: (input: {
    readonly sessionId: string
    readonly templates: ReadonlyArray<PlatformTemplate>
  }) => Promise<ImportedTemplates>
  /** Where a value is not given its example stands, or its key in braces. Nothing is sent. */
  readonly preview: (input: {
    readonly templateId: number
    readonly variables?: Readonly<Record<string, string>> | undefined
  }) => Promise<TemplatePreview>
  /** Mirrors all templates that the platform has. */
  readonly sync: (input: { readonly sessionId: string }) => Promise<SyncedTemplates>
}

// Consents

/** One word of consent or refusal. */
export interface ConsentRecord {
  readonly consentId: string
  readonly phone: string | null
  /** The platform's id of the person; null where none was told. */
  readonly userId: string | null
  readonly purpose: Purpose | "all"
  readonly status: "granted" | "revoked"
  readonly source: string
  readonly proof: string | null
  /** When it counts as said, which orders the records. */
  readonly occurredAt: Date
  /** As the account or the platform told it; null when none was told. */
  readonly reportedAt: Date | null
  readonly recordedAt: Date
}

export interface ConsentInput {
  readonly phone?: string | undefined
  /** The platform's id of the person, beside or instead of the phone. */
  readonly userId?: string | undefined
  /** Where it comes from, in your words: `checkout`, `import`. */
  readonly source: string
  /** `granted` unless said otherwise. */
  readonly status?: "granted" | "revoked" | undefined
  /** `all` unless said otherwise. */
  readonly purpose?: Purpose | "all" | undefined
  readonly proof?: string | undefined
  /** Now unless said otherwise; without it a grant outranks no refusal by the person's own words, and no erasure. */
  readonly occurredAt?: Date | undefined
}

/** What became of the items of a list. */
export interface RecordedConsents {
  readonly recorded: number
  readonly keptRefused: number
  /** One for each item, in their order. */
  readonly results: ReadonlyArray<{
    readonly index: number
    readonly phone: string | null
    readonly userId: string | null
    /** True where it was recorded. */
    readonly ok: boolean
    readonly consentId?: string | undefined
    /** True where consent stays refused: the item tells no time, and outranks no refusal by the person's own words. */
    readonly keptRefused?: boolean | undefined
    readonly errors?: ReadonlyArray<Issue> | undefined
  }>
}

export interface ConsentState {
  readonly phone: string | null
  readonly userId: string | null
  /** Whether a message of each purpose may go. */
  readonly current: ReadonlyArray<{
    readonly purpose: Purpose
    readonly status: "granted" | "revoked" | "missing"
    readonly consentId: string | null
  }>
  /** Newest first. */
  readonly history: ReadonlyArray<ConsentRecord>
}

/** What came in and named nobody; it may be an opt-out. */
export interface Unattributed {
  readonly id: string
  readonly sessionId: string
  readonly kind: "message" | "opt_out" | "opt_in"
  readonly messageId: string | null
  readonly text: string
  readonly occurredAt: Date
  readonly recordedAt: Date
}

/** A text that may be an opt-out, and counts as none until you record it as one. */
export interface PerhapsRefusal {
  readonly id: string
  readonly sessionId: string
  /** The phone of who wrote it. */
  readonly from: string | null
  readonly userId: string | null
  readonly messageId: string | null
  readonly text: string
  readonly occurredAt: Date
  readonly recordedAt: Date
}

export interface Consents {
  /**
   * Takes what can be taken, and tells of each item what became of it: it does not throw for a bad phone. With a transaction of
   * yours it is a part of that, and a send in it goes by it.
   */
  readonly record: (
    input: {
      readonly accountId: string
      readonly consents: ReadonlyArray<ConsentInput>
      /** When an import began: items without a time are recorded of that one, so that it may be repeated. */
      readonly importedAt?: Date | undefined
    },
    options?: InTransaction
  ) => Promise<RecordedConsents>
  /**
   * Grants for a person's new number what was granted for the one that they left, and ends it there. A platform's word that a
   * number has another owner ends its grant by itself, and moves it to none.
   */
  readonly move: (input: {
    readonly accountId: string
    readonly from: string
    readonly to: string
    readonly reason: string
  }) => Promise<{
    readonly from: string
    readonly to: string
    readonly consents: ReadonlyArray<ConsentRecord>
  }>
  /** By one of the two. */
  readonly find: (input: {
    readonly accountId: string
    readonly phone?: string | undefined
    readonly userId?: string | undefined
  }) => Promise<ConsentState>
  readonly unattributed: (input: { readonly accountId: string }) => AsyncIterable<Unattributed>
  /** Texts that may be opt-outs. */
  readonly doubtful: (input: { readonly accountId: string }) => AsyncIterable<PerhapsRefusal>
  /** Records such a text as an opt-out. */
  readonly refuse: (input: { readonly id: string }) => Promise<PerhapsRefusal>
  /** Lists a text no longer that was no refusal. */
  readonly dismiss: (input: { readonly id: string }) => Promise<PerhapsRefusal>
}

// A person, and all that is known of them

/** By a phone in any spelling, by a platform's user id, or by both; in all accounts unless one is named. */
export interface WhichPerson {
  readonly phone?: string | undefined
  readonly userId?: string | undefined
  readonly accountId?: string | undefined
}

export interface ErasureCounts {
  readonly recipients: number
  /** Of these, those that waited to be sent. */
  readonly canceled: number
  /** Messages that are under way: they go once their outcome is known. */
  readonly inFlight: number
  readonly jobs: number
  readonly retries: number
  readonly events: number
  readonly deliveryAnswers: number
  readonly consents: number
  readonly links: number
  readonly windows: number
  readonly doubtfulTexts: number
  readonly unattributedTexts: number
  readonly unreadHooks: number
  readonly earlyReports: number
  readonly auditEntries: number
  readonly happenings: number
}

export interface Erasure {
  readonly id: string
  /** Null = all accounts. */
  readonly accountId: string | null
  readonly reason: string
  /** While it goes on a process that runs its loops sweeps again, until nothing is under way. */
  readonly state: "done" | "going_on"
  readonly begunAt: Date
  readonly sweptAt: Date
  /** When it is swept again; null once it is done. */
  readonly nextAt: Date | null
  readonly counts: ErasureCounts
}

/** Names of a person. */
export interface PersonNames {
  readonly phones: ReadonlyArray<string>
  readonly userIds: ReadonlyArray<string>
}

/** All names that surely are a person's, and those of each account that ties more to them than was given, for it alone. */
export interface NamesByAccount extends PersonNames {
  readonly accounts: ReadonlyArray<PersonNames & { readonly accountId: string }>
}

export interface ErasedPerson extends NamesByAccount {
  /** Of the erasure; null of a dry run. */
  readonly id: string | null
  readonly dryRun: boolean
  readonly state: "done" | "going_on" | null
  readonly counts: ErasureCounts
  /** How it goes on, and what is left to be done by hand. */
  readonly detail: string
}

/** Things by the names of the REST API. */
type Things = ReadonlyArray<Readonly<Record<string, unknown>>>

export interface PersonExport extends NamesByAccount {
  readonly consents: Things
  readonly messages: Things
  readonly events: Things
  readonly deliveryAnswers: Things
  readonly links: Things
  readonly windows: Things
  readonly doubtfulTexts: Things
  readonly unreadHooks: Things
  readonly earlyReports: Things
  /** The lists that have more than the 10,000 that are shown. */
  readonly cut: ReadonlyArray<
    | "consents"
    | "delivery_answers"
    | "doubtful_texts"
    | "early_reports"
    | "events"
    | "links"
    | "messages"
    | "unread_hooks"
    | "windows"
  >
}

/** What one account knows of a person. */
export interface KnownInAccount extends Pick<ConsentState, "current" | "history"> {
  readonly accountId: string
  /** Until when each session's platform takes free text. */
  readonly windows: ReadonlyArray<{
    readonly sessionId: string
    readonly open: boolean
    readonly until: Date | null
    readonly freeUntil: Date | null
    /** False where the platform is left to decide. */
    readonly certain: boolean
  }>
  /** Their newest texts that may be opt-outs and are recorded as none. */
  readonly perhapsRefusals: ReadonlyArray<PerhapsRefusal>
}

export interface KnownPerson {
  readonly phone: string | null
  readonly userId: string | null
  readonly accounts: ReadonlyArray<KnownInAccount>
}

export interface People {
  /** What accounts know of a person, 20 at most; `export` has all of it. */
  readonly find: (input?: {
    readonly phone?: string | undefined
    readonly userId?: string | undefined
  }) => Promise<KnownPerson>
  /** Forgets a person: keyed hashes, counts and prices stay, and nothing goes to them until they consent anew. */
  readonly erase: (
    input: WhichPerson & { readonly reason: string; readonly dryRun?: boolean | undefined }
  ) => Promise<ErasedPerson>
  readonly export: (input: {
    /** A phone in any spelling, or a platform's user id. */
    readonly who: string
    readonly accountId?: string | undefined
  }) => Promise<PersonExport>
  /** The erasures, newest first. */
  readonly erased: () => AsyncIterable<Erasure>
}

// Webhooks, for receivers outside of this process

export interface Webhook {
  readonly id: string
  readonly accountId: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly enabled: boolean
  readonly disabledReason: string | null
  readonly failingSince: Date | null
  readonly deliveriesPerSecond: number | null
  readonly batchRecipients: boolean
  readonly secrets: ReadonlyArray<SecretTimes>
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** A webhook with its secret, which is shown now and never again. */
export interface RegisteredWebhook extends Webhook {
  readonly secret: string
}

export interface WebhookSettings {
  /** Types or patterns: `job.completed`, `recipient.*`, `*`. */
  readonly events?: ReadonlyArray<string> | undefined
  readonly description?: string | undefined
  readonly deliveriesPerSecond?: number | null | undefined
  /** True when up to a hundred recipients' changes share one event. */
  readonly batchRecipients?: boolean | undefined
}

export interface WebhookInput extends WebhookSettings {
  readonly accountId: string
  readonly url: string
}

export interface WebhookChange extends WebhookSettings {
  readonly id: string
  readonly url?: string | undefined
  readonly enabled?: boolean | undefined
}

/** One event to one webhook. */
export interface Delivery {
  readonly id: string
  readonly webhookId: string
  readonly eventId: string
  readonly eventType: string
  readonly status: "pending" | "delivered" | "exhausted"
  readonly attempts: ReadonlyArray<{
    readonly number: number
    readonly at: Date
    readonly status: number | null
    readonly durationMs: number
    /** Why there was no success; null for a success. */
    readonly reason: "address_refused" | "connection" | "secret_unreadable" | "status" | "timeout" | null
    /** The beginning of the answer. */
    readonly response: string
  }>
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
}

export interface DeliveryDetail extends Delivery {
  /** The body that is signed and sent, byte for byte. */
  readonly payload: string
}

/** As many as one look at the newest thousands tells, and 1,000 at most. */
export interface Counted {
  readonly count: number
  /** False where there may be more. */
  readonly isExact: boolean
}

export interface DeliveryQuery {
  readonly webhookId?: string | undefined
  readonly status?: Delivery["status"] | undefined
  /** Of this type of event. */
  readonly type?: keyof EventData | "recipient.batch" | undefined
  readonly after?: Date | undefined
  readonly before?: Date | undefined
  /** The id of a message, or of a job with its messages, of which they tell. */
  readonly about?: string | undefined
}

/** Deliveries to all webhooks. */
export interface Deliveries {
  readonly list: (query?: DeliveryQuery) => AsyncIterable<Delivery>
  readonly count: (query?: DeliveryQuery) => Promise<Counted>
  readonly find: (input: { readonly id: string }) => Promise<DeliveryDetail>
  /** Once more, with the same id and body as before. */
  readonly replay: (input: { readonly id: string }) => Promise<Delivery>
}

export interface Webhooks {
  readonly create: (input: WebhookInput) => Promise<RegisteredWebhook>
  readonly list: (input: { readonly accountId: string }) => AsyncIterable<Webhook>
  /** Of all accounts; with `failing` those that are disabled, or whose last attempt failed. */
  readonly all: (input?: { readonly failing?: boolean | undefined }) => AsyncIterable<Webhook>
  readonly find: (input: { readonly id: string }) => Promise<Webhook>
  readonly change: (input: WebhookChange) => Promise<Webhook>
  readonly remove: (input: { readonly id: string }) => Promise<void>
  readonly rotate: (input: {
    readonly id: string
    readonly overlapSeconds?: number | undefined
  }) => Promise<RegisteredWebhook>
  /** Answers the delivery's id. */
  readonly test: (input: { readonly id: string }) => Promise<string>
  readonly deliveries: (input: { readonly id: string }) => AsyncIterable<Delivery>
  /** Sends again what failed, or what this webhook never had; answers how many. */
  readonly replay: (input: {
    readonly id: string
    readonly since: Date
    /** `failed` unless said otherwise. */
    readonly which?: "failed" | "missing" | undefined
    /** Counts only, up to 1,000. */
    readonly dryRun?: boolean | undefined
  }) => Promise<number>
}

// Rate cards

export interface Price {
  /** A calling-code prefix, `*` for the rest of the world, or any name where `prefixes` lists them. */
  readonly market: string
  readonly prefixes?: ReadonlyArray<string> | undefined
  readonly category: "marketing" | "utility" | "authentication" | "authentication_international" | "service"
  /** Decimal. */
  readonly price: string
}

export interface RateCard {
  readonly id: string
  readonly currency: string
  readonly effectiveFrom: Date
  readonly createdAt: Date
  readonly prices: ReadonlyArray<Price>
}

export interface RateCards {
  readonly add: (input: {
    readonly currency: string
    readonly effectiveFrom: Date
    readonly prices: ReadonlyArray<Price>
  }) => Promise<RateCard>
  /** From the CSV that a platform publishes. */
  readonly import: (input: {
    readonly currency: string
    readonly effectiveFrom: Date
    readonly csv: string
  }) => Promise<{
    readonly rateCard: RateCard
    readonly skipped: ReadonlyArray<{
      readonly line: number
      readonly market: string
      readonly reason: string
    }>
  }>
  readonly list: () => AsyncIterable<RateCard>
}

// Jobs of any account

/** Jobs of all accounts, unless it names whose. */
export interface JobFilter extends JobQuery {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  /** A public key; of what this process sent, the id of the session. */
  readonly key?: string | undefined
  readonly templateId?: number | undefined
  /** Some of its recipients failed, are unknown, or wait. */
  readonly has?: "failed" | "unknown" | "waiting" | undefined
  /** Nothing becomes of it for ten minutes, and it is not its turn that it waits for. */
  readonly stuck?: boolean | undefined
  readonly completedAfter?: Date | undefined
  readonly completedBefore?: Date | undefined
}

/** Jobs with failures, and which of their recipients are retried: as the retry of one job takes them. It has to name something of the jobs. */
export interface RetryFilter extends Omit<JobFilter, "has" | "stuck">, Pick<Retry, "codes" | "statuses"> {
  /** One job; then nothing else of jobs is named. */
  readonly jobId?: string | undefined
}

/** A retry of many jobs, which processes that run their loops carry out job by job. */
export interface RetryOfJobs {
  readonly retryId: string
  readonly status: "running" | "completed" | "canceled"
  readonly operator: string | null
  /** As it was asked for. */
  readonly filter: { readonly [Field in keyof RetryFilter]-?: Exclude<RetryFilter[Field], undefined> | null }
  /** What was counted when it began. */
  readonly expected: { readonly jobs: number; readonly recipients: number; readonly isExact: boolean }
  /** What it has retried until now, and what it has left. */
  readonly done: RetrySums
  readonly begunAt: Date
  readonly updatedAt: Date
  readonly endedAt: Date | null
}

export interface BegunRetry {
  readonly dryRun: boolean
  /** Null of a dry run. */
  readonly retry: RetryOfJobs | null
  /** False where there are more jobs than were counted; a retry takes them, too. */
  readonly isExact: boolean
  readonly counted: RetrySums
}

/** Whose a job is, and how it came. */
interface OfJob {
  readonly accountId: string
  readonly sessionId: string
  /** Names; null of what is gone. */
  readonly account: string | null
  readonly session: string | null
  /** Of the key that asked for it; of this process the id of the session. */
  readonly key: string
  readonly idempotencyKey: string | null
  readonly requestId: string | null
  /** Why recipients failed, were skipped or are unknown, most of them first. */
  readonly failures: FailuresByCode
}

export interface ToldJob extends Job, OfJob {}

export interface ToldJobDetail extends JobDetail, OfJob {}

/** The jobs of one reference together. */
export interface ReferenceSum {
  readonly accountId: string
  readonly reference: string
  readonly jobs: number
  /** False where there are more jobs than are summed: these are the newest. */
  readonly isExact: boolean
  readonly recipients: number
  readonly counts: Counts
  readonly createdAt: Date
  readonly lastAt: Date
  readonly completedAt: Date | null
}

/** A direct message with the session that sent it. */
export interface ToldMessage extends DirectMessageNow {
  readonly sessionId: string
  readonly attempts: number
}

/** Retries of many jobs. */
export interface Retries {
  /** With `dryRun` it only counts. */
  readonly begin: (input: {
    readonly filter: RetryFilter
    readonly dryRun?: boolean | undefined
    /** The same key and filter answer the same retry again. */
    readonly idempotencyKey?: string | undefined
  }) => Promise<BegunRetry>
  /** Newest first. */
  readonly list: () => AsyncIterable<RetryOfJobs>
  readonly find: (input: { readonly id: string }) => Promise<RetryOfJobs>
  /** What it has retried is sent. */
  readonly cancel: (input: { readonly id: string }) => Promise<RetryOfJobs>
}

/** Those who wait for their time, or for hours in which they may go. */
export interface Schedule {
  readonly at: Date
  /** False where there are more jobs than were read, which are the oldest. */
  readonly isExact: boolean
  /** The soonest first; hours without anybody are left out. */
  readonly hours: ReadonlyArray<{
    readonly at: Date
    readonly recipients: number
    readonly countries: ReadonlyArray<{
      /** Two letters; null where the first digits do not tell one country. */
      readonly country: string | null
      readonly callingCode: string | null
      readonly recipients: number
    }>
  }>
}

/** Who got both of two campaigns. */
export interface Overlap {
  readonly recipients: number
  /** False where a campaign has more recipients than were read, which are of its newest jobs. */
  readonly isExact: boolean
  /** At most the first thousand, with the newest message of each campaign. */
  readonly people: ReadonlyArray<{
    readonly phone: string | null
    readonly userId: string | null
    readonly messageId: string
    readonly status: RecipientStatus
    readonly otherMessageId: string
    readonly otherStatus: RecipientStatus
  }>
}

export interface Jobs {
  /** With `code` those of which recipients failed with it, or are unknown for it. */
  readonly list: (input?: JobFilter & { readonly code?: string | undefined }) => AsyncIterable<ToldJob>
  readonly count: (input?: JobFilter) => Promise<Counted>
  /** The jobs of each account and reference together, by the newest of them. */
  readonly references: (
    input?: Pick<JobFilter, "accountId" | "createdAfter" | "createdBefore" | "reference">
  ) => AsyncIterable<ReferenceSum>
  readonly find: (input: {
    readonly id: string
    /** Only results of this status. */
    readonly recipientStatus?: RecipientStatus | undefined
  }) => Promise<ToldJobDetail>
  /** How many recipients start in which hour, and in which countries they are. */
  readonly schedule: (input?: { readonly reference?: string | undefined }) => Promise<Schedule>
  /** Who got a message of jobs with `reference` and one of jobs with `other`. */
  readonly overlap: (input: {
    readonly accountId: string
    readonly reference: string
    readonly other: string
  }) => Promise<Overlap>
  readonly cancel: (input: { readonly id: string }) => Promise<Job>
  /** Holds a job until `resume`; messages in flight are not held. */
  readonly pause: (input: { readonly id: string }) => Promise<Job>
  readonly resume: (input: { readonly id: string }) => Promise<Job>
  /** Changes when those may be sent whom nobody attempted yet. */
  readonly change: (input: { readonly id: string } & OtherTimes) => Promise<Job>
  readonly retry: (input: { readonly id: string } & Retry) => Promise<Retried>
}

export interface DirectMessages {
  /** With `phone` those to this number. */
  readonly list: (input: {
    readonly accountId: string
    readonly phone?: string | undefined
  }) => AsyncIterable<ToldMessage>
  /** The story of any message, a recipient's or a direct one. */
  readonly story: (input: { readonly messageId: string }) => Promise<Timeline>
}

// The store, its secrets, and who operates it

export type PurgeKind = "deliveries" | "contents" | "results" | "unread_hooks" | "consents"

/** What goes of an account, or would: about so many bytes. */
export interface PurgeShare {
  readonly accountId: string
  readonly kind: PurgeKind
  readonly days: number
  readonly rows: number
  readonly bytes: number
}

export interface Purged {
  readonly dryRun: boolean
  /** False where something is left after ten seconds, or another process purges: call it again. */
  readonly isComplete: boolean
  readonly kinds: ReadonlyArray<Pick<PurgeShare, "bytes" | "kind" | "rows">>
  /** Whose, the 100 with the most bytes first. */
  readonly accounts: ReadonlyArray<PurgeShare>
  /** How it goes on. */
  readonly detail: string
}

export interface Restored {
  readonly held: boolean
  /** Why it is held, or was; null where it was not. */
  readonly reason: "elsewhere" | "failover" | "older" | "operator" | null
  readonly since: Date | null
  readonly dryRun: boolean
  readonly counts: Readonly<Record<"jobs" | "unknown" | "canceled" | "sent", number>>
  readonly detail: string
}

type OfSecrets = Readonly<Record<"sessions" | "webhooks" | "erasures", number>>

export interface Resealed {
  readonly secrets: {
    /** The id of the current secret key. */
    readonly key: string
    readonly resealed: OfSecrets
    readonly unreadable: OfSecrets
    /** How many API keys and operators still need an older secret key. */
    readonly apiKeysLeft: number
    readonly operatorsLeft: number
    /** Secret keys that processes still have to be given, and those that nothing needs any more. */
    readonly olderKeys: ReadonlyArray<string>
    readonly retired: ReadonlyArray<string>
    /** The next step. */
    readonly detail: string
  }
  /** The API keys that need an older secret key, where they are asked for. */
  readonly apiKeys?:
    | ReadonlyArray<
        Pick<ApiKey, "lastUsedAt" | "name" | "publicKey" | "sessionId" | "status"> & {
          /** Null for one that does not name its key. */
          readonly olderKeys: ReadonlyArray<string | null>
        }
      >
    | undefined
}

export interface Secrets {
  /** Encrypts everything anew under the current secret key. */
  readonly reseal: (input?: { readonly list?: boolean | undefined }) => Promise<Resealed>
}

export interface Operator {
  readonly name: string
  /** `read` reads everything of the admin API, `metrics` its metrics alone. */
  readonly role: "metrics" | "read" | "support" | "admin"
  /** True when it sees people's numbers as `+34 600 ··· 234`: only of the role `read`. */
  readonly maskPhones: boolean
  readonly status: "active" | "revoked"
  readonly secrets: ReadonlyArray<SecretTimes>
  readonly createdAt: Date
  readonly lastUsedAt: Date | null
}

/** An operator with the token of the admin API, which is shown now and never again. */
export interface AppointedOperator extends Operator {
  readonly token: string
}

export interface Operators {
  readonly create: (
    input: Pick<Operator, "name" | "role"> & { readonly maskPhones?: boolean | undefined }
  ) => Promise<AppointedOperator>
  readonly list: () => AsyncIterable<Operator>
  readonly rotate: (input: {
    readonly name: string
    readonly overlapSeconds?: number | undefined
  }) => Promise<AppointedOperator>
  readonly revoke: (input: { readonly name: string }) => Promise<Operator>
}

/** What an operator did. */
export interface AuditEntry {
  readonly id: string
  readonly at: Date
  readonly operator: string
  readonly address: string | null
  readonly requestId: string | null
  /** Such as `accounts.create`. */
  readonly operation: string
  readonly target: string | null
  /** The fields that are shown of it, by the names of the REST API. */
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
}

export interface AuditQuery {
  readonly operator?: string | undefined
  readonly operation?: string | undefined
  readonly target?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
}

// What happened, and what is kept, row by row

/** An event of all accounts, as the rows tell it that changed with it. */
export interface Happening {
  readonly at: Date
  readonly type:
    | `job.${"canceled" | "completed" | "created" | "failed"}`
    | `recipient.${"attempted" | "canceled" | "delivered" | "failed" | "read" | "sent" | "skipped" | "unknown"}`
    | `message.${"attempted" | "canceled" | "created" | "delivered" | "failed" | "read" | "sent" | "skipped" | "unknown"}`
    | `session.${"available" | "blocked" | "connected" | "disconnected" | "unavailable" | "unblocked"}`
    | `webhook.${"disabled" | "recovered"}`
    | `restore.${"held" | "opened"}`
    | `process.${"lost" | "started" | "stopped"}`
    | "audit.recorded"
    | "consent.revoked"
    | "template.status"
  readonly accountId: string | null
  readonly sessionId: string | null
  readonly jobId: string | null
  readonly messageId: string | null
  /** Of a recipient: how many events of it there were so far. */
  readonly sequence: number | null
  /** The id of what it is of, where no other member has it. */
  readonly subject: string | null
  /** By the names of the REST API. */
  readonly data: Readonly<Record<string, unknown>>
}

export interface HappeningQuery {
  readonly accountId?: string | undefined
  readonly sessionId?: string | undefined
  /** All events of one job and its recipients. */
  readonly jobId?: string | undefined
  /** A type, or a family such as `session.*`. */
  readonly type?: string | undefined
  readonly after?: Date | undefined
  readonly before?: Date | undefined
}

export interface Happenings {
  /** Newest first; how jobs ended and what became of recipients is told with `jobId`. */
  readonly list: (query?: HappeningQuery) => AsyncIterable<Happening>
}

export interface ExportedResult extends RecipientTexts {
  readonly accountId: string
  readonly sessionId: string
  readonly jobId: string
  readonly kind: "direct" | "template"
  readonly reference: string | null
  readonly messageId: string
  readonly phone: string | null
  readonly userId: string | null
  readonly status: RecipientStatus
  readonly errorCode: string | null
  readonly errorMessage: string | null
  readonly attempts: number
  readonly market: string | null
  readonly currency: string
  readonly unitPrice: string | null
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly sentAt: Date | null
  readonly deliveredAt: Date | null
  readonly readAt: Date | null
}

export interface ExportedConsent extends ConsentRecord {
  readonly accountId: string
}

/** What is kept of accounts, row by row, however many there are. */
export interface Exports {
  readonly results: (query?: {
    readonly accountId?: string | undefined
    readonly sessionId?: string | undefined
    readonly jobId?: string | undefined
    readonly kind?: "direct" | "template" | undefined
    readonly reference?: string | undefined
    readonly status?: RecipientStatus | undefined
    readonly code?: string | undefined
    readonly createdAfter?: Date | undefined
    readonly createdBefore?: Date | undefined
  }) => AsyncIterable<ExportedResult>
  readonly consents: (query?: {
    readonly accountId?: string | undefined
    readonly status?: ConsentRecord["status"] | undefined
    readonly purpose?: ConsentRecord["purpose"] | undefined
    readonly recordedAfter?: Date | undefined
    readonly recordedBefore?: Date | undefined
  }) => AsyncIterable<ExportedConsent>
  readonly events: (query?: HappeningQuery) => AsyncIterable<Happening>
}

/** Everything that an operator may do. */
export interface Admin {
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly keys: Keys
  readonly templates: Templates
  readonly consents: Consents
  readonly people: People
  readonly webhooks: Webhooks
  readonly deliveries: Deliveries
  readonly rateCards: RateCards
  readonly jobs: Jobs
  readonly retries: Retries
  readonly messages: DirectMessages
  /**
   * Ends the hold of a store that was restored from a backup: what was open before becomes `unknown` or `canceled`, or is sent.
   * With `hold` it holds a store by hand; with neither it is counted what would be sent.
   */
  readonly restore: (input?: {
    readonly open?: "unknown" | "cancel" | "send" | undefined
    readonly dryRun?: boolean | undefined
    readonly hold?: true | undefined
  }) => Promise<Restored>
  readonly storage: () => Promise<StorageSize>
  /** Deletes what accounts keep no longer (`retention`). Workers do so by themselves every hour. */
  readonly purge: (input?: { readonly dryRun?: boolean | undefined }) => Promise<Purged>
  readonly secrets: Secrets
  readonly operators: Operators
  /** What operators did, newest first. */
  readonly audit: (query?: AuditQuery) => AsyncIterable<AuditEntry>
  readonly events: Happenings
  readonly export: Exports
  /** What needs somebody, what waits and for what, and who works. A process reads it at most every two seconds. */
  readonly overview: () => Promise<Overview>
  /** A verdict on all processes over the store, by the same rules; also while the store cannot be read. */
  readonly health: () => Promise<HealthReport>
  /**
   * Whatever a text names, of all accounts and newest first: a phone in any spelling, a user id, a text of `RecipientTexts`, a
   * reference, an Idempotency-Key, a request id, or an id of ours or of a platform.
   */
  readonly search: (input: { readonly q: string }) => AsyncIterable<Found>
}
