/** Rate cards, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RateCard } from "../../domain/billing/RateCard.ts"
import * as Page from "../../domain/Page.ts"
import { all, get, run } from "../Program.ts"
import { RateCardStore } from "../RateCardStore.ts"
import { rateCards } from "./codec/RateCard.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { limited, newestFirst, seq, text } from "./RowReader.ts"

const insert = insertInto("sendwright_rate_card", rateCards.names)

/** How many cards are kept read. */
const maximumCached = 64

export const layer: Layer.Layer<RateCardStore, never, Database> = Layer.effect(
  RateCardStore,
  Effect.map(Database, (db) => {
    // A card never changes, and one object for all sends lets `RateCard.rate` keep its index of it.
    const cards = new Map<string, RateCard>()
    return {
      add: (card) =>
        db.write("RateCardStore.add", function* () {
          yield* run(insert, ...rateCards.write(card))
        }),
      list: (page) =>
        db.readPage("RateCardStore.list", function* () {
          const rows = yield* all(
            `SELECT seq, ${rateCards.list} FROM sendwright_rate_card WHERE seq < ? ORDER BY seq DESC ${limited}`,
            ...newestFirst(page)
          )
          return Page.map(Page.cut(rows, page.limit, seq), rateCards.read)
        }),
      inForce: ({ currency, now }) =>
        db.read("RateCardStore.inForce", function* () {
          const found = yield* get(
            "SELECT seq, id FROM sendwright_rate_card WHERE currency = ? AND effective_from <= ? ORDER BY effective_from DESC, seq DESC LIMIT 1",
            currency,
            now
          )
          if (found === undefined) return null
          const id = text(found, "id")
          const known = cards.get(id)
          if (known !== undefined) return known
          const row = yield* get(
            `SELECT ${rateCards.list} FROM sendwright_rate_card WHERE seq = ?`,
            seq(found)
          )
          const card = rateCards.read(row ?? found)
          const [oldest] = cards.keys()
          if (cards.size >= maximumCached && oldest !== undefined) cards.delete(oldest)
          cards.set(id, card)
          return card
        })
    }
  })
)
