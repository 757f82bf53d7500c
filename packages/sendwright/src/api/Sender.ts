/** How messages leave: by one of ours, or by a sender of your own. */
import type { Failure, Location, Media, ReplyButton } from "./Messages.ts"
import type { PlatformTemplate } from "./Templates.ts"

/** One attempt to send one message. */
export interface Outbound {
  /** The same in every attempt, crash and restart: what a platform that deduplicates is given. */
  readonly messageId: string
  readonly sessionId: string
  /** Digits; where no number is known the user id. */
  readonly to: string
  /** The platform's id of the person; null where the app names none. */
  readonly userId: string | null
  /** From 1. */
  readonly attempt: number
  /** W3C's header to pass on to a platform that traces; absent where nobody does. */
  readonly traceparent?: string
  readonly content:
    | {
        readonly kind: "template"
        readonly name: string
        readonly language: string
        readonly category: "marketing" | "utility" | "authentication"
        /** Values by the variables' names. */
        readonly variables: Readonly<Record<string, string>>
        /** The texts with their values in place; null where the template has no such part. */
        readonly header: string | null
        readonly body: string
        readonly footer: string | null
      }
    | {
        readonly kind: "direct"
        /** Empty of `media` and of a `location`. */
        readonly text: string
        readonly linkPreview: boolean
        readonly buttons?: ReadonlyArray<ReplyButton>
        readonly media?: Media
        readonly location?: Location
        readonly replyTo?: string
      }
  /** The session's `config`. */
  readonly config: Readonly<Record<string, unknown>>
}

/** What became of the attempt. A promise that is rejected, or not kept within 15 seconds, says `unknown`. */
export type SendResult =
  /** The platform has it, under this id of its own. */
  | { readonly outcome: "accepted"; readonly providerId?: string | null | undefined }
  /** The platform refused, and would refuse again. */
  | { readonly outcome: "refused"; readonly code: string; readonly message: string }
  /** The platform surely does not have it, and may take it later. */
  | {
      readonly outcome: "later"
      readonly code?: string | undefined
      readonly message: string
      readonly retryAfterMs?: number | undefined
      /** False where the platform was not reached at all: many of those in a row pause the session. */
      readonly answered?: boolean | undefined
    }
  /** The platform may or may not have it. */
  | { readonly outcome: "unknown"; readonly message: string }

/**
 * A sender of your own: a platform that we do not know, or your own gateway.
 *
 * @example
 * ```ts
 * import type { CustomSender } from "sendwright"
 *
 * export const gateway: CustomSender = {
 *   provider: "my_gateway",
 *   deduplicates: true,
 *   send: async ({ content, messageId, to }) => {
 *     const text = content.kind === "template" ? content.body : content.text
 *     const body = JSON.stringify({ id: messageId, to, text })
 *     const response = await fetch("https://gateway.example/messages", { method: "POST", body })
 *     if (response.status === 503) return { outcome: "later", message: "The gateway is busy." }
 *     if (!response.ok) return { outcome: "refused", code: String(response.status), message: "It said no." }
 *     return { outcome: "accepted" }
 *   }
 * }
 * ```
 */
export interface CustomSender {
  /** What a session's `provider` says: lower-case letters, digits, `_` and `-`. */
  readonly provider: string
  readonly send: (message: Outbound) => Promise<SendResult>
  /**
   * True when the platform drops a second request under one `messageId`. A message of which nobody knows whether it was
   * taken is tried again only then, or where it can be looked up.
   */
  readonly deduplicates?: boolean | undefined
  /** Whether the platform has a message whose attempt had no outcome; null when it surely has not. */
  readonly lookUp?: ((message: Outbound) => Promise<SendResult | null>) | undefined
  /** Asked before a session is connected: what is wrong, or null. */
  readonly check?: ((config: Readonly<Record<string, unknown>>) => Promise<string | null>) | undefined
  /** All templates of a session, for `admin.templates.sync`. */
  readonly templates?:
    | ((config: Readonly<Record<string, unknown>>) => Promise<ReadonlyArray<PlatformTemplate>>)
    | undefined
}

/** One that comes with Sendwright. */
export interface BuiltInSender {
  readonly provider: "sandbox" | "http" | "whatsapp_cloud"
}

export type Sender = BuiltInSender | CustomSender

/**
 * What a platform reports of a message: by our id of it, which your sender gives the platform as its reference, or by the
 * platform's own, which your sender answered.
 */
export interface Report {
  readonly messageId?: string | null | undefined
  readonly providerId?: string | null | undefined
  readonly status: "accepted" | "sent" | "delivered" | "read" | "failed"
  /** When it was so; now unless said otherwise. */
  readonly at?: Date | undefined
  /** Of `failed`. */
  readonly error?: Failure | undefined
}

/** A platform's post to the hook of a session, as it came: signatures are over its bytes. */
export interface Hook {
  readonly provider: string
  readonly sessionId: string
  readonly method: "GET" | "POST"
  readonly headers: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly body?: Uint8Array | undefined
}

/** The time that the sandbox takes. */
export interface SandboxOptions {
  readonly latencyMs?: number | undefined
  /** Before the first receipt, and between receipts. */
  readonly receiptDelayMs?: number | undefined
}

export interface PlatformOptions {
  /** The most connections to one platform: 64 unless said otherwise. */
  readonly connections?: number | undefined
}
