/**
 * How much each receiver of webhooks gets at once, so that a slow or dead one delays no other. What it has in hand
 * grows with its successes and is halved by each failure, so that one that comes back after a long time is not run
 * over; one that does nothing but fail is asked ever less often; and all that fail share a part of the slots.
 *
 * This is what one process knows; another learns it anew within a few attempts. Rates that hold over all processes are
 * the store's.
 */
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"

/** In hand at first, and at most. */
export const firstWindow = 2
export const widestWindow = 16

/** From so many failures in a row it is given pauses. */
export const patience = 20

/** A pause is this part of the time that it has been failing, within these bounds. */
const pausePart = 1 / 6
const shortestPause = 500
export const longestPause = Time.minute

/** All that fail have no more of the slots than this. */
const failingPart = 1 / 4

interface Receiver {
  window: number
  inHand: number
  failures: number
  failingSince: Instant | null
  heldUntil: Instant
}

export interface Outcome {
  readonly delivered: boolean
  /** What it asked for, in milliseconds: nothing more until then. */
  readonly holdMs: number | null
}

export interface Receivers {
  readonly inHand: () => number
  /** Those that get nothing now. */
  readonly full: (now: Instant) => ReadonlyArray<string>
  /** How many more another one may be given. */
  readonly room: (endpointId: string) => number
  readonly begin: (endpointId: string) => void
  readonly end: (endpointId: string, outcome: Outcome, now: Instant) => void
  /** When the next pause ends; null when there is none. */
  readonly nextAt: (now: Instant) => Instant | null
}

/** @param slots deliveries in hand at once, over all receivers */
export const make = (slots: number): Receivers => {
  // Only those that have something in hand, or fail.
  const receivers = new Map<string, Receiver>()
  let total = 0
  let failing = 0

  const isFull = ({ failures, heldUntil, inHand, window }: Receiver, now: Instant): boolean =>
    heldUntil > now || inHand >= window || (failures > 0 && failing >= slots * failingPart)

  const fail = (receiver: Receiver, now: Instant): void => {
    receiver.window = Math.max(1, Math.floor(receiver.window / 2))
    receiver.failures += 1
    receiver.failingSince ??= now
    if (receiver.failures < patience) return
    const pause = Math.max(shortestPause, (now - receiver.failingSince) * pausePart)
    receiver.heldUntil = Math.max(receiver.heldUntil, now + Math.min(longestPause, Math.round(pause)))
  }

  const succeed = (receiver: Receiver): void => {
    receiver.window = Math.min(widestWindow, receiver.window + 1)
    receiver.failures = 0
    receiver.failingSince = null
  }

  return {
    inHand: () => total,
    full: (now) => [...receivers].flatMap(([id, receiver]) => (isFull(receiver, now) ? [id] : [])),
    room: (endpointId) => {
      const receiver = receivers.get(endpointId)
      return receiver === undefined ? firstWindow : receiver.window - receiver.inHand
    },
    begin: (endpointId) => {
      const fresh: Receiver = {
        window: firstWindow,
        inHand: 0,
        failures: 0,
        failingSince: null,
        heldUntil: 0
      }
      const receiver = receivers.get(endpointId) ?? fresh
      receivers.set(endpointId, receiver)
      receiver.inHand += 1
      total += 1
      if (receiver.failures > 0) failing += 1
    },
    end: (endpointId, { delivered, holdMs }, now) => {
      const receiver = receivers.get(endpointId)
      if (receiver === undefined) return
      if (receiver.failures > 0) failing -= receiver.inHand
      receiver.inHand -= 1
      total -= 1
      if (delivered) succeed(receiver)
      else fail(receiver, now)
      if (holdMs !== null) receiver.heldUntil = Math.max(receiver.heldUntil, now + holdMs)
      if (receiver.failures > 0) failing += receiver.inHand
      else if (receiver.inHand === 0 && receiver.heldUntil <= now) receivers.delete(endpointId)
    },
    nextAt: (now) => {
      let next: Instant | null = null
      for (const { heldUntil } of receivers.values()) {
        if (heldUntil > now && (next === null || heldUntil < next)) next = heldUntil
      }
      return next
    }
  }
}
