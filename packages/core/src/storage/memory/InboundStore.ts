import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as PerhapsRefusals from "../../domain/consent/PerhapsRefusal.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import type { UnreadHook } from "../../domain/UnreadHook.ts"
import * as UnreadHooks from "../../domain/UnreadHook.ts"
import { InboundStore } from "../InboundStore.ts"
import * as InboundRows from "./InboundRows.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

const isRetained = ({ receivedAt }: UnreadHook, now: Instant): boolean =>
  receivedAt > now - UnreadHooks.retainedMs

const forget = (db: Database, now: Instant): void => {
  for (const [sessionId, rows] of db.unreadHooks) {
    const retained = rows.filter(({ value }) => isRetained(value, now))
    if (retained.length === 0) db.unreadHooks.delete(sessionId)
    else db.unreadHooks.set(sessionId, retained)
  }
}

export const layer: Layer.Layer<InboundStore, never, MemoryDatabase> = Layer.effect(
  InboundStore,
  Effect.map(MemoryDatabase, (db) => ({
    receive: ({ now, ...inbound }) => Effect.sync(() => InboundRows.apply(db, inbound, now)),
    numbers: ({ accountId, phones }) => Effect.sync(() => People.numbersOf(db, accountId, phones)),
    perhapsRefusals: ({ accountId, now, page }) =>
      Effect.sync(() => {
        const rows = (db.perhapsRefusals.get(accountId) ?? []).filter(
          ({ value }) => value.recordedAt > now - PerhapsRefusals.retainedMs
        )
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    perhapsRefusal: (id) =>
      Effect.sync(
        () => [...db.perhapsRefusals.values()].flat().find(({ value }) => value.id === id)?.value ?? null
      ),
    forgetPerhapsRefusal: (id) =>
      Effect.sync(() => {
        for (const [accountId, rows] of db.perhapsRefusals)
          db.perhapsRefusals.set(
            accountId,
            rows.filter(({ value }) => value.id !== id)
          )
      }),
    unattributed: ({ accountId, page }) =>
      Effect.sync(() => {
        const rows = db.unattributed.filter(({ value }) => value.accountId === accountId)
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    retainUnread: ({ now, parts, sessionId }) =>
      Effect.sync(() => {
        forget(db, now)
        const added = parts.map((value) => ({ position: db.nextPosition(), value }))
        const all = [...(db.unreadHooks.get(sessionId) ?? []), ...added]
        db.unreadHooks.set(sessionId, all.slice(-UnreadHooks.maximumOfSession))
      }),
    forgetUnread: ({ now }) => Effect.sync(() => forget(db, now)),
    unread: ({ now, page, sessionId }) =>
      Effect.sync(() => {
        const rows = (db.unreadHooks.get(sessionId) ?? []).filter(({ value }) => isRetained(value, now))
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      })
  }))
)
