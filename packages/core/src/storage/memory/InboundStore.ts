import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import * as Paging from "../../domain/Page.ts"
import * as UnreadHooks from "../../domain/UnreadHook.ts"
import { InboundStore } from "../InboundStore.ts"
import * as InboundRows from "./InboundRows.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"
import * as People from "./People.ts"

export const layer: Layer.Layer<InboundStore, never, MemoryDatabase> = Layer.effect(
  InboundStore,
  Effect.map(MemoryDatabase, (db) => ({
    receive: ({ now, ...inbound }) => Effect.sync(() => InboundRows.apply(db, inbound, now)),
    numbers: ({ accountId, phones }) => Effect.sync(() => People.numbersOf(db, accountId, phones)),
    perhapsRefusals: ({ accountId, page }) =>
      Effect.sync(() =>
        Paging.map(newestFirst(db.perhapsRefusals.get(accountId) ?? [], page), ({ value }) => value)
      ),
    perhapsRefusal: (id) =>
      Effect.sync(
        () => [...db.perhapsRefusals.values()].flat().find(({ value }) => value.id === id)?.value ?? null
      ),
    countPerhapsRefusals: ({ most }) =>
      Effect.sync(() => {
        const newest = [...db.perhapsRefusals.values()]
          .flat()
          .sort((a, b) => b.position - a.position)
          .slice(0, most)
          .map(({ value }) => value)
        const [first] = newest.map(({ accountId }) => accountId).sort()
        return first === undefined
          ? null
          : {
              count: newest.length,
              firstAt: Time.min(...newest.map(({ recordedAt }) => recordedAt)),
              accountId: first
            }
      }),
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
    retainUnread: ({ parts, sessionId }) =>
      Effect.sync(() => {
        const added = parts.map((value) => ({ position: db.nextPosition(), value }))
        const all = [...(db.unreadHooks.get(sessionId) ?? []), ...added].slice(-UnreadHooks.maximumOfSession)
        const left = new Map<string, number>()
        const isKept = ({ value: { field } }: (typeof all)[number]) => {
          const kept = left.get(field) ?? 0
          left.set(field, kept + 1)
          return kept < UnreadHooks.maximumOfField
        }
        db.unreadHooks.set(sessionId, all.reverse().filter(isKept).reverse())
      }),
    countUnread: ({ most, since }) =>
      Effect.sync(() => {
        const found = [...db.unreadHooks].flatMap(([sessionId, parts]) =>
          parts.flatMap(({ value }) =>
            value.receivedAt >= since ? [{ sessionId, at: value.receivedAt }] : []
          )
        )
        const [first] = found.toSorted((a, b) => a.at - b.at || (a.sessionId < b.sessionId ? -1 : 1))
        return first === undefined
          ? null
          : { count: Math.min(most, found.length), firstAt: first.at, sessionId: first.sessionId }
      }),
    unread: ({ page, sessionId }) =>
      Effect.sync(() =>
        Paging.map(newestFirst(db.unreadHooks.get(sessionId) ?? [], page), ({ value }) => value)
      )
  }))
)
