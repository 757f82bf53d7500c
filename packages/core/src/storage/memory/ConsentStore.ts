import type * as Context from "effect/Context"
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
    const none: ReadonlyArray<Consent.ConsentRecord> = []
    const historyOf = (accountId: string, phone: string) => db.consents.get(accountId)?.get(phone) ?? none
    const evidence: Context.Tag.Service<ConsentStore>["evidence"] = ({ accountId, phones, purpose }) =>
      Effect.sync(() => {
        const ofAccount = db.consents.get(accountId)
        return phones.map((phone) => Consent.decide(ofAccount?.get(phone) ?? none, purpose))
      })
    return {
      record: ({ accountId, records }) =>
        Effect.sync(() => {
          const ofAccount = db.consents.get(accountId) ?? new Map()
          db.consents.set(accountId, ofAccount)
          for (const record of records) {
            ofAccount.set(record.phone, [...historyOf(accountId, record.phone), record])
            Events.append(db, accountId, [Event.consentRecorded(record)], record.recordedAt)
          }
        }),
      refusals: (asked) => Effect.map(evidence(asked), Consent.refusals),
      evidence,
      history: ({ accountId, phone }) => Effect.sync(() => historyOf(accountId, phone))
    }
  })
)
