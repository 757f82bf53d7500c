/**
 * When something that a platform tells of occurred (decisions.md §10): at its own time, but never later than it came. A
 * clock that is more than five minutes off says nothing, and then it occurred when it came.
 */
import type { Instant } from "./Instant.ts"
import { minute, second } from "./Instant.ts"

const skewMs = 5 * minute

/** True when a told time can be believed; null means that none was told. */
export const isPlausible = (reported: Instant | null, cameAt: Instant): reported is Instant =>
  reported !== null && Math.abs(reported - cameAt) <= skewMs

/** Takes whatever a platform may tell: negative, beyond every date, or no number at all. */
export const occurredAt = (reported: Instant | null, cameAt: Instant): Instant =>
  isPlausible(reported, cameAt) ? Math.min(Math.floor(reported), cameAt) : cameAt

/** The time of a report, and beside it the platform's own, when that is a time of the past that is not believed. */
export const ofReport = (
  reported: Instant,
  cameAt: Instant
): { readonly at: Instant; readonly reportedAt?: Instant } => {
  const at = occurredAt(reported, cameAt)
  return reported >= 0 && reported < at - skewMs ? { at, reportedAt: Math.floor(reported) } : { at }
}

/** The last moment that a told time may stand for: platforms tell whole seconds. */
export const latest = (occurred: Instant, cameAt: Instant): Instant =>
  Math.max(occurred, Math.min(occurred % second === 0 ? occurred + second - 1 : occurred, cameAt))
