/**
 * Equal failures stop (decisions.md §13): when the last ten attempts of a session, to three people at least, ended with one
 * permanent failure that is not a recipient's own, the next would end so, too. The answers of sends and what receipts tell are
 * counted each by itself, since a receipt is of an attempt that was long accepted.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Failure } from "../job/Recipient.ts"
import * as FailureCatalogue from "./FailureCatalogue.ts"

const most = 10
const leastPeople = 3

/** The first block is as long as a probe of a platform waits at most, and each next twice as long. */
const firstMs = Time.minute
const longestMs = Time.hour

/** An attempt that has ended; without a failure it succeeded, as far as is known. */
export interface Ended {
  readonly phone: string
  readonly failure: Failure | null
}

export interface Streak {
  readonly failure: Failure
  readonly count: number
  /** The first people that met it. */
  readonly people: ReadonlyArray<string>
  /** How often the session was blocked for it. */
  readonly blocks: number
}

/** True of a failure that says something of the session, the account, the template or of nobody that is known. */
const counts = ({ code, permanent }: Failure): boolean => {
  const scope = FailureCatalogue.find(code)?.scope
  return permanent && scope !== "recipient" && scope !== "pair"
}

const isSame = (a: Failure, b: Failure): boolean => a.code === b.code && a.provider_code === b.provider_code

/** The streak after one more attempt of the session; null while there is none. */
export const next = (streak: Streak | null, { failure, phone }: Ended): Streak | null => {
  if (failure === null || !counts(failure)) return null
  if (streak === null || !isSame(streak.failure, failure))
    return { failure, count: 1, people: [phone], blocks: 0 }
  const isKnown = streak.people.includes(phone) || streak.people.length >= leastPeople
  return {
    ...streak,
    count: streak.count + 1,
    people: isKnown ? streak.people : [...streak.people, phone]
  }
}

export const stops = ({ count, people }: Streak): boolean => count >= most && people.length >= leastPeople

/** What is attempted when the block is over probes whether it is so still. */
export const block = (
  streak: Streak,
  now: Instant
): { readonly until: Instant; readonly streak: Streak } => ({
  until: Time.after(now, Math.min(firstMs * 2 ** streak.blocks, longestMs)),
  streak: { ...streak, blocks: streak.blocks + 1 }
})
