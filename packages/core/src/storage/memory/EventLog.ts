import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EventLog } from "../EventLog.ts"
import * as Events from "./Events.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<EventLog, never, MemoryDatabase> = Layer.effect(
  EventLog,
  Effect.map(MemoryDatabase, (db) => ({
    append: ({ accountId, drafts, now }) => Effect.sync(() => Events.append(db, accountId, drafts, now))
  }))
)
