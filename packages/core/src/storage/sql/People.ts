/** The links between keys of a person, and the consent records filed under each. */
import type { ConsentRecord } from "../../domain/Consent.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Key, Link } from "../../domain/Person.ts"
import type { Histories } from "../InboundSteps.ts"
import type { Dialect } from "./Database.ts"
import type { Program } from "./Program.ts"
import { all, run } from "./Program.ts"
import { consentColumns, flag, fromConsent, text, toConsent } from "./Rows.ts"

/**
 * Whoever links two keys reads what is recorded of both, and whoever records something reads the links: one after the
 * other, or neither would see what the other does.
 */
export const serialized = (accountId: string): string => `consents ${accountId}`

const insertRecord = `INSERT INTO sendwright_consent (account, person, ${consentColumns.join(", ")}, seq)
  VALUES (?, ?, ${consentColumns.map(() => "?").join(", ")},
    (SELECT 1 + coalesce(max(seq), 0) FROM sendwright_consent WHERE account = ? AND person = ?))`

/** Files a record under each key. */
export function* file(accountId: string, record: ConsentRecord, keys: ReadonlyArray<Key>): Program<void> {
  for (const key of keys)
    yield* run(insertRecord, accountId, key, ...fromConsent(record, key), accountId, key)
}

const insertLink = `INSERT INTO sendwright_person_link (account, person, other, told, at) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (account, person, other) DO UPDATE SET told = excluded.told`

export function* link(accountId: string, links: ReadonlyArray<Link>, now: Instant): Program<void> {
  for (const { other, person, told } of links)
    yield* run(insertLink, accountId, person, other, told ? 1 : 0, now)
}

/** A person has few keys, however they are linked; what goes on longer is no person. */
const maximumSteps = 8

export const make = ({ elements, lookUp }: Dialect) => {
  const links = `SELECT link.person, link.other, link.told FROM ${elements.from}
    ${lookUp("sendwright_person_link", "link", `link.account = ? AND link.person = ${elements.value}`)}`
  const records = `SELECT consent.* FROM ${elements.from}
    ${lookUp("sendwright_consent", "consent", `consent.account = ? AND consent.person = ${elements.value}`)}
    ORDER BY consent.seq`
  return {
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
      const found = new Map<Key, Array<ConsentRecord>>()
      if (keys.length === 0) return found
      for (const row of yield* all(records, JSON.stringify(keys), accountId)) {
        const key = text(row, "person")
        const history = found.get(key)
        if (history === undefined) found.set(key, [toConsent(row)])
        else history.push(toConsent(row))
      }
      return found
    }
  }
}
