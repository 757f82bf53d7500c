/**
 * Whom a message is for, as requests name them (contract.md §14): a phone, a platform's user id, or both of one person. A number
 * is digits and a user id has a period, so one text holds either.
 */
import metadata from "libphonenumber-js/min/metadata"
import examples from "libphonenumber-js/mobile/examples"
import * as Person from "./Person.ts"
import * as Phone from "./Phone.ts"

/**
 * The names of one person, as a recipient has them: a phone, a user id with its portfolio, or the one behind the other. One
 * name alone is the key of the person's records.
 */
export type Address = string

/** The calling codes by country. */
const codes: ReadonlyMap<string, string> = new Map(
  Object.entries(metadata.country_calling_codes).flatMap(([code, countries]) =>
    countries.map((country): readonly [string, string] => [country, code])
  )
)

/** By country, the example of a mobile number there: it has the market of its country, also where others have the calling code. */
const numbers: ReadonlyMap<string, string> = new Map(
  Object.entries(examples).map(([country, national]) => [country, `${codes.get(country) ?? ""}${national}`])
)

/** The form of a user id: a country, a period, and what the platform calls somebody there. */
export const userIdForm = /^(?=[\x21-\x7e]{4,256}$)([A-Z]{2})\./

/** The country of a user id; undefined where it has none that is known. */
export const countryOf = (userId: string): string | undefined => {
  const country = userIdForm.exec(userId)?.[1]
  return country !== undefined && numbers.has(country) ? country : undefined
}

/** Says what is wrong with a user id; undefined when nothing is wrong. */
export const checkUserId = (text: string): string | undefined =>
  countryOf(text) === undefined
    ? "The user id must be as the platform writes it: a country's two letters, a period, and letters or digits, such as US.1349."
    : undefined

/** The person whom one text names, a number or a user id; undefined where it is neither. */
export const read = (text: string): Person.Person | undefined => {
  if (text.includes(".")) return checkUserId(text) === undefined ? { phone: null, userId: text } : undefined
  return Phone.check(text) === undefined ? { phone: text, userId: null } : undefined
}

/** @param portfolio within which the user id means somebody */
export const of = (person: Person.Person, portfolio: string): Address =>
  Person.keysOf(person, portfolio).join("")

/** The person's names without the portfolio. */
export const personOf = (address: Address): Person.Person => {
  const at = address.indexOf("@")
  return at < 0
    ? { phone: address, userId: null }
    : { phone: address.slice(0, at) || null, userId: address.slice(at + 1, address.indexOf(" ")) }
}

/** The keys of the person's records: of the phone and of the user id. */
export const keysOf = (address: Address): ReadonlyArray<Person.Key> => {
  const at = address.indexOf("@")
  return at <= 0 ? [address] : [address.slice(0, at), address.slice(at)]
}

/**
 * A number by which a person's market is found: theirs, or else the example of a mobile number in the country of their user id.
 * Empty where neither is known.
 */
export const numberOf = (address: Address): string => {
  const { phone, userId } = personOf(address)
  return phone ?? numbers.get(countryOf(userId ?? "") ?? "") ?? ""
}
