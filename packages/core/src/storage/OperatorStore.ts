/** Where operators live, by their names. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Secret } from "../domain/account/ApiKey.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Operator } from "../domain/Operator.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

export class OperatorStore extends Context.Tag("@sendwright/core/storage/OperatorStore")<
  OperatorStore,
  {
    /** False when the name is taken, by a revoked operator, too; then nothing is changed. */
    readonly create: (operator: Operator) => Effect.Effect<boolean, StorageError>
    /** An unknown name costs the same reads as a known one. */
    readonly find: (name: string) => Effect.Effect<Operator | null, StorageError>
    /** Newest first. */
    readonly list: (page: Page) => Effect.Effect<Paged<Operator>, StorageError>
    /** Adds a secret by `ApiKey.rotate`. Null when there is no such operator. */
    readonly rotate: (command: {
      readonly name: string
      readonly secret: Secret
      readonly expireOthersAt: Instant
      readonly now: Instant
    }) => Effect.Effect<Operator | null, StorageError>
    /** Final. Null when there is no such operator. */
    readonly revoke: (name: string) => Effect.Effect<Operator | null, StorageError>
    /** Puts the hash of the same token under another pepper in place of `from`; nothing where that is gone. */
    readonly rehash: (command: {
      readonly name: string
      readonly from: string
      readonly to: string
    }) => Effect.Effect<void, StorageError>
    readonly touch: (command: {
      readonly name: string
      readonly now: Instant
    }) => Effect.Effect<void, StorageError>
  }
>() {}
