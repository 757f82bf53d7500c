/**
 * Limits of the messages of a purpose that a person may have within some of their days, over all sessions of an account (contract.md §14
 * "Time"). A message counts once, from its last attempt.
 */
import * as Schema from "effect/Schema"
import type { Address } from "../Address.ts"
import type * as Changes from "../Change.ts"
import * as Fault from "../Fault.ts"
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Failure } from "../job/Recipient.ts"
import * as When from "../job/When.ts"
import { type Category, ofEach } from "../template/Template.ts"

const mostMessages = 1000
const mostDays = 31

export const Cap = Schema.Struct({
  most: Schema.Int.pipe(Schema.between(1, mostMessages)),
  days: Schema.Int.pipe(Schema.between(1, mostDays))
})
export type Cap = typeof Cap.Type

const given = Schema.optional(
  Schema.NullOr(Cap).annotations({
    description:
      "At most so many messages of the purpose to a person within so many of the person's days, over all sessions of the account. One more is `skipped` with the code `capped`. null for no cap."
  })
)

/** A change of some caps: those that are absent stay. */
export const Change = Schema.Struct({ authentication: given, utility: given, marketing: given })

export type Caps = { readonly [Purpose in Category]: Cap | null }
export type CapsChange = Changes.Change<Caps>

export const none: Caps = ofEach(() => null)

/** For those who do not come by a schema. */
export const faults = (change: CapsChange | undefined): ReadonlyArray<Fault.Fault> =>
  Object.entries(change ?? {}).flatMap(([purpose, cap]) =>
    cap === null || cap === undefined || Schema.is(Cap)(cap)
      ? []
      : [
          Fault.make(
            ["caps", purpose],
            "invalid_value",
            `Give \`most\` (1 to ${mostMessages}) and \`days\` (1 to ${mostDays}), or null for no cap.`
          )
        ]
  )

export const failure: Failure = {
  code: "capped",
  provider_code: null,
  message: "The person had as many messages of this purpose as the account's caps allow within these days.",
  permanent: true
}

/** No message counts longer: a person's days begin up to a day and a zone before. */
export const countsForMs = 33 * Time.day

/** The begin of the first of so many days of a person, the last of which is now; in whichever of their zones it was first. */
export const sinceOf = (address: Address, timeZone: string | null, days: number, now: Instant): Instant =>
  Time.min(
    ...When.zonesOf(address, timeZone).map((zone) => {
      const first = Time.utcDay(Time.at(now + When.offsetAt(zone, now) - (days - 1) * Time.day))
      return When.instantOf({ local: `${first}T00:00`, timeZone: zone }, [])
    })
  )

/** A message to a person, by all keys of that person. */
export interface Asked {
  readonly message: string
  readonly keys: ReadonlyArray<string>
  /** The begin of the first of the person's days of which messages count. */
  readonly since: Instant
  /** True when the platform may have it already: it is not one too many. */
  readonly isAgain: boolean
}

export interface Counted {
  readonly message: string
  readonly person: string
  readonly at: Instant
}

/**
 * The places of the messages that are one too many, of some that are about to be attempted one after the other. One that was
 * counted before is no other.
 */
export const decide = (
  { most }: Cap,
  asked: ReadonlyArray<Asked>,
  counted: ReadonlyArray<Counted>,
  now: Instant
): ReadonlySet<number> => {
  const byPerson = new Map<string, Map<string, Instant>>()
  const count = (person: string, message: string, at: Instant): void => {
    const of = byPerson.get(person)
    if (of === undefined) byPerson.set(person, new Map([[message, at]]))
    else of.set(message, at)
  }
  for (const { at, message, person } of counted) count(person, message, at)
  const over = new Set<number>()
  for (const [place, { isAgain, keys, message, since }] of asked.entries()) {
    const had = new Set<string>()
    for (const key of keys)
      for (const [other, at] of byPerson.get(key) ?? []) if (other !== message && at >= since) had.add(other)
    if (had.size >= most && !isAgain) over.add(place)
    else count(keys[0] ?? "", message, now)
  }
  return over
}
