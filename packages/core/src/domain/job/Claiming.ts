/**
 * The dispatcher's decisions (decisions.md §4), without any storage: which session is next, how many recipients it
 * may get, which of them are attempted together, and which wait for their phone's interval.
 */

import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Circuit from "../session/Circuit.ts"
import * as Pacing from "../session/Pacing.ts"
import * as Session from "../session/Session.ts"
import type { Job, RecipientResult } from "./Job.ts"
import * as Transitions from "./Transitions.ts"

/** The recipients that a claim may still take. */
export interface Budget {
  /** The number in all. */
  readonly left: number
  /** How many of them may be of sessions whose outcomes are lost when the worker dies. */
  readonly atRiskLeft: number
}

/**
 * The recipients that a session may get of what is left.
 *
 * @param most the most that this session may get
 */
export const roomFor = (
  { atRiskLeft, left }: Budget,
  atRisk: boolean,
  most = Number.POSITIVE_INFINITY
): number => Math.min(left, most, atRisk ? atRiskLeft : left)

/**
 * The sessions that one claim serves. Each costs some statements and up to two locks, of which PostgreSQL has a few thousand
 * for all its connections; recipients of one session cost little.
 */
export const sessionsAtOnce = 250

export const spend = (budget: Budget, claimed: number, atRisk: boolean): Budget =>
  claimed === 0
    ? budget
    : { left: budget.left - claimed, atRiskLeft: atRisk ? budget.atRiskLeft - claimed : budget.atRiskLeft }

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
 * Their sum bounds the cost of a claim, however many sessions wait.
 */
export const pageSizes = (limit: number): ReadonlyArray<number> => [16, 64, 176 + limit]

/** A session with a job that waits. */
export interface WaitingSession extends Pick<Session.Session, "id" | "provider"> {
  readonly pacing: Pacing.Pacing
  readonly state: Session.State
  readonly blockedUntil: Instant | null
  readonly outage: Circuit.Outage | null
  readonly lastOutage: Circuit.Silence | null
  /** The time when its first job is due. */
  readonly dueAt: Instant
  /** The state of its pace (`Pacing.grant`); null before its first message. */
  readonly arrival: number | null
}

/** True when the circle ends with this page, which was read with `limit` and up to `until`. */
export const isLastPage = (page: ReadonlyArray<WaitingSession>, limit: number, until: string): boolean =>
  page.length < limit || page.at(-1)?.id === until

/** The time of the session's next message or of its platform's next probe; null while the session may not send. */
export const readyAt = (session: WaitingSession, now: Instant): Instant | null => {
  const obstacle = Session.obstacle(session)
  if (obstacle !== null && obstacle !== "platform_unavailable") return null
  const { arrival, dueAt, outage, pacing } = session
  const perSecond = pacing.messages_per_second
  const paced = perSecond === null ? dueAt : Math.max(dueAt, Pacing.nextAt(arrival, perSecond, now))
  return outage === null ? paced : Math.max(paced, Circuit.nextProbe(outage, now))
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
  /** Its due recipients, as many as the claim has room for. */
  readonly due: ReadonlyArray<RecipientResult>
}

/** The recipients that are claimed of due jobs, and the jobs that get nothing. */
export interface Choice<J extends DueJob> {
  readonly chosen: ReadonlyArray<{ readonly of: J; readonly recipients: ReadonlyArray<RecipientResult> }>
  /** Jobs whose templates may not be sent at present. */
  readonly paused: ReadonlyArray<J>
  /** Jobs without a due recipient: a wrong clock wrote the job's own due time, which has to be written again. */
  readonly mistimed: ReadonlyArray<J>
  /** True when the session gets nothing more of this claim. */
  readonly isLast: boolean
}

/**
 * Chooses recipients from a session's due jobs, in order. A poison suspect (`Transitions.isPoisonSuspect`) is claimed
 * alone: recipients before it are claimed without it, and recipients behind it wait.
 *
 * @param limit `jobs` contain this many due recipients at most
 * @param isFirst true when the claim has no recipient of the session yet
 */
export const choose = <J extends DueJob>(
  jobs: ReadonlyArray<J>,
  limit: number,
  isFirst: boolean
): Choice<J> => {
  const chosen: Array<Choice<J>["chosen"][number]> = []
  const paused: Array<J> = []
  const mistimed: Array<J> = []
  let seen = 0
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
    const batchable = Transitions.batchable(job.due)
    const [first] = job.due
    const isSuspect = first !== undefined && Transitions.isPoisonSuspect(first)
    if (isSuspect && !(isFirst && chosen.length === 0)) return { chosen, paused, mistimed, isLast: true }
    const isWhole = batchable === job.due.length
    chosen.push({ of: job, recipients: isWhole ? job.due : job.due.slice(0, batchable) })
    if (isSuspect || !isWhole) return { chosen, paused, mistimed, isLast: true }
  }
  return { chosen, paused, mistimed, isLast: false }
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
export const chooseProbe = <J extends DueJob>(jobs: ReadonlyArray<J>): Choice<J> => {
  const { chosen, mistimed, paused } = choose(jobs, Number.POSITIVE_INFINITY, true)
  const [first] = chosen
  const [recipient] =
    first === undefined ? [] : first.of.due.toSorted((a, b) => (a.nextAt ?? 0) - (b.nextAt ?? 0))
  return {
    chosen: first === undefined || recipient === undefined ? [] : [{ of: first.of, recipients: [recipient] }],
    mistimed,
    paused,
    isLast: true
  }
}

/**
 * Defers recipients so that two messages to one person are at least the session's interval apart.
 *
 * @param times the next allowed time of each phone, where known; phones that are ready now are added
 * @param numbers all numbers of a phone's owner, where there are others (`Person.numbersOf`)
 */
export const spaceApart = (
  recipients: ReadonlyArray<RecipientResult>,
  times: Map<string, Instant>,
  intervalMs: number,
  now: Instant,
  numbers: ReadonlyMap<string, ReadonlyArray<string>>
): { readonly ready: ReadonlyArray<RecipientResult>; readonly deferred: ReadonlyArray<RecipientResult> } => {
  const ready: Array<RecipientResult> = []
  const deferred: Array<RecipientResult> = []
  for (const recipient of recipients) {
    let last: Instant | null = null
    const phones = numbers.get(recipient.phone) ?? [recipient.phone]
    for (const phone of phones) {
      const at = Pacing.pairedUntil(times.get(phone) ?? null, intervalMs, now)
      if (at !== null && (last === null || at > last)) last = at
    }
    if (last !== null) deferred.push(Transitions.defer(recipient, last, now))
    else {
      ready.push(recipient)
      for (const phone of phones) times.set(phone, now + intervalMs)
    }
  }
  return { ready, deferred }
}
