/**
 * The dispatcher's decisions (decisions.md §4), without any storage: whose turn it is, how many recipients a session
 * may get, which of them are attempted together, and which have to wait for their phones.
 */

import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Circuit from "../session/Circuit.ts"
import * as Pacing from "../session/Pacing.ts"
import type { Provider } from "../session/Session.ts"
import * as Session from "../session/Session.ts"
import type { Job, RecipientResult } from "./Job.ts"
import * as Transitions from "./Transitions.ts"

/** The recipients that a claim may still take. */
export interface Budget {
  /** In all. */
  readonly left: number
  /** The part of them for sessions whose outcomes are lost when the worker dies. */
  readonly atRiskLeft: number
}

/** The recipients that a session may get of what is left. */
export const roomFor = ({ atRiskLeft, left }: Budget, atRisk: boolean): number =>
  atRisk ? Math.min(left, atRiskLeft) : left

export const spend = (budget: Budget, claimed: number, atRisk: boolean): Budget =>
  claimed === 0
    ? budget
    : { left: budget.left - claimed, atRiskLeft: atRisk ? budget.atRiskLeft - claimed : budget.atRiskLeft }

/** A claim's place in the circle of sessions, which are ordered by their ids. */
export interface Turn {
  /** The session that was looked at last. */
  readonly last: string
  /** The next claim begins behind this one, so that the session that was put off is first; null when none was. */
  readonly resumeAfter: string | null
}

/**
 * The end of a session's turn. `passed`: it has nothing that may go now. `putOff`: it has, but sessions before it used up
 * what this claim may take of its kind.
 */
export type TurnOutcome = "served" | "passed" | "putOff"

/** @param after the session whose turn it was last */
export const beginTurn = (after: string): Turn => ({ last: after, resumeAfter: null })

/**
 * Every session that is looked at has had its turn, served or not, so those that get nothing never hide those behind
 * them. Only a session that was put off comes first next time. One before it was served, so the circle always moves on.
 */
export const afterTurn = ({ last, resumeAfter }: Turn, session: string, outcome: TurnOutcome): Turn => ({
  last: session,
  resumeAfter: resumeAfter ?? (outcome === "putOff" ? last : null)
})

/** Sorts before every session's id: a circle that begins behind it is read in one piece. */
export const noSession = ""

/**
 * The session behind which the next claim begins. Where all sessions have had their turn nobody is first.
 *
 * @param isWhole true when the circle ended with this claim
 */
export const nextAfter = ({ last, resumeAfter }: Turn, isWhole: boolean): string =>
  resumeAfter ?? (isWhole ? noSession : last)

/**
 * The sessions that a claim reads together: a few first, which fill most claims, and more while there is room. It walks
 * over no more than their sum, so its cost does not grow with the sessions that wait.
 */
export const pageSizes = (limit: number): ReadonlyArray<number> => [16, 64, 176 + limit]

/** A session with a job that waits. */
export interface WaitingSession {
  readonly id: string
  readonly provider: Provider
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

/** True when the circle ends with this page, for which `limit` sessions up to `until` were asked. */
export const isLastPage = (page: ReadonlyArray<WaitingSession>, limit: number, until: string): boolean =>
  page.length < limit || page.at(-1)?.id === until

/** The time of its next message, or of the next probe of its platform; null while nothing may be sent over it. */
export const readyAt = (session: WaitingSession, now: Instant): Instant | null => {
  const obstacle = Session.obstacle(session)
  if (obstacle !== null && obstacle !== "platform_unavailable") return null
  const { arrival, dueAt, outage, pacing } = session
  const perSecond = pacing.messages_per_second
  const paced = perSecond === null ? dueAt : Math.max(dueAt, Pacing.nextAt(arrival, perSecond, now))
  return outage === null ? paced : Math.max(paced, Circuit.nextProbe(outage, now))
}

/** The claims that end with a job. The attempts of a smaller one take longer than another claim, so it is filled. */
const leastWhole = 100

/** The recipients that fill a session's part of a claim. */
const enough = (limit: number): number => (limit < leastWhole ? limit : limit / 2)

/** True while a session's part of a claim, `limit` at most, goes on with its next jobs. */
export const goesOn = (claimed: number, limit: number): boolean => claimed < enough(limit)

/**
 * Counts the due jobs that are claimed together, by the number of recipients each has open; the first at least while nothing
 * is claimed yet. A job is split between claims only where it has to be, since two parts cost more than a smaller claim; and
 * one split would follow another, as each claim would begin with a part.
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
 * The time when a job is due first that waits behind the others of its session: those that were accepted together are due
 * in that order. Null when a clock was set back meanwhile: then the job is due at once, and has no place among them.
 *
 * @param last when the newest of those is due first; null when there is none
 */
export const firstDueAt = (last: Instant | null, now: Instant): Instant | null =>
  last === null || last <= now ? now : Time.isAhead(last, now) ? null : last

/** A due job of a session. */
export interface DueJob {
  /** True when its template may be sent, and without one. */
  readonly approved: boolean
  /** Its due recipients, as far as the claim may take them. */
  readonly due: ReadonlyArray<RecipientResult>
}

/** The recipients that are claimed of due jobs, and the jobs that get nothing. */
export interface Choice<J extends DueJob> {
  readonly chosen: ReadonlyArray<{ readonly of: J; readonly recipients: ReadonlyArray<RecipientResult> }>
  /** Their templates may not be sent for now. */
  readonly paused: ReadonlyArray<J>
  /** None of their recipients is due: a wrong clock wrote the jobs' own time, which has to be written anew. */
  readonly mistimed: ReadonlyArray<J>
  /** True when the session gets nothing more of this claim. */
  readonly isLast: boolean
}

/**
 * Takes the due jobs of a session in their order. A poison suspect (`Transitions.isPoisonSuspect`) is the only one of
 * its session in a claim: what is before it is claimed without it, and what is behind it waits.
 *
 * @param limit the jobs' due recipients are the first so many of all
 * @param isFirst true when this claim has nothing of the session yet
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
      // Once the limit is reached its recipients were not read.
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

/** The first due jobs of a session among which its next probe is looked for. */
export const jobsOfProbe = 16

/** The job of which nothing has changed for the longest time, the first of several; undefined when there is none. */
export const longestUnchanged = <J extends { readonly job: Pick<Job, "updatedAt"> }>(
  jobs: ReadonlyArray<J>
): J | undefined => jobs.toSorted((a, b) => a.job.updatedAt - b.job.updatedAt)[0]

/**
 * Takes the recipient who probes the session's platform: of those who are due the one who is so for the longest time. A
 * probe that failed is due from its end on.
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
 * Keeps two messages to one phone the session's interval apart.
 *
 * @param times the next message's time of each phone, as far as it is known; phones that are ready now are added
 */
export const spaceApart = (
  recipients: ReadonlyArray<RecipientResult>,
  times: Map<string, Instant>,
  intervalMs: number,
  now: Instant
): { readonly ready: ReadonlyArray<RecipientResult>; readonly deferred: ReadonlyArray<RecipientResult> } => {
  const ready: Array<RecipientResult> = []
  const deferred: Array<RecipientResult> = []
  for (const recipient of recipients) {
    const at = Pacing.pairedUntil(times.get(recipient.phone) ?? null, intervalMs, now)
    if (at !== null) deferred.push(Transitions.defer(recipient, at, now))
    else {
      ready.push(recipient)
      times.set(recipient.phone, now + intervalMs)
    }
  }
  return { ready, deferred }
}
