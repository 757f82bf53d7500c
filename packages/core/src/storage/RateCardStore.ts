/** Where rate cards live: dated, never changed. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { RateCard } from "../domain/billing/RateCard.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Page, Paged } from "../domain/Page.ts"
import type { StorageError } from "./StorageError.ts"

export class RateCardStore extends Context.Tag("@sendwright/core/storage/RateCardStore")<
  RateCardStore,
  {
    readonly add: (card: RateCard) => Effect.Effect<void, StorageError>
    /** Newest first. */
    readonly list: (page: Page) => Effect.Effect<Paged<RateCard>, StorageError>
    /** The card that prices a send now: the latest `effectiveFrom` not in the future, of those the last added. */
    readonly inForce: (query: {
      readonly currency: string
      readonly now: Instant
    }) => Effect.Effect<RateCard | null, StorageError>
  }
>() {}
