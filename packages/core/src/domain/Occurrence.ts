/**
 * When an event that a platform reports occurred (contract.md §10): at the reported time, but never later than the
 * report came. A time more than five minutes off is not believed, and the event occurred when the report came. Opt-ins
 * are the exception ({@link since}).
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import { day, minute, second } from "./Instant.ts"

/** The end of the year 9999, behind which no time can be written (RFC 3339). */
const lastInstant = Date.UTC(10_000, 0, 1) - 1

const skewMs = 5 * minute

/** For so long what came is told apart from its repetitions: longer than platforms repeat (contract.md §W1.12: 7 days). */
export const rememberedMs = 10 * day

/** True when a reported time can be believed; null means that none was reported. */
export const isPlausible = <A extends number>(reported: A | null, cameAt: Instant): reported is A =>
  reported !== null && Math.abs(reported - cameAt) <= skewMs

/** Accepts any number as the reported time: negative, beyond every date, or not a number. */
export const occurredAt = (reported: number | null, cameAt: Instant): Instant =>
  isPlausible(reported, cameAt) ? Time.min(Time.at(reported), cameAt) : cameAt

/** The time that a platform told, where it is one: whole milliseconds after 1970 that a calendar has. */
export const timeOf = (reported: number | null): Instant | null =>
  reported !== null && reported >= 1 && reported <= lastInstant ? Time.at(reported) : null

/** At the reported time, however old, but never later than the report came. */
export const since = (reported: number | null, cameAt: Instant): Instant =>
  Time.min(timeOf(reported) ?? cameAt, cameAt)

/**
 * The time of a report. The platform's own time is returned as `reportedAt` when it is too far in the past to be
 * believed.
 */
export const ofReport = (
  reported: number,
  cameAt: Instant
): { readonly at: Instant; readonly reportedAt?: Instant } => {
  const at = occurredAt(reported, cameAt)
  return reported >= 0 && reported < at - skewMs ? { at, reportedAt: Time.at(reported) } : { at }
}

/** The last moment that a reported time may stand for, since platforms report whole seconds. */
export const latest = (occurred: Instant, cameAt: Instant): Instant =>
  Time.max(occurred, Time.min(occurred % second === 0 ? Time.after(occurred, second - 1) : occurred, cameAt))
