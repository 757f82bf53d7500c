/**
 * A person as a platform tells of them (contract.md §10, §11): a phone number, a user id of the platform, or both. A user
 * id means somebody only within its portfolio, the scope in which the platform gives it out. A phone may be written in
 * more ways than one: whom we asked for by one number the platform may name by another, in its answer, in a receipt, or as
 * the sender of a reply.
 */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
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

/** The key of what is recorded of a user id by hand: it holds in whichever portfolio a platform tells of it, now or later. */
export const unplaced = (userId: string): Key => keyOfUser(userId, "")

/** The keys of a user id in all portfolios are from the first and before the second. */
export const keysOfUser = (userId: string): readonly [from: Key, before: Key] => [
  prefixOfUser(userId),
  `@${userId}!`
]

/** The keys of these names: of each from the first and before the second. */
export const rangesOf = (
  phones: ReadonlyArray<string>,
  userIds: ReadonlyArray<string>
): ReadonlyArray<readonly [from: Key, before: Key]> => [
  ...phones.map((phone) => [phone, `${phone} `] as const),
  ...userIds.map(keysOfUser)
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
  /** When the platform told it, where that may be long ago. */
  readonly reportedAt?: Instant
}

/** A number changed hands: its owner has another one now, and somebody else may come by it. */
export interface NumberChange {
  readonly from: string
  readonly to: string
  readonly reportedAt: Instant
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
   * for a phone or a user id with the maximum number of links, and for one that the platform gives to more numbers than
   * anybody has.
   */
  readonly together: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
  /** All keys that surely are the same person's as these, including the given ones: by one step after the other. */
  readonly same: (keys: ReadonlyArray<Key>) => ReadonlyArray<Key>
  /** All numbers that surely are the same person's as this one, which is the first. */
  readonly numbers: (phone: string) => ReadonlyArray<string>
}

/** The ways in which somebody's number is written, at most: in Argentina 549…, 54… and 54…15…. */
const maximumForms = 3

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
  /** A user id has all forms of a number, a number its other ones. */
  const hasTooMany = (key: Key): boolean =>
    linksOf(key).filter(({ other, reportedTogether }) => reportedTogether && !isOfUser(other)).length >
    (isOfUser(key) ? maximumForms : maximumForms - 1)
  const isShared = (key: Key, other: Key): boolean => {
    const areNumbers = !isOfUser(key) && !isOfUser(other)
    if (areNumbers && Phone.otherForm(key) === other) return false
    if (isFull(key) || isFull(other) || hasTooMany(key) || hasTooMany(other)) return true
    if (areNumbers) return false
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

  const together: Circle["together"] = (keys) => {
    const found = new Set(keys)
    for (const key of keys)
      for (const { other, reportedTogether } of linksOf(key))
        if (reportedTogether && !isShared(key, other)) found.add(other)
    return [...found]
  }

  const same: Circle["same"] = (keys) => {
    const found = new Set<Key>(keys)
    for (const each of found) {
      if (found.size >= maximumKeys) break
      for (const other of together([each])) found.add(other)
    }
    return [...found]
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
    together,
    same,
    numbers: (phone) => same(Phone.forms(phone)).filter((key) => !isOfUser(key))
  }
}

/** The name of a link. It is the same whether the keys were reported together or not. */
export const nameOfLink = ({ other, person }: Pick<Link, "other" | "person">): string => `${person}\n${other}`

/** A number that its owner left: consent that was granted for it ends. */
export interface LeftNumber {
  readonly number: string
  readonly at: Instant
}

export interface Learnt {
  readonly left: ReadonlyArray<LeftNumber>
  /** The new or changed links, each once. A link that is now reported together replaces one that was not. */
  readonly retained: ReadonlyArray<Known>
  /** Links that are not stored, because their key has the maximum already. Revocations until now hold for them. */
  readonly beyond: ReadonlyArray<Link>
  /** Known links that have ended. */
  readonly ended: ReadonlyArray<Known>
}

/** True for a link from one number to another. */
export const isOfPhones = ({ other, person }: Link): boolean => !isOfUser(person) && !isOfUser(other)

/**
 * Links while they are learnt.
 *
 * Once a number has changed hands, nothing leads to it from what its former owner is known by: whoever comes by it is
 * somebody else. It goes on to lead to all that, for revocations only, since an opt-out may come late, and what it led to is
 * linked with the new number instead. What is told later of the time before is taken like that, too.
 */
class Learning {
  readonly #found = new Map<string, Known>()
  readonly #from = new Map<Key, Set<string>>()
  readonly #retained = new Map<string, Known>()
  readonly #beyond = new Map<string, Link>()
  readonly #ended = new Map<string, Known>()
  readonly #left = new Map<string, Instant>()
  readonly #at: Instant
  readonly #now: Instant

  constructor(known: ReadonlyArray<Known>, now: Instant) {
    this.#now = now
    // New links must be later than the known ones even if the clock was set back.
    this.#at = Time.max(now, ...known.map(({ at }) => Time.after(at, 1)))
    for (const link of known) this.#put(link)
  }

  add(link: Link): void {
    const { other, person, reportedAt } = link
    if (!link.reportedTogether || reportedAt === undefined || Phone.otherForm(person) === other) {
      this.#learn(link)
      return
    }
    const [personNow, otherNow] = [this.#successor(person, reportedAt), this.#successor(other, reportedAt)]
    if (personNow === undefined && otherNow === undefined) {
      this.#noteOwner(link, reportedAt)
      this.#learn(link)
      return
    }
    const present = otherNow ?? other
    for (const key of personNow === undefined ? [person] : [person, personNow])
      if (key !== present) this.#learn({ person: key, other: present, reportedTogether: false })
  }

  change(change: NumberChange): void {
    if (this.#isRepeated(change)) return
    const { from, reportedAt, to } = change
    const numbers = Phone.forms(from)
    const isNew = this.#isNew(change)
    // The number may be asked for by others that stand for the same line, unless these are its next owner's by now.
    for (const number of isNew ? circle(this.#found.values()).numbers(from) : numbers)
      if (!Phone.forms(to).includes(number)) this.#leaveNumber(number, reportedAt)
    if (!isNew) return
    for (const link of numbers.flatMap((number) => this.#linksOf(number)))
      if (!numbers.includes(link.other)) this.#leave(link, to)
    this.#end({ person: to, other: from })
    this.#retain({ person: from, other: to, reportedTogether: false, at: this.#at })
  }

  learnt(): Learnt {
    return {
      left: Array.from(this.#left, ([number, at]) => ({ number, at })),
      retained: [...this.#retained.values()],
      beyond: [...this.#beyond.values()],
      ended: [...this.#ended.values()]
    }
  }

  /** Notes that a number has another owner than it had, as the user ids of one portfolio tell: none is the other's successor. */
  #noteOwner(link: Link, at: Instant): void {
    const { other: user, person: phone } = link
    if (isOfUser(phone) || !isOfUser(user) || this.#found.has(nameOfLink(link))) return
    const isAnother = ({ other, reportedTogether }: Known) =>
      reportedTogether &&
      other !== user &&
      isOfUser(other) &&
      portfolioOf(other) === portfolioOf(user) &&
      !this.#found.has(nameOfLink({ person: other, other: user })) &&
      !this.#found.has(nameOfLink({ person: user, other }))
    const known = this.#linksOf(phone)
    if (!known.some(isAnother)) return
    this.#leaveNumber(phone, at)
    for (const { other, reportedTogether } of known)
      if (reportedTogether && !isOfUser(other)) this.#leaveNumber(other, at)
  }

  #leaveNumber(number: string, at: Instant): void {
    this.#left.set(number, Time.max(at, this.#left.get(number) ?? at))
  }

  /** True where the same change is known. */
  #isRepeated({ from, to }: NumberChange): boolean {
    const known = this.#found.get(nameOfLink({ person: from, other: to }))
    return known !== undefined && this.#isMove(known)
  }

  /** False where a later change is known: what came after this one was told may be later, and ends consent alone. */
  #isNew({ from, reportedAt, to }: NumberChange): boolean {
    if (this.#successor(from, reportedAt) !== undefined) return false
    const known = this.#found.get(nameOfLink({ person: from, other: to }))
    const back = this.#found.get(nameOfLink({ person: to, other: from }))
    if (back === undefined || !this.#isMove(back)) return known === undefined
    return back.at <= reportedAt && (known === undefined || back.at > known.at)
  }

  /** A number's link once it has changed hands: what led to it now leads to the new number. */
  #leave(link: Known, to: string): void {
    const { other, person } = link
    const ledBack = this.#end({ person: other, other: person })
    if (link.reportedTogether) this.#retain({ ...link, reportedTogether: false })
    if (!ledBack || other === to) return
    this.#learn({ person: other, other: to, reportedTogether: false })
    this.#learn({ person: to, other, reportedTogether: false })
  }

  #linksOf(key: Key): ReadonlyArray<Known> {
    return [...(this.#from.get(key) ?? [])].flatMap((name) => this.#found.get(name) ?? [])
  }

  #put(link: Known): void {
    const name = nameOfLink(link)
    this.#found.set(name, link)
    const names = this.#from.get(link.person)
    if (names === undefined) this.#from.set(link.person, new Set([name]))
    else names.add(name)
  }

  #retain(link: Known): void {
    this.#put(link)
    this.#retained.set(nameOfLink(link), link)
    this.#ended.delete(nameOfLink(link))
  }

  #end(ended: Pick<Link, "other" | "person">): boolean {
    const name = nameOfLink(ended)
    const link = this.#found.get(name)
    if (link === undefined) return false
    this.#found.delete(name)
    this.#from.get(link.person)?.delete(name)
    this.#retained.delete(name)
    this.#ended.set(name, link)
    return true
  }

  /** A later number leads back to no former one. */
  #isMove(link: Known): boolean {
    const { other, person, reportedTogether } = link
    return (
      !reportedTogether && isOfPhones(link) && !this.#found.has(nameOfLink({ person: other, other: person }))
    )
  }

  /** The number that this one, in either form, was changed to at a time or later. */
  #successor(key: Key, since: Instant): string | undefined {
    let last: Known | undefined
    for (const link of isOfUser(key) ? [] : Phone.forms(key).flatMap((form) => this.#linksOf(form))) {
      // A clock that was ahead wrote a time that is.
      if (link.at < since || Time.isAhead(link.at, this.#now) || !this.#isMove(link)) continue
      if (last === undefined || link.at > last.at) last = link
    }
    return last?.other
  }

  #learn({ other, person, reportedTogether }: Link): void {
    const link = { person, other, reportedTogether }
    const name = nameOfLink(link)
    const before = this.#found.get(name)
    if (before !== undefined && (before.reportedTogether || !reportedTogether)) return
    if (before === undefined && (this.#from.get(person)?.size ?? 0) >= maximumLinks) {
      if (reportedTogether || !this.#beyond.has(name)) this.#beyond.set(name, link)
      return
    }
    this.#retain({ ...link, at: before?.at ?? this.#at })
  }
}

/** @param known all links from the keys at which the new links begin */
export const learn = (
  reports: Iterable<Link | NumberChange>,
  known: ReadonlyArray<Known>,
  now: Instant
): Learnt => {
  const learning = new Learning(known, now)
  for (const each of reports) {
    if ("from" in each) learning.change(each)
    else learning.add(each)
  }
  return learning.learnt()
}

/** All links with those that were learnt, and without those that have ended. */
export const withLearnt = (
  known: ReadonlyArray<Known>,
  { ended, retained }: Learnt
): ReadonlyArray<Known> => {
  const links = new Map([...known, ...retained].map((link) => [nameOfLink(link), link]))
  for (const link of ended) links.delete(nameOfLink(link))
  return [...links.values()]
}

/** A platform's report on a person's identity. */
export interface IdentityReport {
  readonly person: Person
  /** The names of the person before a number or a user id changed. */
  readonly formerly: Person | null
  /** The names to which a message of ours was sent, where `person` is the platform's name of who got the message. */
  readonly asked?: ReadonlyArray<Key>
  /** When the platform told it; absent = now. */
  readonly at?: Instant
}

/** True when the report tells of two people, or of two names of one. */
export const isLinked = ({ asked = [], formerly, person: { phone, userId } }: IdentityReport): boolean =>
  formerly !== null ||
  asked.length > 0 ||
  (phone !== null && (userId !== null || Phone.otherForm(phone) !== undefined))

/** The keys, phones with their other forms: by their links all of a person's keys are found. */
export const written = (keys: ReadonlyArray<Key>): ReadonlyArray<Key> => [
  ...new Set(keys.flatMap(Phone.forms))
]

/** All keys of the person that a key surely stands for, that one first, where there are more than the one. */
export type Others = ReadonlyMap<Key, ReadonlyArray<Key>>

export const othersOf = (keys: ReadonlyArray<Key>, links: ReadonlyArray<Known>): Others => {
  const { same } = circle(links)
  const found = new Map<Key, ReadonlyArray<Key>>()
  for (const key of keys) {
    const all = same(Phone.forms(key))
    if (all.length > 1) found.set(key, all)
  }
  return found
}

/** The keys, with all others of their person. */
export const keysAmong = (keys: ReadonlyArray<Key>, others: Others): ReadonlyArray<Key> => {
  const [key] = keys
  if (keys.length === 1 && key !== undefined) return others.get(key) ?? keys
  return [...new Set(keys.flatMap((each) => others.get(each) ?? [each]))]
}

/** Both ways: one was told together with the other. */
const met = (person: Key, other: Key): ReadonlyArray<Link> => [
  { person, other, reportedTogether: true },
  { person: other, other: person, reportedTogether: true }
]

/** Each with each other. */
const allMet = (keys: ReadonlyArray<Key>): ReadonlyArray<Link> =>
  keys.flatMap((key, place) => keys.slice(place + 1).flatMap((other) => met(key, other)))

/** Links a phone to its other form, if it has one. */
const formsMet = (phone: string | null | undefined): ReadonlyArray<Link> => {
  const [form, other] = phone == null ? [] : Phone.forms(phone)
  return form === undefined || other === undefined ? [] : met(form, other)
}

/** The change of a number that a report tells of; undefined where it tells of none. */
const numberChangeOf = (
  { formerly, person }: IdentityReport,
  reportedAt: Instant
): NumberChange | undefined => {
  const [from, to] = [formerly?.phone ?? null, person.phone]
  return from === null || to === null || Phone.forms(from).includes(to) ? undefined : { from, to, reportedAt }
}

/**
 * The links that follow from a report. A person's former keys lead to the present ones. The present ones lead back
 * only if the report names no changed number, since the person may still have the former key.
 */
export const linksOf = (
  report: IdentityReport,
  portfolio: string,
  now: Instant
): ReadonlyArray<Link | NumberChange> => {
  const { asked = [], formerly, person } = report
  const { at = now } = report
  const reportedAt = Number.isFinite(at) ? Time.min(at, now) : now
  const names = [...new Set([...keysOf(person, portfolio), ...asked])]
  const before = formerly === null ? [] : keysOf(formerly, portfolio).filter((key) => !names.includes(key))
  const change = numberChangeOf(report, reportedAt)
  const links = [
    ...formsMet(person.phone),
    ...asked.flatMap(formsMet),
    ...formsMet(formerly?.phone),
    ...allMet(names),
    // The links between the former names end once the number has another owner.
    ...allMet(before).map((link) => (change === undefined ? link : { ...link, reportedTogether: false })),
    ...before.flatMap((key) =>
      names.flatMap(
        (other): ReadonlyArray<Link> => [
          { person: key, other, reportedTogether: false },
          ...(change === undefined ? [{ person: other, other: key, reportedTogether: false }] : [])
        ]
      )
    )
  ].map((link) => ({ ...link, reportedAt }))
  return change === undefined ? links : [change, ...links]
}
