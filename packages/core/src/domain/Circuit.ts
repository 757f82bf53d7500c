/**
 * The circuit of a session (decisions.md §10 "Dispatch"): when its platform counts as unavailable, and when one message
 * asks it again. Pure, in two parts. {@link next} is what one process sees of the platform; the process keeps it in
 * memory. An {@link Outage} is what all processes know; it lies with the session.
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"

/** Attempts in a row without an answer that open a circuit. */
export const mostUnanswered = 20

/** Milliseconds of something under way without a break, and nothing answered, that open a circuit. */
export const longestSilence = 30 * Time.second

const firstInterval = Time.second
const longestInterval = Time.minute

export type Circuit =
  | {
      readonly _tag: "Closed"
      readonly underWay: number
      /** Attempts in a row that had no answer. */
      readonly unanswered: number
      /**
       * The time by a monotonic clock, in milliseconds, when the silence was first seen ({@link look}); null while nothing
       * is under way, and after each answer. So no attempt has to read a clock.
       */
      readonly silentSince: number | null
    }
  | { readonly _tag: "Open"; readonly underWay: number }

export type Event =
  /** An attempt begins. */
  | "Began"
  /** An attempt ends with an answer of the platform, which a refusal is, too. */
  | "Answered"
  /** An attempt ends without an answer: a time-out, a refused connection, an error of the server (5xx). */
  | "Unanswered"
  /** An attempt ends, and tells nothing of the platform. */
  | "Ended"

/** The circuit of a session of which nothing is under way. */
export const idle: Circuit = { _tag: "Closed", underWay: 0, unanswered: 0, silentSince: null }

/** A circuit that another process closed. */
export const closed = ({ underWay }: Circuit): Circuit => ({ ...idle, underWay })

/** The circuit after an event. An open one stays open until something is answered, also by an attempt that began before. */
export const next = (circuit: Circuit, event: Event): Circuit => {
  const underWay = event === "Began" ? circuit.underWay + 1 : Math.max(0, circuit.underWay - 1)
  if (event === "Answered") return { _tag: "Closed", underWay, unanswered: 0, silentSince: null }
  if (circuit._tag === "Open") return { _tag: "Open", underWay }
  const unanswered = circuit.unanswered + (event === "Unanswered" ? 1 : 0)
  if (unanswered >= mostUnanswered) return { _tag: "Open", underWay }
  return {
    _tag: "Closed",
    underWay,
    unanswered,
    silentSince: underWay === 0 ? null : circuit.silentSince
  }
}

/**
 * The circuit as it is seen at a time; the same one when nothing is new. The silence counts only while something is under
 * way without a break: a lone message that is tried again after a quarter of an hour is not a quarter of an hour of silence.
 */
export const look = (circuit: Circuit, now: number): Circuit => {
  if (circuit._tag === "Open" || circuit.underWay === 0) return circuit
  if (circuit.silentSince === null) return { ...circuit, silentSince: now }
  return now - circuit.silentSince < longestSilence ? circuit : { _tag: "Open", underWay: circuit.underWay }
}

/** A platform that does not answer, as the session's row holds it. */
export interface Outage {
  readonly since: Instant
  /** The time of the next probe: one message that asks the platform again. */
  readonly probeAt: Instant
  /** Milliseconds from a probe that failed to the next one. */
  readonly intervalMs: number
}

export const begin = (now: Instant): Outage => ({
  since: now,
  probeAt: now + firstInterval,
  intervalMs: firstInterval
})

/** The time of the next probe. One that lies further ahead than any is put was written by a clock that was ahead. */
export const nextProbe = ({ probeAt }: Outage, now: Instant): Instant =>
  probeAt > now + longestInterval ? now : probeAt

export const isProbeDue = (outage: Outage, now: Instant): boolean => nextProbe(outage, now) <= now

/** The outage once a probe was given out: nobody gets another while it may be under way. */
export const probing = (outage: Outage, now: Instant): Outage => ({
  ...outage,
  probeAt: now + longestInterval
})

/**
 * The outage once a probe ended without an answer.
 *
 * @param attempted false when the platform was not asked: its recipient's consent is gone, say. The next may go now
 */
export const probed = (outage: Outage, attempted: boolean, now: Instant): Outage => {
  if (!attempted) return { ...outage, probeAt: now }
  const intervalMs = Math.min(longestInterval, outage.intervalMs * 2)
  return { ...outage, intervalMs, probeAt: now + intervalMs }
}
