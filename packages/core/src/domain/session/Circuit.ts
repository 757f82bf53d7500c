/**
 * The circuit of a session (decisions.md §10 "Dispatch"): when its platform counts as unavailable, and when one message
 * asks it again. Pure, in two parts. {@link next} is what one process sees of the platform; the process keeps it in
 * memory. An {@link Outage} is what all processes know; it lies with the session.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

/** Attempts in a row without an answer that open a circuit. */
export const mostUnanswered = 20

/** Milliseconds for which a platform is asked, without a longer pause, and answers nothing, that open a circuit. */
export const longestSilence = 30 * Time.second

/** The longest time, in milliseconds, without an attempt that belongs to one silence. */
export const longestPause = 30 * Time.second

/** Milliseconds in which nobody looked, though something was under way, after which the process counts as frozen. */
export const longestUnseen = 10 * Time.second

const firstInterval = Time.second
const longestInterval = Time.minute

export type Circuit =
  | {
      readonly _tag: "Closed"
      readonly underWay: number
      /** How many of them were under way while the process was frozen: their time-outs are its own fault. */
      readonly frozen: number
      /** Attempts in a row that had no answer. */
      readonly unanswered: number
      /**
       * The time by a monotonic clock, in milliseconds, when the silence was first seen: by a {@link look} at something
       * under way, or by an attempt that ended without an answer. Null after each answer.
       */
      readonly silentSince: number | null
      /** Since when nothing is under way amid a silence; null while something is. */
      readonly idleSince: number | null
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

/** The circuit of a platform that answered. Written out, since nearly every attempt makes one. */
const answered = (underWay: number, frozen: number): Circuit => ({
  _tag: "Closed",
  underWay,
  frozen,
  unanswered: 0,
  silentSince: null,
  idleSince: null
})

/** The circuit of a session of which nothing is under way. */
export const idle: Circuit = answered(0, 0)

/** A circuit that another process closed. */
export const closed = ({ underWay }: Circuit): Circuit => answered(underWay, 0)

/** True when it is to be forgotten: nothing is under way, and the last attempt was answered. */
export const isQuiet = (circuit: Circuit): boolean =>
  circuit._tag === "Closed" && circuit.underWay === 0 && circuit.unanswered === 0

type Closed = Extract<Circuit, { readonly _tag: "Closed" }>

const began = (circuit: Closed, underWay: number, clock: () => number): Circuit => {
  const { frozen, idleSince, silentSince, unanswered } = circuit
  const isSilence = idleSince === null || clock() - idleSince <= longestPause
  const since = isSilence ? silentSince : null
  return { _tag: "Closed", underWay, frozen, unanswered, silentSince: since, idleSince: null }
}

/** After an attempt without an answer. It counts as silence unless it says nothing of the platform. */
const endedInSilence = (
  circuit: Closed,
  underWay: number,
  isUnanswered: boolean,
  clock: () => number
): Circuit => {
  const { silentSince, unanswered } = circuit
  const frozen = Math.max(0, circuit.frozen - 1)
  const counts = isUnanswered && circuit.frozen === 0
  if (!counts && unanswered === 0) {
    const since = underWay === 0 ? null : silentSince
    return { _tag: "Closed", underWay, frozen, unanswered, silentSince: since, idleSince: null }
  }
  const now = clock()
  const since = silentSince ?? (counts ? now : null)
  const isLong = since !== null && now - since >= longestSilence
  if (counts && (unanswered + 1 >= mostUnanswered || isLong)) return { _tag: "Open", underWay }
  return {
    _tag: "Closed",
    underWay,
    frozen,
    unanswered: unanswered + (counts ? 1 : 0),
    silentSince: since,
    idleSince: underWay === 0 ? now : null
  }
}

/**
 * The circuit after an event. An open one stays open until something is answered, also by an attempt that began before.
 *
 * @param clock reads the monotonic time, in milliseconds. Asked amid a silence only, so that no attempt that is answered
 *   reads a clock
 */
export const next = (circuit: Circuit, event: Event, clock: () => number): Circuit => {
  const underWay = event === "Began" ? circuit.underWay + 1 : Math.max(0, circuit.underWay - 1)
  if (circuit._tag === "Open")
    return event === "Answered" ? answered(underWay, 0) : { _tag: "Open", underWay }
  if (event === "Began") return began(circuit, underWay, clock)
  if (event === "Answered") return answered(underWay, Math.max(0, circuit.frozen - 1))
  return endedInSilence(circuit, underWay, event === "Unanswered", clock)
}

/**
 * The circuit as it is seen at a time; the same one when nothing is new. A lone message that is tried again after a
 * quarter of an hour is not a quarter of an hour of silence: the platform has to be asked all the time.
 */
export const look = (circuit: Circuit, now: number): Circuit => {
  if (circuit._tag === "Open" || circuit.underWay === circuit.frozen) return circuit
  if (circuit.silentSince === null) return { ...circuit, silentSince: now }
  return now - circuit.silentSince < longestSilence ? circuit : { _tag: "Open", underWay: circuit.underWay }
}

/** The circuit after its process was frozen, as a machine that was suspended is: it heard no answer meanwhile. */
export const thawed = (circuit: Circuit): Circuit =>
  circuit._tag === "Open"
    ? circuit
    : { ...circuit, frozen: circuit.underWay, silentSince: null, idleSince: null }

/** A platform that does not answer, as the session's row holds it. */
export interface Outage {
  readonly since: Instant
  /** The time of the next probe: one message that asks the platform again. */
  readonly probeAt: Instant
  /** Milliseconds from a probe that failed to the next one. */
  readonly intervalMs: number
}

/** The time in which a platform did not answer. */
export interface Silence {
  readonly since: Instant
  readonly until: Instant
}

export const begin = (now: Instant): Outage => ({
  since: now,
  probeAt: now + firstInterval,
  intervalMs: firstInterval
})

/**
 * The time of the next probe. One that lies further ahead than any is put was written by a clock that was ahead
 * (`Instant.isAhead`).
 */
export const nextProbe = ({ probeAt }: Outage, now: Instant): Instant =>
  Time.isAhead(probeAt - longestInterval, now) ? now : probeAt

export const isProbeDue = (outage: Outage, now: Instant): boolean => nextProbe(outage, now) <= now

/**
 * The time, or the millisecond before it. An odd time leaves room for direct messages ({@link mayProbeDirectly}).
 *
 * @param turn odd or even, as the time is to be
 */
const withTurn = (at: Instant, turn: number): Instant => at - ((at + turn) % 2)

/**
 * True when a direct message may be the probe. A job's recipient takes the probe in the moment when it is due, so a direct
 * message would never come first: every other time, by chance, it may come half an interval early.
 */
export const mayProbeDirectly = (outage: Outage, now: Instant): boolean =>
  isProbeDue(outage, outage.probeAt % 2 === 0 ? now : now + outage.intervalMs / 2)

/** The outage once a probe was given out: nobody gets another while it may be under way. */
export const probing = (outage: Outage, now: Instant): Outage => ({
  ...outage,
  probeAt: withTurn(now + longestInterval, 0)
})

/** Milliseconds after which a probe counts no more: the next may be under way. */
export const longestProbe = longestInterval

/**
 * The outage once a probe ended without an answer. The next one comes after the interval, doubled, and no later than a
 * minute after this one was given out, however long this one took.
 *
 * @param attempted false when the platform was not asked: its recipient's consent is gone, say. The next may go now
 */
export const probed = (outage: Outage, attempted: boolean, now: Instant): Outage => {
  if (!attempted) return { ...outage, probeAt: now }
  const intervalMs = Math.min(longestInterval, outage.intervalMs * 2)
  const probeAt = Math.min(now + intervalMs, Math.max(now, outage.probeAt))
  return { ...outage, intervalMs, probeAt: withTurn(probeAt, now) }
}
