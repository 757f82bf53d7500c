import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Consent from "../../domain/consent/Consent.ts"
import * as Person from "../../domain/Person.ts"
import * as Event from "../../domain/webhook/Event.ts"
import type { Filing, KnownPerson, RevokedConsent } from "../ConsentStore.ts"
import { ConsentStore, latestOf } from "../ConsentStore.ts"
import * as InboundSteps from "../InboundSteps.ts"
import * as Events from "./Events.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

const byFiling = (a: Filing, b: Filing): number =>
  a.person === b.person ? a.occurredAt - b.occurredAt || a.seq - b.seq : a.person < b.person ? -1 : 1

export const layer: Layer.Layer<ConsentStore, never, MemoryDatabase> = Layer.effect(
  ConsentStore,
  Effect.map(MemoryDatabase, (db) => {
    const evidence: Context.Tag.Service<ConsentStore>["evidence"] = ({ accountId, phones, purpose }) =>
      Effect.sync(() =>
        phones.map((phone) => Consent.decide(People.historyOf(db, accountId, phone), purpose))
      )
    return {
      record: ({ accountId, records, undated = new Map() }) =>
        Effect.sync(() => {
          const circle = Person.circle(People.linksFrom(db, accountId, InboundSteps.registering(records)))
          const histories = People.historiesOf(db, accountId, InboundSteps.outranked(records, circle))
          const { filed, records: recorded } = InboundSteps.registered(
            records,
            undated,
            circle,
            histories,
            db.ids
          )
          for (const each of filed) {
            const { record } = each
            People.file(db, accountId, each)
            Events.append(db, accountId, [Event.consentRecorded(record)], record.recordedAt)
          }
          return recorded
        }),
      page: ({ accountId, after, limit }) =>
        Effect.sync(() =>
          Array.from(db.consents.get(accountId) ?? [])
            .filter(([person]) => after === null || person >= after.person)
            .flatMap(([person, { records }]) =>
              records.map((record, place) => ({
                filing: { person, occurredAt: record.occurredAt, seq: place + 1 },
                record
              }))
            )
            .toSorted((a, b) => byFiling(a.filing, b.filing))
            .filter(({ filing }) => after === null || byFiling(after, filing) < 0)
            .slice(0, limit)
        ),
      known: ({ phones, userIds }) =>
        Effect.sync(() => {
          const found: Array<KnownPerson> = []
          const isMeant = (key: Person.Key) =>
            Person.rangesOf(phones, userIds).some(([from, before]) => key >= from && key < before)
          for (const [accountId, files] of db.consents)
            for (const [person, { records }] of files)
              for (const { recordedAt } of isMeant(person) ? records : [])
                found.push({ accountId, person, at: recordedAt })
          for (const [accountId, links] of db.links)
            for (const [person, others] of links)
              for (const { at } of isMeant(person) ? others.values() : [])
                found.push({ accountId, person, at })
          return latestOf(found)
        }),
      revoked: ({ accountId: asked, from, limit, to }) =>
        Effect.sync(() => {
          const found = new Map<string, RevokedConsent>()
          for (const [accountId, files] of db.consents)
            for (const { records } of files.values())
              for (const record of records)
                if (record.status === "revoked" && (asked === undefined || asked === accountId))
                  found.set(record.id, { accountId, record })
          const items = [...found.values()]
            .filter(({ record: { recordedAt: at } }) => at >= from && at < to)
            .sort((a, b) => b.record.recordedAt - a.record.recordedAt)
          return { items: items.slice(0, limit), lookedTo: null }
        }),
      refusals: (asked) => Effect.map(evidence(asked), Consent.refusals),
      evidence,
      history: (query) =>
        Effect.sync(() => {
          const { accountId } = query
          if ("phone" in query) return [...People.historyOf(db, accountId, query.phone)]
          const [from, before] = Person.keysOfUser(query.userId)
          return Array.from(db.consents.get(accountId) ?? [])
            .filter(([key]) => key >= from && key < before)
            .flatMap(([, { records }]) => records)
            .toSorted((a, b) => a.recordedAt - b.recordedAt)
        })
    }
  })
)
