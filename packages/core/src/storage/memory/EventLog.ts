import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EventLog, rememberedMs } from "../EventLog.ts"
import * as Events from "./Events.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<EventLog, never, MemoryDatabase> = Layer.effect(
  EventLog,
  Effect.map(MemoryDatabase, (db) => ({
    append: ({ accountId, drafts, now }) => Effect.sync(() => Events.append(db, accountId, drafts, now)),
    appendOnce: ({ accountId, drafts, id, now }) =>
      Effect.sync(() => {
        const before = db.inbound.get(id)
        if (before !== undefined && now - before < rememberedMs) return false
        db.inbound.set(id, now)
        Events.append(db, accountId, drafts, now)
        return true
      })
  }))
)
