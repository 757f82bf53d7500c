/**
 * Claims: sessions have their turns, each within its pace, and get their due recipients in batches. Written once for all
 * stores: the decisions are `domain/job/Claiming`, the reads and writes {@link JobRows}.
 *
 *     claim:        waitingSessions → serve each in turn, until the budget or the circle ends
 *     serve:        ready? → room → probe? → pace → claimOf, or probeOf
 *     claimOf:      claimQueue for each priority, the higher first, within its part
 *     claimQueue:   dueOf → choose → give, until the queue's part is full
 *     probeOf:      lockDueJobs → chooseProbe → give, until one may go
 */

import * as Address from "../../domain/Address.ts"
import type { Caps } from "../../domain/account/Caps.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Budget, DueJob, Turn, TurnOutcome, WaitingSession } from "../../domain/job/Claiming.ts"
import * as Claiming from "../../domain/job/Claiming.ts"
import type { Content, RecipientResult } from "../../domain/job/Job.ts"
import * as Jobs from "../../domain/job/Job.ts"
import * as Pace from "../../domain/job/Pace.ts"
import * as Priority from "../../domain/job/Priority.ts"
import * as StopWhen from "../../domain/job/StopWhen.ts"
import * as Transitions from "../../domain/job/Transitions.ts"
import type * as Person from "../../domain/Person.ts"
import * as Circuit from "../../domain/session/Circuit.ts"
import * as Pacing from "../../domain/session/Pacing.ts"
import * as SameFailure from "../../domain/session/SameFailure.ts"
import * as Session from "../../domain/session/Session.ts"
import type { Category } from "../../domain/template/Template.ts"
import type { JobChange, RecipientChange } from "../JobSteps.ts"
import * as JobSteps from "../JobSteps.ts"
import type { Claim, DispatchedJob, UnreadableJob } from "../JobStore.ts"
import { unreadableMs } from "../JobStore.ts"
import type { Program } from "../Program.ts"
import type { ClaimStep, DueJob as JobOf, JobRows, StoredJob } from "./JobRows.ts"

export interface Claims {
  /**
   * Gives due recipients to a worker, as `JobStore.settleAndClaim` says.
   *
   * @param holds whether this commit may have locked jobs already
   */
  readonly claim: (asked: Claim, now: Instant, holds: boolean) => Program<Claimed>
  /** Answers when the next recipient may be claimed, as `JobStore.nextDue` says. */
  readonly nextDue: (now: Instant, admits?: (sessionId: string) => boolean) => Program<Instant | null>
}

export interface Claimed {
  readonly claimed: ReadonlyArray<DispatchedJob>
  /** Jobs that were put off, since their contents cannot be read. */
  readonly unreadable: ReadonlyArray<UnreadableJob>
}

/** A session's turn in one claim. */
interface Place {
  readonly session: WaitingSession
  readonly worker: string
  readonly now: Instant
  readonly care: Claiming.Care
  /** True while the platform restricts its templates: their jobs are paused. The session is locked then. */
  readonly isRestricted?: boolean
  /** True until jobs of a session are locked: two claims that waited while they had some could wait for each other. */
  readonly first: { is: boolean }
  /** The unreadable jobs of the whole claim, to which this session's are added. */
  readonly unreadable: Array<UnreadableJob>
}

/** A due job with its due recipients. */
interface Due extends DueJob {
  readonly job: StoredJob
  readonly content: Content
  readonly session: Session.Outbound
  readonly caps: Caps
  readonly category: Category | null
  /** The status of the job's template as it is now; null of a direct message. */
  readonly status: string | null
  /** True when the platform takes no template of its session. */
  readonly isRestricted: boolean
}

/** A locked job that a claim may look at. */
interface ReadyJob extends JobOf {
  readonly content: Content
}

interface Served {
  readonly jobs: ReadonlyArray<DispatchedJob>
  readonly outcome: TurnOutcome
}

/** The share of a claim that one of a session's queues got. */
interface ServedQueue {
  readonly jobs: ReadonlyArray<DispatchedJob>
  /** True when it has no other that is due. */
  readonly areAll: boolean
  /** True when the session gets nothing more of this claim. */
  readonly isLast: boolean
}

/** Takes at most so many due recipients of the session whose turn it is. */
type ClaimRecipients = (place: Place, limit: number) => Program<Served>

const passed: Served = { jobs: [], outcome: "passed" }
const putOff: Served = { jobs: [], outcome: "putOff" }

/** At most so many of it may be claimed together. */
const openOf = ({ job: { job } }: JobOf, now: Instant): number =>
  Math.min(job.counts.queued + job.counts.sending, Pace.room(job, now), StopWhen.room(job, 0))

/** True of a job of which not all that is due may be claimed. */
const isLimited = ({ job: { job } }: JobOf): boolean => job.perMinute !== null || StopWhen.isAsked(job)

/** A job of which as many are in flight as may be is looked at again after so long, unless one of them ends before. */
const fullMs = Time.second

/** True of a job whose template may be sent, and whose reference does not stop it. */
const mayGo = ({ job: { job }, template }: JobOf): boolean =>
  (template === null || template.status === "approved") && !StopWhen.isStopped(job)

const isReady = (locked: JobOf): locked is ReadyJob => Jobs.isReadable(locked.content)

/** @param due those of its recipients that are */
const withDue = (locked: ReadyJob, due: Due["due"], isRestricted: boolean): Due => ({
  job: locked.job,
  content: locked.content,
  session: locked.session,
  caps: locked.caps,
  category: locked.template?.category ?? null,
  status: locked.template?.status ?? null,
  approved: mayGo(locked) && !isRestricted,
  isRestricted,
  due
})

/** True of a job whose template may be sent, and is not for the session's sake. */
const isRestrictedIn = ({ isRestricted = false }: Place, job: ReadyJob): boolean =>
  isRestricted && Jobs.goesAs(job.job.job) === "template" && mayGo(job)

/** A recipient that was put off, as it is written: it has a new time, and nobody awaits an outcome of it. */
const unclaimed = (after: RecipientResult): RecipientChange => ({
  before: after,
  after,
  fenceBefore: null,
  fence: null
})

const recipientsOf = (
  jobs: ReadonlyArray<DispatchedJob>
): ReadonlyArray<DispatchedJob["recipients"][number]> => jobs.flatMap(({ recipients }) => recipients)

const countOf = (jobs: ReadonlyArray<DispatchedJob>): number =>
  jobs.reduce((sum, { recipients }) => sum + recipients.length, 0)

/** One claim tells of so many jobs that nobody gets, and looks for others no longer. */
const reportedAtOnce = 100

/** The sessions that `nextDue` reads first; each further page is four times as long. */
const pageOfNextDue = 64

export const make = (rows: JobRows): Claims => {
  // Three hints of this process. A verb that is run again only moves them on, which no session suffers from.
  /** The session whose turn it was last. */
  let turn = Claiming.noSession
  /** Open recipients per job, as the last claim found them: a job that is locked and not claimed is kept from others. */
  let perJob = Number.POSITIVE_INFINITY
  /** What the lower queues of sessions are owed. */
  const shares = new Map<string, Priority.Owed>()

  /**
   * The session's first due jobs of a priority, but for those whose contents cannot be read: these are put
   * off and reported, and do not come again. None when nothing else is due. `areAll`: no other that was due when
   * the session was read can be locked.
   */
  function* lockDue(
    { first, now, session, unreadable, worker }: Place,
    priority: Priority.Priority,
    limit: number
  ): Program<{ readonly jobs: ReadonlyArray<ReadyJob>; readonly areAll: boolean }> {
    for (;;) {
      const waits = first.is
      first.is = false
      const locked = yield* rows.lockDueJobs({ sessionId: session.id, priority, now, limit, waits })
      unreadable.push(...(yield* setAside(worker, locked, now)))
      const others = locked.filter(isReady)
      const areAll = locked.length < limit
      if (others.length > 0 || areAll) return { jobs: others, areAll }
      if (unreadable.length >= reportedAtOnce) return { jobs: [], areAll }
    }
  }

  /** Puts off those of the locked jobs whose contents cannot be read, and reports them. */
  function* setAside(
    worker: string,
    locked: ReadonlyArray<JobOf>,
    now: Instant
  ): Program<ReadonlyArray<UnreadableJob>> {
    const unreadable = locked.flatMap(({ content, job }) =>
      Jobs.isReadable(content) ? [] : [{ cause: content.cause, job }]
    )
    if (unreadable.length === 0) return []
    const jobs = unreadable.map(({ job }) => job)
    // A job that waits untouched gets a row first.
    yield* rows.saveClaims(
      worker,
      [],
      jobs.map((state) => ({ state, changes: [], drafts: [] })),
      now
    )
    yield* rows.putOff(jobs, Time.after(now, unreadableMs))
    return unreadable.map(({ cause, job: { job } }) => ({ jobId: job.id, cause }))
  }

  /** How many of a job may be claimed now. */
  function* roomOf({ job }: ReadyJob, now: Instant): Program<number> {
    const paced = Pace.room(job.job, now)
    if (paced < 1 || !StopWhen.isAsked(job.job)) return paced
    const open = yield* rows.recipientsOf(job, "open")
    return Math.min(paced, StopWhen.room(job.job, open.filter(({ fence }) => fence !== null).length))
  }

  /** The due recipients of jobs that fit into `limit`, by the jobs' ids; none of a job that has no room. */
  function* dueIn(
    jobs: ReadonlyArray<ReadyJob>,
    limit: number,
    now: Instant
  ): Program<ReadonlyMap<string, ReadonlyArray<RecipientResult>>> {
    const due = new Map<string, ReadonlyArray<RecipientResult>>()
    let [left, ofFree] = [limit, limit]
    for (const each of jobs) {
      const { id } = each.job.job
      const room = isLimited(each) ? Math.min(left, yield* roomOf(each, now)) : 0
      left -= openOf(each, now)
      if (room < 1) continue
      const found = (yield* rows.dueRecipients({ jobs: [each.job], now, limit: room })).get(id) ?? []
      due.set(id, found)
      ofFree -= found.length
    }
    const free = jobs.filter((each) => !isLimited(each)).map(({ job }) => job)
    if (free.length === 0) return due
    const others = yield* rows.dueRecipients({ jobs: free, now, limit: ofFree })
    return due.size === 0 ? others : new Map([...due, ...others])
  }

  /**
   * The session's first due jobs of a priority that fit behind those that are `claimed`, `most` at most, with their due recipients.
   * Jobs of which as many are in flight as may be are put off. `areAll`: no other that was due when the session was read can be locked.
   */
  function* dueOf(
    place: Place,
    priority: Priority.Priority,
    jobs: number,
    claimed: number,
    most: number
  ): Program<{ readonly batch: ReadonlyArray<Due>; readonly areAll: boolean }> {
    const { now } = place
    const limit = most - claimed
    for (;;) {
      const { areAll, jobs: locked } = yield* lockDue(place, priority, jobs)
      if (locked.length === 0) return { batch: [], areAll }
      const sizes = locked.map((each) => openOf(each, now))
      const found = locked.slice(0, Claiming.jobsThatFit(sizes, claimed, most))
      const open = sizes.slice(0, found.length).reduce((sum, size) => sum + size, 0)
      if (open > 0) perJob = open / found.length
      const approved = found.filter((each) => mayGo(each) && !isRestrictedIn(place, each))
      const due = yield* dueIn(approved, limit, now)
      const full = approved.filter((each) => isLimited(each) && !due.has(each.job.job.id))
      if (full.length > 0)
        yield* rows.putOff(
          full.map(({ job }) => job),
          Time.after(now, fullMs)
        )
      const batch = found
        .filter((each) => !full.includes(each))
        .map((each) => withDue(each, due.get(each.job.job.id) ?? [], isRestrictedIn(place, each)))
      // Again only where jobs were put off: what does not fit now fits no better then.
      if (batch.length > 0 || areAll || full.length === 0)
        return { batch, areAll: areAll && found.length === locked.length }
    }
  }

  /**
   * The jobs that are stopped, or whose templates may not be sent, as these are now: one that is being changed is left to the next
   * claim. An import that approves a template finds the jobs that were paused for it.
   */
  function* stillUnapproved(jobs: ReadonlyArray<Due>): Program<ReadonlyArray<Due>> {
    const unapproved: Array<Due> = []
    for (const due of jobs) {
      if (due.isRestricted || StopWhen.isStopped(due.job.job)) {
        unapproved.push(due)
        continue
      }
      const status = yield* rows.tryLockTemplate(due.job)
      if (status !== null && status !== "approved") unapproved.push({ ...due, status })
    }
    return unapproved
  }

  /** Gives the chosen recipients to the worker, but for those who had a message lately. */
  function* give(
    { now, session, worker }: Place,
    { chosen, mistimed, paused, putOff }: Claiming.Choice<Due>
  ): Program<ReadonlyArray<DispatchedJob>> {
    const { id, pacing } = session
    const later = new Map(putOff.map(({ of, recipients }) => [of, recipients.map(unclaimed)]))
    const others: Array<JobChange<StoredJob>> = [
      ...mistimed.map(({ job }) => ({ state: job, changes: [], drafts: [] })),
      ...paused.flatMap(({ isRestricted, job, status }) =>
        JobSteps.withJob(
          job,
          StopWhen.isStopped(job.job)
            ? Transitions.stopTogether(job.job, now)
            : isRestricted
              ? Transitions.pauseForRestriction(job.job, now)
              : Transitions.pauseForTemplate(job.job, status ?? "", now)
        )
      )
    ]
    const interval = chosen.length === 0 ? null : pacing.pairIntervalMs
    let times = new Map<string, Instant>()
    let sameAs: Person.Others = new Map()
    const [first] = chosen
    if (interval !== null && first !== undefined) {
      const asked = chosen.flatMap(({ recipients }) =>
        recipients.flatMap(({ address }) => Address.keysOf(address))
      )
      sameAs = yield* rows.othersOf(first.of.job.job.accountId, asked)
      const phones = [...new Set([...asked, ...[...sameAs.values()].flat()])]
      times = yield* rows.phoneTimes({ sessionId: id, phones, now, latest: Time.after(now, interval) })
    }
    const claims: Array<ClaimStep> = []
    const given: Array<{
      readonly of: Due
      readonly claimed: ReturnType<typeof JobSteps.claim>["claimed"]
    }> = []
    const messaged = new Set<string>()
    for (const { of, recipients } of chosen) {
      let ready = recipients
      let deferred: ReadonlyArray<RecipientChange> = later.get(of) ?? []
      later.delete(of)
      if (interval !== null) {
        const apart = Claiming.spaceApart(recipients, times, interval, now, sameAs)
        ready = apart.ready
        deferred = [...deferred, ...apart.deferred.map(unclaimed)]
        for (const { address } of ready) for (const key of Address.keysOf(address)) messaged.add(key)
      }
      if (ready.length === 0) {
        others.push({ state: of.job, changes: deferred, drafts: [] })
        continue
      }
      const step = JobSteps.claim(of.job, of.content, ready, now, session)
      claims.push({ step, deferred })
      given.push({ of, claimed: step.claimed })
    }
    for (const [{ job }, changes] of later) others.push({ state: job, changes, drafts: [] })
    if (interval !== null && messaged.size > 0)
      yield* rows.savePhones(id, [...messaged], Time.after(now, interval))
    if (claims.length === 0 && others.length === 0) return []
    const fences = yield* rows.saveClaims(worker, claims, others, now)
    return given.map(({ claimed, of }, at) => ({
      jobId: claimed.jobId,
      accountId: claimed.accountId,
      sessionId: claimed.sessionId,
      content: claimed.content,
      traceparent: claimed.traceparent,
      timing: claimed.timing,
      replacesText: claimed.replacesText,
      fence: fences[at] ?? 0,
      probe: claimed.probe,
      recipients: claimed.recipients,
      session: of.session,
      caps: of.caps,
      category: of.category,
      currency: of.job.job.currency
    }))
  }

  /** At most `limit` due recipients of the session: of each queue within what those before it leave and those behind it keep. */
  function* claimOf(place: Place, limit: number): Program<Served> {
    const { now, session } = place
    const waiting = Claiming.waiting(session, now)
    const owed = shares.get(session.id) ?? Priority.nothingOwed
    const queues = Priority.kept(waiting, owed, limit)
    const given: Array<DispatchedJob> = []
    const got = new Map<Priority.Priority, number>()
    let { care } = place
    let left = limit
    let keptBehind = queues.reduce((sum, { least }) => sum + least, 0)
    /** True once a queue has more than it may have: those behind it get what is kept for them. */
    let isShort = false
    for (const { least, priority } of queues) {
      keptBehind -= least
      const most: number = isShort ? Math.min(least, left) : left - keptBehind
      const some: ServedQueue = yield* claimQueue({ ...place, care }, priority, most, given.length === 0)
      given.push(...some.jobs)
      const count = countOf(some.jobs)
      got.set(priority, count)
      left -= count
      care = Claiming.careAfter(care, recipientsOf(some.jobs))
      isShort ||= !some.areAll
      if (some.isLast) break
    }
    if (waiting.length > 1) shares.set(session.id, Priority.owedAfter(waiting, owed, got))
    else shares.delete(session.id)
    return { jobs: given, outcome: given.length > 0 ? "served" : "passed" }
  }

  /** At most `limit` due recipients of one of the session's queues. @param isFirst true while the session got none */
  function* claimQueue(
    place: Place,
    priority: Priority.Priority,
    limit: number,
    isFirst: boolean
  ): Program<ServedQueue> {
    const given: Array<DispatchedJob> = []
    let recipients = 0
    let { care } = place
    // As many jobs together as are likely to fill it.
    let jobs = Math.max(1, Math.round(limit / perJob))
    while (Claiming.goesOn(recipients, limit)) {
      const left = limit - recipients
      const { areAll, batch } = yield* dueOf(place, priority, jobs, recipients, limit)
      if (batch.length === 0) return { jobs: given, areAll: true, isLast: false }
      const choice = Claiming.choose(batch, left, isFirst && given.length === 0, care, place.now)
      const paused = choice.paused.length === 0 ? choice.paused : yield* stillUnapproved(choice.paused)
      const some = yield* give(place, { ...choice, paused })
      given.push(...some)
      const count = countOf(some)
      recipients += count
      care = Claiming.careAfter(care, recipientsOf(some))
      if (choice.isLast) return { jobs: given, areAll: false, isLast: true }
      if (areAll || paused.length < choice.paused.length) return { jobs: given, areAll, isLast: false }
      jobs = Math.min(limit, Math.ceil((limit - recipients) / Math.max(1, count / batch.length)))
    }
    return { jobs: given, areAll: false, isLast: false }
  }

  /**
   * The due recipient of the session who probes its platform: of the job and the recipient that had no turn for longest,
   * so that one who is never answered for does not stand for all.
   */
  function* probeOf(place: Place, limit: number): Program<Served> {
    if (limit < 1) return passed
    const { now } = place
    for (;;) {
      const found: Array<ReadyJob> = []
      for (const priority of Claiming.waiting(place.session, now))
        found.push(...(yield* lockDue(place, priority, Claiming.jobsOfProbe)).jobs)
      const next = Claiming.longestUnchanged(found.filter(mayGo))
      const [first] = next === undefined ? found : [next]
      if (first === undefined) return passed
      // Jobs that are written together have one priority.
      const locked = found.filter(({ job }) => job.job.priority === first.job.job.priority)
      const due = locked.filter((each) => !mayGo(each)).map((each) => withDue(each, [], false))
      if (next !== undefined) {
        const { job } = next
        const recipients = yield* rows.dueRecipients({ jobs: [job], now, limit: job.job.recipients })
        due.push(withDue(next, recipients.get(job.job.id) ?? [], false))
      }
      const choice = Claiming.chooseProbe(due, place.care, now)
      // The first that is due waits for a later claim, and all others of its job wait behind it.
      if (Claiming.isNothing(choice)) return passed
      const { paused } = choice
      const unapproved = paused.length === 0 ? paused : yield* stillUnapproved(paused)
      const jobs = yield* give(place, { ...choice, paused: unapproved })
      if (jobs.length > 0) return { jobs, outcome: "served" }
      if (unapproved.length < paused.length) return passed
    }
  }

  /** At most `room` due recipients of the session, within its pace, which is locked. */
  function* claimPaced(
    place: Place,
    room: number,
    perSecond: number,
    claimRecipients: ClaimRecipients
  ): Program<Served> {
    const { now, session } = place
    // Read again: the one that came with the session was read without the lock.
    const arrival = yield* rows.arrival(session.id)
    const served = yield* claimRecipients(place, Pacing.grant(arrival, perSecond, room, now).granted)
    if (served.jobs.length > 0)
      yield* rows.saveArrival(session.id, Pacing.grant(arrival, perSecond, countOf(served.jobs), now).arrival)
    return served
  }

  /**
   * One recipient of a session whose platform does not answer, when a probe is due: nobody else gets one until it has
   * ended, or a minute has passed.
   */
  function* claimProbe(place: Place): Program<Served> {
    const { now, session } = place
    // Read again: the one that came with the session was read without the lock.
    const outage = (yield* rows.tryLockStanding(session.id))?.outage ?? null
    place.first.is = false
    if (outage === null || !Circuit.isProbeDue(outage, now)) return passed
    const served = yield* claimWithin(place, 1, probeOf)
    if (served.jobs.length > 0) yield* rows.saveOutage(session.id, Circuit.probing(outage, now))
    return served
  }

  /** At most `room` due recipients of the session, within its pace when it has one. */
  function* claimWithin(place: Place, room: number, claimRecipients: ClaimRecipients): Program<Served> {
    const { id, pacing } = place.session
    const { messagesPerSecond: perSecond, pairIntervalMs: interval } = pacing
    // Another commit that has the pacing locked serves the session at this moment.
    if ((perSecond !== null || interval !== null) && !(yield* rows.tryLockPacing(id))) return passed
    return perSecond === null
      ? yield* claimRecipients(place, room)
      : yield* claimPaced(place, room, perSecond, claimRecipients)
  }

  /** The direct messages of a session whose templates its platform restricts, whose jobs pause. */
  function* claimRestricted(place: Place, most: number): Program<Served> {
    // Read again: who ends the restriction lets what is paused by then go on.
    const standing = yield* rows.tryLockStanding(place.session.id)
    place.first.is = false
    if (standing === null || Session.obstacle(standing) !== "platform_restriction") return passed
    return yield* claimWithin({ ...place, isRestricted: true }, most, claimOf)
  }

  /** One recipient of a session that was blocked for one failure: all others wait until its end is known. */
  function* claimTrial(place: Place, most: number): Program<Served> {
    const { now, session } = place
    // Read again: who hears of a success ends the trials.
    const standing = yield* rows.tryLockStanding(session.id)
    place.first.is = false
    if (standing === null || Session.obstacle(standing) !== null) return passed
    const { failing } = standing
    const at = SameFailure.nextProbe(failing, now)
    if (failing === null || at === null) return yield* claimWithin(place, most, claimOf)
    if (at > now) return passed
    const served = yield* claimWithin(place, 1, claimOf)
    if (served.jobs.length > 0) yield* rows.saveFailing(session.id, SameFailure.probing(failing, now))
    return served
  }

  /** The session's part of what is left of the claim. */
  function* serve(place: Place, most: number, isFirst: boolean): Program<Served> {
    // Sessions before this one may have what it is short of, and the next claim begins with it. Where none was served there is none.
    if (most <= 0) return isFirst ? passed : putOff
    if (Session.obstacle(place.session) === "platform_restriction") return yield* claimRestricted(place, most)
    if (place.session.outage !== null) return yield* claimProbe(place)
    return SameFailure.nextProbe(place.session.failing, place.now) === null
      ? yield* claimWithin(place, most, claimOf)
      : yield* claimTrial(place, most)
  }

  return {
    claim: function* (asked, now, holds) {
      const claimed: Array<DispatchedJob> = []
      const until = turn
      let at: Turn = Claiming.beginTurn(turn)
      const first = { is: !holds }
      const unreadable: Array<UnreadableJob> = []
      let budget: Budget = { left: asked.limit, care: asked.care ?? Claiming.careless }
      let before: number | null = null
      let isWhole = false
      let servedSessions = 0
      const isFull = () => budget.left <= 0 || servedSessions >= Claiming.sessionsAtOnce
      for (const limit of Claiming.pageSizes(Math.min(asked.limit, Claiming.sessionsAtOnce))) {
        if (isFull()) break
        const page = yield* rows.waitingSessions({ after: at.last, until, limit })
        for (const session of page) {
          if (isFull()) break
          const { care, left } = budget
          const place = { session, worker: asked.worker, now, care, first, unreadable }
          const readyAt = Claiming.readyAt(session, now)
          const isReady = readyAt !== null && readyAt <= now
          const most = isReady ? Math.min(left, asked.room?.(session, before) ?? left) : 0
          const served = isReady ? yield* serve(place, most, servedSessions === 0) : passed
          if (isReady) before = countOf(served.jobs)
          at = Claiming.afterTurn(at, session.id, served.outcome)
          budget = Claiming.spend(budget, recipientsOf(served.jobs))
          if (served.outcome === "served") servedSessions += 1
          claimed.push(...served.jobs)
        }
        if (!Claiming.isLastPage(page, limit, until)) continue
        isWhole = page.length === 0 || at.last === page.at(-1)?.id
        break
      }
      turn = Claiming.nextAfter(at, isWhole)
      return { claimed, unreadable }
    },

    nextDue: function* (now, admits = () => true) {
      let next: Instant | null = null
      const until = turn
      let last = turn
      for (let limit = pageOfNextDue; ; limit *= 4) {
        const page = yield* rows.waitingSessions({ after: last, until, limit })
        for (const session of page) {
          const at = admits(session.id) ? Claiming.readyAt(session, now) : null
          // Sessions before this one have nothing that may go, so the next claim begins with it.
          if (at !== null && at <= now && (next === null || next > now)) turn = last
          if (at !== null && (next === null || at < next)) next = at
          last = session.id
        }
        if (Claiming.isLastPage(page, limit, until) || (next !== null && next <= now)) return next
      }
    }
  }
}
