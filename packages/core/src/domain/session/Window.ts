/**
 * How long the platform takes free text to a person (contract.md §14): a day from their last message to the session. Who came by an
 * advertisement is answered free of charge for three.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"

export interface Window {
  readonly openUntil: Instant
  /** Null where nothing is free of charge. */
  readonly freeUntil: Instant | null
}

/** @param at when they wrote */
export const opened = (at: Instant, isReferred: boolean): Window => ({
  openUntil: Time.after(at, Time.day),
  freeUntil: isReferred ? Time.after(at, 3 * Time.day) : null
})

/** Of two that are told in any order. */
export const later = (one: Window, other: Window | undefined): Window =>
  other === undefined
    ? one
    : {
        openUntil: Time.max(one.openUntil, other.openUntil),
        freeUntil:
          one.freeUntil === null || other.freeUntil === null
            ? (one.freeUntil ?? other.freeUntil)
            : Time.max(one.freeUntil, other.freeUntil)
      }

/** For so long a window is kept that is over: that somebody wrote long ago says nothing of now. */
export const keptMs = 30 * Time.day
