/**
 * The person whom a message is for, as requests name one (contract.md §14): a phone, a platform's user id, or both of one person. A number
 * is digits and a user id has a period, so one text holds either.
 */
import metadata from "libphonenumber-js/min/metadata"
import examples from "libphonenumber-js/mobile/examples"
import type { Faults } from "./Fault.ts"
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
export const userIdForm = /^([A-Z]{2})\.[\x21-\x7e]{1,253}$/

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

/** A user id for whoever is not to know it, `US.··· 655`: its country, and little of the rest. */
export const maskUserId = (userId: string): string => {
  const [country = "", name = ""] = [userId.slice(0, 2), userId.slice(3)]
  return `${country}.···${name.length < 7 ? "" : ` ${name.slice(-3)}`}`
}

/** The form of a user id in a text: what the platform calls people has digits. */
const written = /(?<![A-Za-z0-9])[A-Z]{2}\.(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]+/g

/** @param known user ids that the reader has, which are masked whatever they look like */
export const maskUserIds = (text: string, known: ReadonlyArray<string>): string =>
  known
    .reduce((done, userId) => done.replaceAll(userId, maskUserId(userId)), text)
    .replace(written, (found) => (countryOf(found) === undefined ? found : maskUserId(found)))

/** The person whom one text names, a number or a user id; undefined where it is neither. */
export const read = (text: string): Person.Person | undefined => {
  if (text.includes(".")) return checkUserId(text) === undefined ? { phone: null, userId: text } : undefined
  return Phone.check(text) === undefined ? { phone: text, userId: null } : undefined
}

/** The names of a person in a request; null where one is there and cannot be read. */
export interface Names {
  readonly phone: string | null | undefined
  readonly userId: string | null | undefined
}

/** Adds the faults of whom a request names by these. */
export const addFaults = (
  faults: Pick<Faults, "add">,
  { phone, userId }: Names,
  path: (name: "phone" | "user_id") => ReadonlyArray<string | number>
): void => {
  const ofPhone = phone == null ? undefined : Phone.check(phone)
  if (ofPhone !== undefined) faults.add(path("phone"), "recipient_invalid", ofPhone)
  const ofUserId = userId == null ? undefined : checkUserId(userId)
  if (ofUserId !== undefined) faults.add(path("user_id"), "recipient_invalid", ofUserId)
  if (phone !== undefined || userId !== undefined) return
  const [name] = path("phone").slice(-1)
  faults.add(path("phone"), "required", `\`${name}\` or \`user_id\` is required.`)
}

/** @param portfolio within which the user id means somebody */
export const addressOf = (person: Person.Person, portfolio: string): Address =>
  Person.keysOf(person, portfolio).join("")

/** The person's names without the portfolio. */
export const personOf = (address: Address): Person.Person => {
  const at = address.indexOf("@")
  return at < 0
    ? { phone: address, userId: null }
    : { phone: address.slice(0, at) || null, userId: address.slice(at + 1, address.indexOf(" ")) }
}

/** True of a key that is a user id's. */
export const isUserId = (key: Person.Key): boolean => key.startsWith("@")

/** With a number that surely is the person's, where they are named by a user id alone; the same where none is known. */
export const withNumber = (address: Address, others: Person.Others): Address => {
  const number = isUserId(address) ? others.get(address)?.find((key) => !isUserId(key)) : undefined
  return number === undefined ? address : `${number}${address}`
}

/** The portfolio of the user id; undefined without one. */
export const portfolioOf = (address: Address): string | undefined => {
  const at = address.indexOf(" ")
  return at < 0 ? undefined : address.slice(at + 1)
}

/** The keys of the person's records: of the phone and of the user id. */
export const keysOf = (address: Address): ReadonlyArray<Person.Key> => {
  const at = address.indexOf("@")
  return at <= 0 ? [address] : [address.slice(0, at), address.slice(at)]
}

/**
 * True where the platform told a number and a user id each together with another one, and not with each other: whoever consented by
 * the one is not whom the other reaches.
 */
const areOfTwo = (phone: Person.Key, user: Person.Key, others: Person.Others): boolean => {
  const [ofPhone, ofUser] = [others.get(phone) ?? [], others.get(user) ?? []]
  if (ofUser.includes(phone) || ofPhone.includes(user)) return false
  const isOfScope = (key: Person.Key): boolean => isUserId(key) && portfolioOf(key) === portfolioOf(user)
  return ofUser.some((key) => !isUserId(key)) || ofPhone.some(isOfScope)
}

/** The keys of those that have two names. */
export const keysOfPairs = (addresses: ReadonlyArray<Address>): ReadonlyArray<Person.Key> =>
  addresses.map(keysOf).flatMap((keys) => (keys.length > 1 ? keys : []))

/** The places of those whose two names are two people's. */
export const placesOfTwo = (
  addresses: ReadonlyArray<Address>,
  others: Person.Others
): ReadonlyArray<number> =>
  addresses.flatMap((address, place) => {
    const [phone, user] = keysOf(address)
    return phone !== undefined && user !== undefined && areOfTwo(phone, user, others) ? [place] : []
  })

/** The keys under which consent may be on record: the person's, and that of a user id which was recorded by hand. */
export const consentKeysOf = (address: Address): ReadonlyArray<Person.Key> => {
  const { userId } = personOf(address)
  return userId === null ? keysOf(address) : [...keysOf(address), Person.unplaced(userId)]
}

/**
 * A number by which a person's market is found: theirs, or else the example of a mobile number in the country of their user id.
 * Empty where neither is known.
 */
export const numberOf = (address: Address): string => {
  if (!address.includes("@")) return address
  const { phone, userId } = personOf(address)
  return phone ?? numbers.get(countryOf(userId ?? "") ?? "") ?? ""
}
