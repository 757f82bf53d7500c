/** What starts when, by the hour and the country: of those who wait for their time or for hours that are allowed. */
import * as Address from "../Address.ts"
import type { Instant } from "../Instant.ts"
import * as Phone from "../Phone.ts"
import * as When from "./When.ts"

/** Recipients who are due within one hour and whose addresses begin alike. */
export interface Part {
  readonly hour: Instant
  /** The first characters of their addresses, as many as tell a country. */
  readonly leading: string
  readonly recipients: number
}

/** The characters of an address that tell its country: a calling code and an area's, or `@US.` of a user id. */
export const leadingLength = 4

export interface InCountry {
  /** Null where the first digits do not tell one country. */
  readonly country: string | null
  /** Null of a user id. */
  readonly callingCode: string | null
  readonly recipients: number
}

export interface Hour {
  readonly at: Instant
  readonly recipients: number
  /** That with the most recipients first. */
  readonly countries: ReadonlyArray<InCountry>
}

const countryOf = (leading: string): Omit<InCountry, "recipients"> => {
  if (Address.isUserId(leading)) return { country: leading.slice(1, 3), callingCode: null }
  const [country = null, ...others] = When.countriesOf(leading)
  return {
    country: others.length === 0 ? country : null,
    callingCode: Phone.callingCode(leading) ?? null
  }
}

const sumOf = (parts: ReadonlyArray<{ readonly recipients: number }>): number =>
  parts.reduce((sum, { recipients }) => sum + recipients, 0)

const groupBy = <A>(all: ReadonlyArray<A>, keyOf: (each: A) => string) => {
  const groups = new Map<string, Array<A>>()
  for (const each of all) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each])
  return [...groups.values()]
}

export const hoursOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Hour> =>
  groupBy(parts, ({ hour }) => String(hour))
    .flatMap((ofHour): ReadonlyArray<Hour> => {
      const [first] = ofHour
      const told = ofHour.map(({ leading, recipients }) => ({ ...countryOf(leading), recipients }))
      const countries = groupBy(told, ({ callingCode, country }) => `${country} ${callingCode}`)
        .flatMap((alike) => alike.slice(0, 1).map((each) => ({ ...each, recipients: sumOf(alike) })))
        .sort((a, b) => b.recipients - a.recipients)
      return first === undefined ? [] : [{ at: first.hour, recipients: sumOf(ofHour), countries }]
    })
    .sort((a, b) => a.at - b.at)
