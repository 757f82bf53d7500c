/** Consent records, clustered by phone and time. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ConsentRecord } from "../../domain/Consent.ts"
import * as Consent from "../../domain/Consent.ts"
import type { Draft } from "../../domain/Event.ts"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { ConsentStore } from "../ConsentStore.ts"
import { Database } from "./Database.ts"
import * as Events from "./Events.ts"
import { all, get, run } from "./Program.ts"
import { historyColumns, toConsent, toHistories } from "./Rows.ts"

const insert = `INSERT INTO sendwright_consent
  (account, phone, occurred_at, id, purpose, status, source, proof, recorded_at, seq)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?,
    (SELECT 1 + coalesce(max(seq), 0) FROM sendwright_consent WHERE account = ? AND phone = ?))`

const history = "SELECT * FROM sendwright_consent WHERE account = ? AND phone = ? ORDER BY seq"

export const layer: Layer.Layer<ConsentStore, never, Database> = Layer.effect(
  ConsentStore,
  Effect.gen(function* () {
    const db = yield* Database
    const ids = Ids.make(yield* Ids.RandomBytes)
    const { elements, serialize } = db.dialect
    // CROSS JOIN binds SQLite's planner to a lookup per phone. Records of one time come in the order of recording,
    // which is all of that order that the decision depends on.
    const histories = `SELECT ${db.dialect.jsonArrays(`place, ${historyColumns}`)} AS records FROM (
        SELECT ${elements.place} AS place, consent.*
        FROM ${elements.from} CROSS JOIN sendwright_consent AS consent
        WHERE consent.account = ? AND consent.phone = ${elements.value} AND consent.purpose IN (?, 'all')
        ORDER BY ${elements.place}, consent.occurred_at, consent.seq
      ) AS found`
    return {
      record: ({ accountId, records }) =>
        db.write("ConsentStore.record", function* () {
          yield* serialize(`consents ${accountId}`)
          const drafts = new Map<Instant, Array<Draft>>()
          for (const record of records) {
            const { id, occurredAt, phone, proof, purpose, recordedAt, source, status } = record
            const what = [id, purpose, status, source, proof, recordedAt] as const
            yield* run(insert, accountId, phone, occurredAt, ...what, accountId, phone)
            const recorded = drafts.get(recordedAt)
            if (recorded === undefined) drafts.set(recordedAt, [Event.consentRecorded(record)])
            else recorded.push(Event.consentRecorded(record))
          }
          for (const [now, recorded] of drafts) yield* Events.append(ids, accountId, recorded, now)
        }),
      verdicts: ({ accountId, phones, purpose }) =>
        db.read("ConsentStore.verdicts", function* () {
          const found = phones.map((): Array<ConsentRecord> => [])
          const row = yield* get(histories, JSON.stringify(phones), accountId, purpose)
          for (const { place, record } of toHistories(row)) found[place]?.push(record)
          return found.map((records) => Consent.decide(records, purpose))
        }),
      history: ({ accountId, phone }) =>
        db.read("ConsentStore.history", function* () {
          return (yield* all(history, accountId, phone)).map(toConsent)
        })
    }
  })
)
