/**
 * When something that a platform tells of occurred (decisions.md §10): at its own time, but never later than it came. A
 * clock that is more than five minutes off says nothing, and then it occurred when it came.
 */
import type { Instant } from "./Instant.ts"
import { minute, second } from "./Instant.ts"

const skewMs = 5 * minute

/** True when a told time can be believed; null means that none was told. */
export const isPlausible = (told: Instant | null, cameAt: Instant): told is Instant =>
  told !== null && Math.abs(told - cameAt) <= skewMs

/** Takes whatever a platform may tell: negative, beyond every date, or no number at all. */
export const occurredAt = (told: Instant | null, cameAt: Instant): Instant =>
  isPlausible(told, cameAt) ? Math.min(Math.floor(told), cameAt) : cameAt

/** The last moment that a told time may stand for: platforms tell whole seconds. */
export const latest = (occurred: Instant, cameAt: Instant): Instant =>
  Math.max(occurred, Math.min(occurred % second === 0 ? occurred + second - 1 : occurred, cameAt))
