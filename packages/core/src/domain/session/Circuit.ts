/**
 * The circuit of a session (contract.md §10 "Dispatch"): when its platform counts as unavailable, and when one
 * message probes it. Pure, in two parts. {@link next} computes a {@link Circuit}, which is what one process observes
 * and stays in its memory. An {@link Outage} is shared by all processes and stored with the session.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

/** Attempts in a row without an answer that open a circuit. */
export const mostUnanswered = 20

/** Milliseconds of attempts without any answer and without a long pause that open a circuit. */
export const longestSilence = 30 * Time.second

/** The longest pause between attempts, in milliseconds, within one silence. */
export const longestPause = 30 * Time.second

/** Milliseconds without a look at attempts in progress after which the process counts as frozen. */
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
      /** The time since when no attempt is in progress during a silence; null while one is. */
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
  /** An attempt ends and says nothing about the platform. */
  | "Ended"

/** The circuit of a platform that answered. Every field is written out, since nearly every attempt makes a circuit. */
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

/** True when the circuit may be dropped: no attempt is in progress, and the last one was answered. */
export const isQuiet = (circuit: Circuit): boolean =>
  circuit._tag === "Closed" && circuit.underWay === 0 && circuit.unanswered === 0

type Closed = Extract<Circuit, { readonly _tag: "Closed" }>

const began = (circuit: Closed, underWay: number, clock: () => number): Circuit => {
  const { frozen, idleSince, silentSince, unanswered } = circuit
  const isSilence = idleSince === null || clock() - idleSince <= longestPause
  const since = isSilence ? silentSince : null
  return { _tag: "Closed", underWay, frozen, unanswered, silentSince: since, idleSince: null }
}

/**
 * The circuit after an attempt without an answer. The attempt is silence of the platform unless it says nothing about
 * it, or the process was frozen during it.
 */
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
 * The circuit after an event. An open circuit stays open until any attempt is answered, even one that began before it
 * opened.
 *
 * @param clock reads the monotonic time, in milliseconds. It is read only during a silence, so that answered attempts
 *   cost no clock read
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
 * The circuit as it is at a time; the same object when nothing changed. A lone message that is retried after a
 * quarter of an hour is no silence of a quarter of an hour, since the platform was not asked in between.
 */
export const look = (circuit: Circuit, now: number): Circuit => {
  if (circuit._tag === "Open" || circuit.underWay === circuit.frozen) return circuit
  if (circuit.silentSince === null) return { ...circuit, silentSince: now }
  return now - circuit.silentSince < longestSilence ? circuit : { _tag: "Open", underWay: circuit.underWay }
}

/** The circuit after its process was frozen, as by a suspended machine: the process could hear no answer meanwhile. */
export const thawed = (circuit: Circuit): Circuit =>
  circuit._tag === "Open"
    ? circuit
    : { ...circuit, frozen: circuit.underWay, silentSince: null, idleSince: null }

/** A process tells the store this of a session's platform, in the commit that stores the outcomes which show it. */
export interface News {
  readonly sessionId: string
  /** `ProbeUnused`: the platform was not asked. */
  readonly what: "OutageBegan" | "OutageEnded" | "ProbeFailed" | "ProbeUnused"
}

/** A platform's outage, as the session's row stores it. */
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
  probeAt: Time.after(now, firstInterval),
  intervalMs: firstInterval
})

/**
 * The time of the next probe. A clock ahead of ours wrote a time further away than the longest interval
 * (`Instant.isAhead`), and the probe is due then.
 */
export const nextProbe = ({ probeAt }: Outage, now: Instant): Instant =>
  Time.isAhead(Time.before(probeAt, longestInterval), now) ? now : probeAt

export const isProbeDue = (outage: Outage, now: Instant): boolean => nextProbe(outage, now) <= now

/**
 * The time, or the millisecond before it, so that it is even or odd. An odd time gives direct messages a chance
 * ({@link mayProbeDirectly}).
 *
 * @param turn makes the time even if it is even, and odd if it is odd
 */
const withTurn = (at: Instant, turn: number): Instant => Time.before(at, (at + turn) % 2)

/**
 * True when a direct message may be the probe. A job's recipient is claimed as soon as the probe is due, so that a
 * direct message would never be first. Therefore direct messages may come half an interval early at about every
 * second probe.
 */
export const mayProbeDirectly = (outage: Outage, now: Instant): boolean =>
  isProbeDue(outage, outage.probeAt % 2 === 0 ? now : Time.after(now, outage.intervalMs / 2))

/** The outage after a probe began. The next probe waits until this one can no longer be in progress. */
export const probing = (outage: Outage, now: Instant): Outage => ({
  ...outage,
  probeAt: withTurn(Time.after(now, longestInterval), 0)
})

/** Milliseconds after which a probe no longer counts, since the next one may have begun. */
export const longestProbe = longestInterval

/**
 * The outage after a probe without an answer. The next probe comes after the doubled interval, and at most a minute
 * after this one began, however long this one took.
 *
 * @param attempted false when the platform was not asked, for example because consent was revoked. The next probe may
 *   begin now
 */
export const probed = (outage: Outage, attempted: boolean, now: Instant): Outage => {
  if (!attempted) return { ...outage, probeAt: now }
  const intervalMs = Math.min(longestInterval, outage.intervalMs * 2)
  const probeAt = Time.min(Time.after(now, intervalMs), Time.max(now, outage.probeAt))
  return { ...outage, intervalMs, probeAt: withTurn(probeAt, now) }
}
