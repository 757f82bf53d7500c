/**
 * Counts the recipients who wait for their time, or for hours that are allowed, by the hour in which they start and by country.
 */
import * as Arrays from "effect/Array"
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

export const hoursOf = (parts: ReadonlyArray<Part>): ReadonlyArray<Hour> =>
  Object.values(Arrays.groupBy(parts, ({ hour }) => String(hour)))
    .map((ofHour): Hour => {
      const told = ofHour.map(({ leading, recipients }) => ({ ...countryOf(leading), recipients }))
      const countries = Object.values(
        Arrays.groupBy(told, ({ callingCode, country }) => `${country} ${callingCode}`)
      ).map((alike) => ({ ...alike[0], recipients: sumOf(alike) }))
      return {
        at: ofHour[0].hour,
        recipients: sumOf(ofHour),
        countries: countries.sort((a, b) => b.recipients - a.recipients)
      }
    })
    .sort((a, b) => a.at - b.at)
