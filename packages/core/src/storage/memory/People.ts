/** The links between keys of a person, and the consent records filed under each. */
import type { ConsentRecord } from "../../domain/consent/Consent.ts"
import * as Consent from "../../domain/consent/Consent.ts"
import * as Order from "../../domain/consent/Order.ts"
import type { Key, Known, Learnt } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import type { Filed, Histories } from "../InboundSteps.ts"
import type { Database, File } from "./MemoryDatabase.ts"

const none: ReadonlyArray<ConsentRecord> = []

export const historyOf = (db: Database, accountId: string, key: Key): ReadonlyArray<ConsentRecord> =>
  db.consents.get(accountId)?.get(key)?.records ?? none

export const historiesOf = (db: Database, accountId: string, keys: ReadonlyArray<Key>): Histories => {
  const ofKey = (key: Key): ReadonlyArray<ConsentRecord> => {
    const file = db.consents.get(accountId)?.get(key)
    if (file === undefined) return none
    const recent = file.records.slice(-Order.looksBack)
    const known = new Set(recent)
    return [...[...file.last.values()].filter((record) => !known.has(record)), ...recent]
  }
  return new Map(keys.map((key) => [key, ofKey(key)]))
}

/** Files a record under its keys. */
export const file = (db: Database, accountId: string, { keys, record }: Filed): void => {
  const ofAccount = db.consents.get(accountId) ?? new Map<Key, File>()
  db.consents.set(accountId, ofAccount)
  for (const key of keys) {
    const file: File = ofAccount.get(key) ?? { records: [], last: new Map() }
    file.records.push(record)
    file.last = Consent.withLast(file.last, record)
    ofAccount.set(key, file)
  }
}

/** The links of these keys themselves. */
export const linksOf = (db: Database, accountId: string, keys: ReadonlyArray<Key>): ReadonlyArray<Known> =>
  keys.flatMap((key) => [...(db.links.get(accountId)?.get(key)?.values() ?? [])])

/** The links of all that these keys lead to, as far as a circle reaches. */
export const linksFrom = (
  db: Database,
  accountId: string,
  keys: ReadonlyArray<Key>
): ReadonlyArray<Known> => {
  const found: Array<Known> = []
  const asked = new Set<Key>()
  for (let next = keys; next.length > 0; ) {
    for (const key of next) asked.add(key)
    found.push(...linksOf(db, accountId, next))
    next = Person.circle(found)
      .everything(keys)
      .filter((key) => !asked.has(key))
  }
  return found
}

export const link = (db: Database, accountId: string, { ended, retained }: Learnt): void => {
  const ofAccount = db.links.get(accountId) ?? new Map<Key, Map<Key, Known>>()
  db.links.set(accountId, ofAccount)
  for (const { other, person } of ended) ofAccount.get(person)?.delete(other)
  for (const each of retained) {
    const ofPerson = ofAccount.get(each.person) ?? new Map<Key, Known>()
    ofAccount.set(each.person, ofPerson)
    ofPerson.set(each.other, each)
  }
}

/** The person's numbers of each phone that has more than itself (`Person.Circle`). */
export const numbersOf = (
  db: Database,
  accountId: string,
  phones: ReadonlyArray<string>
): ReadonlyMap<string, ReadonlyArray<string>> =>
  Person.numbersOf(phones, linksFrom(db, accountId, Person.written(phones)))
