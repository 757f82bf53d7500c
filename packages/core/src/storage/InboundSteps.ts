/** Decides what a batch of inbound items, or of registered consents, changes, alike for every store. */
import type { ConsentRecord, Status } from "../domain/Consent.ts"
import * as Consent from "../domain/Consent.ts"
import type { Draft } from "../domain/Event.ts"
import * as Event from "../domain/Event.ts"
import * as ExternalText from "../domain/ExternalText.ts"
import type { Ids } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import type { Circle, Key, Link } from "../domain/Person.ts"
import * as Person from "../domain/Person.ts"
import type { RecordOfPhone } from "./ConsentStore.ts"
import type { InboundItem } from "./InboundStore.ts"

/** A record, and under which keys it is filed. */
export interface Filed {
  readonly record: ConsentRecord
  readonly keys: ReadonlyArray<Key>
}

export type Histories = ReadonlyMap<Key, ReadonlyArray<ConsentRecord>>

/** Whom revocations concern. Of their histories only grants later than the first of them count. */
export interface Revoking {
  readonly keys: ReadonlyArray<Key>
  readonly since: Instant
}

const none: ReadonlyArray<ConsentRecord> = []

/** The items that are applied: of those with one id the first, where that is new. */
export const fresh = (
  items: ReadonlyArray<InboundItem>,
  newIds: Iterable<string>
): ReadonlyArray<InboundItem> => {
  const left = new Set(newIds)
  return items.filter(({ id }) => id === null || left.delete(id))
}

/** The keys whose links have to be known: of those who said something of consent, and of whom more than one is told. */
export const named = (items: ReadonlyArray<InboundItem>, portfolio: string): ReadonlyArray<Key> => [
  ...new Set(
    items.flatMap(({ told, word }) => {
      if (told === null) return []
      const links = Person.linksOf(told, portfolio)
      return word === null && links.length === 0
        ? []
        : [...Person.keysOf(told.person, portfolio), ...links.map(({ person }) => person)]
    })
  )
]

const nameOf = ({ other, person }: Pick<Link, "other" | "person">): string => `${person}\n${other}`

/** The links that are not known yet, each once. To be told together is more than to come in the other's place. */
export const learnt = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  known: ReadonlyArray<Link>
): ReadonlyArray<Link> => {
  const links = new Map(known.map((link) => [nameOf(link), link]))
  const found = new Map<string, Link>()
  for (const { told } of items) {
    for (const link of told === null ? [] : Person.linksOf(told, portfolio)) {
      const name = nameOf(link)
      const before = links.get(name)
      if (before !== undefined && (before.told || !link.told)) continue
      links.set(name, link)
      found.set(name, link)
    }
  }
  return [...found.values()]
}

/** The keys that a new link concerns: their whole histories have to be known. */
export const linked = (learnt: ReadonlyArray<Link>, circle: Circle): ReadonlyArray<Key> => [
  ...new Set(learnt.flatMap(({ other, person }) => circle.everything([person, other])))
]

/** The keys that what is revoked concerns: the grants behind it have to be known. */
export const revoking = (
  items: ReadonlyArray<InboundItem>,
  portfolio: string,
  circle: Circle
): Revoking | undefined => {
  const keys = new Set<Key>()
  let since = Number.POSITIVE_INFINITY
  for (const { told, word } of items) {
    if (told === null || word?.status !== "revoked") continue
    since = Math.min(since, word.occurredAt)
    for (const key of circle.everything(Person.keysOf(told.person, portfolio))) keys.add(key)
  }
  return keys.size === 0 ? undefined : { keys: [...keys], since }
}

/** Under which keys a word of these holds. */
export const keysFor = (keys: ReadonlyArray<Key>, status: Status, circle: Circle): ReadonlyArray<Key> =>
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
): ConsentRecord => {
  const { phone, userId } = Person.ofKey(from)
  const latest = Occurrence.latest(record.occurredAt, record.recordedAt)
  // Of records under different keys only their clocks tell the order.
  const before = history.filter(({ recordedAt }) => recordedAt <= record.recordedAt)
  return {
    ...record,
    ...Person.ofKey(key),
    proof: ExternalText.lines(
      `Carried over from ${phone ?? userId}: ${record.proof ?? "no proof was given"}`,
      ExternalText.longest.words
    ),
    occurredAt: record.status === "revoked" ? Consent.afterGrants(before, record, latest) : record.occurredAt,
    recordedAt: now
  }
}

/** The records that new links carry over: a revocation of one holds for the other, a grant only where both were told. */
const carried = (
  learnt: ReadonlyArray<Link>,
  circle: Circle,
  histories: Histories,
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> => {
  const historyOf = (key: Key) => histories.get(key) ?? none
  const told = new Set(learnt.filter(({ told }) => told).map(nameOf))
  const together = (person: Key, other: Key): boolean =>
    told.has(nameOf({ person, other })) && circle.together([person]).includes(other)
  const sources = new Map<Key, Array<Key>>()
  const touched = new Set(learnt.flatMap(({ other, person }) => circle.everything([person, other])))
  for (const source of touched) {
    for (const key of circle.everything([source])) {
      if (key === source) continue
      const others = sources.get(key)
      if (others === undefined) sources.set(key, [source])
      else others.push(source)
    }
  }
  return Array.from(sources, ([key, others]): ReadonlyArray<Filed> => {
    const history = historyOf(key)
    const found = others.flatMap((other) =>
      Consent.deciding(historyOf(other))
        .filter(({ status }) => status === "revoked" || together(other, key))
        .map((record) => carry(record, other, key, history, now))
    )
    return Consent.lacking(history, found).map((record) => ({
      record: { ...record, id: ids.uuid(now) },
      keys: [key]
    }))
  }).flat()
}

/** A revocation that tells no time of its own occurred when it was recorded, and that is behind what was before it. */
const isBehindGrants = ({ occurredAt, recordedAt, status }: ConsentRecord): boolean =>
  status === "revoked" && occurredAt === recordedAt

/** The keys that revocations of those that an account registers concern. */
export const outranked = (records: ReadonlyArray<RecordOfPhone>, circle: Circle): Revoking | undefined => {
  const revoked = records.filter(isBehindGrants)
  return revoked.length === 0
    ? undefined
    : {
        keys: [...new Set(revoked.flatMap(({ phone, status }) => keysFor([phone], status, circle)))],
        since: Math.min(...revoked.map(({ occurredAt }) => occurredAt))
      }
}

/** What an account registers. */
export const registered = (
  records: ReadonlyArray<RecordOfPhone>,
  circle: Circle,
  histories: Histories
): ReadonlyArray<Filed & { readonly record: RecordOfPhone }> =>
  records.map((record) => {
    const keys = keysFor([record.phone], record.status, circle)
    if (!isBehindGrants(record)) return { record, keys }
    const before = keys.flatMap((key) => histories.get(key) ?? none)
    const occurredAt = Consent.afterGrants(before, record, record.occurredAt)
    return { record: { ...record, occurredAt }, keys }
  })

const said = (
  { told, word }: InboundItem,
  portfolio: string,
  circle: Circle,
  histories: Histories,
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> => {
  if (told === null || word === null) return []
  const { latest, ...rest } = word
  const keys = keysFor(Person.keysOf(told.person, portfolio), word.status, circle)
  const occurredAt =
    word.status === "granted"
      ? word.occurredAt
      : Consent.afterGrants(
          keys.flatMap((key) => histories.get(key) ?? none),
          word,
          latest
        )
  return [{ record: { ...rest, ...personOf(keys), id: ids.uuid(now), occurredAt, recordedAt: now }, keys }]
}

/** All records of a batch, in the order in which they are recorded. */
export const records = (
  batch: {
    readonly items: ReadonlyArray<InboundItem>
    readonly portfolio: string
    readonly learnt: ReadonlyArray<Link>
    readonly circle: Circle
    readonly histories: Histories
  },
  ids: Ids,
  now: Instant
): ReadonlyArray<Filed> => {
  const { circle, histories, items, learnt, portfolio } = batch
  return [
    ...carried(learnt, circle, histories, ids, now),
    ...items.flatMap((item) => said(item, portfolio, circle, histories, ids, now))
  ]
}

/** The events of a batch. */
export const drafts = (
  sessionId: string,
  items: ReadonlyArray<InboundItem>,
  filed: ReadonlyArray<Filed>
): ReadonlyArray<Draft> => [
  ...items.flatMap(
    ({ message, unattributed }): ReadonlyArray<Draft> => [
      ...(message === null ? [] : [Event.messageReceived({ id: sessionId }, message)]),
      ...(unattributed === null ? [] : [Event.inboundUnattributed(unattributed)])
    ]
  ),
  ...filed.map(({ record }) => Event.consentRecorded(record))
]
