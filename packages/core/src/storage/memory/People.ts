/** The links between keys of a person, and the consent records filed under each. */
import type { ConsentRecord } from "../../domain/Consent.ts"
import type { Key, Link } from "../../domain/Person.ts"
import type { Database } from "./MemoryDatabase.ts"

const none: ReadonlyArray<ConsentRecord> = []

export const historyOf = (db: Database, accountId: string, key: Key): ReadonlyArray<ConsentRecord> =>
  db.consents.get(accountId)?.get(key) ?? none

/** Files a record under each key. */
export const file = (
  db: Database,
  accountId: string,
  record: ConsentRecord,
  keys: ReadonlyArray<Key>
): void => {
  const ofAccount = db.consents.get(accountId) ?? new Map<Key, ReadonlyArray<ConsentRecord>>()
  db.consents.set(accountId, ofAccount)
  for (const key of keys) ofAccount.set(key, [...historyOf(db, accountId, key), record])
}

/** All links that lead on from these keys, and on from those. */
export const linksFrom = (db: Database, accountId: string, keys: ReadonlyArray<Key>): ReadonlyArray<Link> => {
  const found: Array<Link> = []
  const asked = new Set(keys)
  for (const key of asked) {
    for (const link of db.links.get(accountId)?.get(key)?.values() ?? []) {
      found.push(link)
      asked.add(link.other)
    }
  }
  return found
}

export const link = (db: Database, accountId: string, links: ReadonlyArray<Link>): void => {
  const ofAccount = db.links.get(accountId) ?? new Map<Key, Map<Key, Link>>()
  db.links.set(accountId, ofAccount)
  for (const each of links) {
    const ofPerson = ofAccount.get(each.person) ?? new Map<Key, Link>()
    ofAccount.set(each.person, ofPerson)
    ofPerson.set(each.other, each)
  }
}
