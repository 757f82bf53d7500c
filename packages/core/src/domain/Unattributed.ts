/**
 * An inbound item that names nobody (decisions.md §10): neither a phone, a user id nor a message of ours. It is kept for
 * the operator, since it may be an opt-out.
 */
import type { Instant } from "./Instant.ts"

/** A text or a pressed button; a preference told by the platform itself. */
export const kinds = ["message", "opt_out", "opt_in"] as const
export type Kind = (typeof kinds)[number]

export interface Unattributed {
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  readonly kind: Kind
  /** The platform's id; null when it told none. */
  readonly messageId: string | null
  /** The text; of a preference, the platform's words on it. */
  readonly text: string
  readonly occurredAt: Instant
  readonly recordedAt: Instant
}
