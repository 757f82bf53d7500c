/**
 * A person as a platform tells of them (decisions.md §10): a phone number, a user id of the platform, or both. A user id
 * means somebody only within its portfolio, the scope in which the platform gives it out.
 */
import * as Phone from "./Phone.ts"

export interface Person {
  /** Digits with the country calling code. */
  readonly phone: string | null
  /** As the platform writes it. */
  readonly userId: string | null
}

/** Under what the records of a person are filed: a phone, or a user id with its portfolio. */
export type Key = string

const phoneForm = /^[1-9][0-9]{6,14}$/
/** Of a platform's user id. */
export const userIdForm = /^[\x21-\x7e]{1,256}$/
// Address books copy a number with direction marks around it.
const invisible = /\p{Cf}/gu
const separators = /[\s+()./\p{Pd}\u2212]/gu
const scheme = /^(?:tel|sms|whatsapp):/i
/** The suffixes that gateways of WhatsApp write behind a number, and the device after a colon. */
const suffix = /(?::[0-9]{1,4})?@(?:c\.us|s\.whatsapp\.net)$/i

/**
 * A platform's text for a phone. A scheme, a gateway's suffix, a leading + or 00 and separators are left
 * out; undefined when the rest is no number.
 */
const readPhone = (given: unknown): string | undefined => {
  if (typeof given !== "string" || given.length > 64) return undefined
  const digits = given
    .normalize("NFKC")
    .replaceAll(invisible, "")
    .trim()
    .replace(scheme, "")
    .replace(suffix, "")
    .replaceAll(separators, "")
    .replace(/^00/, "")
  return phoneForm.test(digits) ? digits : undefined
}

const readUserId = (given: unknown): string | undefined =>
  typeof given === "string" && userIdForm.test(given) ? given : undefined

/** The person whom a platform names by these; null when neither can be read. */
export const read = (phone: unknown, userId: unknown): Person | null => {
  const [ofPhone, ofUserId] = [readPhone(phone), readUserId(userId)]
  return ofPhone === undefined && ofUserId === undefined
    ? null
    : { phone: ofPhone ?? null, userId: ofUserId ?? null }
}

/** No user id holds a space, so a key is read back without doubt; and no phone begins with @. */
const prefixOfUser = (userId: string): string => `@${userId} `

export const keyOfUser = (userId: string, portfolio: string): Key => `${prefixOfUser(userId)}${portfolio}`

/** The keys of a user id in all portfolios are from the first and before the second. */
export const keysOfUser = (userId: string): readonly [from: Key, before: Key] => [
  prefixOfUser(userId),
  `@${userId}!`
]

export const keysOf = ({ phone, userId }: Person, portfolio: string): ReadonlyArray<Key> => [
  ...(phone === null ? [] : [phone]),
  ...(userId === null ? [] : [keyOfUser(userId, portfolio)])
]

const isOfUser = (key: Key): boolean => key.startsWith("@")

/** The person that a key stands for. */
export const ofKey = (key: Key): Person =>
  isOfUser(key) ? { phone: null, userId: key.slice(1, key.indexOf(" ")) } : { phone: key, userId: null }

/** A step from one key of a person to another. */
export interface Link {
  readonly person: Key
  readonly other: Key
  /**
   * The platform told both together, or they are two forms of one number: what a person grants by one holds for the
   * other. Otherwise the other came in the place of the first, and only what is revoked holds for it.
   */
  readonly told: boolean
}

/** More keys than any person has; beyond them a platform has mixed up its people. */
const maximumKeys = 64

export interface Circle {
  /** All that is known of whom these keys stand for, nearest first; the keys themselves included. */
  readonly everything: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
  /**
   * Only what was told together with these keys and is surely the same person's; the keys themselves included. A phone
   * with two user ids of one portfolio has changed hands, and then neither stands for the other.
   */
  readonly together: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
}

const portfolioOf = (key: Key): string => key.slice(key.indexOf(" ") + 1)

/** Finds a person's other keys among links. */
export const circle = (links: Iterable<Link>): Circle => {
  const from = new Map<Key, Array<Link>>()
  for (const link of links) {
    const known = from.get(link.person)
    if (known === undefined) from.set(link.person, [link])
    else known.push(link)
  }
  const isShared = (key: Key, other: Key): boolean => {
    if (!isOfUser(key) && !isOfUser(other)) return false
    const [phone, user] = isOfUser(key) ? [other, key] : [key, other]
    return (from.get(phone) ?? []).some(
      ({ other: each }) => each !== user && isOfUser(each) && portfolioOf(each) === portfolioOf(user)
    )
  }
  return {
    everything: (keys) => {
      const found = new Set(keys)
      for (const key of found) {
        for (const { other } of from.get(key) ?? []) if (found.size < maximumKeys) found.add(other)
      }
      return [...found]
    },
    together: (keys) => {
      const found = new Set(keys)
      for (const key of keys) {
        for (const { other, told } of from.get(key) ?? [])
          if (told && !isShared(key, other) && found.size < maximumKeys) found.add(other)
      }
      return [...found]
    }
  }
}

/** Both ways: one was told together with the other. */
const met = (person: Key, other: Key): ReadonlyArray<Link> => [
  { person, other, told: true },
  { person: other, other: person, told: true }
]

/** The same number in its other form, where it has one. */
const written = (person: Person | null): ReadonlyArray<Link> => {
  const phone = person?.phone ?? null
  const other = phone === null ? undefined : Phone.otherForm(phone)
  return phone === null || other === undefined ? [] : met(phone, other)
}

/** A platform's word on a person. */
export interface Told {
  readonly person: Person
  /** By what the person was known before a number or a user id changed. */
  readonly formerly: Person | null
}

/**
 * The links that follow from what was told. What a person was known by leads to what they are known by now. It leads back
 * as well where the number is not said to have changed: then they may still have it.
 */
export const linksOf = ({ formerly, person }: Told, portfolio: string): ReadonlyArray<Link> => {
  const now = keysOf(person, portfolio)
  const before = formerly === null ? [] : keysOf(formerly, portfolio).filter((key) => !now.includes(key))
  const [first, second] = now
  const [former, alsoFormer] = before
  const numberChanged =
    formerly !== null && formerly.phone !== null && person.phone !== null && formerly.phone !== person.phone
  return [
    ...written(person),
    ...written(formerly),
    ...(first !== undefined && second !== undefined ? met(first, second) : []),
    ...(former !== undefined && alsoFormer !== undefined ? met(former, alsoFormer) : []),
    ...before.flatMap((key) =>
      now.flatMap(
        (other): ReadonlyArray<Link> => [
          { person: key, other, told: false },
          ...(numberChanged ? [] : [{ person: other, other: key, told: false }])
        ]
      )
    )
  ]
}
