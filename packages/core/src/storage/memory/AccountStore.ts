import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Paging from "../../domain/Page.ts"
import { AccountStore } from "../AccountStore.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<AccountStore, never, MemoryDatabase> = Layer.effect(
  AccountStore,
  Effect.map(MemoryDatabase, (db) => ({
    create: (account) => Effect.sync(() => insert(db, db.accounts, account.id, account)),
    find: (id) => Effect.sync(() => db.accounts.get(id)?.value ?? null),
    list: (page) =>
      Effect.sync(() => Paging.map(newestFirst(db.accounts.values(), page), ({ value }) => value)),
    change: ({ change, id, now }) =>
      Effect.sync(() => {
        const row = db.accounts.get(id)
        if (row === undefined) return null
        const value = { ...row.value, ...change, updatedAt: now }
        db.accounts.set(id, { ...row, value })
        return value
      })
  }))
)
