import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import type { Operator } from "../../domain/Operator.ts"
import * as Paging from "../../domain/Page.ts"
import { OperatorStore } from "../OperatorStore.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<OperatorStore, never, MemoryDatabase> = Layer.effect(
  OperatorStore,
  Effect.map(MemoryDatabase, (db) => {
    const change = (name: string, changed: (found: Operator) => Operator) =>
      Effect.sync(() => {
        const row = db.operators.get(name)
        if (row === undefined) return null
        const value = changed(row.value)
        db.operators.set(name, { ...row, value })
        return value
      })
    return {
      create: (operator) =>
        Effect.sync(() => {
          if (db.operators.has(operator.name)) return false
          insert(db, db.operators, operator.name, operator)
          return true
        }),
      find: (name) => Effect.sync(() => db.operators.get(name)?.value ?? null),
      list: (page) =>
        Effect.sync(() => Paging.map(newestFirst(db.operators.values(), page), ({ value }) => value)),
      rotate: ({ expireOthersAt, name, now, secret }) =>
        change(name, (found) => ApiKey.rotate(found, secret, expireOthersAt, now)),
      revoke: (name) => change(name, (found) => ({ ...found, status: "revoked" })),
      rehash: ({ from, name, to }) => change(name, (found) => ApiKey.rehash(found, from, to)),
      touch: ({ name, now }) => change(name, (found) => ({ ...found, lastUsedAt: now }))
    }
  })
)
