/** Where accounts live. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Account } from "../domain/account/Account.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

export class AccountStore extends Context.Tag("@sendwright/core/storage/AccountStore")<
  AccountStore,
  {
    readonly create: (account: Account) => Effect.Effect<void, StorageError>
    readonly find: (id: string) => Effect.Effect<Account | null, StorageError>
    /** Newest first. */
    readonly list: (page: Page) => Effect.Effect<Paged<Account>, StorageError>
    /** Replaces the given fields; null when there is no such account. */
    readonly change: (command: {
      readonly id: string
      readonly change: Partial<Pick<Account, "name" | "currency" | "plan" | "retention" | "caps">>
      readonly now: Instant
    }) => Effect.Effect<Account | null, StorageError>
  }
>() {}
