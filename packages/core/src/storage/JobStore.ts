/**
 * Where jobs live. This store owns what must commit together: the idempotency record, usage, the job, its
 * recipients and the events that tell of them. Each verb is atomic; the decisions inside are the pure functions
 * of `domain`, called by every adapter within its atomic section. Time comes only from the argument.
 *
 * An adapter proves itself with `testing/StorageSuite`.
 */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Content, Job, RecipientResult, Status } from "../domain/Job.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Demand } from "../domain/Plan.ts"
import type { Failure, Status as RecipientStatus, Reported } from "../domain/Recipient.ts"
import type { Provider } from "../domain/Session.ts"
import type { StorageError } from "./StorageError.ts"

/** What an Idempotency-Key stands for. */
export interface Earlier {
  readonly fingerprint: string
  readonly jobId: string
  readonly kind: Content["kind"]
  readonly recipients: number
  /** What was answered to a direct message; null while it is under way, and for template sends. */
  readonly answer: string | null
}

export interface NewRecipient {
  readonly phone: string
  readonly externalId: string | null
  readonly values: ReadonlyArray<string>
  readonly market: string | null
  readonly price: string | null
}

export interface AcceptSend {
  readonly now: Instant
  /** From `Ids.jobId`. */
  readonly jobId: string
  readonly accountId: string
  readonly sessionId: string
  readonly publicKey: string
  readonly content: Content
  readonly recipients: ReadonlyArray<NewRecipient>
  readonly currency: string
  readonly estimatedCost: string | null
  /** null = the request has no key (direct messages only). */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null
  readonly demand: Demand
  /** Claims the job for the caller in the same commit: a direct message is sent by the one who accepted it. */
  readonly claim: Lease | null
}

export interface Lease {
  readonly worker: string
  readonly until: Instant
}

export type AcceptResult = Data.TaggedEnum<{
  /** `claimed` when a claim was asked for. */
  Accepted: { readonly job: Job; readonly claimed: ClaimedJob | null }
  Replayed: { readonly earlier: Earlier }
  KeyConflict: { readonly earlier: Earlier }
  QuotaExhausted: { readonly limit: number; readonly used: number; readonly resetsAt: Instant }
  TooSoon: { readonly retryAt: Instant }
}>
export const AcceptResult = Data.taggedEnum<AcceptResult>()

/** A window of a job's recipients, `sending`, their attempt counted, in the hands of one worker. */
export interface ClaimedJob {
  readonly jobId: string
  readonly accountId: string
  readonly sessionId: string
  readonly content: Content
  /** Raised by each claim of the job; a settlement under an older one changes nothing. */
  readonly fence: number
  readonly recipients: ReadonlyArray<{
    readonly index: number
    readonly phone: string
    readonly values: ReadonlyArray<string>
    /** Counting this one. */
    readonly attempts: number
  }>
}

/** What became of an attempt. */
export type Outcome = Data.TaggedEnum<{
  Accepted: { readonly providerId: string | null; readonly status: "accepted" | "sent" }
  Failed: { readonly failure: Failure }
  /** To be tried again at a time; it stays `sending`. */
  Retry: { readonly at: Instant; readonly failure: Failure }
  /** The platform may or may not have it. */
  Unknown: { readonly failure: Failure }
  /** Consent was gone at dispatch. */
  Skipped: { readonly failure: Failure }
  /** It was never attempted (the worker is stopping): due again at once, at no cost of an attempt. */
  Released: Record<never, never>
}>
export const Outcome = Data.taggedEnum<Outcome>()

export interface Settlement {
  readonly jobId: string
  readonly fence: number
  readonly index: number
  readonly outcome: Outcome
  /** Kept as the answer of a direct message, to be replayed. */
  readonly answer?: string
}

/** What the platform reports of a message, by our message id. */
export interface Report {
  readonly messageId: string
  readonly status: Reported
  readonly at: Instant
  readonly failure: Failure | null
  readonly providerId: string | null
}

export class JobStore extends Context.Tag("@sendwright/core/storage/JobStore")<
  JobStore,
  {
    /** What the key stands for already; null when it is free. */
    readonly earlier: (query: {
      readonly publicKey: string
      readonly key: string
    }) => Effect.Effect<Earlier | null, StorageError>

    /**
     * Records the send and everything that follows from it in one commit, or nothing. The order of decisions:
     * the key (replay or conflict), the quota, the minimum wait. Of parallel sends with one key exactly one is
     * accepted; parallel sends over a quota accept exactly the quota.
     */
    readonly accept: (command: AcceptSend) => Effect.Effect<AcceptResult, StorageError>

    /**
     * Hands in the outcomes of one window and takes the next, in one commit.
     *
     * Settling updates recipients, counts, the job's status and events, and counts as settled only what is still
     * in flight under its fence; a job with nothing in flight loses its lease. Claiming takes due recipients
     * (`nextAt` not later than `now`) of dispatchable jobs of connected sessions that nobody has a lease on, at
     * most `limit` in all, sessions in turn so that none waits for another's backlog, older jobs first; each is
     * `sending` then and its attempt counted.
     */
    readonly exchange: (command: {
      readonly now: Instant
      readonly settlements: ReadonlyArray<Settlement>
      readonly claim: (Lease & { readonly limit: number }) | null
    }) => Effect.Effect<
      { readonly settled: number; readonly claimed: ReadonlyArray<ClaimedJob> },
      StorageError
    >

    /**
     * Takes back what a dead worker left: in-flight recipients of jobs whose lease has ended. At or over
     * `Retry.poisonClaims` attempts it is parked as failed (`poisoned`); else, when the session's provider
     * deduplicates, it is due again at once; else it becomes `unknown` (`outcome_unknown`).
     * Answers how many recipients were taken back.
     */
    readonly rescue: (command: {
      readonly now: Instant
      readonly deduplicating: ReadonlyArray<Provider>
    }) => Effect.Effect<number, StorageError>

    /** Applies reports by rank, each with its event; unknown ids are answered back. */
    readonly receive: (command: {
      readonly now: Instant
      readonly reports: ReadonlyArray<Report>
    }) => Effect.Effect<{ readonly applied: number; readonly unmatched: ReadonlyArray<Report> }, StorageError>

    readonly find: (jobId: string) => Effect.Effect<Job | null, StorageError>

    /** Newest first. */
    readonly list: (query: {
      readonly by: { readonly publicKey: string } | { readonly accountId: string }
      readonly kind: Content["kind"]
      readonly status?: Status | undefined
      /** Inclusive. */
      readonly createdAfter?: Instant | undefined
      /** Exclusive. */
      readonly createdBefore?: Instant | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<Job>, StorageError>

    /** In their order; the position is the index. */
    readonly results: (query: {
      readonly jobId: string
      readonly status?: RecipientStatus | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<RecipientResult>, StorageError>

    /** What all recipients that were delivered cost, as the exact prices; the sum is the caller's. */
    readonly deliveredPrices: (jobId: string) => Effect.Effect<ReadonlyArray<string>, StorageError>

    /**
     * Cancels what is not in flight. What is in flight finishes, and the job is `canceling` until then.
     * Null when there is no such job; an ended one is answered as it is.
     */
    readonly cancel: (command: {
      readonly jobId: string
      readonly now: Instant
    }) => Effect.Effect<Job | null, StorageError>

    /**
     * Queues failed and unknown recipients again, with no attempts counted, and makes the job `queued` again.
     * Answers the job and how many; null when there is no such job.
     */
    readonly retry: (command: {
      readonly jobId: string
      readonly now: Instant
    }) => Effect.Effect<{ readonly job: Job; readonly retried: number } | null, StorageError>

    /** Units accepted by the account on a UTC day (`YYYY-MM-DD`). */
    readonly usage: (query: {
      readonly accountId: string
      readonly day: string
    }) => Effect.Effect<{ readonly template: number; readonly direct: number }, StorageError>

    /** When the next recipient is due or the next lease ends; null when nothing waits. */
    readonly nextDue: Effect.Effect<Instant | null, StorageError>
  }
>() {}
