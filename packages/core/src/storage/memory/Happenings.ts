import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Happening } from "../../domain/Happening.ts"
import * as Happenings from "../../domain/Happening.ts"
import { HappeningStore } from "../HappeningStore.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"

export const note = (db: Database, happenings: ReadonlyArray<Happening>): void => {
  db.happenings.push(...happenings)
  db.happenings.splice(0, db.happenings.length - Happenings.kept)
}

export const layer: Layer.Layer<HappeningStore, never, MemoryDatabase> = Layer.effect(
  HappeningStore,
  Effect.map(MemoryDatabase, (db) => ({
    note: (happening) => Effect.sync(() => note(db, [happening])),
    between: ({ accountId, from, limit, sessionId, to, types }) =>
      Effect.sync(() =>
        db.happenings
          .filter(
            (each) =>
              each.at >= from &&
              each.at < to &&
              (accountId === undefined || each.accountId === accountId) &&
              (sessionId === undefined || each.sessionId === sessionId) &&
              (types === undefined || types.includes(each.type))
          )
          .reverse()
          .sort((a, b) => b.at - a.at)
          .slice(0, limit)
      )
  }))
)
