import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateCard from "../../domain/billing/RateCard.ts"
import * as Paging from "../../domain/Page.ts"
import { RateCardStore } from "../RateCardStore.ts"
import { MemoryDatabase, newestFirst } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<RateCardStore, never, MemoryDatabase> = Layer.effect(
  RateCardStore,
  Effect.map(MemoryDatabase, (db) => ({
    add: (card) =>
      Effect.sync(() => {
        db.rateCards.push({ position: db.nextPosition(), value: card })
      }),
    list: (page) => Effect.sync(() => Paging.map(newestFirst(db.rateCards, page), ({ value }) => value)),
    inForce: ({ currency, now }) =>
      Effect.sync(() =>
        RateCard.inForce(
          db.rateCards.map(({ value }) => value),
          currency,
          now
        )
      )
  }))
)
