/**
 * The dispatcher's decisions (contract.md §4), without any storage: which session is next, how many recipients it
 * may get, which of them are attempted together, and which wait for their phone's interval.
 */

import * as Address from "../Address.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Person from "../Person.ts"
import * as Retry from "../Retry.ts"
import * as Circuit from "../session/Circuit.ts"
import * as Pacing from "../session/Pacing.ts"
import * as SameFailure from "../session/SameFailure.ts"
import * as Session from "../session/Session.ts"
import type { Job, RecipientResult } from "./Job.ts"
import * as Priority from "./Priority.ts"
import * as Transitions from "./Transitions.ts"

/**
 * How many a claim may take of those over whom workers died. A suspect and a survivor (`Transitions`) never go in one claim:
 * when the suspect ends the process, the other is not to become one.
 */
export interface Care {
  readonly survivors: number
  readonly suspects: number
  /** For how long the process stays young (`Retry.youthMs`); 0 when it is not. */
  readonly youngForMs: number
  /** True when those that it may not take are left to the next claim; else they are put off, and keep nobody waiting. */
  readonly survivorsWait: boolean
  readonly suspectsWait: boolean
}

export const careless: Care = {
  survivors: Number.POSITIVE_INFINITY,
  suspects: 1,
  youngForMs: 0,
  survivorsWait: true,
  suspectsWait: true
}

/** The recipients that a claim may still take. */
export interface Budget {
  /** The number in all. */
  readonly left: number
  readonly care: Care
}

const isUnscathed = ({ crashCount }: Pick<RecipientResult, "crashCount">): boolean => crashCount === 0

/** The care that is left for the rest of a claim once these recipients were taken. */
export const careAfter = (care: Care, claimed: ReadonlyArray<Pick<RecipientResult, "crashCount">>): Care => {
  if (claimed.every(isUnscathed)) return care
  return claimed.some(Transitions.isSuspect)
    ? { ...care, survivors: 0, suspects: care.suspects - 1 }
    : { ...care, survivors: care.survivors - claimed.filter(Transitions.isSurvivor).length, suspects: 0 }
}

/**
 * The sessions that one claim serves. Each costs some statements and up to two locks, of which PostgreSQL has a few thousand
 * for all its connections; recipients of one session cost little.
 */
export const sessionsAtOnce = 250

export const spend = (
  { care, left }: Budget,
  claimed: ReadonlyArray<Pick<RecipientResult, "crashCount">>
): Budget => ({ left: left - claimed.length, care: careAfter(care, claimed) })

/** A claim's place in the circle of sessions, which are ordered by their ids. */
export interface Turn {
  /** The session that was last considered. */
  readonly last: string
  /**
   * The session after which the next claim begins, so that the first session that was put off comes first; null when
   * none was.
   */
  readonly resumeAfter: string | null
}

/**
 * The end of a session's turn. `passed`: it has nothing to send now. `putOff`: it has, but sessions before it used up
 * the claim's budget.
 */
export type TurnOutcome = "served" | "passed" | "putOff"

/** @param after the session that was last considered */
export const beginTurn = (after: string): Turn => ({ last: after, resumeAfter: null })

/**
 * Every session that was considered has had its turn, served or not, so that sessions with nothing to send never
 * block those behind them. Only a session that was put off comes first next time. A session before it was served, so
 * the circle always moves on.
 */
export const afterTurn = ({ last, resumeAfter }: Turn, session: string, outcome: TurnOutcome): Turn => ({
  last: session,
  resumeAfter: resumeAfter ?? (outcome === "putOff" ? last : null)
})

/** Sorts before every session's id: a circle that begins behind it is read in one piece. */
export const noSession = ""

/**
 * The session after which the next claim begins; `noSession` when all sessions had their turn.
 *
 * @param isWhole true when the circle ended with this claim
 */
export const nextAfter = ({ last, resumeAfter }: Turn, isWhole: boolean): string =>
  resumeAfter ?? (isWhole ? noSession : last)

/**
 * The sizes of the pages in which a claim reads sessions. Small ones come first, since few sessions fill most claims.
 * The sum of the pages bounds the cost of a claim, however many sessions wait.
 */
export const pageSizes = (limit: number): ReadonlyArray<number> => [16, 64, 176 + limit]

/** A session with a job that waits. */
export interface WaitingSession extends Pick<Session.Session, "id" | "provider"> {
  readonly pacing: Pacing.Pacing
  readonly state: Session.State
  readonly blockedUntil: Instant | null
  readonly blockReason: Session.BlockReason | null
  readonly outage: Circuit.Outage | null
  readonly lastOutage: Circuit.Silence | null
  readonly failing: SameFailure.Failing | null
  /** The time when its first job of each priority is due; infinite where none waits. */
  readonly dueAt: Readonly<Record<Priority.Priority, Instant>>
  /** The state of its pace (`Pacing.grant`); null before its first message. */
  readonly arrival: number | null
}

/** The session's queues that have something due, the highest first. */
export const waiting = (
  { dueAt }: Pick<WaitingSession, "dueAt">,
  now: Instant
): ReadonlyArray<Priority.Priority> => Priority.all.filter((priority) => dueAt[priority] <= now)

/** True when the circle ends with this page, which was read with `limit` and up to `until`. */
export const isLastPage = (page: ReadonlyArray<WaitingSession>, limit: number, until: string): boolean =>
  page.length < limit || page.at(-1)?.id === until

/** The time of the session's next message or of its platform's next probe; null while the session may not send. */
export const readyAt = (session: WaitingSession, now: Instant): Instant | null => {
  // Under a restriction of its templates its jobs are paused, and its direct messages go.
  const obstacle = Session.obstacleOf(session, "direct")
  if (obstacle !== null && obstacle !== "platform_unavailable") return null
  if (session.outage !== null && Session.obstacle(session) !== obstacle) return null
  const { arrival, outage, pacing } = session
  const dueAt = Time.min(...Priority.all.map((priority) => session.dueAt[priority]))
  const perSecond = pacing.messagesPerSecond
  const paced = perSecond === null ? dueAt : Time.max(dueAt, Pacing.nextAt(arrival, perSecond, now))
  const probeAt =
    outage === null ? SameFailure.nextProbe(session.failing, now) : Circuit.nextProbe(outage, now)
  return probeAt === null ? paced : Time.max(paced, probeAt)
}

/**
 * The smallest limit at which a claim stops at a job boundary. A smaller claim is filled, even if that splits a job: its
 * attempts take longer than another claim does.
 */
const leastWhole = 100

/** The recipients that fill a session's part of a claim. */
const enough = (limit: number): number => (limit < leastWhole ? limit : limit / 2)

/** True while a session's part of a claim should get more jobs; `limit` is the part's maximum. */
export const goesOn = (claimed: number, limit: number): boolean => claimed < enough(limit)

/**
 * Counts the due jobs that are claimed together, by each job's number of open recipients; at least one while nothing
 * is claimed yet. A job is split between claims only when it must be: two parts cost more than a smaller claim, and
 * each split would cause another, since the next claim would begin with a part.
 *
 * @param claimed recipients that the session's part has already
 * @param limit recipients that it may have in all
 */
export const jobsThatFit = (open: ReadonlyArray<number>, claimed: number, limit: number): number => {
  let sum = claimed
  for (const [place, count] of open.entries()) {
    const isSplit = sum + count > limit
    const fitsAlone = count <= limit && limit >= leastWhole
    if (sum > 0 && isSplit && (fitsAlone || sum >= enough(limit))) return place
    sum += count
  }
  return open.length
}

/**
 * The first due time of a job that waits behind others of its session: jobs that were accepted together are due in
 * that order. Null when a clock was set back meanwhile: the job is then due immediately, without a place in the
 * order.
 *
 * @param last the first due time of the newest waiting job; null when none waits
 */
export const firstDueAt = (last: Instant | null, now: Instant): Instant | null =>
  last === null || last <= now ? now : Time.isAhead(last, now) ? null : last

/** A due job of a session. */
export interface DueJob {
  /** True when its template may be sent, or it has none. */
  readonly approved: boolean
  /** The job's due recipients, as many as the claim has room for. */
  readonly due: ReadonlyArray<RecipientResult>
}

/** Recipients of one job. */
export interface Some<J extends DueJob> {
  readonly of: J
  readonly recipients: ReadonlyArray<RecipientResult>
}

/** The recipients that are claimed of due jobs, and the jobs that get nothing. */
export interface Choice<J extends DueJob> {
  readonly chosen: ReadonlyArray<Some<J>>
  /** Recipients over whom workers died and whom this claim may not take, with their new due times. */
  readonly putOff: ReadonlyArray<Some<J>>
  /** Jobs whose templates may not be sent at present. */
  readonly paused: ReadonlyArray<J>
  /** Jobs without a due recipient: a wrong clock wrote the job's own due time, which has to be written again. */
  readonly mistimed: ReadonlyArray<J>
  /** True when the session gets nothing more of this claim. */
  readonly isLast: boolean
}

/** True when nothing of a choice is to be written, so that the same jobs would be found again. */
export const isNothing = <J extends DueJob>({ chosen, mistimed, paused, putOff }: Choice<J>): boolean =>
  chosen.length + mistimed.length + paused.length + putOff.length === 0

/** Decides on each recipient of a session in a claim with so much care; a time is when the recipient is due again. */
const chooser = (care: Care, now: Instant) => {
  let { survivors, suspects } = care
  let [later, laterSuspects] = [0, 0]
  const endOfYouth = Time.after(now, care.youngForMs)
  return (recipient: RecipientResult): "claimed" | "alone" | "waits" | Instant => {
    if (Transitions.isSuspect(recipient)) {
      if (suspects > 0) return "alone"
      if (care.suspectsWait) return "waits"
      laterSuspects += 1
      return Time.max(endOfYouth, Time.after(now, laterSuspects * Retry.suspectsApartMs))
    }
    if (!Transitions.isSurvivor(recipient)) return "claimed"
    if (survivors > 0) {
      survivors -= 1
      suspects = 0
      return "claimed"
    }
    if (care.survivorsWait) return "waits"
    later += 1
    const at = Time.after(now, later * Retry.survivorsApartMs)
    return care.youngForMs > 0 ? Time.min(endOfYouth, at) : at
  }
}

/** Chooses from a job's due recipients, of whom workers died over some. */
const chooseOf = (
  due: ReadonlyArray<RecipientResult>,
  of: ReturnType<typeof chooser>,
  isAlone: boolean,
  now: Instant
) => {
  const recipients: Array<RecipientResult> = []
  const later: Array<RecipientResult> = []
  for (const recipient of due) {
    const what = of(recipient)
    if (what === "claimed") recipients.push(recipient)
    else if (typeof what === "number") later.push(Transitions.defer(recipient, what, now))
    else {
      if (what === "alone" && isAlone && recipients.length === 0) recipients.push(recipient)
      return { recipients, later, isLast: true }
    }
  }
  return { recipients, later, isLast: false }
}

/**
 * Chooses recipients from a session's due jobs, in order. A suspect is claimed alone: recipients before it are claimed
 * without it, and recipients behind it wait. One that may not be claimed is put off, and keeps nobody waiting.
 *
 * @param limit `jobs` contain this many due recipients at most
 * @param isFirst true when the claim has no recipient of the session yet
 */
export const choose = <J extends DueJob>(
  jobs: ReadonlyArray<J>,
  limit: number,
  isFirst: boolean,
  care: Care,
  now: Instant
): Choice<J> => {
  const chosen: Array<Some<J>> = []
  const putOff: Array<Some<J>> = []
  const paused: Array<J> = []
  const mistimed: Array<J> = []
  const of = chooser(care, now)
  let seen = 0
  let isLast = false
  for (const job of jobs) {
    if (!job.approved) {
      paused.push(job)
      continue
    }
    if (job.due.length === 0) {
      // Beyond the limit a job's recipients were not read, so the job may have due ones.
      if (seen < limit) mistimed.push(job)
      continue
    }
    seen += job.due.length
    if (job.due.every(isUnscathed)) {
      chosen.push({ of: job, recipients: job.due })
      continue
    }
    const isAlone = isFirst && chosen.length === 0
    const some = chooseOf(job.due, of, isAlone, now)
    if (some.recipients.length > 0) chosen.push({ of: job, recipients: some.recipients })
    if (some.later.length > 0) putOff.push({ of: job, recipients: some.later })
    isLast = some.isLast
    if (isLast) break
  }
  return { chosen, putOff, paused, mistimed, isLast }
}

/** The number of a session's due jobs that are searched for its next probe. */
export const jobsOfProbe = 16

/** The job that has been unchanged for the longest time, the first of several; undefined when there is none. */
export const longestUnchanged = <J extends { readonly job: { readonly job: Pick<Job, "updatedAt"> } }>(
  jobs: ReadonlyArray<J>
): J | undefined => jobs.toSorted((a, b) => a.job.job.updatedAt - b.job.job.updatedAt)[0]

/**
 * Chooses the recipient that probes the session's platform: the one that has been due longest. After a failed probe a
 * recipient is due from the end of that probe.
 */
export const chooseProbe = <J extends DueJob>(
  jobs: ReadonlyArray<J>,
  care: Care,
  now: Instant
): Choice<J> => {
  const choice = choose(jobs, Number.POSITIVE_INFINITY, true, care, now)
  const [first] = choice.chosen
  const [recipient] = first?.recipients.toSorted((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0)) ?? []
  const chosen =
    first === undefined || recipient === undefined ? [] : [{ of: first.of, recipients: [recipient] }]
  return { ...choice, chosen, isLast: true }
}

/**
 * Defers recipients so that two messages to one person are at least the session's interval apart.
 *
 * @param times the next allowed time of each key of people, where known; those that are ready now are added
 * @param others all keys of the person that a key stands for, where there are others (`Person.othersOf`)
 */
export const spaceApart = (
  recipients: ReadonlyArray<RecipientResult>,
  times: Map<string, Instant>,
  intervalMs: number,
  now: Instant,
  others: Person.Others
): { readonly ready: ReadonlyArray<RecipientResult>; readonly deferred: ReadonlyArray<RecipientResult> } => {
  const ready: Array<RecipientResult> = []
  const deferred: Array<RecipientResult> = []
  for (const recipient of recipients) {
    let last: Instant | null = null
    const keys = Person.keysAmong(Address.keysOf(recipient.address), others)
    for (const key of keys) {
      const at = Pacing.pairedUntil(times.get(key) ?? null, intervalMs, now)
      if (at !== null && (last === null || at > last)) last = at
    }
    if (last !== null) deferred.push(Transitions.defer(recipient, last, now))
    else {
      ready.push(recipient)
      for (const key of keys) times.set(key, Time.after(now, intervalMs))
    }
  }
  return { ready, deferred }
}
