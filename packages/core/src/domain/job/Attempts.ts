/**
 * Attempts of a recipient that it does not tell itself: those before its last, and one whose first outcome a receipt changed. Each
 * has a row, and so has the last of a message that has a job for itself. Of many in one job the last costs no row.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { RecipientResult } from "./Job.ts"
import * as Recipient from "./Recipient.ts"
import * as Transitions from "./Transitions.ts"

/**
 * `retried`: the platform did not take it, and it was tried again. `released`: the same at no cost of an attempt, since nothing is
 * sent for now. `lost`: its process died meanwhile. `failed`, `unknown` and `accepted`: an operator had it sent again, or a receipt
 * says otherwise. `reported`: no attempt, but the receipt of the failure that an operator had sent again.
 */
export const outcomes = ["retried", "released", "lost", "failed", "unknown", "accepted", "reported"] as const
export type Outcome = (typeof outcomes)[number]

export interface EarlierAttempt {
  /** From 1, counted anew after an operator's retry. */
  readonly number: number
  /** The time of its end; of one that was lost, the time at which that was found. */
  readonly at: Instant
  readonly outcome: Outcome
  readonly code: string | null
  readonly providerCode: string | null
  /** The words on the attempt's end; null where there were none, and for a person who was erased. */
  readonly message: string | null
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
  message: failure?.message ?? null,
  ms,
  process
})

/** An attempt of a recipient, as it is told. `under_way`: its outcome is awaited, and its time is that of its claim. */
export interface Attempt extends Omit<EarlierAttempt, "outcome"> {
  readonly outcome: Outcome | "sent" | "under_way"
}

/** The outcome of the last attempt, and its time; null where the recipient does not tell of one. */
const endOf = (
  recipient: RecipientResult
): (Pick<Attempt, "at" | "outcome"> & { readonly failure?: Recipient.Failure | null }) | null => {
  const { attemptedAt, failure, sentAt, status, updatedAt } = recipient
  const at = Transitions.attemptedAt(recipient)
  if (Transitions.inFlight(recipient)) return { at: updatedAt, outcome: "under_way" }
  // A report came since: the platform had taken it.
  if (attemptedAt !== null || (at !== null && Recipient.wasAccepted(status))) {
    const outcome = at === sentAt ? "sent" : "accepted"
    return { at: at ?? updatedAt, outcome, failure: Recipient.wasAccepted(status) ? failure : null }
  }
  if (status === "failed" || (status === "canceled" && failure !== null))
    return { at: updatedAt, outcome: "failed", failure }
  // A backup that cannot tell is no attempt's outcome.
  return status === "unknown" && failure?.code !== "restored"
    ? { at: updatedAt, outcome: "unknown", failure }
    : null
}

/** The attempts that have rows and are not the last, and the last as the recipient tells it; null where its row tells it. */
export interface Made {
  readonly earlier: ReadonlyArray<EarlierAttempt>
  readonly last: Attempt | null
}

/** @param rows of the recipient's attempts, in their order */
export const attemptsOf = (recipient: RecipientResult, rows: ReadonlyArray<EarlierAttempt>): Made => {
  const { attempts: number, requeuedAt } = recipient
  const row = rows.findLast(
    (each) => each.outcome !== "released" && each.number === number && each.at >= (requeuedAt ?? 0)
  )
  const end = number === 0 ? null : endOf(recipient)
  // A row of another outcome is the first one, before what a receipt said.
  const isOwn = row?.outcome === (end?.outcome === "sent" ? "accepted" : end?.outcome)
  if (end === null || (row !== undefined && !isOwn)) return { earlier: rows, last: null }
  const { at, failure = null, outcome } = end
  return {
    earlier: rows.filter((each) => each !== row),
    last: {
      number,
      at,
      outcome,
      code: failure?.code ?? null,
      providerCode: failure?.provider_code ?? null,
      message: failure?.message ?? null,
      ms: row?.ms ?? null,
      process: row?.process ?? null
    }
  }
}

/**
 * The outcome of an attempt that a receipt changes, or changed before it was stored: it is told beside what the receipt said.
 * Nothing where the recipient tells it itself.
 */
export const overtaken = (before: RecipientResult, after: RecipientResult): ReadonlyArray<EarlierAttempt> => {
  const { attemptedAt, attempts, failure, status, updatedAt } = before
  // A backup that cannot tell is no attempt's outcome.
  const isTold = Recipient.isRetryable(status) && failure?.code !== "restored"
  return attempts === 0 || attemptedAt !== null || after.status === status || !isTold
    ? []
    : [earlier(attempts, updatedAt, status, failure)]
}

/**
 * The past that a recipient keeps after an operator's retry: the attempt, and the receipt of the failure where that is another
 * thing.
 */
export const repeated = ({
  attemptedAt,
  attempts,
  failure,
  status,
  updatedAt
}: RecipientResult): ReadonlyArray<EarlierAttempt> => {
  if (attempts === 0 || !Recipient.isRetryable(status)) return []
  return attemptedAt === null
    ? [earlier(attempts, updatedAt, status, failure)]
    : // Of one whose first outcome has a row that stays.
      [earlier(attempts, attemptedAt, "accepted", null), earlier(attempts, updatedAt, "reported", failure)]
}

/** An attempt as it is shown to whom its message is of, with the platform's words. */
export const shown = ({
  at,
  code,
  message,
  outcome,
  providerCode
}: EarlierAttempt): Readonly<Record<string, unknown>> => ({
  at: Time.format(at),
  outcome,
  error: code === null ? null : { code, provider_code: providerCode, message }
})
