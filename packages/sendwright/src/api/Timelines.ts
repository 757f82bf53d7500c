/** The story of a message, as it is answered. */
import type { Failure, Priority, RecipientStatus, RecipientTexts } from "./Messages.ts"
import type { Button } from "./Templates.ts"

/** What happened to a message. What no row of the store tells is null. */
export interface TimelineEntry {
  readonly at: Date
  readonly kind:
    | "accepted"
    | "consent"
    | "waited"
    | "attempt"
    | "receipt"
    | "inbound"
    | "webhook"
    | "retried"
    | "canceled"
    | "restored"
  readonly title: string
  readonly text: string | null
  /** A failure's code, or the limiter of a wait; `not_all` where more was there than is told. */
  readonly code: string | null
  /** How long it took; null where no row tells: so of the last attempt. */
  readonly ms: number | null
  /** For operators alone. */
  readonly process: string | null
  /** The path of the REST API where there is more of it. */
  readonly link: string | null
  /** Of what was accepted, null of what this process sends itself; of an operator's act without the key. */
  readonly key?: string | null | undefined
  readonly requestId?: string | null | undefined
  readonly address?: string | null | undefined
  /** The end of a wait; null while nobody knows. */
  readonly until?: Date | null | undefined
  readonly limiter?: string | undefined
  /** Of an attempt. */
  readonly number?: number | null | undefined
  readonly outcome?: string | undefined
  /** The messages that its session sent a second then; null where it had no pace. */
  readonly pace?: number | null | undefined
  /** Of a webhook: the endpoint's id, and the status of its answer. */
  readonly endpoint?: string | undefined
  readonly answer?: number | null | undefined
}

export interface TimelineMessage extends RecipientTexts {
  readonly messageId: string
  readonly jobId: string
  readonly phone: string | null
  readonly userId: string | null
  readonly status: RecipientStatus
  readonly error: Failure | null
  readonly reference: string | null
  readonly priority: Priority
  /** Null of a direct message. */
  readonly template: {
    readonly templateId: number
    readonly name: string | null
    readonly language: string | null
  } | null
  /** Of a direct message as what it goes; null of a template send. */
  readonly sentAs: "text" | "template" | null
  readonly accountId: string
  readonly account: string | null
  readonly sessionId: string
  readonly session: string | null
  readonly currency: string
  /** Decimal; null where it has no price. */
  readonly estimated: string | null
  readonly actual: string | null
  /** The time at which its variables, or its text, were forgotten. */
  readonly contentExpiredAt: Date | null
  /** True when the person was erased: no name or text of theirs is left. */
  readonly isErased: boolean
  readonly content: {
    readonly header: string | null
    readonly body: string | null
    readonly footer: string | null
    readonly buttons: ReadonlyArray<Button>
  }
}

export interface Timeline {
  readonly message: TimelineMessage
  readonly timeline: ReadonlyArray<TimelineEntry>
  readonly next: ReadonlyArray<{
    readonly action: "wait" | "retry" | "cancel"
    readonly allowed: boolean
    readonly why: string
  }>
}
