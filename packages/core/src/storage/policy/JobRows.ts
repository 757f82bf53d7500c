/**
 * The operations that a database supplies for the rules of jobs: plain reads and writes, none with a decision of its own.
 * The rules are written once, in this folder, over these operations; SQLite and PostgreSQL implement them
 * (docs/adr/0025).
 */

import type * as Audit from "../../domain/Audit.ts"
import type { Caps } from "../../domain/account/Caps.ts"
import type { Happening } from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { WaitingSession } from "../../domain/job/Claiming.ts"
import type { Content, Job, RecipientResult } from "../../domain/job/Job.ts"
import type { Priority } from "../../domain/job/Priority.ts"
import type { Change } from "../../domain/job/Transitions.ts"
import type { Key, Others } from "../../domain/Person.ts"
import type { Outage } from "../../domain/session/Circuit.ts"
import type { Pacing } from "../../domain/session/Pacing.ts"
import type { Failing } from "../../domain/session/SameFailure.ts"
import type { Outbound, Provider, Session, Standing } from "../../domain/session/Session.ts"
import type { Template } from "../../domain/template/Template.ts"
import type { Inbound } from "../InboundStore.ts"
import type { FencedRecipient, JobChange, JobState, RecipientChange } from "../JobSteps.ts"
import type { AcceptSend, IdempotencyRecord, Report, SaidProcess, WorkerHeartbeat } from "../JobStore.ts"
import type { Program } from "../Program.ts"

/** An open claim, as its row tells it. */
export interface OpenClaim {
  readonly fence: number
  readonly open: number
  /** True once a recipient of it was written without its outcome, or by another than who claimed it. */
  readonly isOvertaken: boolean
}

/** A job, its number, and where its state is written. */
export interface StoredJob extends JobState {
  readonly seq: number
  /** True when it has a row in `sendwright_progress`. */
  readonly hasRow: boolean
  /** When it has work next; null while nothing of it waits. */
  readonly nextAt: Instant | null
  /** Whether a claim might include it when it was read, and when it was written last before. */
  readonly wasClaimable: boolean
  readonly writtenAt: Instant
  /** True when it has no place in its session's order. */
  readonly isApart: boolean
  /** The key of the last recipient of it that open claims have by their ranges; null when they have none. */
  readonly claimedTo: number | null
  /** The open claims of its session by their fences, where they were read with it. */
  readonly claims: ReadonlyMap<number, OpenClaim>
  /** Of a job that waits in its session's order: the one before it there, null of the first. Undefined of others. */
  readonly behind: number | null | undefined
}

/** The part of a process's word that is kept for each of its workers. */
export type WorkerWord = Pick<WorkerHeartbeat, "beats" | "dispatchesAt" | "process">

/** Names the facts of an acceptance. */
export interface AcceptanceQuery {
  readonly publicKey: string
  /** null = the request has no Idempotency-Key. */
  readonly key: string | null
  /** True in the embedder's transaction. Then nothing is locked but the key, for which only its repetitions wait. */
  readonly isEmbedded: boolean
  readonly accountId: string
  readonly sessionId: string
  readonly priority: Priority
  /** Within the UTC day of which the usage counts. */
  readonly now: Instant
  readonly content: Content
  /** False where no minimum wait asks when the key's last send was accepted. */
  readonly asksLast: boolean
}

/** The facts that an acceptance is decided by, and what the insert needs of the same read. */
export interface AcceptanceFacts {
  /** The send that has the Idempotency-Key already; null when none has. */
  readonly record: IdempotencyRecord | null
  /**
   * True when an open transaction of an embedder may have the key: to write it would wait for that, with the account locked.
   */
  readonly isKeyLocked: boolean
  /** Units of the content's kind that the account sent on the day of `now`. */
  readonly usedToday: number
  readonly lastAcceptedAt: Instant | null
  /** True while the store is held after a restore. */
  readonly isQuarantined: boolean
  /** The last `dueAt` with which a job of the session and the priority was inserted; null when none was. */
  readonly lastDueAt: Instant | null
  /** The units of the day that the newest job carries, without those of embedded sends. */
  readonly dayTotal: number
  /** The number of the send's content; null when that is new. */
  readonly snapshot: number | null
  /** True when it is noted that the session may have jobs in its order. */
  readonly isBusy: boolean
}

/** A template as it is now, whatever its content was when a job was accepted. */
export type TemplateNow = Pick<Template, "category" | "status">

/** A job that is due, with its template as it is now; null for a direct message. */
export interface DueJob {
  readonly job: StoredJob
  readonly template: TemplateNow | null
  readonly dueAt: Instant
  /** The job's own: one whose content cannot be read is only put off. */
  readonly content: Job["content"]
  /** As it is behind the lock: one that was reconfigured meanwhile sends by what it has now. */
  readonly session: Outbound
  /** The caps of the job's account. */
  readonly caps: Caps
}

/** Recipients of a job that are claimed, and those of the same job that are put off meanwhile. */
export interface ClaimStep {
  readonly step: JobChange<StoredJob, Change>
  readonly deferred: ReadonlyArray<RecipientChange>
}

/** A recipient's place. */
export interface RecipientPlace {
  readonly jobId: string
  readonly index: number
}

/** A report by the platform's own id of a message. */
export interface EarlyReport {
  readonly providerId: string
  readonly report: Report
}

/** Jobs that were locked, by their ids, in that order. */
export interface Locked<J> {
  readonly jobs: ReadonlyArray<J>
  /** The ids of those that another commit has. */
  readonly busy: ReadonlyArray<string>
}

export interface JobRows {
  /**
   * Sessions with a job that waits, due or not, in the circle of their ids: from behind `after` to `until` and no
   * further, round the end of all ids unless `until` is behind `after`; the first `limit` of them. None while the store is
   * held after a restore (`RestoreStore`). Takes no lock.
   */
  readonly waitingSessions: (query: {
    readonly after: string
    readonly until: string
    readonly limit: number
  }) => Program<ReadonlyArray<WaitingSession>>

  /** True while the store is held after a restore. */
  readonly isQuarantined: () => Program<boolean>

  /** The session's pacing; `Pacing.unpaced` when there is no such session. Takes no lock. */
  readonly pacing: (sessionId: string) => Program<Pacing>

  /**
   * Locks the session's pace and the times of its phones until the commit, those too that are not there yet. Waits for
   * other commits.
   */
  readonly lockPacing: (sessionId: string) => Program<void>
  /**
   * Locks the same without waiting, and answers false when another commit has it locked. Claims lock one session after
   * the other in circles that begin anywhere, so two claims that waited would wait for each other.
   */
  readonly tryLockPacing: (sessionId: string) => Program<boolean>

  /**
   * Locks the session without waiting, and answers what may stand against a message; null when another commit has the session
   * locked, and when there is none. Whoever changes a session locks it first and its jobs then, so a claim, which has jobs
   * locked already, must not wait.
   */
  readonly tryLockStanding: (sessionId: string) => Program<(Standing & Pick<Session, "failing">) | null>
  readonly saveOutage: (sessionId: string, outage: Outage) => Program<void>
  readonly saveFailing: (sessionId: string, failing: Failing) => Program<void>

  /** The state of the session's pace (`Pacing.grant`), which is locked; null before its first message. */
  readonly arrival: (sessionId: string) => Program<number | null>
  readonly saveArrival: (sessionId: string, arrival: number) => Program<void>

  /** As `InboundStore.others`. Takes no lock. */
  readonly othersOf: (accountId: string, keys: ReadonlyArray<Key>) => Program<Others>
  /**
   * The times when the phones may have their next message, as far as they lie behind `now` and not behind `latest`. The
   * session's other times hold nobody up (`Pacing.pairedUntil`) and may be forgotten. The session's pacing is locked.
   */
  readonly phoneTimes: (query: {
    readonly sessionId: string
    readonly phones: ReadonlyArray<string>
    readonly now: Instant
    readonly latest: Instant
  }) => Program<Map<string, Instant>>
  /** Writes the time of each phone, over one that is there. Each is given once; the session's pacing is locked. */
  readonly savePhones: (sessionId: string, phones: ReadonlyArray<string>, nextAt: Instant) => Program<void>

  /**
   * Locks the session's jobs and answers the first of a priority that are due, by their next due time and then by age. Answers none when
   * another commit has them locked; but where `waits` is true it may wait for that a moment, half a second at most: this
   * commit has locked no jobs yet.
   */
  readonly lockDueJobs: (query: {
    readonly sessionId: string
    readonly priority: Priority
    readonly now: Instant
    readonly limit: number
    readonly waits: boolean
  }) => Program<ReadonlyArray<DueJob>>

  /**
   * Locks the template of a job without waiting, and answers its status as it is; null when another commit has it locked.
   * An import changes a template first and its paused jobs then, so a claim, which has jobs locked already, must not wait.
   */
  readonly tryLockTemplate: (job: StoredJob) => Program<Template["status"] | null>

  /**
   * The recipients of locked jobs that are due (`Transitions.isDue`), by the job's id, each job's by index: of all in the
   * order of the jobs the first `limit`. A job without any may be left out.
   */
  readonly dueRecipients: (query: {
    readonly jobs: ReadonlyArray<StoredJob>
    readonly now: Instant
    readonly limit: number
  }) => Program<ReadonlyMap<string, ReadonlyArray<RecipientResult>>>

  /**
   * Writes claims of a worker and other steps of locked jobs of one session and priority: recipients, the jobs with their next due time
   * (`Transitions.nextDue`) and the events. Answers the fence of each claim, which no other claim of its recipients has.
   */
  readonly saveClaims: (
    worker: string,
    claims: ReadonlyArray<ClaimStep>,
    others: ReadonlyArray<JobChange<StoredJob>>,
    now: Instant
  ) => Program<ReadonlyArray<number>>

  /** Writes the next due time of locked jobs of which nothing is claimed, and nothing else. */
  readonly putOff: (jobs: ReadonlyArray<StoredJob>, until: Instant) => Program<void>

  /**
   * Reads the facts. But in the embedder's transaction the account's acceptances are locked until the commit: before the
   * verb, or by this operation.
   */
  readonly acceptanceFacts: (query: AcceptanceQuery) => Program<AcceptanceFacts>

  /**
   * Writes the job, its recipients (`Job.newRecipient`) and its Idempotency-Key, so that `acceptanceFacts` finds its
   * units in the day's usage and, but with `isEmbedded`, its time as the last acceptance of its key. Answers false when another has the key meanwhile, and has written nothing
   * then; that can only be where the account is not locked.
   *
   * @param dueAt when it is due first; no earlier than any that its session and priority had before. Null when it has no place in that
   * order: then it is due now
   */
  readonly insertJob: (
    command: AcceptSend,
    job: Job,
    dueAt: Instant | null,
    facts: AcceptanceFacts
  ) => Program<boolean>

  /** The job that this commit has inserted, as its rows hold it. */
  readonly inserted: (job: Job) => Program<StoredJob>

  /** Locks and answers the jobs that there are, by their ids, in that order. Waits for other commits. */
  readonly lockJobs: (ids: ReadonlyArray<string>) => Program<ReadonlyArray<StoredJob>>
  /** The same, but for jobs that another commit keeps locked: it waits for a moment, in all, and not for each of them. */
  readonly lockJobsInTime: (ids: ReadonlyArray<string>) => Program<Locked<StoredJob>>

  /** The job as it counts with others of its reference, where it does (`domain/job/StopWhen`). Takes no lock. */
  readonly withBeside: (job: Job) => Program<Job>
  /**
   * Locks the jobs of its reference that it counts with and that have not ended, itself too, without waiting for other commits: those
   * of sessions that these have locked are not answered.
   */
  readonly lockTogether: (job: Job) => Program<ReadonlyArray<StoredJob>>

  /** The ids of jobs of which some may have expired, the first `limit` by that time. Takes no lock. */
  readonly expiringJobs: (now: Instant, limit: number) => Program<ReadonlyArray<string>>

  /** Finds recipients of locked jobs by their places; undefined where there is none. */
  readonly recipientsAt: (
    wanted: ReadonlyArray<{ readonly job: StoredJob; readonly places: ReadonlyArray<number> }>
  ) => Program<(job: StoredJob, place: number) => FencedRecipient | undefined>

  /**
   * Recipients of a job, by index. `open`: queued or sending. `lost`: failed or unknown. `again`: those that an operator had sent
   * again, and that are not lost.
   */
  readonly recipientsOf: (
    job: StoredJob,
    which: "again" | "lost" | "open"
  ) => Program<ReadonlyArray<FencedRecipient>>

  /** Writes steps of locked jobs as {@link saveClaims} does. */
  readonly saveJobs: (steps: ReadonlyArray<JobChange<StoredJob>>, now: Instant) => Program<void>

  /** Keeps the answer of a direct message with its Idempotency-Key. The job is locked. */
  readonly saveAnswer: (job: StoredJob, answer: string) => Program<void>

  /**
   * Locks and answers the jobs of which the workers have claimed recipients, by their ids, in that order, with these
   * recipients and their sessions' providers; but for jobs that another commit keeps locked, as {@link lockJobsInTime}. The
   * workers are known as long as they have those.
   */
  readonly lockJobsOf: (workers: ReadonlyArray<string>) => Program<
    ReadonlyArray<{
      readonly job: StoredJob
      readonly provider: Provider | null
      readonly awaited: ReadonlyArray<FencedRecipient>
    }>
  >
  /**
   * Forgets that the worker said that it lives, and lets nobody say so for it until the commit. Answers false, and does
   * nothing, when its last count is another one than `beats`, where that is told; 0 is the count of one that said nothing.
   */
  readonly forgetWorker: (worker: string, beats: number | undefined) => Program<boolean>
  /** Writes the word of a process on a worker. */
  readonly saveWorker: (worker: string, said: WorkerWord) => Program<void>
  /** The last word of a worker's process on itself; null where the process never said one. Takes no lock. */
  readonly saidOf: (worker: string) => Program<SaidProcess | null>

  /** The newest acts of operators on a job. Takes no lock. */
  readonly actsOn: (jobId: string) => Program<ReadonlyArray<Audit.Entry>>

  /** Keeps what no other row tells. */
  readonly note: (happenings: ReadonlyArray<Happening>) => Program<void>

  /**
   * The session's messages by the platform's ids, or those of any session; of several with one id the first, and none where
   * they are of several sessions. Takes no lock.
   */
  readonly findByProviderIds: (
    sessionId: string | null,
    providerIds: ReadonlyArray<string>
  ) => Program<ReadonlyMap<string, RecipientPlace>>

  readonly saveEarlyReports: (
    sessionId: string,
    reports: ReadonlyArray<EarlyReport>,
    now: Instant
  ) => Program<void>
  /** Removes and answers kept reports, some hundreds at most, whose message is known by now, the oldest first. */
  readonly removeMatchedReports: () => Program<
    ReadonlyArray<{ readonly sessionId: string; readonly report: Report }>
  >
  /**
   * Removes the reports that were kept at `until` or before and, of each session's, all but the newest `most`. Answers
   * how many of these, by session.
   */
  readonly forgetEarlyReports: (until: Instant, most: number) => Program<ReadonlyMap<string, number>>

  /**
   * Lets nobody else change what is known of the account's people until the commit. Answers false where another commit does
   * so for longer than a moment.
   */
  readonly lockPeopleInTime: (accountId: string) => Program<boolean>

  /** Applies what came of people, as `InboundStore.receive` does. Their account is locked. */
  readonly applyInbound: (inbound: Inbound, now: Instant) => Program<void>
}
