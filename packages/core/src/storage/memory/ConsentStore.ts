import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Consent from "../../domain/Consent.ts"
import * as Event from "../../domain/Event.ts"
import { ConsentStore } from "../ConsentStore.ts"
import * as Events from "./Events.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<ConsentStore, never, MemoryDatabase> = Layer.effect(
  ConsentStore,
  Effect.map(MemoryDatabase, (db) => {
    const historyOf = (accountId: string, phone: string) => db.consents.get(`${accountId}|${phone}`) ?? []
    return {
      record: ({ accountId, records }) =>
        Effect.sync(() => {
          for (const record of records) {
            db.consents.set(`${accountId}|${record.phone}`, [...historyOf(accountId, record.phone), record])
            Events.append(db, accountId, [Event.consentRecorded(record)], record.recordedAt)
          }
        }),
      verdicts: ({ accountId, phones, purpose }) =>
        Effect.sync(() => phones.map((phone) => Consent.decide(historyOf(accountId, phone), purpose))),
      history: ({ accountId, phone }) => Effect.sync(() => historyOf(accountId, phone))
    }
  })
)
