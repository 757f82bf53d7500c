/** The links between keys of a person, and the consent records filed under each. */
import type { ConsentRecord } from "../../domain/consent/Consent.ts"
import { scopes } from "../../domain/consent/Consent.ts"
import * as Order from "../../domain/consent/Order.ts"
import * as Time from "../../domain/Instant.ts"
import type { Key, Known, Learnt } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import type { Filed, Histories } from "../InboundSteps.ts"
import type { Program, Row, SqlParameter } from "../Program.ts"
import { all, run } from "../Program.ts"
import { consents, readConsent, writeConsent } from "./codec/Consent.ts"
import type { Dialect } from "./Database.ts"
import { insertRows } from "./Insert.ts"
import { flag, instant, integerOrNull, text } from "./RowReader.ts"

/**
 * Whoever links two keys reads what is recorded of both, and whoever records something reads the links: one after the
 * other, or neither would see what the other does.
 */
export const serialized = (accountId: string): string => `consents ${accountId}`

const insertRecords = insertRows("sendwright_consent", consents.names)

const insertLinks = insertRows("sendwright_person_link", ["account", "person", "other", "told", "at"], {
  onConflict: "(account, person, other) DO UPDATE SET told = excluded.told, at = excluded.at"
})

export function* link(accountId: string, { ended, retained }: Learnt): Program<void> {
  for (const { other, person } of ended)
    yield* run(
      "DELETE FROM sendwright_person_link WHERE account = ? AND person = ? AND other = ?",
      accountId,
      person,
      other
    )
  yield* insertLinks(
    retained.map(({ at, other, person, reportedTogether }) => [
      accountId,
      person,
      other,
      reportedTogether ? 1 : 0,
      at
    ])
  )
}

const keysOfOne = `SELECT person FROM sendwright_person_link WHERE account = ? AND person >= ? AND person < ?
  UNION SELECT person FROM sendwright_consent WHERE account = ? AND person >= ? AND person < ?`

/** The keys of a user id, one for each portfolio. */
export function* keysOfUser(accountId: string, userId: string): Program<ReadonlyArray<Key>> {
  const range = Person.keysOfUser(userId)
  return (yield* all(keysOfOne, accountId, ...range, accountId, ...range)).map((row) => text(row, "person"))
}

const kinds = scopes
  .flatMap((purpose) =>
    ["granted", "revoked"].map((status) => `SELECT '${purpose}' AS purpose, '${status}' AS status`)
  )
  .join(" UNION ALL ")

const readLink = (row: Row): Known => ({
  person: text(row, "person"),
  other: text(row, "other"),
  reportedTogether: flag(row, "told"),
  at: instant(row, "at")
})

const reading = ({ elements, lookUp }: Dialect) => {
  const links = `SELECT link.person, link.other, link.told, link.at FROM ${elements.from}
    ${lookUp("sendwright_person_link", "link", `link.account = ? AND link.person = ${elements.value}`)}`
  const recorded = `SELECT ${elements.value} AS person FROM ${elements.from}
    WHERE EXISTS (SELECT 1 FROM sendwright_consent WHERE account = ? AND person = ${elements.value})`
  const told = `SELECT person FROM sendwright_person_link WHERE account = ? AND person >= ? AND person < ?
    UNION SELECT heard.person FROM sendwright_session AS session
      ${lookUp("sendwright_window", "heard", "heard.session = session.id AND heard.person >= ? AND heard.person < ?")}
      WHERE session.account = ?`
  /** Between user ids and what is recorded of them by hand. They are not stored: one portfolio tells nothing of another. */
  function* linksToUnplaced(accountId: string, keys: ReadonlyArray<Key>): Program<ReadonlyArray<Known>> {
    const others = new Map<Key, Key>()
    for (const key of keys) {
      const { userId } = Person.ofKey(key)
      if (userId !== null && key !== Person.unplaced(userId)) others.set(key, Person.unplaced(userId))
    }
    if (others.size === 0) return []
    const rows = yield* all(recorded, JSON.stringify([...new Set(others.values())]), accountId)
    const found = new Set(rows.map((row) => text(row, "person")))
    return [...others].flatMap(([person, other]) =>
      found.has(other)
        ? [
            { person, other, reportedTogether: true, at: Time.at(0) },
            { person: other, other: person, reportedTogether: true, at: Time.at(0) }
          ]
        : []
    )
  }
  /** The links of these keys themselves. */
  function* linksOf(accountId: string, keys: ReadonlyArray<Key>): Program<ReadonlyArray<Known>> {
    if (keys.length === 0) return []
    const rows = yield* all(links, JSON.stringify(keys), accountId)
    return [...rows.map(readLink), ...(yield* linksToUnplaced(accountId, keys))]
  }
  /** The links of all that these keys lead to, as far as a circle reaches. */
  function* linksFrom(accountId: string, keys: ReadonlyArray<Key>): Program<ReadonlyArray<Known>> {
    const found: Array<Known> = []
    const asked = new Set<Key>()
    for (let next = keys; next.length > 0; ) {
      for (const key of next) asked.add(key)
      const some = yield* linksOf(accountId, next)
      if (some.length === 0) break
      for (const link of some) found.push(link)
      next = Person.circle(found)
        .everything(keys)
        .filter((key) => !asked.has(key))
    }
    return found
  }
  return {
    linksFrom,
    linksOf,
    /** The keys of a user id of which the platform has told, one for each portfolio. */
    *toldOfUser(accountId: string, userId: string): Program<ReadonlyArray<Key>> {
      const range = Person.keysOfUser(userId)
      return (yield* all(told, accountId, ...range, ...range, accountId)).map((row) => text(row, "person"))
    }
  }
}

export const make = (dialect: Dialect) => {
  const { elements, lookUp } = dialect
  const links = reading(dialect)
  const highest = `(SELECT max(seq) FROM sendwright_consent WHERE account = ? AND person = ${elements.value})`
  const recent = `SELECT ${consents.of("consent")} FROM ${elements.from}
    ${lookUp(
      "sendwright_consent",
      "consent",
      `consent.account = ? AND consent.person = ${elements.value} AND consent.seq > ${highest} - ${Order.looksBack}`
    )}
    ORDER BY consent.seq`
  // The last of each kind, as `Consent.withLast` keeps them: by indexes, however many there are.
  const ofLast = (column: string): string => `consent.${column} = (SELECT ${column} FROM sendwright_consent
    WHERE account = ? AND person = ${elements.value} AND purpose = kind.purpose AND status = kind.status
    ORDER BY occurred_at DESC, seq DESC LIMIT 1)`
  const lastOfKinds = `SELECT ${consents.of("consent")} FROM ${elements.from} CROSS JOIN (${kinds}) AS kind
    ${lookUp(
      "sendwright_consent",
      "consent",
      `consent.account = ? AND consent.person = ${elements.value} AND ${ofLast("occurred_at")} AND ${ofLast("seq")}`
    )}
    ORDER BY consent.seq`
  const last = `SELECT ${elements.value} AS person, ${highest} AS seq
    FROM ${elements.from}`
  return {
    ...links,
    /** Files each record under its keys. Once for all of them, it is looked for the keys' last places. */
    *file(accountId: string, filed: ReadonlyArray<Filed>): Program<void> {
      const keys = new Set(filed.flatMap(({ keys }) => keys))
      if (keys.size === 0) return
      const places = new Map<Key, number>()
      for (const row of yield* all(last, accountId, JSON.stringify([...keys])))
        places.set(text(row, "person"), integerOrNull(row, "seq") ?? 0)
      const rows: Array<ReadonlyArray<SqlParameter>> = []
      for (const { keys, record } of filed) {
        for (const key of keys) {
          const place = 1 + (places.get(key) ?? 0)
          places.set(key, place)
          rows.push(writeConsent(record, { accountId, person: key, seq: place }))
        }
      }
      yield* insertRecords(rows)
    },
    /** The person's keys of each that is not alone (`Person.Circle`). */
    *othersOf(accountId: string, keys: ReadonlyArray<Key>): Program<Person.Others> {
      return Person.othersOf(keys, yield* links.linksFrom(accountId, Person.written(keys)))
    },
    /** The deciding records may be older than the last ones, where somebody says yes and no a thousand times. */
    *historiesOf(accountId: string, keys: ReadonlyArray<Key>): Program<Histories> {
      const found = new Map<Key, Array<ConsentRecord>>()
      if (keys.length === 0) return found
      for (const row of yield* all(recent, JSON.stringify(keys), accountId, accountId)) {
        const key = text(row, "person")
        const history = found.get(key)
        if (history === undefined) found.set(key, [readConsent(row)])
        else history.push(readConsent(row))
      }
      const long = [...found].filter(([, history]) => history.length >= Order.looksBack)
      if (long.length === 0) return found
      const older = new Map<Key, Array<ConsentRecord>>(long.map(([key]) => [key, []]))
      const recentIds = new Map(long.map(([key, history]) => [key, new Set(history.map(({ id }) => id))]))
      const names = JSON.stringify(long.map(([key]) => key))
      for (const row of yield* all(lastOfKinds, names, accountId, accountId, accountId)) {
        const key = text(row, "person")
        const record = readConsent(row)
        if (recentIds.get(key)?.has(record.id) === false) older.get(key)?.push(record)
      }
      for (const [key, history] of long) found.set(key, [...(older.get(key) ?? []), ...history])
      return found
    }
  }
}
