/**
 * How fast a session may send (decisions.md §4): messages per second in all, and a least time between two messages
 * to one phone. The platform's limits, not the account's: what is over them waits, nothing is refused.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

export interface Pacing {
  /** null = as fast as it goes. */
  readonly messages_per_second: number | null
  /** The least time between two messages to one phone, in milliseconds; null = none. */
  readonly pair_interval_ms: number | null
}

export const unpaced: Pacing = { messages_per_second: null, pair_interval_ms: null }

/** What may go at once is what fits in this time, and at least one message: windows, but no bursts. */
const burstMs = 50

/**
 * How far ahead of the clock what is kept may be: direct messages are counted and never wait, so what they make others
 * wait for is bounded. What is further ahead was kept by a clock that was ahead, and is forgotten.
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
  Math.max(
    now,
    Math.ceil(
      from(arrival, messagesPerSecond, now) +
        1000 / messagesPerSecond -
        toleranceOf(messagesPerSecond) -
        rounding
    )
  )

/**
 * How many of `wanted` may go now, by the generic cell rate algorithm: over any stretch t no more than the burst
 * plus rate × t.
 *
 * @param arrival what is kept of the session, in milliseconds with fractions; null before its first message
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

/** One message that goes whatever the pace is, and is counted: what follows waits for it. */
export const count = (arrival: number | null, messagesPerSecond: number, now: Instant): number =>
  Math.min(
    from(arrival, messagesPerSecond, now) + 1000 / messagesPerSecond,
    now + horizonOf(messagesPerSecond)
  )

/**
 * When a phone may have its next message; null when it may have one now. What is further ahead than the interval was
 * kept by a clock that was ahead, or for a longer interval, and is forgotten.
 *
 * @param nextAt what is kept of the phone: its last message's time plus the interval
 */
export const pairedUntil = (nextAt: Instant | null, intervalMs: number, now: Instant): Instant | null =>
  nextAt !== null && nextAt > now && nextAt <= now + intervalMs ? nextAt : null
