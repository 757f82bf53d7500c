/** The size of a store, how it grows, and when the disk is full at this pace. */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"

/** A store's measure of itself. */
export interface Measure {
  readonly kind: "memory" | "sqlite" | "postgres"
  /** The bytes of the file, or of the tables with their indexes: what is free in them is theirs. */
  readonly bytes: number
  /** The free bytes of the disk that has the file; null where the store cannot know. */
  readonly freeBytes: number | null
}

/** A size as it was noted at the begin of a UTC day, or later on that day. */
export interface Noted {
  readonly at: Instant
  readonly bytes: number
}

export interface Size extends Measure {
  /** The mean of the last weeks; negative while it shrinks, null before it is known for a day. */
  readonly bytesPerDay: number | null
  /** The time at which the disk is full at this pace; null where nobody knows, and while it does not grow. */
  readonly fullAt: Instant | null
  /** The times at which the oldest event and the oldest job were made; null where there is none. */
  readonly oldest: { readonly events: Instant | null; readonly results: Instant | null }
}

/** For so long days are noted, and over so many a growth is told. */
export const notedDays = 400
export const growthDays = 30

const perDay = (measure: Measure, noted: Noted | null, now: Instant): number | null =>
  noted === null || now - noted.at < Time.day
    ? null
    : Math.round(((measure.bytes - noted.bytes) * Time.day) / (now - noted.at))

/** @param noted the oldest of the last {@link growthDays} days */
export const sizeOf = (measure: Measure, noted: Noted | null, oldest: Size["oldest"], now: Instant): Size => {
  const bytesPerDay = perDay(measure, noted, now)
  const { freeBytes } = measure
  const isFilling = bytesPerDay !== null && bytesPerDay > 0 && freeBytes !== null
  const fullAt = isFilling ? Time.at(Math.round(now + (freeBytes / bytesPerDay) * Time.day)) : null
  return { ...measure, bytesPerDay, fullAt: fullAt !== null && fullAt > Time.latest ? null : fullAt, oldest }
}

/** A write-ahead log and a migration need some room at any time. */
const leastFree = 128 * 1024 * 1024
/** In days. */
const fullSoon = 30
const fullNow = 3

/** The urgency of room: `now` and `soon` somebody has to make some. */
export const roomOf = (free: number, perDay: number): "enough" | "now" | "soon" => {
  const days = perDay < 1 ? Number.POSITIVE_INFINITY : free / perDay
  if (free < leastFree || days < fullNow) return "now"
  return days < fullSoon ? "soon" : "enough"
}
