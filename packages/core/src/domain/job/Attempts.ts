/**
 * Attempts of a recipient that were not its last, which the recipient tells itself: each has a row, so a message that goes at
 * once costs nothing for it.
 */
import type { Instant } from "../Instant.ts"
import type * as Recipient from "./Recipient.ts"

/**
 * `retried`: the platform did not take it, and it was tried again. `lost`: its process died meanwhile. `failed` and `unknown`:
 * an operator had it sent again.
 */
export const outcomes = ["retried", "lost", "failed", "unknown"] as const
export type Outcome = (typeof outcomes)[number]

export interface EarlierAttempt {
  /** From 1, counted anew after an operator's retry. */
  readonly number: number
  /** The time of its end; of one that was lost, the time at which that was found. */
  readonly at: Instant
  readonly outcome: Outcome
  readonly code: string | null
  readonly providerCode: string | null
  /** The time that it took; null where nobody could tell. */
  readonly ms: number | null
  /** The process that made it; null where it is not known. */
  readonly process: string | null
}

/** The time that an attempt took, and the process that made it. */
export type Tried = Pick<EarlierAttempt, "ms" | "process">

const unmeasured: Tried = { ms: null, process: null }

export const earlier = (
  number: number,
  at: Instant,
  outcome: Outcome,
  failure: Recipient.Failure | null,
  { ms, process }: Tried = unmeasured
): EarlierAttempt => ({
  number,
  at,
  outcome,
  code: failure?.code ?? null,
  providerCode: failure?.provider_code ?? null,
  ms,
  process
})
