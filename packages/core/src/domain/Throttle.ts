/**
 * Rate limits of very many keys in fixed memory, for counting what strangers choose the keys of. It is a count-min
 * sketch (Cormode and Muthukrishnan, 2005) of `RateLimit`: each key has one slot in each of four rows, and counts as
 * much as the emptiest of them. Nothing is ever evicted, so that a flood of other keys cannot wipe out a counter; slots
 * that keys share make a limit stricter, never looser. The seed keeps strangers from choosing keys that share slots.
 */

import * as RateLimit from "./account/RateLimit.ts"
import type { Instant } from "./Instant.ts"

const rows = 4
/** A power of two. All rows take 256 KiB. */
const slotsPerRow = 8192

export interface Throttle {
  /** True when every key has all of its units. */
  readonly isIdle: (now: Instant) => boolean
  /**
   * Milliseconds until the key has a unit; 0 when it has one now. Consumes nothing.
   *
   * @param promised units that requests in progress may still consume
   */
  readonly waitMs: (key: string, now: Instant, promised?: number) => number
  /** Consumes a unit. */
  readonly count: (key: string, now: Instant) => void
}

/** A 53-bit hash: two multiplicative hashes of 32 bits, mixed (cyrb53). Not cryptographic. */
export const hash = (text: string, seed: number): number => {
  let low = 0xdeadbeef ^ seed
  let high = 0x41c6ce57 ^ seed
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 2_654_435_761)
    high = Math.imul(high ^ unit, 1_597_334_677)
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909)
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909)
  return 0x1_0000_0000 * (high & 0x1f_ffff) + (low >>> 0)
}

/** @param seed a secret of the process */
export const make = (rule: RateLimit.Rule, seed: number): Throttle => {
  const arrivals = new Float64Array(rows * slotsPerRow)
  let latest = Number.NEGATIVE_INFINITY

  const slotsOf = (key: string): ReadonlyArray<number> => {
    const slots: Array<number> = []
    for (let row = 0; row < rows; row++) {
      slots.push(row * slotsPerRow + (hash(key, seed + row) & (slotsPerRow - 1)))
    }
    return slots
  }

  const arrivalOf = (slots: ReadonlyArray<number>): number =>
    Math.min(...slots.map((slot) => arrivals[slot] ?? 0))

  return {
    isIdle: (now) => latest <= now,
    waitMs: (key, now, promised = 0) => {
      const arrival = Math.max(arrivalOf(slotsOf(key)), now) + promised * (rule.periodMs / rule.limit)
      const { decision } = RateLimit.decide(arrival, rule, now)
      return decision.allowed ? 0 : Math.max(1, decision.retryAfterMs)
    },
    count: (key, now) => {
      const slots = slotsOf(key)
      const { arrival } = RateLimit.decide(arrivalOf(slots), rule, now)
      for (const slot of slots) arrivals[slot] = Math.max(arrivals[slot] ?? 0, arrival)
      latest = Math.max(latest, arrival)
    }
  }
}
