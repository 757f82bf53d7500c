/**
 * A text that has an opt-out word among others and is none by the rules (contract.md §11): "can you stop the order". It
 * changes nothing by itself, and is kept for the operator, who records it as an opt-out where it was meant as one.
 */
import type { Instant } from "../Instant.ts"
import type { Person } from "../Person.ts"

export interface PerhapsRefusal extends Person {
  readonly id: string
  readonly accountId: string
  readonly sessionId: string
  /** The platform's id; null when it told none. */
  readonly messageId: string | null
  readonly text: string
  readonly occurredAt: Instant
  /** The platform's time; null when it told none. */
  readonly reportedAt: Instant | null
  readonly recordedAt: Instant
}

/** The most that are kept of an account; the oldest go first. */
export const maximumOfAccount = 10_000
