/** Consent records, clustered by person and time. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Consent from "../../domain/consent/Consent.ts"
import type { Between, Looked } from "../../domain/DerivedEvent.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import * as Person from "../../domain/Person.ts"
import type { Draft } from "../../domain/webhook/Event.ts"
import * as Event from "../../domain/webhook/Event.ts"
import type { Asked, KnownPerson, RevokedConsent } from "../ConsentStore.ts"
import { ConsentStore, latestOf, mostKnown } from "../ConsentStore.ts"
import * as InboundSteps from "../InboundSteps.ts"
import type { Program } from "../Program.ts"
import { all, get } from "../Program.ts"
import type { Answered } from "./codec/Consent.ts"
import { consents, histories, readConsent, standings } from "./codec/Consent.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import * as People from "./People.ts"
import { instant, integer, limited, text } from "./RowReader.ts"

const ofPhone = `SELECT ${consents.list} FROM sendwright_consent WHERE account = ? AND person = ? ORDER BY seq`

// In all portfolios.
const ofUser = `SELECT ${consents.list} FROM sendwright_consent WHERE account = ? AND person >= ? AND person < ?
  ORDER BY recorded_at, person, seq`

// By the table's own order.
const ofAccount = `SELECT ${consents.list} FROM sendwright_consent WHERE account = ?`
const order = `ORDER BY person, occurred_at, seq ${limited}`
const firstPage = `${ofAccount} ${order}`
const nextPage = `${ofAccount} AND (person, occurred_at, seq) > (?, ?, ?) ${order}`

/** The next key of a range, by account, in the order of an index; and when its account was told of it last. */
const knowing = {
  consent: {
    next: `SELECT person, account FROM sendwright_consent
      WHERE (person, account) > (?, ?) AND person < ? ORDER BY person, account LIMIT 1`,
    last: "SELECT recorded_at AS at FROM sendwright_consent WHERE person = ? AND account = ? ORDER BY seq DESC LIMIT 1"
  },
  link: {
    next: `SELECT person, account FROM sendwright_person_link
      WHERE (person, account) > (?, ?) AND person < ? ORDER BY person, account LIMIT 1`,
    last: "SELECT max(at) AS at FROM sendwright_person_link WHERE person = ? AND account = ?"
  }
} as const

function* knownBy(
  { last, next }: (typeof knowing)[keyof typeof knowing],
  [from, before]: readonly [Person.Key, Person.Key]
): Program<ReadonlyArray<KnownPerson>> {
  const found: Array<KnownPerson> = []
  let place: readonly [Person.Key, string] = [from, ""]
  while (found.length < mostKnown) {
    const row = yield* get(next, ...place, before)
    if (row === undefined) break
    place = [text(row, "person"), text(row, "account")]
    const told = yield* get(last, ...place)
    if (told !== undefined) found.push({ person: place[0], accountId: place[1], at: instant(told, "at") })
  }
  return found
}

const refused = `FROM sendwright_consent WHERE status = 'revoked' AND recorded_at >= ? AND recorded_at < ?`
const newestFirst = "ORDER BY recorded_at DESC, account DESC, person DESC, occurred_at DESC, seq DESC"
const revokedOfAll = `SELECT ${consents.list} ${refused} ${newestFirst} ${limited}`
const lastLookedAt = `SELECT recorded_at ${refused} ORDER BY recorded_at DESC LIMIT 1 OFFSET ${Page.mostLookedAt - 1}`
const revokedOfOne = `SELECT ${consents.list} FROM (
    SELECT * ${refused} ${newestFirst} LIMIT ${Page.mostLookedAt}
  ) AS consent WHERE account = ? ${limited}`

function* revokedBetween({
  accountId,
  from,
  limit,
  to
}: Omit<Between, "sessionId">): Program<Looked<RevokedConsent>> {
  const rows =
    accountId === undefined
      ? yield* all(revokedOfAll, from, to, limit)
      : yield* all(revokedOfOne, from, to, accountId, limit)
  // A record is filed under each name of its person.
  const records = new Map<string, RevokedConsent>()
  for (const row of rows) {
    const record = readConsent(row)
    if (!records.has(record.id))
      records.set(record.id, { accountId: consents.columns.accountId.read(row), record })
  }
  const items = [...records.values()]
  if (rows.length >= limit)
    return { items, lookedTo: items.length < limit ? (items.at(-1)?.record.recordedAt ?? null) : null }
  if (accountId === undefined) return { items, lookedTo: null }
  const end = yield* get(lastLookedAt, from, to)
  return { items, lookedTo: end === undefined ? null : instant(end, "recorded_at") }
}

/** The verdicts on phones, as statements of a database. */
const verdictsOf = ({ elements, jsonArrays, lookUp }: Dialect) => {
  // What decides, found by itself: people may say yes and no a thousand times.
  const deciding = (column: string) => `(SELECT last.${column} FROM sendwright_consent AS last
    WHERE last.account = ? AND last.person = ${elements.value} AND last.purpose IN (?, 'all')
    ORDER BY last.occurred_at DESC, last.seq DESC LIMIT 1)`
  const notGranted = `SELECT ${elements.place} AS place FROM ${elements.from}
    WHERE coalesce(${deciding("status")}, 'missing') <> 'granted' ORDER BY ${elements.place}`
  // Who has a grant, and who a revocation: mostly all, and nobody. That costs half of what the last record of each does.
  const known = `SELECT person,
      max(CASE WHEN status = 'granted' AND purpose IN (?, 'all') THEN 1 ELSE 0 END) AS granted,
      max(CASE WHEN status = 'revoked' THEN 1 ELSE 0 END) AS revoked
    FROM sendwright_consent WHERE account = ? AND ${elements.among("person")} GROUP BY person`
  const recordsOf = (columns: string) => `SELECT ${jsonArrays(columns)} AS records FROM ${elements.from}
    ${lookUp(
      "sendwright_consent",
      "consent",
      `consent.account = ? AND consent.person = ${elements.value}
        AND consent.occurred_at = ${deciding("occurred_at")} AND consent.seq = ${deciding("seq")}`
    )}`
  const decided = <R extends Consent.Standing>({ parse, select }: Answered<R>) => {
    const statement = recordsOf(select(elements.place))
    return function* ({ accountId, phones, purpose }: Asked): Program<ReadonlyArray<Consent.Verdict<R>>> {
      const found = phones.map((): Array<R> => [])
      const asked = [accountId, purpose]
      const row = yield* get(statement, JSON.stringify(phones), accountId, ...asked, ...asked)
      for (const { place, record } of parse(text(row ?? {}, "records"))) found[place]?.push(record)
      return found.map((history) => Consent.decide(history, purpose))
    }
  }
  const standingsOf = decided(standings)
  const evidence = decided(histories)

  function* refusals(asked: Asked): Program<ReadonlyMap<number, Consent.Refusal>> {
    const { accountId, phones, purpose } = asked
    const names = JSON.stringify(phones)
    const rows = yield* all(known, purpose, accountId, names)
    const granted = rows.filter((row) => integer(row, "granted") === 1)
    if (granted.length < new Set(phones).size) {
      const places = yield* all(notGranted, names, accountId, purpose)
      return yield* refusalsAt(
        places.map((row) => integer(row, "place")),
        asked
      )
    }
    const revoked = new Set(
      rows.flatMap((row) => (integer(row, "revoked") === 1 ? [text(row, "person")] : []))
    )
    return yield* refusalsAt(
      phones.flatMap((phone, place) => (revoked.has(phone) ? [place] : [])),
      asked
    )
  }

  function* refusalsAt(
    places: ReadonlyArray<number>,
    asked: Asked
  ): Program<ReadonlyMap<number, Consent.Refusal>> {
    const { phones } = asked
    if (places.length === 0) return new Map()
    const doubtful = places.flatMap((place) => phones[place] ?? [])
    const refused = Consent.refusals(yield* standingsOf({ ...asked, phones: doubtful }))
    return new Map(
      places.flatMap((place, at) => {
        const refusal = refused.get(at)
        return refusal === undefined ? [] : [[place, refusal] as const]
      })
    )
  }

  return { refusals, evidence }
}

export const layer: Layer.Layer<ConsentStore, never, Database> = Layer.effect(
  ConsentStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const { serialize } = db.dialect
    const people = People.make(db.dialect)
    const { evidence, refusals } = verdictsOf(db.dialect)

    return {
      record: ({ accountId, records, undated = new Map(), userKeys = new Map() }) =>
        db.write("ConsentStore.record", function* () {
          yield* serialize(People.serialized(accountId))
          const circle = Person.circle(
            yield* people.linksFrom(accountId, InboundSteps.registering(records, userKeys))
          )
          const histories = yield* people.historiesOf(
            accountId,
            InboundSteps.outranked(records, userKeys, circle)
          )
          const { filed, records: recorded } = InboundSteps.registered(
            records,
            { undated, userKeys },
            circle,
            histories,
            ids
          )
          yield* people.file(accountId, filed)
          const drafts = new Map<Instant, Array<Draft>>()
          for (const { record } of filed) {
            const { recordedAt } = record
            const together = drafts.get(recordedAt)
            if (together === undefined) drafts.set(recordedAt, [Event.consentRecorded(record)])
            else together.push(Event.consentRecorded(record))
          }
          for (const [now, together] of drafts) yield* Events.append(ids, accountId, together, now)
          return recorded
        }),
      page: ({ accountId, after, limit }) =>
        db.readPage("ConsentStore.page", function* () {
          const rows =
            after === null
              ? yield* all(firstPage, accountId, limit)
              : yield* all(nextPage, accountId, after.person, after.occurredAt, after.seq, limit)
          return rows.map((row) => {
            const record = readConsent(row)
            const { columns } = consents
            const filing = {
              person: columns.person.read(row),
              occurredAt: record.occurredAt,
              seq: columns.seq.read(row)
            }
            return { filing, record }
          })
        }),
      revoked: (query) => db.readPage("ConsentStore.revoked", () => revokedBetween(query)),
      refusals: (asked) => db.read("ConsentStore.refusals", () => refusals(asked)),
      evidence: (asked) => db.read("ConsentStore.evidence", () => evidence(asked)),
      known: ({ phones, userIds }) =>
        db.readPage("ConsentStore.known", function* () {
          const found: Array<KnownPerson> = []
          for (const range of Person.rangesOf(phones, userIds))
            for (const source of Object.values(knowing)) found.push(...(yield* knownBy(source, range)))
          return latestOf(found)
        }),
      history: (query) =>
        db.read("ConsentStore.history", function* () {
          const { accountId } = query
          const rows =
            "phone" in query
              ? yield* all(ofPhone, accountId, query.phone)
              : yield* all(ofUser, accountId, ...Person.keysOfUser(query.userId))
          return rows.map(readConsent)
        })
    }
  })
)
