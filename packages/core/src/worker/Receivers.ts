/**
 * How much each receiver of webhooks gets at once, so that a slow or dead one delays no other. What it has in hand
 * grows with its successes and is halved by each failure, so that one that comes back after a long time is not run
 * over; one that does nothing but fail is asked ever less often; and all that fail, or answer slowly, share a part of
 * the slots.
 *
 * This is what one process knows; another learns it anew within a few attempts. Rates that hold over all processes are
 * the store's.
 */
import * as Time from "../domain/Instant.ts"
import type { Moment } from "../loop/Moment.ts"

/** In hand at first, and at most. */
export const firstWindow = 2
export const widestWindow = 16

/** An answer that takes longer than this holds a slot that others need. */
export const slowMs = 1000

/** From so many failures in a row it is given pauses. */
export const patience = 20

/** A pause is this part of the time that it has been failing, within these bounds. */
const pausePart = 1 / 6
const shortestPause = 500
export const longestPause = Time.minute

/** For how long a receiver's word holds up everything for it: an operator may have mended it meanwhile. */
export const longestHold = 10 * Time.minute

/** All that fail or are slow have no more of the slots than this. */
const troubledPart = 1 / 4

/** After so long without a delivery it is a stranger again. */
const forgetMs = Time.minute

interface Receiver {
  window: number
  inHand: number
  failures: number
  failingSince: Moment | null
  /** True when its last answer was a failure, or slow. */
  troubled: boolean
  heldUntil: Moment
  /** When its last attempt ended. */
  endedAt: Moment
}

export interface Outcome {
  readonly delivered: boolean
  readonly durationMs: number
  /** The pause that the receiver asked for, in milliseconds. */
  readonly holdMs: number | null
}

export interface Receivers {
  readonly inHand: () => number
  /** Receivers that get nothing now. */
  readonly full: (now: Moment) => ReadonlyArray<string>
  /** How many more another one may be given. */
  readonly room: (endpointId: string) => number
  readonly begin: (endpointId: string) => void
  readonly end: (endpointId: string, outcome: Outcome, now: Moment) => void
  /** When the next pause ends; null when there is none. */
  readonly nextAt: (now: Moment) => Moment | null
}

const stranger = (): Receiver => ({
  window: firstWindow,
  inHand: 0,
  failures: 0,
  failingSince: null,
  troubled: false,
  heldUntil: 0,
  endedAt: 0
})

/** @param slots deliveries in hand at once, over all receivers */
export const make = (slots: number): Receivers => {
  const receivers = new Map<string, Receiver>()
  // Receivers that may get less than another: with something in hand, troubled or held. In the order in which they were
  // given something, the longest ago first.
  const watched = new Map<string, Receiver>()
  let sweptAt = 0
  const shared = Math.max(1, Math.floor(slots * troubledPart))
  let total = 0
  let troubled = 0

  const mark = (receiver: Receiver, isTroubled: boolean): void => {
    if (receiver.troubled) troubled -= receiver.inHand
    receiver.troubled = isTroubled
    if (isTroubled) troubled += receiver.inHand
  }

  const fail = (receiver: Receiver, now: Moment): void => {
    receiver.window = Math.max(1, Math.floor(receiver.window / 2))
    receiver.failures += 1
    receiver.failingSince ??= now
    if (receiver.failures < patience) return
    const pause = Math.max(shortestPause, Math.round((now - receiver.failingSince) * pausePart))
    receiver.heldUntil = Math.max(receiver.heldUntil, now + Math.min(longestPause, pause))
  }

  const succeed = (receiver: Receiver, durationMs: number): void => {
    if (durationMs <= slowMs) receiver.window = Math.min(widestWindow, receiver.window + 1)
    receiver.failures = 0
    receiver.failingSince = null
  }

  const forget = (now: Moment): void => {
    if (now >= sweptAt && now - sweptAt < forgetMs / 6) return
    sweptAt = now
    for (const [id, { endedAt, failingSince, heldUntil, inHand }] of receivers) {
      const idleMs = failingSince === null ? forgetMs : Time.hour
      if (inHand > 0 || heldUntil > now || now - endedAt <= idleMs) continue
      receivers.delete(id)
      watched.delete(id)
    }
  }

  return {
    inHand: () => total,
    full: (now) => {
      forget(now)
      let left = shared - troubled
      const full: Array<string> = []
      for (const [id, receiver] of watched) {
        const { heldUntil, inHand, troubled, window } = receiver
        if (heldUntil > now || inHand >= window) full.push(id)
        else if (troubled) {
          left -= 1
          if (left < 0) full.push(id)
        } else if (inHand === 0) watched.delete(id)
      }
      return full
    },
    room: (endpointId) => {
      const receiver = receivers.get(endpointId)
      if (receiver === undefined) return firstWindow
      // One at a time, so that what `full` let pass is what is taken.
      return receiver.troubled ? 1 : receiver.window - receiver.inHand
    },
    begin: (endpointId) => {
      const receiver = receivers.get(endpointId) ?? stranger()
      receivers.set(endpointId, receiver)
      // To the end of the order.
      watched.delete(endpointId)
      watched.set(endpointId, receiver)
      receiver.inHand += 1
      total += 1
      if (receiver.troubled) troubled += 1
    },
    end: (endpointId, { delivered, durationMs, holdMs }, now) => {
      const receiver = receivers.get(endpointId)
      if (receiver === undefined) return
      mark(receiver, false)
      receiver.inHand -= 1
      receiver.endedAt = now
      total -= 1
      if (delivered) succeed(receiver, durationMs)
      else fail(receiver, now)
      mark(receiver, !delivered || durationMs > slowMs)
      if (holdMs !== null) {
        receiver.heldUntil = Math.max(receiver.heldUntil, now + Math.min(holdMs, longestHold))
      }
    },
    nextAt: (now) => {
      let next: Moment | null = null
      for (const { heldUntil } of watched.values()) {
        if (heldUntil > now && (next === null || heldUntil < next)) next = heldUntil
      }
      return next
    }
  }
}

/** Every receiver gets whatever is due for it: for who delivers once and ends. */
export const unlimited = (slots: number): Receivers => {
  let total = 0
  return {
    inHand: () => total,
    full: () => [],
    room: () => slots,
    begin: () => {
      total += 1
    },
    end: () => {
      total -= 1
    },
    nextAt: () => null
  }
}
