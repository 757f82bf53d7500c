/** Arguments and answers of the engine's operations. */

import type { Decision } from "../domain/account/RateLimit.ts"
import type {
  FeatureUnavailable,
  ForeignTransaction,
  InsufficientPermission,
  InvalidCredentials,
  SessionDisconnected,
  SubscriptionInactive
} from "../domain/Errors.ts"
import type { Instant } from "../domain/Instant.ts"
import type { End } from "../domain/job/End.ts"
import type { Job, Status as JobStatus, RecipientResult, SentAs } from "../domain/job/Job.ts"
import type { Limiter } from "../domain/job/Waiting.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { TemplateContent } from "../domain/template/Template.ts"
import type { DirectMessageRequest, TemplateMessage, Unchecked } from "../schema/Requests.ts"
import type { Identity } from "../storage/ApiKeyStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

export type { Told as WindowNow } from "../domain/session/Window.ts"

/** The credentials that a caller presents; `undefined` for a header that is absent. */
export interface Credentials {
  readonly publicKey: string | undefined
  readonly secretKey: string | undefined
}

/**
 * The caller: the key, its session and its account as of `knownAt`, and the rest of the key's requests per minute. It comes of
 * an API key's secret (`identify`), or in the engine's own process of a session's id (`callerOf`). An embedder may hold on to
 * it: an operation looks an older one up again, so that a revocation, a change of plan or a disconnection holds.
 */
export interface Caller extends Identity {
  readonly rate: Decision
  readonly knownAt: Instant
}

/** The refusals of a caller, in this order, which every operation has; and what the place and the storage may be. */
export type Unauthorized =
  | ForeignTransaction
  | InvalidCredentials
  | SubscriptionInactive
  | FeatureUnavailable
  | InsufficientPermission
  | SessionDisconnected
  | StorageError

export interface SendCommand {
  /** The Idempotency-Key header as it came; `undefined` when absent. */
  readonly idempotencyKey: string | undefined
  /** The id of the request, kept with the job so that it is found by it. */
  readonly requestId?: string | undefined
  readonly request: TemplateMessage | Unchecked
}

export interface Acknowledgement {
  readonly jobId: string
  readonly recipients: number
  /** True when an earlier request under the same key was answered again. */
  readonly replayed: boolean
}

export interface DirectCommand {
  readonly idempotencyKey: string | undefined
  /** As of a {@link SendCommand}. */
  readonly requestId?: string | undefined
  readonly request: DirectMessageRequest | Unchecked
}

export interface DirectAcknowledgement {
  readonly messageId: string
  /** Null where the request names no number. */
  readonly to: string | null
  readonly userId: string | null
  /** `queued`: the template that goes in the place of the text waits for its turn. */
  readonly status: "accepted" | "queued" | "sent"
  readonly sentAs: SentAs
  readonly createdAt: Instant
  readonly replayed: boolean
}

/** A direct message: its job and its one recipient. */
export interface Message {
  readonly job: Job
  readonly recipient: RecipientResult
  /** The message's price once it was delivered, and "0" before that; null when it has none. */
  readonly actualCost: string | null
}

export interface JobDetail extends End {
  readonly job: Job
  /** The template keeps both for ever, so they are known of a content that cannot be read, too. */
  readonly template: Pick<TemplateContent, "language" | "name">
  readonly results: Paged<RecipientResult>
  /** Sum of the unit prices of what was delivered; null when nothing could be priced. */
  readonly actualCost: string | null
  /** The limit that the dispatch waits for, or what else keeps it waiting; null when nothing does. */
  readonly waitingFor: {
    readonly limiter: Limiter | "content"
    readonly until: Instant | null
  } | null
}

export interface JobQuery {
  readonly status?: JobStatus | undefined
  readonly reference?: string | undefined
  readonly createdAfter?: Instant | undefined
  readonly createdBefore?: Instant | undefined
  readonly page: Page
}

export interface TemplateName {
  readonly name: string
  readonly language: string
}

export interface TemplateQuery {
  readonly category?: string | undefined
  readonly language?: string | undefined
  readonly name?: string | undefined
  readonly page: Page
}
