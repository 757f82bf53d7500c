/**
 * Where jobs live. This store owns what must commit together: the idempotency record, usage, the job, its
 * recipients and the events that tell of them. Each verb is atomic; what it decides is written once, in `policy`, over
 * the reads and writes that every adapter has (`policy/JobRows`). Time comes only from the argument.
 *
 * The suite in `test/StorageSuite` holds every database to it.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"
import type { Address } from "../domain/Address.ts"
import type { Caps } from "../domain/account/Caps.ts"
import type { Demand } from "../domain/account/Plan.ts"
import type { Rate } from "../domain/billing/RateCard.ts"
import type { Charge } from "../domain/billing/Spending.ts"
import type { Between, Looked } from "../domain/DerivedEvent.ts"
import type { Fault } from "../domain/Fault.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { EarlierAttempt, Tried } from "../domain/job/Attempts.ts"
import type { Care } from "../domain/job/Claiming.ts"
import type { JobTexts, RecipientTexts } from "../domain/job/ClientTexts.ts"
import type { Content, Job, RecipientResult, Status } from "../domain/job/Job.ts"
import type { Priority } from "../domain/job/Priority.ts"
import type {
  Counts,
  Failure,
  FailureCount,
  Pricing,
  Status as RecipientStatus,
  Reported
} from "../domain/job/Recipient.ts"
import type { Sums } from "../domain/job/RetryPlan.ts"
import type * as RetrySelection from "../domain/job/RetrySelection.ts"
import type { Part } from "../domain/job/Starts.ts"
import type { StopWhen } from "../domain/job/StopWhen.ts"
import type { Tally } from "../domain/job/Tally.ts"
import type * as Timeline from "../domain/job/Timeline.ts"
import type { Backlog } from "../domain/job/Waiting.ts"
import type * as When from "../domain/job/When.ts"
import type { Unknowns } from "../domain/overview/StoreReadings.ts"
import type { Counted, Page, Paged } from "../domain/Page.ts"
import type { OfJobs } from "../domain/Search.ts"
import type { News } from "../domain/session/Circuit.ts"
import type { Outbound, Provider } from "../domain/session/Session.ts"
import type { Category } from "../domain/template/Template.ts"
import type * as Either from "../effect/Either.ts"
import type { Endings } from "./Endings.ts"
import type { Inbound } from "./InboundStore.ts"
import type { StorageError } from "./StorageError.ts"

/** The send or the direct message that an Idempotency-Key stands for. */
export interface IdempotencyRecord {
  readonly fingerprint: string
  readonly jobId: string
  readonly kind: Content["kind"]
  readonly recipients: number
  /** The answer to a direct message; null while the message is under way, and for template sends. */
  readonly answer: string | null
}

export interface NewRecipient extends Partial<RecipientTexts> {
  readonly address: Address
  readonly timing?: When.Own | null
  /** When its first attempt is due; absent: at once. */
  readonly dueAt?: Instant
  readonly values: ReadonlyArray<string>
  readonly market: string | null
  readonly price: string | null
}

export interface AcceptSend extends JobTexts {
  readonly now: Instant
  /** From `Ids.jobId`. */
  readonly jobId: string
  readonly accountId: string
  readonly sessionId: string
  readonly publicKey: string
  /** The id of the request that asks for it. */
  readonly requestId?: string | undefined
  /** As of a `Job`; absent: null. */
  readonly traceparent?: string | null | undefined
  readonly content: Content
  readonly priority: Priority
  readonly perMinute: number | null
  readonly stopWhen: StopWhen | null
  /** Null or absent of a send whose recipients all go at once. */
  readonly timing?: When.Timing | null
  /** Since when it goes as its template; null or absent of all but a direct message into a closed window. */
  readonly replacedAt?: Instant | null
  readonly recipients: ReadonlyArray<NewRecipient>
  readonly currency: string
  readonly estimatedCost: string | null
  /** null = the request has no key (direct messages only). */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null
  readonly demand: Demand
  /** The worker that claims the job in the same commit: a direct message is sent by the process that accepted it. */
  readonly claim: string | null
  /**
   * True inside the embedder's transaction: nothing is locked that another send needs, and the send is counted and not
   * refused by quota and minimum wait. For template sends that nobody claims yet.
   */
  readonly isEmbedded?: boolean
}

export type AcceptResult = Data.TaggedEnum<{
  /** `claimed` when a claim was asked for. */
  Accepted: { readonly job: Job; readonly claimed: ClaimedJob | null }
  Replayed: { readonly record: IdempotencyRecord }
  KeyConflict: { readonly record: IdempotencyRecord }
  QuotaExhausted: { readonly limit: number; readonly used: number; readonly resetsAt: Instant }
  TooSoon: { readonly retryAt: Instant }
  /** A send with the key may be in an open transaction of an embedder. A store waits for its end first. */
  KeyLocked: { readonly key: string }
  /** The store is held after a restore (`RestoreStore`): what would be sent at once is not accepted. */
  Quarantined: Record<never, never>
}>
export const AcceptResult = Data.taggedEnum<AcceptResult>()

/** Recipients of a job that one worker has claimed together: they are `sending`, and their attempt is counted. */
export interface ClaimedJob {
  readonly jobId: string
  readonly accountId: string
  readonly sessionId: string
  readonly content: Content
  /** As of the `Job`. */
  readonly traceparent: string | null
  readonly timing: When.Timing | null
  /** True of a template that goes in the place of a refused text. */
  readonly replacesText: boolean
  /** The claim's number: no other claim of its recipients has it. A settlement under another one changes nothing. */
  readonly fence: number
  /** True when its session's platform does not answer: its one recipient asks it again (`domain/session/Circuit`). */
  readonly probe: boolean
  readonly recipients: ReadonlyArray<{
    readonly index: number
    readonly address: Address
    readonly timing: When.Own | null
    readonly values: ReadonlyArray<string>
    /** Counting this one. */
    readonly attempts: number
    /** When it was due: at its acceptance, or after a wait between two attempts. */
    readonly dueAt: Instant
    /** The time of the first attempt of those that are repeated (`Retry.nextSend`). */
    readonly firstAttemptAt: Instant
    /** True when the platform may have it already: one that can be asked is asked first. */
    readonly maybeSent: boolean
    /** How many workers in a row died over it. A suspect (`Transitions`) is the only one of its session. */
    readonly crashCount: number
    /** The recipient's price as it is now, where that was looked up; null where the recipient has none. */
    readonly rate?: Rate | null
  }>
}

/** A claimed job, and what its messages are sent with, as the claim has read it behind the lock of the job. */
export interface DispatchedJob extends ClaimedJob {
  readonly session: Outbound
  /** The category that its template has now; null where there is no template. */
  readonly category: Category | null
  /** The caps of the job's account: where there are none nobody need be asked for (`JobStore.overCap`). */
  readonly caps: Caps
  readonly currency: string
}

/** A due job whose content cannot be read. */
export interface UnreadableJob {
  readonly jobId: string
  readonly cause: Error
}

/** For so long a job whose content could not be read waits until it is looked at again: it may have been mended. */
export const unreadableMs = 10 * Time.minute

/** The worker that asks, and how much it asks for. */
export interface Claim {
  readonly worker: string
  readonly limit: number
  /**
   * How many recipients a session may get; absent: as many as the limit lets it. Asked once for each session whose turn it
   * is.
   *
   * @param before how many the session got for which it was asked before; null at the first, also where the commit is made
   * again
   */
  readonly room?: (
    session: { readonly id: string; readonly provider: Provider },
    before: number | null
  ) => number
  /** How many of those over whom workers died; absent: as in a process that has nothing in hand and is not young. */
  readonly care?: Care
}

/** A process, as it tells of itself. */
export interface ProcessInfo {
  readonly version: string
  /**
   * The work of the process: `all`, `api` (accepts, and dispatches nothing), `worker` (accepts nothing), or `embedded` in an
   * app.
   */
  readonly role: string
  readonly startedAt: Instant
  /** How many attempts it makes at once. */
  readonly slots: number
}

/** A process's last word of what it is. */
export interface SaidProcess extends ProcessInfo {
  readonly saidAt: Instant
}

/** A worker that said that it lives. */
export interface LivingWorker extends SaidProcess {
  readonly worker: string
  /** How many recipients its claims await outcomes of. */
  readonly inFlight: number
}

/** The part that the names of one process's workers share: what ends with one of them ended with the others. */
export const processOf = (worker: string): string => {
  const end = worker.lastIndexOf(".")
  return end === -1 ? worker : worker.slice(0, end)
}

/** A process's word on its workers. */
export interface WorkerHeartbeat {
  readonly workers: ReadonlyArray<string>
  /** Workers that have ended, and say no more. */
  readonly ended?: ReadonlyArray<string>
  readonly beats: number
  /** The time, when the process takes by itself what is due; null when it only has in hand what it was asked for. */
  readonly dispatchesAt: Instant | null
  /** The process, where it says what it is. */
  readonly process?: SaidProcess | undefined
  /** The happening that the first or the last word of a process tells. It is noted once, however often the word is repeated. */
  readonly happens?: "process.started" | "process.stopped" | undefined
}

export interface KnownWorker {
  readonly worker: string
  /** The worker's last count; 0 when it said nothing yet. */
  readonly beats: number
  /** True when it is known to be dead: the store has one owner, and it was there before this one. */
  readonly isDead: boolean
}

/** The outcome of an attempt. */
export type Outcome = Data.TaggedEnum<{
  /** `held`: why the platform looks at it first, though it has it. */
  Accepted: {
    readonly providerId: string | null
    readonly status: "accepted" | "sent"
    readonly held?: Failure
    /** The price of the attempt, where it may be another than that of the acceptance. */
    readonly rate?: Rate | null
  }
  /** `stopsJob`: what is not in flight fails for the same reason, in the same commit. */
  Failed: { readonly failure: Failure; readonly stopsJob?: boolean }
  /** To be tried again at a time; it stays `sending`. Uncertain: the platform may have it. */
  Retry: { readonly at: Instant; readonly failure: Failure; readonly maybeSent: boolean }
  /** The platform may or may not have it. */
  Unknown: { readonly failure: Failure }
  /** Consent was gone at dispatch. */
  Skipped: { readonly failure: Failure }
  /** The worker stops, or its hours have not come: due again at once or at a time, at no cost of an attempt. Uncertain: its attempt
   * was under way. With a failure the platform was asked, and refused for now. */
  Released: { readonly maybeSent: boolean; readonly failure?: Failure; readonly at?: Instant }
}>
export const Outcome = Data.taggedEnum<Outcome>()

export interface Settlement {
  readonly jobId: string
  readonly fence: number
  readonly index: number
  readonly outcome: Outcome
  /** Of the attempt. */
  readonly tried?: Tried | undefined
  /** Attempts before it that no store knows of: a direct message repeats some by itself. */
  readonly earlier?: ReadonlyArray<EarlierAttempt>
  /** Kept as the answer of a direct message, to be replayed. */
  readonly answer?: string
  /** The platform's word on the person that came with its answer, where there is one. */
  readonly inbound?: Inbound
}

/** The platform's report of a message, by our message id or by the platform's own. */
export interface Report {
  /** null = only the platform's id is known. */
  readonly messageId: string | null
  readonly status: Reported
  readonly at: Instant
  /** The platform's own time, also where `at` is another since nobody believes it (`domain/Occurrence`). */
  readonly reportedAt?: Instant
  readonly failure: Failure | null
  readonly providerId: string | null
  /** The person who got the message, as the platform names them; absent where it names nobody. */
  readonly named?: { readonly phone: string | null; readonly userId: string | null }
  /** Only some platforms tell it, with only some of their reports. */
  readonly pricing?: Pricing
}

/** A report whose platform names the recipient otherwise than they were asked for. */
export interface Met {
  readonly sessionId: string
  readonly asked: Address
  readonly report: Report
}

/** A failure that a report tells and that concerns others than its recipient (`FailureCatalogue.concernsOthers`). */
export interface Refused extends Pick<ClaimedJob, "accountId" | "content" | "jobId" | "sessionId"> {
  readonly failure: Failure
  /** When the attempt ended that it is about. */
  readonly attemptedAt: Instant
}

/** The answer to reports that were applied. */
export interface ReportsApplied {
  readonly applied: number
  readonly unmatched: ReadonlyArray<Report>
  readonly met: ReadonlyArray<Met>
  /** Of repeated reports, too: who acts on them does it once. */
  readonly refused: ReadonlyArray<Refused>
  /** Of those that said something new, in their order. */
  readonly ended: ReadonlyArray<ReportedEnd>
  readonly ends: Endings
}

/** How an attempt ended, as a report tells. */
export interface ReportedEnd {
  readonly sessionId: string
  readonly address: Address
  /** Null of one that succeeded. */
  readonly failure: Failure | null
  readonly attemptedAt: Instant
}

export type CancelResult = Data.TaggedEnum<{
  /** Recipients in flight finish: the job is `canceling` until then. */
  Canceled: { readonly job: Job }
  /** The job had ended before; nothing changed. */
  Ended: { readonly job: Job }
}>
export const CancelResult = Data.taggedEnum<CancelResult>()

export type HoldResult = Data.TaggedEnum<{
  /** The job as it is now, changed or not. */
  Done: { readonly job: Job }
  /** The job had ended before, or is being canceled; nothing changed. */
  Ended: { readonly job: Job }
}>
export const HoldResult = Data.taggedEnum<HoldResult>()

export type RetimeResult =
  | HoldResult
  /** Nothing changed. */
  | { readonly _tag: "Refused"; readonly faults: ReadonlyArray<Fault> }

/** Decides on a job's new times by its open recipients: when those are due that it moves, or what is wrong. */
export type Retiming = (
  job: Job,
  open: ReadonlyArray<RecipientResult>
) => Either.Either<
  { readonly timing: When.Timing; readonly dueAt: ReadonlyMap<number, Instant> },
  ReadonlyArray<Fault>
>

export type RetryResult = Data.TaggedEnum<{
  /** How many were queued again, or would be. */
  Retried: { readonly job: Job; readonly counts: RetrySelection.RetryCounts; readonly sums: Sums }
  /** The job was canceled, which is final; nothing changed. */
  Ended: { readonly job: Job }
  /** The content of the job is kept no longer; nothing changed. */
  Expired: { readonly job: Job }
}>
export const RetryResult = Data.taggedEnum<RetryResult>()

/** The fields from which the cost of a delivered message follows. */
export type Delivered = Pick<RecipientResult, "address" | "price" | "pricing">

/** For how long a report waits for its message: as long as the platform repeats it. */
export const earlyReportMs = Time.day
/** The most that are parked of one session: all that its messages under way bring, and some of others' messages. */
export const maximumEarlyReports = 10_000

export interface EarlyReportsApplied {
  readonly applied: number
  readonly ends: Endings
  readonly met: ReadonlyArray<Met>
  readonly refused: ReadonlyArray<Refused>
  readonly ended: ReadonlyArray<ReportedEnd>
  readonly forgotten: ReadonlyMap<string, number>
}

/** A job that was found, or one of its recipients. */
export interface FoundJob {
  readonly job: Job
  /** Null where the job itself was found. A direct message is its only recipient. */
  readonly recipient: RecipientResult | null
}

/** A search for jobs. */
export interface SearchJobs {
  readonly sought: OfJobs
  /** Of this API key alone; of all where it is absent. */
  readonly publicKey?: string | undefined
  /** Of both where it is absent. */
  readonly kind?: Content["kind"] | undefined
  readonly page: Page
}

/** The filters that jobs have to pass. Times are inclusive at their begin, and exclusive at their end. */
export interface JobFilter {
  readonly templateId?: number | undefined
  readonly status?: Status | undefined
  /** Some of its recipients failed, are unknown, are one of both (`failures`), or still wait or are in flight. */
  readonly has?: "failed" | "failures" | "unknown" | "waiting" | undefined
  /** Nothing became of it since, by `Job.isStuck`. */
  readonly stuckSince?: Instant | undefined
  readonly reference?: string | undefined
  readonly createdAfter?: Instant | undefined
  readonly createdBefore?: Instant | undefined
  readonly completedAfter?: Instant | undefined
  readonly completedBefore?: Instant | undefined
  /** Of the jobs of an account and one reference the newest alone. */
  readonly isNewestOfReference?: true | undefined
}

/** Jobs of an API key, a session or an account; of all accounts where `by` names nobody. */
export interface ListJobs extends JobFilter {
  readonly by: {
    readonly publicKey?: string | undefined
    readonly sessionId?: string | undefined
    readonly accountId?: string | undefined
  }
  readonly kind: Content["kind"]
  readonly page: Page
  /** How often some thousands of jobs are looked at; without a number until something is found or nothing is left. */
  readonly reads?: number | undefined
}

export interface AcceptedQuery extends Between {
  /** Template sends and direct messages where it is left out. */
  readonly kind?: Content["kind"] | undefined
}

/** The jobs of an account that have one reference, together. */
export interface ReferenceSum {
  readonly accountId: string
  readonly reference: string
  readonly jobs: number
  /** False where there are more: these are the newest. */
  readonly isExact: boolean
  readonly recipients: number
  readonly counts: Counts
  /** When the first of them was accepted, and the last. */
  readonly createdAt: Instant
  readonly lastAt: Instant
  /** When the last of them was done; null while one is not. */
  readonly completedAt: Instant | null
}

/** Of a job: who has it by name, and why recipients of it have nothing. */
export interface JobDetails {
  readonly accountName: string | null
  readonly sessionName: string | null
  /** Of those that failed, were skipped, or are unknown; most of them first. */
  readonly failures: ReadonlyArray<FailureCount>
}

export class JobStore extends Context.Tag("@sendwright/core/storage/JobStore")<
  JobStore,
  {
    /** The record of a key; null when the key is free. */
    readonly findByIdempotencyKey: (query: {
      readonly publicKey: string
      readonly key: string
    }) => Effect.Effect<IdempotencyRecord | null, StorageError>

    /**
     * Records the send and everything that follows from it in one commit, or nothing. The order of decisions:
     * the key (replay or conflict), the quota, the minimum wait. Of parallel sends with one key exactly one is
     * accepted; parallel sends over a quota accept exactly the quota.
     *
     * With `isEmbedded` only a send of more than a whole day's quota is refused, and none starts a minimum wait.
     */
    readonly accept: (command: AcceptSend) => Effect.Effect<AcceptResult, StorageError>

    /**
     * Whether an exchange that is asked for while an accept waits for its commit comes into the same one, behind it. The
     * dispatcher is woken before that then, and its claim costs no commit of its own.
     */
    readonly commitsInGroups: boolean
    /** Whether another process may accept into this store, of which nobody here is told. */
    readonly hasOtherWriters: boolean

    /**
     * Stores the outcomes of one batch and claims the next, in one commit.
     *
     * Settling updates recipients, counts, the job's status and events, and counts as settled only what is still
     * in flight under its fence. What settlements bring of people is applied as `InboundStore.receive` does, in this
     * commit, however late the outcome itself comes. Claiming takes due recipients (`nextAt` not later than `now`) of dispatchable jobs
     * of connected sessions, at most `limit` in all: a part for each session in
     * turn, so that none waits for another's backlog (what one leaves is the next one's), within its pace, and
     * within a session by the time they are due. Each is `sending` then and its attempt counted. A job whose
     * template is not approved pauses instead. Of a store that is held after a restore nothing is claimed.
     *
     * One claim looks at some hundred sessions at most. Whoever is given nothing asks `nextDue` whether others are
     * ready; the next claim begins with those.
     *
     * `news`: what the process found of platforms is written before the outcomes, so that nobody is due before the outage is
     * there that he waits for. From its beginning on (`session.unavailable`; its session's jobs pause, `platform_unavailable`)
     * a claim takes one recipient of the session when a probe is due, and moves the time of the next probe on in its commit
     * (`domain/session/Circuit`). With its end (`session.available`) what was paused for it goes on. `turned`: the sessions of
     * which this commit began or ended an outage. `unheard`: those of which nothing was stored, as of what is postponed.
     *
     * A suspect is the only one of its session. One that the claim's `care` does not let it take is put off.
     *
     * `postponed`: the outcomes that were not stored, since somebody else has the session's jobs, or the account's people,
     * locked for longer than a moment. All others are, so none waits for another's transaction.
     *
     * `unreadable`: due jobs whose contents cannot be read. Each is put off for {@link unreadableMs}, and costs no other its
     * claim.
     */
    readonly settleAndClaim: (command: {
      readonly now: Instant
      readonly settlements: ReadonlyArray<Settlement>
      readonly news?: ReadonlyArray<News>
      readonly claim: Claim | null
    }) => Effect.Effect<
      {
        readonly settled: number
        readonly ends: Endings
        readonly postponed: ReadonlyArray<Settlement>
        readonly turned: ReadonlyArray<string>
        readonly unheard: ReadonlyArray<string>
        readonly claimed: ReadonlyArray<DispatchedJob>
        readonly unreadable: ReadonlyArray<UnreadableJob>
      },
      StorageError
    >

    /**
     * Says that workers live. Whoever may have claimed recipients or deliveries says so every few seconds, with another
     * count. Those that have ended are forgotten; one that still holds something is known as long as it does.
     */
    readonly heartbeat: (command: WorkerHeartbeat) => Effect.Effect<void, StorageError>

    /** The workers that have claimed recipients or deliveries, or have said that they live. */
    readonly workers: Effect.Effect<ReadonlyArray<KnownWorker>, StorageError>

    /**
     * All that waits, in numbers. It costs what it reads, which is bounded.
     *
     * @param query.most how many jobs are read, at most, of those that nobody has touched and of the others
     */
    readonly backlog: (query: {
      readonly most: number
      readonly now: Instant
    }) => Effect.Effect<Backlog, StorageError>

    /** Recipients who wait for their time or for hours, of the next jobs behind `after`; `next` is where others follow. */
    readonly starts: (query: {
      readonly now: Instant
      readonly reference?: string | undefined
      readonly after: number
    }) => Effect.Effect<{ readonly parts: ReadonlyArray<Part>; readonly next: number | null }, StorageError>

    /** The workers that have said what they are, the oldest first. One that stopped as it should has been forgotten. */
    readonly living: Effect.Effect<ReadonlyArray<LivingWorker>, StorageError>

    /** Returns once this process has counted something that is not written. */
    readonly counted: Effect.Effect<void>

    /**
     * Adds what this process has counted (`domain/job/Tally`) since the last time to the rows of minutes, and forgets those that
     * are too old. What cannot be written is written with the next.
     */
    readonly saveTallies: (command: { readonly now: Instant }) => Effect.Effect<void, StorageError>

    /**
     * The outcomes of recipients by minute, from one on and before another: those that this process has counted, and those that
     * others have told of the last minutes. No more than `most` numbers that are written, those of the newest minutes.
     */
    readonly tallies: (query: {
      readonly from: Instant
      readonly to: Instant
      readonly most: number
    }) => Effect.Effect<ReadonlyArray<Tally>, StorageError>

    /** Jobs whose recipients are partly unknown, that have not ended or did so since a time: `most` of each at most. */
    readonly unknowns: (query: {
      readonly since: Instant
      readonly most: number
    }) => Effect.Effect<Unknowns, StorageError>

    /** The attempts of a recipient that were not its last, in their order. */
    readonly earlierAttempts: (query: {
      readonly jobId: string
      readonly index: number
    }) => Effect.Effect<ReadonlyArray<EarlierAttempt>, StorageError>

    /**
     * All that rows tell of a message, in the bounds of `Timeline.most`; null where there is none, or it is not of the API key.
     * A timeline costs what it answers, and a look at what the account told at the message's times.
     */
    readonly timeline: (query: {
      readonly jobId: string
      readonly index: number
      /** Only of this API key. */
      readonly publicKey?: string | undefined
      readonly now: Instant
    }) => Effect.Effect<Timeline.Rows | null, StorageError>

    /**
     * Writes down who was sent what, for {@link search}: one step, that takes no longer than a commit does. Answers whether
     * there is more to do at once.
     */
    readonly writeSegments: Effect.Effect<boolean, StorageError>

    /**
     * The jobs and recipients that the texts name, the newest first. Of a person it costs a jump for each 100,000 recipients
     * that there are, and a look at those that came since they were written down last; of all else a jump. A page is only
     * short where nothing else is left to find.
     */
    readonly search: (query: SearchJobs) => Effect.Effect<Paged<FoundJob>, StorageError>

    /** When a process that dispatches said last that it lives; null when none ever did. */
    readonly dispatchesAt: Effect.Effect<Instant | null, StorageError>

    /**
     * Makes due what a clock that was ahead put off: jobs that are due later than now and were written later than now.
     * For a process that starts, and for one whose clock was set back (docs/adr/0021). Answers how many jobs; there may be
     * more until it answers 0. `now` is asked within the commit: what was written while that waited for its turn is not ahead.
     */
    readonly makeDue: (command: { readonly now: () => Instant }) => Effect.Effect<number, StorageError>

    /**
     * Takes back the recipients that a dead worker left in flight, as `Transitions.rescue` says, and forgets the worker;
     * its late outcomes change nothing. Answers how many recipients were rescued. While the store is held after a restore
     * it does nothing: what a backup has in flight was open before.
     *
     * `beside`: other workers that died with it, being of one process. Their recipients are taken back in the same commit.
     *
     * `beats`: the last counts by which they are taken for dead. Whoever has another one by now lives, and keeps what it has;
     * a beat that comes meanwhile waits for this commit.
     */
    readonly rescue: (command: {
      readonly worker: string
      readonly beside?: ReadonlyArray<string>
      readonly beats?: ReadonlyMap<string, number>
      readonly now: Instant
      /** The providers whose sender deduplicates or looks up. */
      readonly recoverable: ReadonlyArray<Provider>
      /** How long a suspect waits after each death (`Retry.suspectWaits`). */
      readonly suspectWaits?: ReadonlyArray<number>
    }) => Effect.Effect<number, StorageError>

    /**
     * Takes back the recipients that a worker has in flight, of whom none was attempted: they are due again, at no cost of an
     * attempt, and no death is counted. The worker is forgotten. For a process whose claim was stored and not answered.
     * Answers how many recipients were rescued.
     */
    readonly giveBack: (command: {
      readonly worker: string
      readonly now: Instant
    }) => Effect.Effect<number, StorageError>

    /**
     * Applies reports of a session's messages by rank, each with its event; unknown ids are answered back. Those that
     * have only the platform's id are parked: our own commit, which brings it, may be still to come. Who is named otherwise
     * than they were asked for is answered however often it is told.
     */
    readonly receive: (command: {
      readonly now: Instant
      /** Absent: whatever session; then nothing is parked. */
      readonly sessionId?: string
      readonly reports: ReadonlyArray<Report>
    }) => Effect.Effect<ReportsApplied, StorageError>

    /**
     * Applies the parked reports whose message is known now. Forgets those of a day ago and, of a session that has more
     * than {@link maximumEarlyReports}, the oldest; answers how many of these, by session.
     */
    readonly applyEarlyReports: (command: {
      readonly now: Instant
    }) => Effect.Effect<EarlyReportsApplied, StorageError>

    /** The numbers that the session's messages were sent to, by the platform's ids of these; unknown ids are left out. */
    readonly sentTo: (query: {
      readonly sessionId: string
      readonly providerIds: ReadonlyArray<string>
    }) => Effect.Effect<ReadonlyMap<string, string>, StorageError>

    readonly find: (jobId: string) => Effect.Effect<Job | null, StorageError>

    /**
     * Newest first. A page costs what it shows, whatever others have sent, and is never empty while something is left to find.
     */
    readonly list: (query: ListJobs) => Effect.Effect<Paged<Job>, StorageError>

    /** How many a list has, by one look at some thousands of jobs: {@link Page.mostCounted} at most. */
    readonly count: (query: Omit<ListJobs, "page" | "reads">) => Effect.Effect<Counted, StorageError>

    /** The jobs that were accepted between two times, newest first. It looks at some thousands at most for a filter. */
    readonly acceptedBetween: (query: AcceptedQuery) => Effect.Effect<Looked<Job>, StorageError>

    /** Details of jobs that the jobs themselves do not have, by the jobs' ids. */
    readonly facts: (
      jobs: ReadonlyArray<Pick<Job, "counts" | "id">>
    ) => Effect.Effect<ReadonlyMap<string, JobDetails>, StorageError>

    /** Null where the account has no such job. No more than some thousands of jobs are summed. */
    readonly sum: (query: {
      readonly accountId: string
      readonly reference: string
    }) => Effect.Effect<ReferenceSum | null, StorageError>

    /** In their order; the position is the index. */
    readonly results: (query: {
      readonly jobId: string
      readonly status?: RecipientStatus | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<RecipientResult>, StorageError>

    /**
     * Recipients of jobs, those of each that are alike together, by the jobs' ids.
     *
     * @param jobs with the category that each was sent in: what was billed in another one has its phone
     */
    readonly charges: (
      jobs: ReadonlyArray<{ readonly id: string; readonly category: string | null }>
    ) => Effect.Effect<ReadonlyMap<string, ReadonlyArray<Charge>>, StorageError>

    /** Of all recipients that were delivered, in their order. */
    readonly delivered: (jobId: string) => Effect.Effect<ReadonlyArray<Delivered>, StorageError>

    /** Cancels what is not in flight. Null when there is no such job. */
    readonly cancel: (command: {
      readonly jobId: string
      readonly now: Instant
    }) => Effect.Effect<CancelResult | null, StorageError>

    /**
     * Holds a job for its client (`pause_reason: client`) until that lets it go on. What is in flight finishes. Null when there is
     * no such job.
     */
    readonly hold: (command: {
      readonly jobId: string
      readonly isHeld: boolean
      readonly now: Instant
    }) => Effect.Effect<HoldResult | null, StorageError>

    /**
     * Gives a direct message's due recipient to a worker, who attempts what goes to them now; null where it is not due, or somebody
     * else has it.
     */
    readonly claimMessage: (command: {
      readonly jobId: string
      readonly worker: string
      readonly now: Instant
    }) => Effect.Effect<ClaimedJob | null, StorageError>

    /** Changes when a job's recipients may be sent, in one commit. Null when there is no such job. */
    readonly retime: (command: {
      readonly jobId: string
      readonly change: Retiming
      readonly now: Instant
    }) => Effect.Effect<RetimeResult | null, StorageError>

    /**
     * Ends recipients whose expiry has come, whatever keeps their jobs: paused ones, and those of a session that may not send.
     * One step is of some jobs; answers of how many, 0 where there are none. While the store is held after a restore it does nothing.
     */
    readonly expire: (command: { readonly now: Instant }) => Effect.Effect<number, StorageError>

    /** When {@link expire} has something to do next; null when nothing expires. */
    readonly nextExpiry: Effect.Effect<Instant | null, StorageError>

    /** Fails what is not in flight, for one cause that stops the whole job. */
    readonly abandon: (command: {
      /** Only recipients that have not changed since this time; all where it is absent. */
      readonly openSince?: Instant | undefined
      readonly jobId: string
      readonly failure: Failure
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>

    /**
     * Queues the chosen recipients again, with no attempts counted, and opens an ended job for them. Null when there is
     * no such job.
     */
    readonly retry: (command: {
      readonly jobId: string
      readonly now: Instant
      readonly selection: RetrySelection.RetrySelection
      /** Counts only. */
      readonly dryRun?: boolean
    }) => Effect.Effect<RetryResult | null, StorageError>

    /**
     * Counts messages that are about to be attempted against the account's cap of their purpose; answers the places of those that
     * are one too many, whoever attempts others meanwhile.
     */
    readonly overCap: (query: CapQuery) => Effect.Effect<ReadonlySet<number>, StorageError>

    /** Units accepted by the account on a UTC day (`YYYY-MM-DD`). */
    readonly usage: (query: {
      readonly accountId: string
      readonly day: string
    }) => Effect.Effect<{ readonly template: number; readonly direct: number }, StorageError>

    /**
     * When the next recipient may be claimed, by its time and its session's pace; null when nothing waits.
     *
     * @param admits whether a session gets something now; each does where it is left out
     */
    readonly nextDue: (
      now: Instant,
      admits?: (sessionId: string) => boolean
    ) => Effect.Effect<Instant | null, StorageError>
  }
>() {}

export interface CapQuery {
  readonly accountId: string
  readonly purpose: Category
  readonly messages: ReadonlyArray<{
    readonly message: string
    readonly address: Address
    /** The begin of the first of so many of the person's days. */
    readonly since: (days: number) => Instant
    readonly isAgain: boolean
  }>
  readonly now: Instant
}

/** The verbs that tell later what became of sends. */
export type PastSends = Pick<
  Context.Tag.Service<JobStore>,
  | "counted"
  | "earlierAttempts"
  | "living"
  | "saveTallies"
  | "search"
  | "tallies"
  | "timeline"
  | "unknowns"
  | "writeSegments"
>
