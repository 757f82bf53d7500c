/**
 * Equal failures stop (contract.md §13): when the last ten attempts of a session, to three people at least, ended with one
 * permanent failure that is not a recipient's own, the next would end so, too. What goes well is counted by answers and by receipts each by
 * itself, since a receipt is of an attempt that was long accepted; what fails alike counts whichever way it came. A receipt that a
 * message was sent is no end of its attempt: gateways tell it of those, too, that fail behind it.
 */
import * as Address from "../Address.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Failure } from "../job/Recipient.ts"
import * as FailureCatalogue from "./FailureCatalogue.ts"

const most = 10
const leastPeople = 3

/** The first block is as long as a probe of a platform waits at most, and each next twice as long. */
const firstMs = Time.minute
const longestMs = Time.hour

/** By the answer of a send, or by a receipt. */
export type Way = "answer" | "receipt"

/** An attempt that has ended; without a failure it succeeded, as far as is known. */
export interface Ended {
  readonly address: Address.Address
  readonly failure: Failure | null
  readonly attempted: { readonly since: Instant }
}

/** The failure that a session's last attempts ended with. */
export interface Streak {
  readonly code: string
  readonly providerCode: string | null
  readonly count: number
  /** When the first of them was attempted: what went well before, and is told only now, is none of the last. */
  readonly since: Instant
  /** The last characters of the first people's numbers or user ids: enough to tell three people apart, and too few to name anybody. */
  readonly people: ReadonlyArray<string>
  /** How often the session was blocked for it. */
  readonly blocks: number
  /** When one message may probe whether it is so still; null before the first block. */
  readonly probeAt: Instant | null
}

/** The failures with which a session's last attempts ended, as a streak for each way. */
export type Failing = Readonly<Partial<Record<Way, Streak>>>

const lastOf = (address: Address.Address): string => {
  const { phone, userId } = Address.personOf(address)
  return (phone ?? userId ?? "").slice(-4)
}

/** True of a failure that says something of the session, the account, the template or of nobody that is known. */
export const counts = ({ code, permanent }: Failure): boolean => {
  const scope = FailureCatalogue.find(code)?.scope
  return permanent && scope !== "recipient" && scope !== "pair"
}

/** The streak after one more attempt of the session; null while there is none. */
export const next = (streak: Streak | null, { address, attempted, failure }: Ended): Streak | null => {
  const { since } = attempted
  if (streak !== null && since < streak.since && failure === null) return streak
  if (failure === null || !counts(failure)) return null
  const { code, provider_code: providerCode } = failure
  const person = lastOf(address)
  if (streak?.code !== code || streak.providerCode !== providerCode)
    return { code, providerCode, count: 1, since, people: [person], blocks: 0, probeAt: null }
  const { count, people } = streak
  const isKnown = people.includes(person) || people.length >= leastPeople
  return {
    ...streak,
    count: count + 1,
    since: Time.min(since, streak.since),
    people: isKnown ? people : [...people, person]
  }
}

/** @param beside what the last attempts ended with by the other way: the same failure counts, whichever way it came */
export const stops = (streak: Streak, beside: Streak | null = null): boolean => {
  const isSame = beside?.code === streak.code && beside.providerCode === streak.providerCode
  const all = isSame ? [streak, beside] : [streak]
  const people = new Set(all.flatMap((each) => each.people))
  return all.reduce((sum, { count }) => sum + count, 0) >= most && people.size >= leastPeople
}

/** The messages that go out when the block is over probe whether attempts still fail. */
export const block = (streak: Streak, now: Instant): { readonly until: Instant; readonly streak: Streak } => {
  const until = Time.after(now, Math.min(firstMs * 2 ** streak.blocks, longestMs))
  return { until, streak: { ...streak, blocks: streak.blocks + 1, probeAt: until } }
}

/** When one message may probe; null where nothing is to be probed. A clock that was ahead wrote a time further away. */
export const nextProbe = (failing: Failing | null, now: Instant): Instant | null => {
  const times = Object.values(failing ?? {}).flatMap(({ probeAt }) => probeAt ?? [])
  if (times.length === 0) return null
  return Time.max(...times.map((at) => (Time.isAhead(Time.before(at, longestMs), now) ? now : at)))
}

/** After a probe began: all others wait until its end is known, and where it is not for as long as the first block. */
export const probing = (failing: Failing, now: Instant): Failing => {
  const after = (streak: Streak | undefined) =>
    streak?.probeAt == null ? streak : { ...streak, probeAt: Time.after(now, firstMs) }
  const { answer, receipt } = { answer: after(failing.answer), receipt: after(failing.receipt) }
  return { ...(answer && { answer }), ...(receipt && { receipt }) }
}

/** The failures of a session with the streak of one way replaced; null where no streak is left. */
export const withStreak = (failing: Failing | null, way: Way, streak: Streak | null): Failing | null => {
  const { [way]: _, ...others } = failing ?? {}
  if (streak !== null) return { ...others, [way]: streak }
  return Object.keys(others).length === 0 ? null : others
}
