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

/** The types by which one kind of database is spoken to. */
export interface Driver {
  /** An operation's request to the database's driver: a SQL statement, say. Memory has none. */
  readonly request: unknown
  /** The driver's answer to a request. */
  readonly reply: unknown
}

/** The types that one kind of database brings. */
export interface Backend extends Driver {
  /** A job as its rows hold it. The rules hand it back as they got it. */
  readonly job: JobState
  /** The facts of an acceptance, with what the insert needs of the same read. The rules hand them back to it. */
  readonly facts: AcceptanceFacts
}

/**
 * A part of one commit. It asks the driver and decides on the answers, and can do nothing else, so a driver may run it
 * in one synchronous step, over a connection, or again after a collision.
 */
export type Tx<A, B extends Driver> = Generator<B["request"], A, B["reply"]>

/** What is kept of a process's word on each of its workers. */
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

/** The facts that an acceptance is decided by. */
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
}

/** A template as it is now, whatever its content was when a job was accepted. */
export type TemplateNow = Pick<Template, "category" | "status">

/** A job that is due, with its template as it is now; null for a direct message. */
export interface DueJob<B extends Backend> {
  readonly job: B["job"]
  readonly template: TemplateNow | null
  readonly dueAt: Instant
  /** The job's own: one whose content cannot be read is only put off. */
  readonly content: Job["content"]
  /** As it is behind the lock: one that was reconfigured meanwhile sends by what it has now. */
  readonly session: Outbound
  /** Its account's. */
  readonly caps: Caps
}

/** Recipients of a job that are claimed, and those of the same job that are put off meanwhile. */
export interface ClaimStep<B extends Backend> {
  readonly step: JobChange<B["job"], Change>
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

export interface JobRows<B extends Backend> {
  /**
   * Sessions with a job that waits, due or not, in the circle of their ids: from behind `after` to `until` and no
   * further, round the end of all ids unless `until` is behind `after`; the first `limit` of them. None while the store is
   * held after a restore (`RestoreStore`). Takes no lock.
   */
  readonly waitingSessions: (query: {
    readonly after: string
    readonly until: string
    readonly limit: number
  }) => Tx<ReadonlyArray<WaitingSession>, B>

  /** True while the store is held after a restore. */
  readonly isQuarantined: () => Tx<boolean, B>

  /** The session's pacing; `Pacing.unpaced` when there is no such session. Takes no lock. */
  readonly pacing: (sessionId: string) => Tx<Pacing, B>

  /**
   * Locks the session's pace and the times of its phones until the commit, those too that are not there yet. Waits for
   * other commits.
   */
  readonly lockPacing: (sessionId: string) => Tx<void, B>
  /**
   * Locks the same without waiting, and answers false when another commit has it locked. Claims lock one session after
   * the other in circles that begin anywhere, so two claims that waited would wait for each other.
   */
  readonly tryLockPacing: (sessionId: string) => Tx<boolean, B>

  /**
   * Locks the session without waiting, and answers what may stand against a message; null when another commit has the session
   * locked, and when there is none. Whoever changes a session locks it first and its jobs then, so a claim, which has jobs
   * locked already, must not wait.
   */
  readonly tryLockStanding: (sessionId: string) => Tx<(Standing & Pick<Session, "failing">) | null, B>
  readonly saveOutage: (sessionId: string, outage: Outage) => Tx<void, B>
  readonly saveFailing: (sessionId: string, failing: Failing) => Tx<void, B>

  /** The state of the session's pace (`Pacing.grant`), which is locked; null before its first message. */
  readonly arrival: (sessionId: string) => Tx<number | null, B>
  readonly saveArrival: (sessionId: string, arrival: number) => Tx<void, B>

  /** As `InboundStore.others`. Takes no lock. */
  readonly othersOf: (accountId: string, keys: ReadonlyArray<Key>) => Tx<Others, B>
  /**
   * The times when the phones may have their next message, as far as they lie behind `now` and not behind `latest`. The
   * session's other times hold nobody up (`Pacing.pairedUntil`) and may be forgotten. The session's pacing is locked.
   */
  readonly phoneTimes: (query: {
    readonly sessionId: string
    readonly phones: ReadonlyArray<string>
    readonly now: Instant
    readonly latest: Instant
  }) => Tx<Map<string, Instant>, B>
  /** Writes the time of each phone, over one that is there. Each is given once; the session's pacing is locked. */
  readonly savePhones: (sessionId: string, phones: ReadonlyArray<string>, nextAt: Instant) => Tx<void, B>

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
  }) => Tx<ReadonlyArray<DueJob<B>>, B>

  /**
   * Locks the template of a job without waiting, and answers its status as it is; null when another commit has it locked.
   * An import changes a template first and its paused jobs then, so a claim, which has jobs locked already, must not wait.
   */
  readonly tryLockTemplate: (job: B["job"]) => Tx<Template["status"] | null, B>

  /**
   * The recipients of locked jobs that are due (`Transitions.isDue`), by the job's id, each job's by index: of all in the
   * order of the jobs the first `limit`. A job without any may be left out.
   */
  readonly dueRecipients: (query: {
    readonly jobs: ReadonlyArray<B["job"]>
    readonly now: Instant
    readonly limit: number
  }) => Tx<ReadonlyMap<string, ReadonlyArray<RecipientResult>>, B>

  /**
   * Writes claims of a worker and other steps of locked jobs of one session and priority: recipients, the jobs with their next due time
   * (`Transitions.nextDue`) and the events. Answers the fence of each claim, which no other claim of its recipients has.
   */
  readonly saveClaims: (
    worker: string,
    claims: ReadonlyArray<ClaimStep<B>>,
    others: ReadonlyArray<JobChange<B["job"]>>,
    now: Instant
  ) => Tx<ReadonlyArray<number>, B>

  /** Writes the next due time of locked jobs of which nothing is claimed, and nothing else. */
  readonly putOff: (jobs: ReadonlyArray<B["job"]>, until: Instant) => Tx<void, B>

  /**
   * Reads the facts. But in the embedder's transaction the account's acceptances are locked until the commit: before the
   * verb, or by this operation.
   */
  readonly acceptanceFacts: (query: AcceptanceQuery) => Tx<B["facts"], B>

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
    facts: B["facts"]
  ) => Tx<boolean, B>

  /** The job that this commit has inserted, as its rows hold it. */
  readonly inserted: (job: Job) => Tx<B["job"], B>

  /** Locks and answers the jobs that there are, by their ids, in that order. Waits for other commits. */
  readonly lockJobs: (ids: ReadonlyArray<string>) => Tx<ReadonlyArray<B["job"]>, B>
  /** The same, but for jobs that another commit keeps locked: it waits for a moment, in all, and not for each of them. */
  readonly lockJobsInTime: (ids: ReadonlyArray<string>) => Tx<Locked<B["job"]>, B>

  /** The ids of jobs of which some may have expired, the first `limit` by that time. Takes no lock. */
  readonly expiringJobs: (now: Instant, limit: number) => Tx<ReadonlyArray<string>, B>

  /** Finds recipients of locked jobs by their places; undefined where there is none. */
  readonly recipientsAt: (
    wanted: ReadonlyArray<{ readonly job: B["job"]; readonly places: ReadonlyArray<number> }>
  ) => Tx<(job: B["job"], place: number) => FencedRecipient | undefined, B>

  /**
   * Recipients of a job, by index. `open`: queued or sending. `lost`: failed or unknown. `again`: those that an operator had sent
   * again, and that are not lost.
   */
  readonly recipientsOf: (
    job: B["job"],
    which: "again" | "lost" | "open"
  ) => Tx<ReadonlyArray<FencedRecipient>, B>

  /** Writes steps of locked jobs as {@link saveClaims} does. */
  readonly saveJobs: (steps: ReadonlyArray<JobChange<B["job"]>>, now: Instant) => Tx<void, B>

  /** Keeps the answer of a direct message with its Idempotency-Key. The job is locked. */
  readonly saveAnswer: (job: B["job"], answer: string) => Tx<void, B>

  /**
   * Locks and answers the jobs of which the workers have claimed recipients, by their ids, in that order, with these
   * recipients and their sessions' providers; but for jobs that another commit keeps locked, as {@link lockJobsInTime}. The
   * workers are known as long as they have those.
   */
  readonly lockJobsOf: (workers: ReadonlyArray<string>) => Tx<
    ReadonlyArray<{
      readonly job: B["job"]
      readonly provider: Provider | null
      readonly awaited: ReadonlyArray<FencedRecipient>
    }>,
    B
  >
  /**
   * Forgets that the worker said that it lives, and lets nobody say so for it until the commit. Answers false, and does
   * nothing, when its last count is another one than `beats`, where that is told; 0 is the count of one that said nothing.
   */
  readonly forgetWorker: (worker: string, beats: number | undefined) => Tx<boolean, B>
  /** Writes the word of a process on a worker. */
  readonly saveWorker: (worker: string, said: WorkerWord) => Tx<void, B>
  /** What the worker's process said last of itself; null where it never did. Takes no lock. */
  readonly saidOf: (worker: string) => Tx<SaidProcess | null, B>

  /** The newest acts of operators on a job. Takes no lock. */
  readonly actsOn: (jobId: string) => Tx<ReadonlyArray<Audit.Entry>, B>

  /** Keeps what no other row tells. */
  readonly note: (happenings: ReadonlyArray<Happening>) => Tx<void, B>

  /** The session's messages by the platform's ids; of several with one id the first. Takes no lock. */
  readonly findByProviderIds: (
    sessionId: string,
    providerIds: ReadonlyArray<string>
  ) => Tx<ReadonlyMap<string, RecipientPlace>, B>

  readonly saveEarlyReports: (
    sessionId: string,
    reports: ReadonlyArray<EarlyReport>,
    now: Instant
  ) => Tx<void, B>
  /** Removes and answers kept reports, some hundreds at most, whose message is known by now, the oldest first. */
  readonly removeMatchedReports: () => Tx<
    ReadonlyArray<{ readonly sessionId: string; readonly report: Report }>,
    B
  >
  /**
   * Removes the reports that were kept at `until` or before and, of each session's, all but the newest `most`. Answers
   * how many of these, by session.
   */
  readonly forgetEarlyReports: (until: Instant, most: number) => Tx<ReadonlyMap<string, number>, B>

  /**
   * Lets nobody else change what is known of the account's people until the commit. Answers false where another commit does
   * so for longer than a moment.
   */
  readonly lockPeopleInTime: (accountId: string) => Tx<boolean, B>

  /** Applies what came of people, as `InboundStore.receive` does. Their account is locked. */
  readonly applyInbound: (inbound: Inbound, now: Instant) => Tx<void, B>
}
