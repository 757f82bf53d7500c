/** A store's memory of master keys, and all that is sealed or hashed under them (`domain/Keyring.ts`). */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ApiKey } from "../domain/account/ApiKey.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Joining, Remembered } from "../domain/Keyring.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

/** A place where something is sealed: a session's configuration, a webhook's secrets, or what erasures keep. */
export interface SealedPlace {
  readonly kind: "session" | "webhook" | "erasure"
  readonly id: string
  readonly sealed: ReadonlyArray<string>
}

/** A sealed text, and the one that takes its place. */
export interface Resealing {
  readonly kind: SealedPlace["kind"]
  readonly id: string
  readonly from: string
  readonly to: string
}

export class KeyringStore extends Context.Tag("@sendwright/core/storage/KeyringStore")<
  KeyringStore,
  {
    /** True when other processes can work on it, too, and change what it remembers. */
    readonly isShared: boolean
    /** In the order in which they were added. */
    readonly remembered: Effect.Effect<ReadonlyArray<Remembered>, StorageError>
    /** `Keyring.join` in one commit: of processes that start together each sees what the one before it left. */
    readonly join: (command: {
      readonly given: ReadonlyArray<string>
      readonly now: Instant
    }) => Effect.Effect<
      { readonly joining: Joining; readonly remembered: ReadonlyArray<Remembered> },
      StorageError
    >
    /** Processes need not be given these any more. */
    readonly retire: (command: {
      readonly keys: ReadonlyArray<string>
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>
    /** Every place of a kind, in the order of their making. */
    readonly sealed: (
      kind: SealedPlace["kind"],
      page: Page
    ) => Effect.Effect<Paged<SealedPlace>, StorageError>
    /** Replaces each text that still is as it was read, in one commit; answers how many were. */
    readonly reseal: (resealings: ReadonlyArray<Resealing>) => Effect.Effect<number, StorageError>
    /** The API keys of all sessions, in the order of their making. */
    readonly apiKeys: (page: Page) => Effect.Effect<Paged<ApiKey>, StorageError>
  }
>() {}
