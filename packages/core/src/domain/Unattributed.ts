/**
 * An inbound item without a phone, a user id or a message id of ours (contract.md §10). It is stored for the
 * operator, since it may be an opt-out.
 */
import type { Instant } from "./Instant.ts"

/** The kinds of items: a text or a pressed button, or a preference that the platform itself reports. */
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
