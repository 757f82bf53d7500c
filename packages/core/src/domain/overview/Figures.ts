/** The numbers of an overview, computed of the facts (contract.md §12). */
import { groupBy } from "../GroupBy.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Pace from "../job/Pace.ts"
import type { Tally } from "../job/Tally.ts"
import type { Group, Limited, Limiter } from "../job/Waiting.ts"
import * as Waiting from "../job/Waiting.ts"
import * as Pacing from "../session/Pacing.ts"
import type { Session } from "../session/Session.ts"
import * as Sessions from "../session/Session.ts"
import type { OwnedSession, Standing, StoreReadings } from "./StoreReadings.ts"

/** So many minutes are shown, the running one as the last. */
export const minutesShown = 60

/** A rate is the mean of so many whole minutes and of the running one. */
const rateMinutes = 5

const minuteOf = (now: Instant): Instant => Time.before(now, now % Time.minute)

/** The first minute that is shown. */
export const shownSince = (now: Instant): Instant =>
  Time.before(minuteOf(now), (minutesShown - 1) * Time.minute)

/** The first minute of the rates. */
export const ratedSince = (now: Instant): Instant => Time.before(minuteOf(now), rateMinutes * Time.minute)

export interface Minute {
  readonly at: Instant
  readonly accepted: number
  /** Taken by their platform. */
  readonly done: number
  readonly failed: number
  readonly unknown: number
}

const members = { queued: "accepted", accepted: "done", failed: "failed", unknown: "unknown" } as const

const isShown = (outcome: string): outcome is keyof typeof members => Object.hasOwn(members, outcome)

export const minutesOf = ({
  now,
  tallies
}: Pick<StoreReadings, "now" | "tallies">): ReadonlyArray<Minute> => {
  const since = shownSince(now)
  const minutes = Array.from({ length: minutesShown }, (_, place) => ({
    at: Time.after(since, place * Time.minute),
    accepted: 0,
    done: 0,
    failed: 0,
    unknown: 0
  }))
  for (const { count, minute, outcome } of tallies) {
    const of = minutes[(minute - since) / Time.minute]
    if (of !== undefined && isShown(outcome)) of[members[outcome]] += count
  }
  return minutes
}

export interface Rates {
  readonly acceptedPerMinute: number
  readonly outcomesPerMinute: number
}

/** With one digit behind the point. */
const rounded = (value: number): number => Math.round(value * 10) / 10

const ratedMinutes = (now: Instant): number => (now - ratedSince(now)) / Time.minute

export const ratesOf = (minutes: ReadonlyArray<Minute>, now: Instant): Rates => {
  const rated = minutes.filter(({ at }) => at >= ratedSince(now))
  const perMinute = (of: (minute: Minute) => number): number =>
    rounded(rated.reduce((sum, minute) => sum + of(minute), 0) / ratedMinutes(now))
  return {
    acceptedPerMinute: perMinute(({ accepted }) => accepted),
    outcomesPerMinute: perMinute(({ done, failed, unknown }) => done + failed + unknown)
  }
}

/**
 * The recipients that wait for one limiter. `until`: the time when the wait may end by itself; null where somebody has to end
 * it.
 */
export interface WaitingFor {
  readonly limiter: Limiter
  readonly recipients: number
  readonly until: Instant | null
}

const untilOf = ({ group }: Limited, limiter: Limiter): Instant | null => {
  const { blockedUntil, outage } = group.session
  switch (limiter) {
    case "platform":
      return outage?.probeAt ?? null
    case "session":
      return Sessions.endOf(blockedUntil)
    case "retry":
    case "schedule":
    case "hours":
      return group.nextAt
    default:
      return null
  }
}

const laterOf = (a: Instant | null, b: Instant | null): Instant | null =>
  a === null ? b : b === null ? a : Time.max(a, b)

/** When so many of a session are gone by its pace, and each job by its own. */
const goneAt = (
  groups: ReadonlyArray<Group>,
  count: number,
  perSecond: number | null,
  now: Instant
): Instant | null =>
  groups
    .map(({ longest, perMinute }) => Pacing.emptyAt(longest, Pace.slower(null, perMinute), now))
    .reduce(laterOf, Pacing.emptyAt(count, perSecond, now))

/** When all that has a pace is gone. */
const lastOf = (found: ReadonlyArray<Group>, now: Instant): Instant | null =>
  [...groupBy(found, ({ session }) => session.id).values()]
    .map((groups) => {
      const waiting = groups.reduce((sum, group) => sum + group.waiting, 0)
      return goneAt(groups, waiting, groups[0]?.session.pacing.messagesPerSecond ?? null, now)
    })
    .reduce(laterOf, null)

/** The parts that are there, in the limiters' order. */
export const waitingOf = (limited: ReadonlyArray<Limited>, now: Instant): ReadonlyArray<WaitingFor> => {
  const parts = limited.flatMap((each) => [
    { limiter: each.limiter, count: each.group.waiting, each },
    { limiter: each.retryLimiter, count: each.group.retrying, each }
  ])
  return Waiting.limiters.flatMap((limiter): ReadonlyArray<WaitingFor> => {
    const found = parts.filter((part) => part.limiter === limiter && part.count > 0)
    if (found.length === 0) return []
    // All of a pace are gone with the last; what else ends does so first with the first.
    const until =
      limiter === "pace"
        ? lastOf(
            found.map(({ each }) => each.group),
            now
          )
        : Time.firstOf(found.map(({ each }) => untilOf(each, limiter)))
    return [{ limiter, recipients: found.reduce((sum, { count }) => sum + count, 0), until }]
  })
}

/** The number of a session's recipients that have one code of failure. */
export interface Reason {
  readonly code: string
  readonly count: number
}

/** The last hour of a session, and what waits for it. */
export interface SessionFigures extends OwnedSession {
  readonly waiting: number
  readonly oldestAt: Instant | null
  readonly sentPerSecond: number
  readonly failedLastHour: number
  readonly emptyAt: Instant | null
  /** Outcomes since the rates' first minute, and those of the hour before; what was mended since is no failure. */
  readonly lately: Outcomes
  readonly before: Outcomes
  /** The codes of what failed, was tried again or is unknown, most of them first. */
  readonly reasons: ReadonlyArray<Reason>
  /** The reasons of what failed and was not mended. */
  readonly failures: ReadonlyArray<Reason>
  /** The reasons of failures since the rates' first minute. */
  readonly latelyReasons: ReadonlyArray<Reason>
  /** The first minute in which one failed since the rates' first minute. */
  readonly failingSince: Instant | null
}

export interface Outcomes {
  readonly done: number
  readonly failed: number
}

const sumOf = (reasons: ReadonlyArray<Reason>): number => reasons.reduce((sum, { count }) => sum + count, 0)

const outcomesOf = (tallies: ReadonlyArray<Tally>): Outcomes => ({
  done: tallies.reduce((sum, { count, outcome }) => sum + (outcome === "accepted" ? count : 0), 0),
  failed: sumOf(standing(tallies, ["failed"]))
})

/**
 * The outcomes among these that were not mended, by code. A mend counts for what its code can have been, at most for all of it.
 */
export const standing = (
  tallies: ReadonlyArray<Tally>,
  outcomes: ReadonlyArray<Tally["outcome"]>
): ReadonlyArray<Reason> => {
  const sums = new Map<string, number>()
  for (const { code, count, outcome } of tallies) {
    const sign = outcome === "mended" ? -1 : outcomes.includes(outcome) ? 1 : 0
    if (sign !== 0) sums.set(code, (sums.get(code) ?? 0) + sign * count)
  }
  return sorted([...sums].filter(([, count]) => count > 0))
}

const sorted = (sums: ReadonlyArray<readonly [code: string, count: number]>): ReadonlyArray<Reason> =>
  sums
    .map(([code, count]) => ({ code, count }))
    .sort((a, b) => b.count - a.count || (a.code < b.code ? -1 : 1))

const reasonsOf = (tallies: ReadonlyArray<Tally>): ReadonlyArray<Reason> => {
  const sums = new Map<string, number>()
  for (const { code, count, outcome } of tallies)
    if (code !== "" && outcome !== "mended") sums.set(code, (sums.get(code) ?? 0) + count)
  return sorted([...sums])
}

/** Nothing but its pace and its workers keeps what waits for it. */
const isGoing = (session: Session, { isDispatched, quarantine }: StoreReadings): boolean =>
  isDispatched && quarantine === null && Sessions.obstacle(session) === null

export const sessionsOf = (facts: StoreReadings): ReadonlyArray<SessionFigures> => {
  const { backlog, now, sessions, tallies } = facts
  const groups = groupBy(Waiting.due(backlog), ({ session }) => session.id)
  const counted = groupBy(tallies, ({ sessionId }) => sessionId)
  return sessions.map(({ account, session }) => {
    const waits = groups.get(session.id) ?? []
    const waiting = waits.reduce((sum, group) => sum + group.waiting + group.retrying, 0)
    const ofSession = counted.get(session.id) ?? []
    const recent = ofSession.filter(({ minute }) => minute >= ratedSince(now))
    const lately = outcomesOf(recent)
    const failures = standing(ofSession, ["failed"])
    const before = outcomesOf(ofSession.filter(({ minute }) => minute < ratedSince(now)))
    const sentPerSecond = rounded(lately.done / (ratedMinutes(now) * 60))
    const perSecond = session.pacing.messagesPerSecond ?? sentPerSecond
    return {
      session,
      account,
      waiting,
      oldestAt: Time.firstOf(waits.map(({ oldestAt }) => oldestAt)),
      sentPerSecond,
      failedLastHour: sumOf(failures),
      emptyAt: isGoing(session, facts) ? goneAt(waits, waiting, perSecond, now) : null,
      lately,
      before,
      reasons: reasonsOf(ofSession),
      failures,
      latelyReasons: reasonsOf(recent),
      failingSince: Time.firstOf(
        recent.filter(({ outcome }) => outcome === "failed").map(({ minute }) => minute)
      )
    }
  })
}

/** The time within which 95 of 100 attempts ended; null where there is none. */
export const p95Of = ({ durations }: Pick<Standing, "durations">): number | null =>
  durations.toSorted((a, b) => a - b)[Math.ceil(durations.length * 0.95) - 1] ?? null
