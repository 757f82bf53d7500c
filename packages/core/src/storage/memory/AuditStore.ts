import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Entry, Query } from "../../domain/Audit.ts"
import * as Audit from "../../domain/Audit.ts"
import * as Paging from "../../domain/Page.ts"
import { AuditStore } from "../AuditStore.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

const matches = (entry: Entry, { from, operation, operator, target, to }: Query): boolean =>
  (operator === undefined || entry.operator === operator) &&
  (operation === undefined || entry.operation === operation) &&
  (target === undefined || entry.target === target) &&
  (from === undefined || entry.at >= from) &&
  (to === undefined || entry.at < to)

export const layer: Layer.Layer<AuditStore, never, MemoryDatabase> = Layer.effect(
  AuditStore,
  Effect.map(MemoryDatabase, (db) => ({
    serialize: () => Effect.void,
    append: ({ entry, retainSince }) =>
      Effect.sync(() => {
        const oldest = db.audit.slice(0, Audit.prunedAtOnce)
        const retained = oldest.filter(({ value }) => value.at >= retainSince)
        db.audit.splice(0, oldest.length, ...retained)
        db.audit.push({ position: db.nextPosition(), value: entry })
      }),
    between: ({ from, limit, to }) =>
      Effect.sync(() =>
        db.audit
          .map(({ value }) => value)
          .filter(({ at }) => at >= from && at < to)
          .reverse()
          .sort((a, b) => b.at - a.at)
          .slice(0, limit)
      ),
    list: (query) =>
      Effect.sync(() => {
        const found = db.audit.filter(({ value }) => matches(value, query))
        return Paging.map(newestFirst(found, query.page), ({ value }) => value)
      })
  }))
)
