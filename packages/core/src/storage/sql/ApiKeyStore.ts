/** API keys, a row each with its secrets' hashes. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import * as Memo from "../../domain/Memo.ts"
import * as Page from "../../domain/Page.ts"
import type { Identity } from "../ApiKeyStore.ts"
import { ApiKeyStore } from "../ApiKeyStore.ts"
import type { Program, SqlValue } from "../Program.ts"
import { get, run } from "../Program.ts"
import { accounts } from "./codec/Account.ts"
import { apiKeys } from "./codec/ApiKey.ts"
import { readSession, sessions } from "./codec/Session.ts"
import type { Dialect } from "./Database.ts"
import { Database } from "./Database.ts"
import * as IndexScan from "./IndexScan.ts"
import { insertInto } from "./Insert.ts"
import { instantOrNull, text } from "./RowReader.ts"

const insert = insertInto("sendwright_api_key", apiKeys.names)

const byPublicKey = `SELECT ${apiKeys.list} FROM sendwright_api_key WHERE public_key = ?`

const changeable = apiKeys.only("name", "permissions", "status", "secrets")

const update = `UPDATE sendwright_api_key SET ${changeable.assignments} WHERE public_key = ?`

/**
 * A key, its session and its account in one statement, since every request asks for them; and as one text, because the
 * drivers' rows of so many columns take longer than all else. An unknown key reads those of another key, which costs
 * what its own would have cost: time does not show which public keys exist (contract.md §2).
 */
const identity = ({ jsonArray, jsonValue }: Dialect): string => `SELECT ${jsonArray(
  [apiKeys.of("api_key"), sessions.of("session"), accounts.of("account")].map(jsonValue).join(", ")
)} AS identity
  FROM sendwright_api_key AS api_key
  JOIN sendwright_session AS session ON session.id = api_key.session
  JOIN sendwright_account AS account ON account.id = session.account
  WHERE api_key.seq = coalesce(
    (SELECT seq FROM sendwright_api_key WHERE public_key = ?), (SELECT max(seq) FROM sendwright_api_key)
  )`

type Values = ReadonlyArray<SqlValue>

const toIdentity = (identity: string): Identity => {
  const [key, session, account]: readonly [Values, Values, Values] = JSON.parse(identity)
  return {
    key: apiKeys.read(apiKeys.toRow(key)),
    session: readSession(sessions.toRow(session)),
    account: accounts.read(accounts.toRow(account))
  }
}

/** How many are kept read. */
const cachedIdentities = 1024

function* findKey(publicKey: string, statement = byPublicKey): Program<ApiKey.ApiKey | null> {
  const row = yield* get(statement, publicKey)
  return row === undefined ? null : apiKeys.read(row)
}

const toChange = (dialect: Dialect): string => byPublicKey + dialect.forUpdate("sendwright_api_key")

function* save(key: ApiKey.ApiKey): Program<ApiKey.ApiKey> {
  yield* run(update, ...changeable.write(key), key.publicKey)
  return key
}

const walk = (...columns: ReadonlyArray<string>) =>
  IndexScan.make("sendwright_api_key", `seq, ${apiKeys.list}`, columns)
const walks = { session: walk("session"), all: walk() }

export const layer: Layer.Layer<ApiKeyStore, never, Database> = Layer.effect(
  ApiKeyStore,
  Effect.map(Database, (db) => {
    const findIdentity = identity(db.dialect)
    // By all that was read, so that what is kept is what is stored.
    const identities = Memo.make<Identity>(cachedIdentities)
    return {
      create: (key) =>
        db.write("ApiKeyStore.create", function* () {
          yield* run(insert, ...apiKeys.write(key))
        }),
      identify: (publicKey) =>
        db.read("ApiKeyStore.identify", function* () {
          const row = yield* get(findIdentity, publicKey)
          if (row === undefined) return null
          const json = text(row, "identity")
          const found = identities(json, () => toIdentity(json))
          return found.key.publicKey === publicKey ? found : null
        }),
      list: ({ page, sessionId }) =>
        db.readPage("ApiKeyStore.list", function* () {
          const found =
            sessionId === undefined ? walks.all.page([], page) : walks.session.page([sessionId], page)
          return Page.map(yield* found, apiKeys.read)
        }),
      change: ({ change, publicKey }) =>
        db.write("ApiKeyStore.change", function* () {
          const found = yield* findKey(publicKey, toChange(db.dialect))
          return found === null ? null : yield* save(ApiKey.change(found, change))
        }),
      rotate: ({ expireOthersAt, now, publicKey, secret }) =>
        db.write("ApiKeyStore.rotate", function* () {
          const found = yield* findKey(publicKey, toChange(db.dialect))
          if (found === null) return null
          return yield* save(ApiKey.rotate(found, secret, expireOthersAt, now))
        }),
      rehash: ({ from, publicKey, to }) =>
        db.write("ApiKeyStore.rehash", function* () {
          const found = yield* findKey(publicKey, toChange(db.dialect))
          if (found?.secrets.some(({ hash }) => hash === from)) yield* save(ApiKey.rehash(found, from, to))
        }),
      // Read first: many requests find the key idle at once, and a write waits for the disk.
      touch: ({ now, publicKey }) => {
        const isStale = db.read("ApiKeyStore.touch", function* () {
          const row = yield* get(
            "SELECT last_used_at FROM sendwright_api_key WHERE public_key = ?",
            publicKey
          )
          if (row === undefined) return false
          return ApiKey.wasIdle({ lastUsedAt: instantOrNull(row, "last_used_at") }, now)
        })
        const write = db.write("ApiKeyStore.touch", function* () {
          yield* run("UPDATE sendwright_api_key SET last_used_at = ? WHERE public_key = ?", now, publicKey)
        })
        return Effect.flatMap(isStale, (stale) => (stale ? write : Effect.void))
      }
    }
  })
)
