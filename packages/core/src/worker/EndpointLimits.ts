/**
 * The number of deliveries that each receiver of webhooks gets at once, so that a slow or dead one delays no other. What
 * it has under way grows with its successes and is halved by each failure, so that one that comes back after a long time
 * is not run over; one that does nothing but fail is asked ever less often; and all that fail, or answer slowly, share a
 * part of the slots.
 *
 * This is what one process knows; another learns it anew within a few attempts. Rates that hold over all processes are
 * the store's.
 */
import * as Time from "../domain/Instant.ts"
import type { Moment } from "../runtime/Moment.ts"

/** Deliveries under way at first, and at most. */
export const firstWindow = 2
export const widestWindow = 16

/** An answer that takes longer than this holds a slot that others need. */
export const slowMs = 1000

/** From so many failures in a row it is given pauses. */
export const patience = 20

/** For so long it is known that one fails of which nothing is heard. */
const longestFailing = 6 * Time.day

/** From so many failures in a row it counts as failing: one alone tells little. */
export const failingAfter = 3

/** A pause is this part of the time that it has been failing, within these bounds. */
const pausePart = 1 / 6
const shortestPause = 500
export const longestPause = Time.minute

/** For how long a receiver's word holds up everything for it: an operator may have mended it meanwhile. */
export const longestAskedPause = 10 * Time.minute

/** All that fail or are slow have no more of the slots than this. */
const troubledPart = 1 / 4

/** After so long without a delivery it is a stranger again. */
const forgetMs = Time.minute

interface EndpointState {
  window: number
  inFlight: number
  failures: number
  failingSince: Moment | null
  /** True from the time that it counts as failing until it answers. */
  failing: boolean
  /** True when its last answer was a failure, or slow. */
  troubled: boolean
  pausedUntil: Moment
  /** When its last attempt ended. */
  endedAt: Moment
}

export interface Outcome {
  readonly delivered: boolean
  readonly durationMs: number
  /** The pause that the receiver asked for, in milliseconds. */
  readonly pauseMs: number | null
}

export type Turn = "failing" | "recovered" | null

export interface EndpointLimits {
  readonly inFlight: () => number
  /** Receivers that get nothing now. */
  readonly full: (now: Moment) => ReadonlyArray<string>
  /** How many more another one may be given. */
  readonly room: (endpointId: string) => number
  readonly begin: (endpointId: string) => void
  /** Answers whether it begins to fail with this attempt, or has recovered; null where it is as it was. */
  readonly end: (endpointId: string, outcome: Outcome, now: Moment) => Turn
  /** A delivery that began was not attempted, which tells nothing of the receiver. */
  readonly release: (endpointId: string) => void
  /** When the next pause ends; null when there is none. */
  readonly nextAt: (now: Moment) => Moment | null
}

const stranger = (): EndpointState => ({
  window: firstWindow,
  inFlight: 0,
  failures: 0,
  failingSince: null,
  failing: false,
  troubled: false,
  pausedUntil: 0,
  endedAt: 0
})

const fail = (endpoint: EndpointState, now: Moment): void => {
  endpoint.window = Math.max(1, Math.floor(endpoint.window / 2))
  endpoint.failures += 1
  endpoint.failingSince ??= now
  if (endpoint.failures < patience) return
  const pause = Math.max(shortestPause, Math.round((now - endpoint.failingSince) * pausePart))
  endpoint.pausedUntil = Math.max(endpoint.pausedUntil, now + Math.min(longestPause, pause))
}

const succeed = (endpoint: EndpointState, durationMs: number): void => {
  if (durationMs <= slowMs) endpoint.window = Math.min(widestWindow, endpoint.window + 1)
  endpoint.failures = 0
  endpoint.failingSince = null
}

const turnOf = (endpoint: EndpointState): Turn => {
  const was = endpoint.failing
  endpoint.failing = endpoint.failures >= failingAfter || (was && endpoint.failures > 0)
  if (was === endpoint.failing) return null
  return was ? "recovered" : "failing"
}

/** @param slots deliveries under way at the same time, over all receivers */
export const make = (slots: number): EndpointLimits => {
  const endpoints = new Map<string, EndpointState>()
  // Receivers that may get less than another: with something under way, troubled or held. In the order in which they were
  // given something, the longest ago first.
  const watched = new Map<string, EndpointState>()
  let sweptAt = 0
  const shared = Math.max(1, Math.floor(slots * troubledPart))
  let total = 0
  let troubled = 0

  const mark = (endpoint: EndpointState, isTroubled: boolean): void => {
    if (endpoint.troubled) troubled -= endpoint.inFlight
    endpoint.troubled = isTroubled
    if (isTroubled) troubled += endpoint.inFlight
  }

  const forget = (now: Moment): void => {
    if (now >= sweptAt && now - sweptAt < forgetMs / 6) return
    sweptAt = now
    for (const [id, { endedAt, failing, failingSince, inFlight, pausedUntil }] of endpoints) {
      // An endpoint that fails is disabled some days later.
      const idleMs = failing ? longestFailing : failingSince === null ? forgetMs : Time.hour
      if (inFlight > 0 || pausedUntil > now || now - endedAt <= idleMs) continue
      endpoints.delete(id)
      watched.delete(id)
    }
  }

  return {
    inFlight: () => total,
    full: (now) => {
      forget(now)
      let left = shared - troubled
      const full: Array<string> = []
      for (const [id, endpoint] of watched) {
        const { inFlight, pausedUntil, troubled, window } = endpoint
        if (pausedUntil > now || inFlight >= window) full.push(id)
        else if (troubled) {
          left -= 1
          if (left < 0) full.push(id)
        } else if (inFlight === 0) watched.delete(id)
      }
      return full
    },
    room: (endpointId) => {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === undefined) return firstWindow
      // One at a time, so that what `full` let pass is what is taken.
      return endpoint.troubled ? 1 : endpoint.window - endpoint.inFlight
    },
    begin: (endpointId) => {
      const endpoint = endpoints.get(endpointId) ?? stranger()
      endpoints.set(endpointId, endpoint)
      // To the end of the order.
      watched.delete(endpointId)
      watched.set(endpointId, endpoint)
      endpoint.inFlight += 1
      total += 1
      if (endpoint.troubled) troubled += 1
    },
    end: (endpointId, { delivered, durationMs, pauseMs }, now) => {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === undefined) return null
      mark(endpoint, false)
      endpoint.inFlight -= 1
      endpoint.endedAt = now
      total -= 1
      if (delivered) succeed(endpoint, durationMs)
      else fail(endpoint, now)
      mark(endpoint, !delivered || durationMs > slowMs)
      if (pauseMs !== null) {
        endpoint.pausedUntil = Math.max(endpoint.pausedUntil, now + Math.min(pauseMs, longestAskedPause))
      }
      return turnOf(endpoint)
    },
    release: (endpointId) => {
      const endpoint = endpoints.get(endpointId)
      if (endpoint === undefined) return
      endpoint.inFlight -= 1
      total -= 1
      if (endpoint.troubled) troubled -= 1
    },
    nextAt: (now) => {
      let next: Moment | null = null
      for (const { pausedUntil } of watched.values()) {
        if (pausedUntil > now && (next === null || pausedUntil < next)) next = pausedUntil
      }
      return next
    }
  }
}

/** Every receiver gets whatever is due for it: for who delivers once and ends. */
export const unlimited = (slots: number): EndpointLimits => {
  let total = 0
  return {
    inFlight: () => total,
    full: () => [],
    room: () => slots,
    begin: () => {
      total += 1
    },
    end: () => {
      total -= 1
      return null
    },
    release: () => {
      total -= 1
    },
    nextAt: () => null
  }
}
