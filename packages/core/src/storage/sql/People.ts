/** The links between keys of a person, and the consent records filed under each. */
import type { ConsentRecord } from "../../domain/Consent.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Key, Link } from "../../domain/Person.ts"
import type { Filed, Histories, Revoking } from "../InboundSteps.ts"
import type { Dialect } from "./Database.ts"
import { insertRows } from "./Insert.ts"
import type { Program, Row, SqlParameter } from "./Program.ts"
import { all, run } from "./Program.ts"
import { consentColumns, flag, fromConsent, integerOrNull, text, toConsent } from "./Rows.ts"

/**
 * Whoever links two keys reads what is recorded of both, and whoever records something reads the links: one after the
 * other, or neither would see what the other does.
 */
export const serialized = (accountId: string): string => `consents ${accountId}`

const insertRecords = insertRows("sendwright_consent", ["account", "person", ...consentColumns, "seq"])

const insertLink = `INSERT INTO sendwright_person_link (account, person, other, told, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, person, other) DO UPDATE SET told = excluded.told`

export function* link(accountId: string, links: ReadonlyArray<Link>, now: Instant): Program<void> {
  for (const { other, person, told } of links)
    yield* run(insertLink, accountId, person, other, told ? 1 : 0, now)
}

/** A person has few keys, however they are linked; what goes on longer is no person. */
const maximumSteps = 8

const byKey = (rows: ReadonlyArray<Row>): Histories => {
  const found = new Map<Key, Array<ConsentRecord>>()
  for (const row of rows) {
    const key = text(row, "person")
    const history = found.get(key)
    if (history === undefined) found.set(key, [toConsent(row)])
    else history.push(toConsent(row))
  }
  return found
}

export const make = ({ elements, lookUp }: Dialect) => {
  const links = `SELECT link.person, link.other, link.told FROM ${elements.from}
    ${lookUp("sendwright_person_link", "link", `link.account = ? AND link.person = ${elements.value}`)}`
  const records = `SELECT consent.* FROM ${elements.from}
    ${lookUp("sendwright_consent", "consent", `consent.account = ? AND consent.person = ${elements.value}`)}
    ORDER BY consent.seq`
  const grants = `SELECT consent.* FROM ${elements.from}
    ${lookUp(
      "sendwright_consent",
      "consent",
      `consent.account = ? AND consent.person = ${elements.value} AND consent.occurred_at > ?
        AND consent.status = 'granted'`
    )}`
  const last = `SELECT ${elements.value} AS person,
      (SELECT max(seq) FROM sendwright_consent WHERE account = ? AND person = ${elements.value}) AS seq
    FROM ${elements.from}`
  return {
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
          rows.push([accountId, key, ...fromConsent(record, key), place])
        }
      }
      yield* insertRecords(rows)
    },
    /** All links that lead on from these keys, and on from those. */
    *linksFrom(accountId: string, keys: ReadonlyArray<Key>): Program<ReadonlyArray<Link>> {
      const found: Array<Link> = []
      const asked = new Set(keys)
      let next = keys
      for (let step = 0; step < maximumSteps && next.length > 0; step++) {
        const rows = yield* all(links, JSON.stringify(next), accountId)
        const further = new Set<Key>()
        for (const row of rows) {
          const other = text(row, "other")
          found.push({ person: text(row, "person"), other, told: flag(row, "told") })
          if (!asked.has(other)) further.add(other)
          asked.add(other)
        }
        next = [...further]
      }
      return found
    },
    *historiesOf(accountId: string, keys: ReadonlyArray<Key>): Program<Histories> {
      return keys.length === 0 ? new Map() : byKey(yield* all(records, JSON.stringify(keys), accountId))
    },
    /** Of histories what revocations may be behind: somebody may revoke thousands of times, and that is not read. */
    *grantsOf(accountId: string, revoking: Revoking | undefined): Program<Histories> {
      if (revoking === undefined) return new Map()
      const { keys, since } = revoking
      return byKey(yield* all(grants, JSON.stringify(keys), accountId, since))
    }
  }
}
