/**
 * Points in time as whole milliseconds since the Unix epoch.
 *
 * Every function that needs the time takes it as an argument, and every store verb takes it as a field, so
 * that Effect's `Clock` (and in tests `TestClock`) is the only source of time.
 */
import type * as Brand from "effect/Brand"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A number that {@link at} made: a duration, a fraction or a time of another clock is none (contract.md §13). */
export type Instant = number & Brand.Brand<"Instant">

/** Makes every instant that there is, so that whatever is stored as one is whole. */
export const at = (milliseconds: number): Instant => Math.floor(milliseconds) as Instant

export const ofDate = (date: Date): Instant => at(date.getTime())

/** So much later. A part of a millisecond counts as a whole one, so that nothing is due too early. */
export const after = (from: Instant, milliseconds: number): Instant => at(Math.ceil(from + milliseconds))

export const before = (until: Instant, milliseconds: number): Instant => at(until - milliseconds)

export const max = (...all: ReadonlyArray<Instant>): Instant => at(Math.max(...all))

export const min = (...all: ReadonlyArray<Instant>): Instant => at(Math.min(...all))

export const unsafeNow = (clock: Clock.Clock): Instant => at(clock.unsafeCurrentTimeMillis())

export const now: Effect.Effect<Instant> = Effect.map(Clock.currentTimeMillis, at)

export const second = 1000
export const minute = 60 * second
export const hour = 60 * minute
export const day = 24 * hour

/** The difference between two clocks, or of one clock before and after it was set, that counts as no error. */
const tolerance = second

/** The latest time that a correct clock can have written by now. */
export const latestWritten = (now: Instant): Instant => after(now, tolerance)

/**
 * True for an instant that a clock ahead of ours wrote. A time computed from it is wrong, too, and may be far off.
 * Readers treat it as due, so that nothing waits for a clock that was set back.
 */
export const isAhead = (written: Instant, now: Instant): boolean => written > latestWritten(now)

/** A time on the wire, which a schema or {@link format} made. */
export type Text = string & Brand.Brand<"InstantText">

/** RFC 3339 in UTC with milliseconds, the one form of a time on the wire. */
export const format = (instant: Instant): Text => new Date(instant).toISOString() as Text

export const formatOrNull = (instant: Instant | null): Text | null =>
  instant === null ? null : format(instant)

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** The first place after `2020-01-01T00:00:00`. */
const afterSeconds = 19

const digit = (text: string, at: number): number => text.charCodeAt(at) - 0x30

const isDigit = (text: string, at: number): boolean => digit(text, at) >= 0 && digit(text, at) <= 9

/**
 * Reads two digits in place: an import has thousands of times, and slicing and parsing each takes ten times as long.
 */
const two = (text: string, at: number): number => digit(text, at) * 10 + digit(text, at + 1)

/**
 * Reads the milliseconds at the start of a text. Digits after the third are ignored and missing ones are 0; the text
 * may also begin with the offset.
 */
const millisecondsOf = (text: string): number => {
  let milliseconds = 0
  if (text[afterSeconds] !== ".") return milliseconds
  for (let at = afterSeconds + 1, unit = 100; unit >= 1 && isDigit(text, at); at++, unit /= 10)
    milliseconds += digit(text, at) * unit
  return milliseconds
}

const isLeapYear = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

const daysOfMonths: ReadonlyArray<number> = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** None for a month that does not exist. */
const daysOf = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : (daysOfMonths[month - 1] ?? 0)

const between = (value: number, least: number, most: number): boolean => value >= least && value <= most

/** The instants that {@link format} can write: the years 0000 to 9999 in UTC. */
const earliest = at(-62_167_219_200_000)
export const latest = at(253_402_300_799_999)

/**
 * The instant of a date. `Date.UTC` maps the years 0 to 99 to the 20th century, so that 400 years are added, after
 * which the calendar repeats.
 */
const utc = (year: number, month: number, date: number): number =>
  Date.UTC(year + 400, month - 1, date) - 146_097 * day

/**
 * Reads an RFC 3339 date-time; `undefined` when it is none (contract.md §10). The day must exist, hours end with 23,
 * and second 60, which only a leap second has, counts as 59. Digits after the milliseconds are cut off.
 */
export const parse = (text: string): Instant | undefined => {
  if (!rfc3339.test(text)) return undefined
  const year = two(text, 0) * 100 + two(text, 2)
  const month = two(text, 5)
  const date = two(text, 8)
  const hours = two(text, 11)
  const minutes = two(text, 14)
  const seconds = two(text, 17)
  const isUtc = !isDigit(text, text.length - 1)
  const offsetHours = isUtc ? 0 : two(text, text.length - 5)
  const offsetMinutes = isUtc ? 0 : two(text, text.length - 2)
  const exists =
    between(date, 1, daysOf(year, month)) &&
    hours <= 23 &&
    minutes <= 59 &&
    seconds <= 60 &&
    offsetHours <= 23 &&
    offsetMinutes <= 59
  if (!exists) return undefined
  const local =
    utc(year, month, date) +
    hours * hour +
    minutes * minute +
    Math.min(seconds, 59) * second +
    millisecondsOf(text)
  const offset = (text[text.length - 6] === "-" ? -1 : 1) * (offsetHours * hour + offsetMinutes * minute)
  const instant = at(local - offset)
  return between(instant, earliest, latest) ? instant : undefined
}

/** The UTC day that daily limits count in, as `YYYY-MM-DD`. */
export const utcDay = (instant: Instant): string => format(instant).slice(0, 10)

/** When the UTC day of `instant` began. */
export const startOfUtcMonth = (instant: Instant): Instant =>
  parse(`${format(instant).slice(0, 7)}-01T00:00:00Z`) ?? instant

export const startOfUtcDay = (instant: Instant): Instant => at(Math.floor(instant / day) * day)

/** When the UTC day of `instant` ends: the moment at which daily limits are fresh again. */
export const endOfUtcDay = (instant: Instant): Instant => after(startOfUtcDay(instant), day)

/** The first of those that are there; null when none is. */
export const firstOf = (all: ReadonlyArray<Instant | null>): Instant | null =>
  all.reduce((first, each) => (first === null || (each !== null && each < first) ? each : first), null)
