/**
 * A person as a platform tells of them (decisions.md §10): a phone number, a user id of the platform, or both. A user id
 * means somebody only within its portfolio, the scope in which the platform gives it out.
 */
import type { Instant } from "./Instant.ts"
import * as Phone from "./Phone.ts"

export interface Person {
  /** Digits with the country calling code. */
  readonly phone: string | null
  /** As the platform writes it. */
  readonly userId: string | null
}

/** The key of a person's records: a phone, or a user id with its portfolio. */
export type Key = string

const phoneForm = /^[1-9][0-9]{6,14}$/
/** The form of a platform's user id. */
export const userIdForm = /^[\x21-\x7e]{1,256}$/
// Address books copy a number with direction marks around it.
const invisible = /\p{Cf}/gu
const separators = /[\s+()./\p{Pd}\u2212]/gu
const scheme = /^(?:tel|sms|whatsapp):/i
/** The suffixes that gateways of WhatsApp write behind a number, and the device after a colon. */
const suffix = /(?::[0-9]{1,4})?@(?:c\.us|s\.whatsapp\.net)$/i

/**
 * Reads a platform's text as a phone. A scheme, a gateway's suffix, a leading + or 00 and separators are removed;
 * undefined when the rest is not a number.
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

/** No user id has a space, so that a key can be read back; and no phone begins with @. */
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
   * True when the platform reported both keys together, or they are two forms of one number: a grant by one key holds
   * for the other. False when the other key replaced the first: only revocations hold for it then.
   */
  readonly reportedTogether: boolean
}

/** A stored link and the time when it was first known. */
export interface Known extends Link {
  readonly at: Instant
}

/** The most keys that are reached from one key. A person has fewer; with more, a platform has mixed people up. */
export const maximumKeys = 8
/** The most links from one key. Further links could not lead to keys within {@link maximumKeys}. */
export const maximumLinks = maximumKeys - 1

export interface Circle {
  /**
   * All keys that may stand for the same person, nearest first, including the given ones: each key's own links, and
   * of the links further on the oldest ones. New links therefore never remove a key.
   */
  readonly everything: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
  /** The keys from which this key can be reached, as far as it reaches them itself: their revocations hold for it. */
  readonly leadingTo: (key: Key) => ReadonlyArray<Key>
  /**
   * Only keys that were reported together with the given ones and surely are the same person's, including the given
   * ones. A phone with two user ids of one portfolio has a new owner, so that neither id stands for it. The same goes
   * for a phone or a user id with the maximum number of links.
   */
  readonly together: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
}

const portfolioOf = (key: Key): string => key.slice(key.indexOf(" ") + 1)

/** Orders links by age, and equally in every store, since the links of one commit have the same age. */
const byAge = (a: Known, b: Known): number =>
  a.at - b.at || (a.person < b.person ? -1 : Number(a.person > b.person)) || (a.other < b.other ? -1 : 1)

const none: ReadonlyArray<Known> = []

/** Finds a person's other keys among links, of which each is there once. */
export const circle = (links: Iterable<Known>): Circle => {
  const from = new Map<Key, Array<Known>>()
  for (const link of links) {
    const known = from.get(link.person)
    if (known === undefined) from.set(link.person, [link])
    else known.push(link)
  }
  for (const known of from.values()) known.sort(byAge).splice(maximumLinks)
  const linksOf = (key: Key): ReadonlyArray<Known> => from.get(key) ?? none

  const isFull = (key: Key): boolean => linksOf(key).length >= maximumLinks
  const isShared = (key: Key, other: Key): boolean => {
    if (!isOfUser(key) && !isOfUser(other)) return false
    if (isFull(key) || isFull(other)) return true
    const [phone, user] = isOfUser(key) ? [other, key] : [key, other]
    return linksOf(phone).some(
      ({ other: each }) => each !== user && isOfUser(each) && portfolioOf(each) === portfolioOf(user)
    )
  }

  const reached = new Map<Key, ReadonlySet<Key>>()
  /** Follows the oldest link from any reached key, until there are {@link maximumKeys}. */
  const reachedFrom = (key: Key): ReadonlySet<Key> => {
    const before = reached.get(key)
    if (before !== undefined) return before
    const keys = new Set([key])
    const leading = [{ links: linksOf(key), next: 0 }]
    while (keys.size < maximumKeys) {
      let oldest: Known | undefined
      for (const each of leading) {
        let link = each.links[each.next]
        while (link !== undefined && keys.has(link.other)) link = each.links[++each.next]
        if (link !== undefined && (oldest === undefined || byAge(link, oldest) < 0)) oldest = link
      }
      if (oldest === undefined) break
      keys.add(oldest.other)
      leading.push({ links: linksOf(oldest.other), next: 0 })
    }
    reached.set(key, keys)
    return keys
  }

  const everything: Circle["everything"] = (keys) => {
    const found = new Set(keys)
    for (const key of keys) for (const { other } of linksOf(key)) found.add(other)
    for (const key of keys) for (const other of reachedFrom(key)) found.add(other)
    return [...found]
  }
  return {
    everything,
    leadingTo: (key) => {
      const others = everything([key])
      const found = new Set([key])
      for (const each of found)
        for (const other of others) if (linksOf(other).some((link) => link.other === each)) found.add(other)
      return [...found]
    },
    together: (keys) => {
      const found = new Set(keys)
      for (const key of keys)
        for (const { other, reportedTogether } of linksOf(key))
          if (reportedTogether && !isShared(key, other)) found.add(other)
      return [...found]
    }
  }
}

/** The name of a link. It is the same whether the keys were reported together or not. */
export const nameOfLink = ({ other, person }: Pick<Link, "other" | "person">): string => `${person}\n${other}`

export interface Learnt {
  /** The new or changed links, each once. A link that is now reported together replaces one that was not. */
  readonly retained: ReadonlyArray<Known>
  /** Links that are not stored, because their key has the maximum already. Revocations until now hold for them. */
  readonly beyond: ReadonlyArray<Link>
}

/** @param known all links from the keys at which the new links begin */
export const learn = (links: Iterable<Link>, known: ReadonlyArray<Known>, now: Instant): Learnt => {
  const found = new Map<string, Known>()
  const many = new Map<Key, number>()
  // New links must be later than the known ones even if the clock was set back.
  let at = now
  for (const link of known) {
    found.set(nameOfLink(link), link)
    many.set(link.person, 1 + (many.get(link.person) ?? 0))
    at = Math.max(at, link.at + 1)
  }
  const retained = new Map<string, Known>()
  const beyond = new Map<string, Link>()
  for (const link of links) {
    const name = nameOfLink(link)
    const before = found.get(name)
    if (before !== undefined && (before.reportedTogether || !link.reportedTogether)) continue
    const count = many.get(link.person) ?? 0
    if (before === undefined && count >= maximumLinks) {
      if (link.reportedTogether || !beyond.has(name)) beyond.set(name, link)
      continue
    }
    if (before === undefined) many.set(link.person, count + 1)
    const learnt = { ...link, at: before?.at ?? at }
    found.set(name, learnt)
    retained.set(name, learnt)
  }
  return { retained: [...retained.values()], beyond: [...beyond.values()] }
}

/** All links with those that were learnt. */
export const withLearnt = (known: ReadonlyArray<Known>, { retained }: Learnt): ReadonlyArray<Known> => [
  ...new Map([...known, ...retained].map((link) => [nameOfLink(link), link])).values()
]

/** True when the person has more than one key. */
export const isLinked = ({ phone, userId }: Person): boolean =>
  phone !== null && (userId !== null || Phone.otherForm(phone) !== undefined)

/** Both ways: one was told together with the other. */
const met = (person: Key, other: Key): ReadonlyArray<Link> => [
  { person, other, reportedTogether: true },
  { person: other, other: person, reportedTogether: true }
]

/** Links a phone to its other form, if it has one. */
const written = (person: Person | null): ReadonlyArray<Link> => {
  const phone = person?.phone ?? null
  const other = phone === null ? undefined : Phone.otherForm(phone)
  return phone === null || other === undefined ? [] : met(phone, other)
}

/** A platform's report on a person's identity. */
export interface IdentityReport {
  readonly person: Person
  /** By what the person was known before a number or a user id changed. */
  readonly formerly: Person | null
}

/**
 * The links that follow from a report. A person's former keys lead to the present ones. The present ones lead back
 * only if the report names no changed number, since the person may still have the former key.
 */
export const linksOf = ({ formerly, person }: IdentityReport, portfolio: string): ReadonlyArray<Link> => {
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
          { person: key, other, reportedTogether: false },
          ...(numberChanged ? [] : [{ person: other, other: key, reportedTogether: false }])
        ]
      )
    )
  ]
}
