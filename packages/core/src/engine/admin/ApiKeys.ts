/** API keys: issued, rotated with an overlap, changed, revoked. A secret is shown once. */
import * as Effect from "effect/Effect"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import { RandomBytes } from "../../domain/Ids.ts"
import * as Time from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import { ApiKeyStore } from "../../storage/ApiKeyStore.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

/** A key with the secret that is shown now and never again. */
export interface Issued {
  readonly key: ApiKey.ApiKey
  readonly secretKey: string
}

export interface ApiKeys {
  readonly issue: (
    sessionId: string,
    input: {
      readonly name?: string | undefined
      readonly permissions?: ReadonlyArray<ApiKey.Permission> | undefined
    }
  ) => Effect.Effect<Issued, InvalidRequest | NotFound | StorageError>
  readonly list: (
    sessionId: string,
    page: Page
  ) => Effect.Effect<Paged<ApiKey.ApiKey>, NotFound | StorageError>
  /** Of all sessions, newest first. */
  readonly all: (page: Page) => Effect.Effect<Paged<ApiKey.ApiKey>, StorageError>
  /** @param overlapSeconds how long the old secret lives on; a day unless said otherwise */
  readonly rotate: (
    publicKey: string,
    input: { readonly overlapSeconds?: number | undefined }
  ) => Effect.Effect<Issued, InvalidRequest | NotFound | StorageError>
  readonly revoke: (publicKey: string) => Effect.Effect<ApiKey.ApiKey, NotFound | StorageError>
  readonly change: (
    publicKey: string,
    input: {
      readonly status?: "active" | "inactive" | undefined
      readonly permissions?: ReadonlyArray<ApiKey.Permission> | undefined
      readonly name?: string | undefined
    }
  ) => Effect.Effect<ApiKey.ApiKey, InvalidRequest | NotFound | StorageError>
}

const defaultOverlapSeconds = 24 * 60 * 60

const missing = Effect.fail(new NotFound({ what: "API key" }))

const revoked = (field: string) =>
  Fault.make([field], "invalid_value", "The key is revoked, and that is final. Issue a new key.")

const nameFaults = (name: string | undefined) =>
  name === undefined ? [] : ValidateName.validateName(name, "name", 255)

/** Each once, however often it was given. */
const distinct = (permissions: ReadonlyArray<ApiKey.Permission>): ReadonlyArray<ApiKey.Permission> =>
  Array.from(new Set(permissions))

export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const sessions = yield* SessionStore
  const store = yield* ApiKeyStore
  const randomBytes = yield* RandomBytes

  const session = Effect.fnUntraced(function* (id: string) {
    if ((yield* sessions.find(id)) === null) return yield* new NotFound({ what: "session" })
  })

  const find = Effect.fnUntraced(function* (publicKey: string) {
    const identity = yield* store.identify(publicKey)
    return identity === null ? yield* missing : identity.key
  })

  const keys: ApiKeys = {
    issue: Effect.fnUntraced(function* (sessionId, { name, permissions }) {
      yield* session(sessionId)
      yield* refuseIf(nameFaults(name))
      const now = yield* Time.now
      const secretKey = ApiKey.makeSecretKey(randomBytes)
      const key: ApiKey.ApiKey = {
        publicKey: ApiKey.makePublicKey(randomBytes),
        sessionId,
        name: name ?? null,
        permissions: distinct(permissions ?? ApiKey.permissions),
        status: "active",
        secrets: [{ hash: box.hash(secretKey), createdAt: now, expiresAt: null }],
        createdAt: now,
        lastUsedAt: null
      }
      yield* store.create(key)
      return { key, secretKey }
    }),
    list: Effect.fnUntraced(function* (sessionId, page) {
      yield* session(sessionId)
      return yield* store.list({ sessionId, page })
    }),
    all: (page) => store.list({ page }),
    rotate: Effect.fnUntraced(function* (publicKey, { overlapSeconds }) {
      const { status } = yield* find(publicKey)
      yield* refuseIf(status === "revoked" ? [revoked("publicKey")] : [])
      const now = yield* Time.now
      const secretKey = ApiKey.makeSecretKey(randomBytes)
      const secret = { hash: box.hash(secretKey), createdAt: now, expiresAt: null }
      const expireOthersAt = Time.after(now, (overlapSeconds ?? defaultOverlapSeconds) * Time.second)
      const key = (yield* store.rotate({ publicKey, secret, expireOthersAt, now })) ?? (yield* missing)
      return { key, secretKey }
    }),
    revoke: Effect.fnUntraced(function* (publicKey) {
      return (yield* store.change({ publicKey, change: { status: "revoked" } })) ?? (yield* missing)
    }),
    change: Effect.fnUntraced(function* (publicKey, { name, permissions, status }) {
      const key = yield* find(publicKey)
      const final = key.status === "revoked" && status !== undefined
      yield* refuseIf([...nameFaults(name), ...(final ? [revoked("status")] : [])])
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(permissions === undefined ? {} : { permissions: distinct(permissions) }),
        ...(status === undefined ? {} : { status })
      }
      return (yield* store.change({ publicKey, change })) ?? (yield* missing)
    })
  }
  return keys
})
