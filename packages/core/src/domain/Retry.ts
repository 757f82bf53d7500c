/**
 * When to try again: webhook deliveries by the schedule of contract.md §7, sends by capped exponential backoff
 * with full jitter (§4) until a time (§10). Pure: the draw from 0 to 1 comes from the caller.
 */
import type { Purpose } from "./consent/Consent.ts"
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { Failure } from "./job/Recipient.ts"
import * as FailureCatalogue from "./session/FailureCatalogue.ts"

/** Delays after the first, second, … failed attempt of a delivery; afterwards every 24 h. */
export const deliveryDelays: ReadonlyArray<number> = [
  5 * Time.second,
  1 * Time.minute,
  5 * Time.minute,
  30 * Time.minute,
  2 * Time.hour,
  5 * Time.hour,
  10 * Time.hour,
  14 * Time.hour,
  20 * Time.hour
]

/** A delivery that keeps failing is given up when this much time has passed since its first attempt. */
export const deliveryWindow = 8 * Time.day

/** The jitter of the delays: ±20 %. */
export const deliveryJitter = 0.2

/** The longest `Retry-After` that is obeyed. A receiver that asks for a month would lose its events. */
export const longestRetryAfter = Time.day

/**
 * When the next attempt of a delivery is due; `undefined` when it is given up.
 *
 * @param failed how many attempts have failed, at least 1
 * @param retryAfterMs what the receiver asked for; obeyed when it is longer than the schedule, up to a day
 */
export const nextDelivery = (options: {
  readonly failed: number
  readonly firstAttemptAt: Instant
  readonly now: Instant
  readonly retryAfterMs: number | null
  readonly jitter: number
  readonly fraction: number
}): Instant | undefined => {
  const delay = deliveryDelays[options.failed - 1] ?? Time.day
  const jittered = Math.round(delay * (1 - options.jitter + 2 * options.jitter * options.fraction))
  const at = Time.after(
    options.now,
    Math.max(jittered, Math.min(options.retryAfterMs ?? 0, longestRetryAfter))
  )
  return at - options.firstAttemptAt > deliveryWindow ? undefined : at
}

/** Every form of an HTTP date has this (RFC 9110 §5.6.7); `Date.parse` finds a year in "soon 9999". */
const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/

/** `Retry-After` in seconds or as an HTTP date (RFC 9110 §10.2.3), in milliseconds; null for anything else. */
export const readAfter = (header: string | null, now: Instant): number | null => {
  if (header === null) return null
  if (/^\d{1,9}$/.test(header.trim())) return Number(header.trim()) * Time.second
  // asctime's form names no zone, and Date.parse reads it in the process's own.
  const zoned = /\d{4}\s*$/.test(header) ? `${header} GMT` : header
  const date = httpDate.test(header) ? Date.parse(zoned) : Number.NaN
  return Number.isNaN(date) ? null : Math.max(0, date - now)
}

/**
 * The most attempts for a message when the recipient is the cause of the error, such as a pair limit (contract.md
 * §10).
 */
export const recipientAttempts = 8

/** Milliseconds for which a transient error of a template send is tried again (contract.md §10). */
export const sendWindows: Readonly<Record<"authentication" | "other", number>> = {
  authentication: 10 * Time.minute,
  other: Time.day
}

/** The shortest and the longest time that a session may set instead. */
export const shortestSendWindow = Time.second
export const longestSendWindow = 7 * Time.day

/** @param set the session's own time; null = by the purpose of the message */
export const sendWindow = (purpose: Purpose, set: number | null): number =>
  set ?? (purpose === "authentication" ? sendWindows.authentication : sendWindows.other)

/** Milliseconds for which a direct message is tried again: its caller waits for the answer. */
export const directWindow = 5 * Time.second

/** Milliseconds to wait after a pair's first, second, … attempt: 1, 4, 16, 64, … seconds (contract.md §W1.7). */
export const pairRest = (attempts: number): number => Time.second * 4 ** (attempts - 1)

const sendBase = 1 * Time.second
const sendCap = 15 * Time.minute
/** The least number of attempts that a window has room for, when each takes as long as it can. */
const attemptsPerWindow = 10

/**
 * The time of a send's next attempt after a transient failure; undefined when the send is given up. The last attempt
 * is made when the window ends. The window begins with the first attempt and not with the acceptance, so that a
 * message that waited long for its pace or its session is retried for as long as all others.
 *
 * @param attempts the attempts made so far, at least 1
 * @param failure why the last attempt failed: one that the recipient causes has few attempts
 * @param retryAfterMs the shortest wait that the platform asks for; null when it asks for none
 */
export const nextSend = (options: {
  readonly attempts: number
  readonly firstAttemptAt: Instant
  readonly windowMs: number
  readonly failure: Failure
  readonly now: Instant
  readonly retryAfterMs: number | null
  readonly fraction: number
}): Instant | undefined => {
  const { attempts, failure, firstAttemptAt, fraction, now, retryAfterMs, windowMs } = options
  if (FailureCatalogue.isOfRecipient(failure) && attempts >= recipientAttempts) return undefined
  const end = Time.after(firstAttemptAt, windowMs)
  const earliest = now + Math.min(retryAfterMs ?? 0, longestRetryAfter)
  if (now >= end || earliest > end) return undefined
  const cap = Math.min(sendCap, windowMs / attemptsPerWindow)
  const ceiling = Math.min(cap, sendBase * 2 ** (attempts - 1))
  return Time.min(end, Time.at(Math.round(earliest + ceiling * fraction)))
}

/** A recipient over which so many workers died in a row is a suspect: it may be what ends them. */
export const suspectDeaths = 2

/** How long a suspect waits after each death, the first being the one that made it a suspect. Behind the last it is parked. */
export const suspectWaits: ReadonlyArray<number> = [1 * Time.minute, 5 * Time.minute, 15 * Time.minute]

/** A process that has lived for less may be one of a crash loop: what dies with it says little of what it had in hand. */
export const youthMs = 30 * Time.second

/** For so long a death makes those careful that start behind it: longer than a supervisor waits, and than all waits of a suspect. */
export const deathCountsMs = 1 * Time.hour

/** How far apart those are due that a claim has to put off, since no two of them go side by side. */
export const survivorsApartMs = 100
export const suspectsApartMs = 1 * Time.second
