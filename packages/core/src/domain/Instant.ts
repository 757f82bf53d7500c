/**
 * A point in time as milliseconds since the Unix epoch.
 *
 * Every function that needs the time takes it as an argument, and every store verb takes it as a field, so
 * that Effect's `Clock` (and in tests `TestClock`) is the only source of time.
 */
export type Instant = number

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** RFC 3339 in UTC with milliseconds, the one form of a time on the wire. */
export const format = (instant: Instant): string => new Date(instant).toISOString()

export const formatOrNull = (instant: Instant | null): string | null =>
  instant === null ? null : format(instant)

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/

/** Reads an RFC 3339 date-time; `undefined` when it is not one. */
export const parse = (text: string): Instant | undefined => {
  if (!rfc3339.test(text)) return undefined
  const instant = Date.parse(text)
  return Number.isNaN(instant) ? undefined : instant
}

/** The UTC day that daily limits count in, as `YYYY-MM-DD`. */
export const utcDay = (instant: Instant): string => format(instant).slice(0, 10)

/** When the UTC day of `instant` ends: the moment at which daily limits are fresh again. */
export const endOfUtcDay = (instant: Instant): Instant => (Math.floor(instant / day) + 1) * day
