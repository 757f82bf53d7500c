import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import * as Paging from "../../domain/Page.ts"
import { ApiKeyStore } from "../ApiKeyStore.ts"
import { insert, MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<ApiKeyStore, never, MemoryDatabase> = Layer.effect(
  ApiKeyStore,
  Effect.map(MemoryDatabase, (db) => ({
    create: (key) => Effect.sync(() => insert(db, db.apiKeys, key.publicKey, key)),
    identify: (publicKey) =>
      Effect.sync(() => {
        const key = db.apiKeys.get(publicKey)?.value
        const session = key === undefined ? undefined : db.sessions.get(key.sessionId)?.value
        const account = session === undefined ? undefined : db.accounts.get(session.accountId)?.value
        return key === undefined || session === undefined || account === undefined
          ? null
          : { key, session, account }
      }),
    list: ({ page, sessionId }) =>
      Effect.sync(() => {
        const rows = [...db.apiKeys.values()].filter(({ value }) => value.sessionId === sessionId)
        return Paging.map(newestFirst(rows, page), ({ value }) => value)
      }),
    change: ({ change, publicKey }) =>
      Effect.sync(() => {
        const row = db.apiKeys.get(publicKey)
        if (row === undefined) return null
        const value = ApiKey.change(row.value, change)
        db.apiKeys.set(publicKey, { ...row, value })
        return value
      }),
    rotate: ({ expireOthersAt, now, publicKey, secret }) =>
      Effect.sync(() => {
        const row = db.apiKeys.get(publicKey)
        if (row === undefined) return null
        const value = ApiKey.rotate(row.value, secret, expireOthersAt, now)
        db.apiKeys.set(publicKey, { ...row, value })
        return value
      }),
    rehash: ({ from, publicKey, to }) =>
      Effect.sync(() => {
        const row = db.apiKeys.get(publicKey)
        if (row !== undefined)
          db.apiKeys.set(publicKey, { ...row, value: ApiKey.rehash(row.value, from, to) })
      }),
    touch: ({ now, publicKey }) =>
      Effect.sync(() => {
        const row = db.apiKeys.get(publicKey)
        if (row === undefined) return
        if (!ApiKey.wasIdle(row.value, now)) return
        db.apiKeys.set(publicKey, { ...row, value: { ...row.value, lastUsedAt: now } })
      })
  }))
)
