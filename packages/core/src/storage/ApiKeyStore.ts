/** Where API keys live. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Account } from "../domain/account/Account.ts"
import type { ApiKey, Secret } from "../domain/account/ApiKey.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { Session } from "../domain/session/Session.ts"
import type { StorageError } from "./StorageError.ts"

/** All that a request needs to know of its caller, in one read. */
export interface Identity {
  readonly key: ApiKey
  readonly session: Session
  readonly account: Account
}

export class ApiKeyStore extends Context.Tag("@sendwright/core/storage/ApiKeyStore")<
  ApiKeyStore,
  {
    readonly create: (key: ApiKey) => Effect.Effect<void, StorageError>
    /** An unknown key costs the same reads as a known one: time does not show which keys exist. */
    readonly identify: (publicKey: string) => Effect.Effect<Identity | null, StorageError>
    /** Newest first, of all sessions where it names none. */
    readonly list: (query: {
      readonly sessionId?: string | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<ApiKey>, StorageError>
    /** Replaces the given fields. A revoked key stays revoked. Null when there is no such key. */
    readonly change: (command: {
      readonly publicKey: string
      readonly change: Partial<Pick<ApiKey, "name" | "permissions" | "status">>
    }) => Effect.Effect<ApiKey | null, StorageError>
    /**
     * Adds a secret; those that had no end now expire at `expireOthersAt`, and expired ones and those over
     * `ApiKey.maximumOverlaps` are dropped, the oldest first.
     */
    readonly rotate: (command: {
      readonly publicKey: string
      readonly secret: Secret
      readonly expireOthersAt: Instant
      readonly now: Instant
    }) => Effect.Effect<ApiKey | null, StorageError>
    /** Puts the hash of the same secret under another pepper in place of `from`; nothing where that is gone. */
    readonly rehash: (command: {
      readonly publicKey: string
      readonly from: string
      readonly to: string
    }) => Effect.Effect<void, StorageError>
    /** Notes that the key was used; at most one write a minute and key. */
    readonly touch: (command: {
      readonly publicKey: string
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>
  }
>() {}
