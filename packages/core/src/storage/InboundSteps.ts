/** Decides what a batch of inbound items, or of registered consents, changes, alike for every store. */
import type { ConsentRecord, Status } from "../domain/consent/Consent.ts"
import * as Consent from "../domain/consent/Consent.ts"
import * as Order from "../domain/consent/Order.ts"
import type { PerhapsRefusal } from "../domain/consent/PerhapsRefusal.ts"
import * as ExternalText from "../domain/ExternalText.ts"
import type { Ids } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import type { Circle, Key, Known, Learnt, Link, NumberChange } from "../domain/Person.ts"
import * as Person from "../domain/Person.ts"
import type { Window } from "../domain/session/Window.ts"
import * as Windows from "../domain/session/Window.ts"
import type { Draft } from "../domain/webhook/Event.ts"
import * as Event from "../domain/webhook/Event.ts"
import type { Undated, UserKeys } from "./ConsentStore.ts"
import type { InboundItem, InPortfolio, Received } from "./InboundStore.ts"
import { maximumItems, maximumWeight, weights } from "./InboundStore.ts"

/** A record, and under which keys it is filed. */
export interface Filed {
  readonly record: ConsentRecord
  readonly keys: ReadonlyArray<Key>
}

/** By key, in the order of recording: the last records of their kinds (`Consent.withLast`), and those of `Order.looksBack`. */
export type Histories = ReadonlyMap<Key, ReadonlyArray<ConsentRecord>>

const none: ReadonlyArray<ConsentRecord> = []

/** The items that are applied: of those with one id the first, where that is new. */
export const fresh = (
  items: ReadonlyArray<InboundItem>,
  newIds: Iterable<string>
): ReadonlyArray<InboundItem> => {
  const left = new Set(newIds)
  return items.filter(({ id }) => id === null || left.delete(id))
}

/** True for an item that tells of two people, or of two names of one. */
const isLinked = ({ identity }: InboundItem): boolean => identity !== null && Person.isLinked(identity)

/** The keys by which an item names somebody. */
const keysOf = ({ identity }: Pick<InboundItem, "identity">, portfolio: string): ReadonlyArray<Key> => {
  if (identity === null) return []
  const { asked = [], person } = identity
  return [...Person.keysOf(person, portfolio), ...asked]
}

/** True for an item that tells of people, or of what they want. */
const isIdentified = (item: InboundItem): boolean =>
  item.identity !== null && (item.word !== null || isLinked(item))

const weightOf = (item: InboundItem): number =>
  isLinked(item) ? weights.linked : isIdentified(item) ? weights.word : 0

/** The items in parts, each for one commit. */
export function* parts(items: ReadonlyArray<InboundItem>): Generator<ReadonlyArray<InboundItem>> {
  let part: Array<InboundItem> = []
  let weight = 0
  for (const item of items) {
    const more = weightOf(item)
    if (part.length === maximumItems || weight + more > maximumWeight) {
      yield part
      part = []
      weight = 0
    }
    part.push(item)
    weight += more
  }
  if (part.length > 0) yield part
}

const linksOf = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  now: Instant
): ReadonlyArray<Link | NumberChange> =>
  items.flatMap(({ identity }) => (identity === null ? [] : Person.linksOf(identity, portfolio, now)))

/** The keys whose links have to be known: of those who said something of consent, and of whom more than one is told. */
export const named = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  now: Instant
): ReadonlyArray<Key> => [
  ...new Set(
    items
      .filter(isIdentified)
      .flatMap((item) => [
        ...keysOf(item, portfolio),
        ...linksOf([item], portfolio, now).map((link) => ("from" in link ? link.from : link.person))
      ])
  )
]

/** True for an item that says nothing but who is who. */
const isIntroduction = ({ message, unattributed, window, word }: InboundItem): boolean =>
  message === null && word === null && unattributed === null && window === undefined

/** The items that say nothing but who is who: platforms do so with every answer and receipt. */
export const introductions = (items: ReadonlyArray<InboundItem>): ReadonlyArray<InboundItem> =>
  items.filter((item) => isIntroduction(item) && isIdentified(item))

/** The items without those that say only what is known: most of what platforms say of who is who. */
export const withoutKnown = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  known: ReadonlyArray<Known>,
  now: Instant
): ReadonlyArray<InboundItem> => {
  if (known.length === 0) return items
  const together = new Set(known.filter((link) => link.reportedTogether).map(Person.nameOfLink))
  const isKnown = (link: Link | NumberChange): boolean =>
    !("from" in link) && together.has(Person.nameOfLink(link))
  return items.filter((item) => !isIntroduction(item) || !linksOf([item], portfolio, now).every(isKnown))
}

/** The links that are not known yet. */
export const learn = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  known: ReadonlyArray<Known>,
  now: Instant
): Learnt => Person.learn(linksOf(items, portfolio, now), known, now)

/** The keys that a word or a new link concerns: their histories have to be known. */
export const concerned = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  { beyond, left, retained }: Learnt,
  circle: Circle
): ReadonlyArray<Key> => {
  const keys = new Set<Key>(left.map(({ number }) => number))
  const add = (some: ReadonlyArray<Key>) => {
    for (const key of circle.everything(some)) keys.add(key)
  }
  for (const { other, person } of [...retained, ...beyond]) add([person, other])
  for (const { identity, word } of items)
    if (word !== null)
      for (const key of keysFor(keysOf({ identity }, portfolio), word.status, circle)) keys.add(key)
  return [...keys]
}

/** Under which keys a word of these holds. */
const keysFor = (keys: ReadonlyArray<Key>, status: Status, circle: Circle): ReadonlyArray<Key> =>
  status === "revoked" ? circle.everything(keys) : circle.together(keys)

/** The person that a record names: as told, and else by the nearest keys that are known. */
const personOf = (keys: ReadonlyArray<Key>): Person.Person => {
  const people = keys.map(Person.ofKey)
  return {
    phone: people.find(({ phone }) => phone !== null)?.phone ?? null,
    userId: people.find(({ userId }) => userId !== null)?.userId ?? null
  }
}

/** A record of one key as it holds for another. */
const carry = (
  record: ConsentRecord,
  from: Key,
  key: Key,
  history: ReadonlyArray<ConsentRecord>,
  now: Instant
): ReadonlyArray<ConsentRecord> => {
  const { phone, userId } = Person.ofKey(from)
  // Of records under different keys only their clocks tell the order.
  const before = history.filter(({ recordedAt }) => recordedAt <= record.recordedAt)
  const after = history.filter(({ recordedAt }) => recordedAt > record.recordedAt)
  return Order.placed(record, { before, after }).map((placed) => ({
    ...record,
    ...Person.ofKey(key),
    ...placed,
    proof: ExternalText.lines(
      `Carried over from ${phone ?? userId}: ${record.proof ?? "no proof was given"}`,
      ExternalText.longest.words
    ),
    recordedAt: now
  }))
}

/**
 * The records that new links carry over: a revocation of one holds for the other, a grant only where both were told and
 * the person gave it. A number of which a platform mixes people up brings its new names no opt-out: it may be anybody's.
 */
const carried = (
  { beyond, retained }: Learnt,
  circle: Circle,
  histories: Histories,
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> => {
  const historyOf = (key: Key) => histories.get(key) ?? none
  const batchable = new Set(
    retained
      .filter(
        ({ other, person, reportedTogether }) => reportedTogether && circle.together([person]).includes(other)
      )
      .map(Person.nameOfLink)
  )
  const deciding = new Map<Key, ReadonlyArray<ConsentRecord>>()
  const decidingOf = (key: Key): ReadonlyArray<ConsentRecord> => {
    const found = deciding.get(key) ?? Consent.decidingOfPerson(historyOf(key))
    deciding.set(key, found)
    return found
  }
  const sources = new Map<Key, Set<Key>>()
  for (const { other, person } of [...retained, ...beyond.filter((link) => !Person.isOfPhones(link))]) {
    const leading = circle.leadingTo(person).filter((source) => decidingOf(source).length > 0)
    if (leading.length === 0) continue
    for (const key of circle.everything([other])) {
      const others = sources.get(key) ?? new Set()
      sources.set(key, others)
      for (const source of leading) if (source !== key) others.add(source)
    }
  }
  return Array.from(sources, ([key, others]): ReadonlyArray<Filed> => {
    const history = historyOf(key)
    // A record is filed under many keys, and is carried over once.
    const known = new Set(history.map(({ id }) => id))
    const found: Array<ConsentRecord> = []
    for (const other of others) {
      const granted = batchable.has(Person.nameOfLink({ person: other, other: key }))
      for (const record of decidingOf(other)) {
        if (known.has(record.id) || (record.status === "granted" && !granted)) continue
        known.add(record.id)
        found.push(...carry(record, other, key, history, now))
      }
    }
    if (found.length === 0) return []
    return Consent.lacking(history, found).map((record) => ({
      record: { ...record, id: ids.uuid(now) },
      keys: [key]
    }))
  }).flat()
}

/** The histories of some keys while records are added to them, one after the other. */
class Growing {
  readonly #histories: Map<Key, ReadonlyArray<ConsentRecord>>

  constructor(histories: Histories) {
    this.#histories = new Map(histories)
  }

  historyOf(key: Key): ReadonlyArray<ConsentRecord> {
    return this.#histories.get(key) ?? none
  }

  add(filed: ReadonlyArray<Filed>): void {
    for (const { keys, record } of filed)
      for (const key of keys) this.#histories.set(key, [...this.historyOf(key), record])
  }
}

/** A record under its keys: once for those in whose histories it has the same place. The first keeps its id. */
const place = <R extends ConsentRecord>(
  record: R,
  keys: ReadonlyArray<Key>,
  growing: Growing,
  newId: () => string
): ReadonlyArray<Filed & { readonly record: R }> => {
  const found = new Map<string, { readonly placed: ReadonlyArray<Order.Placed>; readonly keys: Array<Key> }>()
  for (const key of keys) {
    const placed = Order.placed(record, { before: growing.historyOf(key) })
    const name = JSON.stringify(placed)
    const same = found.get(name)
    if (same === undefined) found.set(name, { placed, keys: [key] })
    else same.keys.push(key)
  }
  const filed = [...found.values()]
    .flatMap(({ keys, placed }) => placed.map((each) => ({ keys, each })))
    .map(({ each, keys }, at) => ({
      record: { ...record, ...each, id: at === 0 ? record.id : newId() },
      keys
    }))
  growing.add(filed)
  return filed
}

/** The keys of whom an account's record names. */
const keysNamed = ({ phone, userId }: Person.Person, userKeys: UserKeys): ReadonlyArray<Key> => [
  ...(phone === null ? [] : [phone]),
  ...(userId === null ? [] : (userKeys.get(userId) ?? []))
]

/** The keys whose links have to be known before an account registers these. */
export const registering = (records: ReadonlyArray<ConsentRecord>, userKeys: UserKeys): ReadonlyArray<Key> =>
  Person.written(records.flatMap((record) => keysNamed(record, userKeys)))

/** Under which keys an account's record holds: a revocation for the person, a grant for what it names. */
const keysOfRegistered = (record: ConsentRecord, userKeys: UserKeys, circle: Circle): ReadonlyArray<Key> => {
  const { source, status } = record
  const named = keysNamed(record, userKeys)
  return status === "revoked" && source !== Consent.numberChanged
    ? circle.everything(Person.written(named))
    : named
}

/** The keys whose histories have to be known before an account registers these. */
export const outranked = (
  records: ReadonlyArray<ConsentRecord>,
  userKeys: UserKeys,
  circle: Circle
): ReadonlyArray<Key> => [...new Set(records.flatMap((record) => keysOfRegistered(record, userKeys, circle)))]

/** What an account registers: each record as it is on record then, null for what stays refused, and what is filed of the new ones. */
export interface Registered {
  readonly records: ReadonlyArray<ConsentRecord | null>
  readonly filed: ReadonlyArray<Filed>
}

export const registered = (
  records: ReadonlyArray<ConsentRecord>,
  { undated, userKeys }: { readonly undated: Undated; readonly userKeys: UserKeys },
  circle: Circle,
  histories: Histories,
  ids: Ids
): Registered => {
  const growing = new Growing(histories)
  const filed: Array<Filed> = []
  const onRecord = records.map((record): ConsentRecord | null => {
    const { phone, userId } = record
    const histories = keysNamed(record, userKeys).map((key) => growing.historyOf(key))
    const known = histories.map((history) => Consent.recordedAlready(record, history))
    const [first] = known
    if (first !== undefined && !known.includes(undefined)) return { ...first, phone, userId }
    const undatedOne = undated.get(record.id)
    if (
      undatedOne !== undefined &&
      histories.some((history) => Consent.isKeptRefused(record, history, undatedOne.isErased))
    )
      return null
    const placed = place(record, keysOfRegistered(record, userKeys, circle), growing, () =>
      ids.uuid(record.recordedAt)
    )
    filed.push(...placed)
    return placed[0]?.record ?? record
  })
  return { records: onRecord, filed }
}

const said = (
  { identity, word }: InboundItem,
  { circle, portfolio, sessionId }: Pick<Batch, "circle" | "portfolio" | "sessionId">,
  growing: Growing,
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> => {
  if (identity === null || word === null) return []
  const keys = keysFor(keysOf({ identity }, portfolio), word.status, circle)
  const record: ConsentRecord = {
    ...word,
    ...personOf(keys),
    id: ids.uuid(now),
    occurredAt: Order.saidAt(word.status, word.reportedAt, now),
    datedBy: sessionId,
    recordedAt: now
  }
  return place(record, keys, growing, () => ids.uuid(now))
}

/** The platform tells whole seconds, and the new owner may have spoken within the one that tells of them. */
const beforeNewOwner = Time.second

/** The end of what was granted for numbers that their owners left: of the number alone, since it is no refusal of anybody's. */
const endsOfLeft = (
  { learnt, sessionId }: Pick<Batch, "learnt" | "sessionId">,
  growing: Growing,
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> =>
  learnt.left.flatMap(({ at, number }) =>
    Consent.grantedPurposes(growing.historyOf(number)).flatMap((purpose) => {
      const reportedAt = Occurrence.timeOf(at - beforeNewOwner)
      const record: ConsentRecord = {
        id: ids.uuid(now),
        phone: number,
        userId: null,
        purpose,
        status: "revoked",
        source: Consent.numberChanged,
        proof: "The platform says that the number has another owner.",
        reportedAt,
        occurredAt: Order.saidAt("revoked", reportedAt, now),
        datedBy: sessionId,
        recordedAt: now
      }
      return place(record, [number], growing, () => ids.uuid(now))
    })
  )

interface Batch {
  readonly sessionId: string
  readonly items: ReadonlyArray<InboundItem>
  readonly portfolio: string
  readonly learnt: Learnt
  readonly circle: Circle
  readonly histories: Histories
}

/** All records of a batch, in the order in which they are recorded. */
export const records = (batch: Batch, ids: Ids, now: Instant): ReadonlyArray<Filed> => {
  const { circle, histories, items, learnt } = batch
  const growing = new Growing(histories)
  const brought = carried(learnt, circle, histories, ids, now)
  growing.add(brought)
  const ends = endsOfLeft(batch, growing, ids, now)
  return [...brought, ...ends, ...items.flatMap((item) => said(item, batch, growing, ids, now))]
}

/** The answer to a batch. */
export const received = ({ beyond }: Learnt): Received => ({
  crowded: [...new Set(beyond.map(({ person }) => person))]
})

/** The windows that a batch opens, by each name of whose it is. */
export const windows = (items: ReadonlyArray<InboundItem>, portfolio: string): ReadonlyMap<Key, Window> => {
  const opened = new Map<Key, Window>()
  for (const item of items)
    if (item.window !== undefined)
      for (const key of keysOf(item, portfolio)) opened.set(key, Windows.later(item.window, opened.get(key)))
  return opened
}

/** The texts of a batch that the operator is to look at. */
export const perhapsRefusals = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string
): ReadonlyArray<InPortfolio<PerhapsRefusal>> =>
  items.flatMap(({ perhapsRefusal }) =>
    perhapsRefusal === undefined ? [] : [{ ...perhapsRefusal, portfolio }]
  )

/** The events of a batch. */
export const drafts = (
  sessionId: string,
  items: ReadonlyArray<InboundItem>,
  filed: ReadonlyArray<Filed>
): ReadonlyArray<Draft> => [
  ...items.flatMap(
    ({ message, perhapsRefusal, unattributed }): ReadonlyArray<Draft> => [
      ...(message === null ? [] : [Event.messageReceived({ id: sessionId }, message)]),
      ...(unattributed === null ? [] : [Event.inboundUnattributed(unattributed)]),
      ...(perhapsRefusal === undefined ? [] : [Event.inboundPerhapsRefusal(perhapsRefusal)])
    ]
  ),
  ...filed.map(({ record }) => Event.consentRecorded(record))
]
