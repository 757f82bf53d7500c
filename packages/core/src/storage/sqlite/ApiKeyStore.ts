/** API keys, a row each with its secrets' hashes. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/ApiKey.ts"
import * as Time from "../../domain/Instant.ts"
import * as Page from "../../domain/Page.ts"
import { ApiKeyStore } from "../ApiKeyStore.ts"
import { findAccount } from "./AccountStore.ts"
import type { Statements } from "./Database.ts"
import { Database } from "./Database.ts"
import {
  apiKeyColumns,
  fromApiKey,
  insertInto,
  integerOrNull,
  limited,
  newestFirst,
  seq,
  toApiKey
} from "./Rows.ts"
import { findSession } from "./SessionStore.ts"

const insert = insertInto("sendwright_api_key", apiKeyColumns)

const findKey = (sql: Statements, publicKey: string): ApiKey.ApiKey | null => {
  const row = sql.get("SELECT * FROM sendwright_api_key WHERE public_key = ?", publicKey)
  return row === undefined ? null : toApiKey(row)
}

const save = (sql: Statements, key: ApiKey.ApiKey): ApiKey.ApiKey => {
  sql.run(
    "UPDATE sendwright_api_key SET name = ?, permissions = ?, status = ?, secrets = ? WHERE public_key = ?",
    key.name,
    JSON.stringify(key.permissions),
    key.status,
    JSON.stringify(key.secrets),
    key.publicKey
  )
  return key
}

export const layer: Layer.Layer<ApiKeyStore, never, Database> = Layer.effect(
  ApiKeyStore,
  Effect.map(Database, (db) => ({
    create: (key) =>
      db.write("ApiKeyStore.create", (sql) => {
        sql.run(insert, ...fromApiKey(key))
      }),
    identify: (publicKey) =>
      db.read("ApiKeyStore.identify", (sql) => {
        const key = findKey(sql, publicKey)
        const session = key === null ? null : findSession(sql, key.sessionId)
        const account = session === null ? null : findAccount(sql, session.accountId)
        return key === null || session === null || account === null ? null : { key, session, account }
      }),
    list: ({ page, sessionId }) =>
      db.read("ApiKeyStore.list", (sql) => {
        const rows = sql.all(
          `SELECT * FROM sendwright_api_key WHERE session = ? AND seq < ? ORDER BY seq DESC ${limited}`,
          sessionId,
          ...newestFirst(page)
        )
        return Page.map(Page.cut(rows, page.limit, seq), toApiKey)
      }),
    change: ({ change, publicKey }) =>
      db.write("ApiKeyStore.change", (sql) => {
        const found = findKey(sql, publicKey)
        return found === null ? null : save(sql, ApiKey.change(found, change))
      }),
    rotate: ({ expireOthersAt, now, publicKey, secret }) =>
      db.write("ApiKeyStore.rotate", (sql) => {
        const found = findKey(sql, publicKey)
        if (found === null) return null
        const secrets = ApiKey.rotateSecrets(found.secrets, secret, expireOthersAt, now)
        return save(sql, { ...found, secrets })
      }),
    // Read first: every request touches its key, and a write waits for the disk.
    touch: ({ now, publicKey }) => {
      const isStale = db.read("ApiKeyStore.touch", (sql) => {
        const row = sql.get("SELECT last_used_at FROM sendwright_api_key WHERE public_key = ?", publicKey)
        if (row === undefined) return false
        const last = integerOrNull(row, "last_used_at")
        return last === null || now - last >= Time.minute
      })
      const write = db.write("ApiKeyStore.touch", (sql) => {
        sql.run("UPDATE sendwright_api_key SET last_used_at = ? WHERE public_key = ?", now, publicKey)
      })
      return Effect.flatMap(isStale, (stale) => (stale ? write : Effect.void))
    }
  }))
)
