import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Paging from "../../domain/Page.ts"
import { InboundStore } from "../InboundStore.ts"
import * as InboundRows from "./InboundRows.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<InboundStore, never, MemoryDatabase> = Layer.effect(
  InboundStore,
  Effect.map(MemoryDatabase, (db) => ({
    receive: ({ now, ...inbound }) => Effect.sync(() => InboundRows.apply(db, inbound, now)),
    unattributed: ({ accountId, page }) =>
      Effect.sync(() => {
        const rows = db.unattributed.filter(({ value }) => value.accountId === accountId)
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      })
  }))
)
