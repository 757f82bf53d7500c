/** Rate cards: dated, added, never changed. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { InvalidRequest } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import type { Price, RateCard } from "../../domain/RateCard.ts"
import * as Cards from "../../domain/RateCard.ts"
import { RateCardStore } from "../../storage/RateCardStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuse } from "./Faults.ts"

export interface RateCards {
  readonly add: (input: {
    readonly currency: string
    readonly effectiveFrom: Instant
    readonly prices: ReadonlyArray<Price>
  }) => Effect.Effect<RateCard, InvalidRequest | StorageError>
  readonly list: (page: Page) => Effect.Effect<Paged<RateCard>, StorageError>
}

export const make = Effect.gen(function* () {
  const store = yield* RateCardStore
  const ids = Ids.make(yield* Ids.RandomBytes)
  const cards: RateCards = {
    add: Effect.fnUntraced(function* ({ currency, effectiveFrom, prices }) {
      const message = '`currency` must be an ISO 4217 code such as "EUR".'
      yield* refuse([
        ...(/^[A-Z]{3}$/.test(currency) ? [] : [Fault.make(["currency"], "invalid_value", message)]),
        ...Either.match(Cards.check(prices), { onLeft: (faults) => faults, onRight: () => [] })
      ])
      const now = yield* Clock.currentTimeMillis
      const card: RateCard = { id: ids.uuid(now), currency, effectiveFrom, createdAt: now, prices }
      yield* store.add(card)
      return card
    }),
    list: store.list
  }
  return cards
})
