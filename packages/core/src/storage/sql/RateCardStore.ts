/** Rate cards, a row each. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RateCard } from "../../domain/billing/RateCard.ts"
import * as Page from "../../domain/Page.ts"
import type { Program } from "../Program.ts"
import { all, get, run } from "../Program.ts"
import { RateCardStore } from "../RateCardStore.ts"
import { rateCards } from "./codec/RateCard.ts"
import { Database } from "./Database.ts"
import { insertInto } from "./Insert.ts"
import { limited, newestFirst, seq } from "./RowReader.ts"

const insert = insertInto("sendwright_rate_card", rateCards.names)

/** How many cards are kept read. */
const maximumCached = 64

/** Selects the number of the card that prices a send; its parameters are a currency and the time. */
export const numberInForce =
  "SELECT seq FROM sendwright_rate_card WHERE currency = ? AND effective_from <= ? ORDER BY effective_from DESC, seq DESC LIMIT 1"

const bySeq = `SELECT ${rateCards.list} FROM sendwright_rate_card WHERE seq = ?`

/**
 * Reads cards by their numbers, null of null. A card never changes, and one object for all sends lets `RateCard.rate` keep its
 * index of it.
 */
export const reader = (): ((number: number | null) => Program<RateCard | null>) => {
  const cards = new Map<number, RateCard>()
  return function* (number) {
    if (number === null) return null
    const known = cards.get(number)
    if (known !== undefined) return known
    const card = rateCards.read((yield* get(bySeq, number)) ?? {})
    const [oldest] = cards.keys()
    if (cards.size >= maximumCached && oldest !== undefined) cards.delete(oldest)
    cards.set(number, card)
    return card
  }
}

export const layer: Layer.Layer<RateCardStore, never, Database> = Layer.effect(
  RateCardStore,
  Effect.map(Database, (db) => {
    const cardOf = reader()
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
          const found = yield* get(numberInForce, currency, now)
          return yield* cardOf(found === undefined ? null : seq(found))
        })
    }
  })
)
