/**
 * How fast a session may send (contract.md §4, §11): messages per second in all, and a minimum interval between two
 * messages to one person. These are the platform's limits and not the account's, so that messages over them wait and
 * are not refused.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

export interface Pacing {
  /** null = unlimited. */
  readonly messagesPerSecond: number | null
  /** The least time between two messages to one person, in milliseconds; null = none. */
  readonly pairIntervalMs: number | null
}

export const unpaced: Pacing = { messagesPerSecond: null, pairIntervalMs: null }

/** The messages that fit in this time may go together, and at least one may: windows, but no bursts. */
const burstMs = 50

/**
 * How far a stored arrival may be ahead of the clock. Direct messages are counted and never wait, so that the delay
 * they cause for others is bounded. A clock that was ahead wrote a later arrival, which is ignored.
 */
const longestAhead = 30 * Time.second

/** A rounding error of the fractions must not cost a message. */
const rounding = 1e-6

const toleranceOf = (messagesPerSecond: number): number => Math.max(burstMs, 1000 / messagesPerSecond)

const horizonOf = (messagesPerSecond: number): number => Math.max(longestAhead, 1000 / messagesPerSecond)

const from = (arrival: number | null, messagesPerSecond: number, now: Instant): number =>
  arrival === null || arrival > now + horizonOf(messagesPerSecond) ? now : Math.max(arrival, now)

/** When the next message may go, `now` at the earliest. */
export const nextAt = (arrival: number | null, messagesPerSecond: number, now: Instant): Instant =>
  Time.max(
    now,
    Time.at(
      Math.ceil(
        from(arrival, messagesPerSecond, now) +
          1000 / messagesPerSecond -
          toleranceOf(messagesPerSecond) -
          rounding
      )
    )
  )

/** The time at which so many have gone by the pace alone; null where there is none, or nobody lives to see it. */
export const emptyAt = (waiting: number, messagesPerSecond: number | null, now: Instant): Instant | null => {
  if (waiting === 0 || messagesPerSecond === null || messagesPerSecond <= 0) return null
  const at = Time.after(now, (waiting * Time.second) / messagesPerSecond)
  return at > Time.latest ? null : at
}

/**
 * How many of `wanted` messages may go now, by the generic cell rate algorithm: in any time t at most the burst plus
 * rate × t.
 *
 * @param arrival the session's stored arrival, in milliseconds with fractions; null before its first message
 */
export const grant = (
  arrival: number | null,
  messagesPerSecond: number,
  wanted: number,
  now: Instant
): { readonly granted: number; readonly arrival: number } => {
  const interval = 1000 / messagesPerSecond
  const start = from(arrival, messagesPerSecond, now)
  const room = Math.floor((now + toleranceOf(messagesPerSecond) - start) / interval + rounding)
  const granted = Math.max(0, Math.min(wanted, room))
  return { granted, arrival: start + granted * interval }
}

/** Counts one message that goes whatever the pace is. Later messages wait for it. */
export const count = (arrival: number | null, messagesPerSecond: number, now: Instant): number =>
  Math.min(
    from(arrival, messagesPerSecond, now) + 1000 / messagesPerSecond,
    now + horizonOf(messagesPerSecond)
  )

/**
 * When a phone may have its next message; null when it may have one now. A time further ahead than the interval is
 * ignored: a clock that was ahead wrote it, or the interval was longer then.
 *
 * @param nextAt the phone's stored time: its last message's time plus the interval
 */
export const pairedUntil = (nextAt: Instant | null, intervalMs: number, now: Instant): Instant | null =>
  nextAt !== null && nextAt > now && nextAt <= now + intervalMs ? nextAt : null
