/** Rate cards: dated prices (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import { Currency } from "@sendwright/core/Currency"
import * as Instant from "@sendwright/core/Instant"
import * as Money from "@sendwright/core/Money"
import * as Cards from "@sendwright/core/RateCard"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { Paging, page, TimeText } from "./Parameters.ts"
import { Amount, Count, Id, NextCursor, Ok, ok, Text, Time, time, type View } from "./Wire.ts"

const RateCardBody = Schema.Struct({
  id: Id,
  currency: Text,
  effective_from: Time,
  created_at: Time,
  prices: Schema.Array(
    Schema.Struct({
      market: Text,
      prefixes: Schema.optional(Schema.Array(Text)),
      category: Schema.Literal(...Cards.categories),
      price: Amount
    })
  )
}).annotations({ identifier: "RateCard" })

const rateCard = (found: Cards.RateCard): View<typeof RateCardBody> => ({
  id: found.id,
  currency: found.currency,
  effective_from: time(found.effectiveFrom),
  created_at: time(found.createdAt),
  prices: found.prices.map(({ category, market, prefixes, price }) => ({
    market,
    ...(prefixes === null ? {} : { prefixes }),
    category,
    price
  }))
})

const RateCard = Schema.Struct({ ok: Ok, rate_card: RateCardBody })
const ImportedRateCard = Schema.Struct({
  ok: Ok,
  rate_card: RateCardBody,
  skipped: Schema.Array(Schema.Struct({ line: Count, market: Text, reason: Text })).annotations({
    description: "Rows of markets that are not known, which were left out."
  })
})
const RateCards = Schema.Struct({ ok: Ok, rate_cards: Schema.Array(RateCardBody), next_cursor: NextCursor })

const Price = Schema.String.pipe(
  Schema.filter(Money.isAmount, {
    description: 'a plain decimal such as "0.0250"',
    jsonSchema: { pattern: Money.plain.source }
  })
)

/** More than a market has. */
const maximumPrefixes = 1000

const NewRateCard = Schema.Struct({
  currency: Currency,
  effective_from: TimeText,
  prices: Schema.Array(
    Schema.Struct({
      market: Schema.String.annotations({
        description: "A name with `prefixes`; else itself the prefix, or `*` for the rest of the world.",
        jsonSchema: { minLength: 1 }
      }),
      prefixes: Schema.optional(
        Schema.Array(
          Schema.String.annotations({
            description: "A calling code and the first digits of its numbers.",
            jsonSchema: { pattern: Cards.prefixForm.source }
          })
        ).pipe(Schema.minItems(1), Schema.maxItems(maximumPrefixes))
      ),
      category: Schema.Literal(...Cards.categories),
      price: Price
    })
  ).pipe(Schema.minItems(1), Schema.maxItems(Cards.maximumPrefixes))
})

const newRateCard = ({ currency, effective_from, prices }: typeof NewRateCard.Type) => ({
  currency,
  effectiveFrom: Instant.parse(effective_from) ?? 0,
  prices: prices.map(({ category, market, prefixes = null, price }) => ({
    market,
    prefixes,
    category,
    price
  }))
})

const RateCardFile = Schema.Struct({
  currency: Currency,
  effective_from: TimeText,
  csv: Schema.NonEmptyString
})

const rateCardFile = ({ csv, currency, effective_from }: typeof RateCardFile.Type) => ({
  currency,
  effectiveFrom: Instant.parse(effective_from) ?? 0,
  csv
})

const example: View<typeof RateCardBody> = {
  id: Examples.ids.rateCard,
  currency: "EUR",
  effective_from: Examples.at,
  created_at: Examples.at,
  prices: [{ market: "Spain", prefixes: ["34"], category: "utility", price: "0.0250" }]
}

export const admin = [
  forOperator(
    HttpApiEndpoint.put("addRateCard", "/admin/v1/rate-cards").setPayload(NewRateCard).addSuccess(RateCard),
    {
      summary: "Add a rate card",
      description:
        "It prices sends from `effective_from` on, until one with a later time does. A number's market is found by its longest prefix.",
      request: { currency: example.currency, effective_from: example.effective_from, prices: example.prices },
      answer: { ...ok, rate_card: example },
      command: { name: "rate-cards add", description: "Add a rate card." }
    },
    ({ admin }) =>
      ({ payload }) =>
        Effect.map(admin.rateCards.add(newRateCard(payload)), (found) =>
          reply({ ...ok, rate_card: rateCard(found) })
        ),
    ({ admin }) =>
      ({ payload: { prices = [] } }) =>
        Effect.succeed(
          admin.rateCards.faults({ prices: prices.map((each) => each && { prefixes: null, ...each }) })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("importRateCard", "/admin/v1/rate-cards/import")
      .setPayload(RateCardFile)
      .addSuccess(ImportedRateCard),
    {
      summary: "Add a platform's rate card from its CSV file",
      description:
        "Faults name the line and the column of the file. A row of a market that is not known is told in `skipped`, and the others are taken.",
      request: {
        currency: "EUR",
        effective_from: Examples.at,
        csv: "Market,Currency,Marketing,Utility,Authentication\nSpain,EUR,0.0509,0.0170,0.0170\n"
      },
      answer: { ...ok, rate_card: example, skipped: [] },
      command: { name: "rate-cards import", description: "Add a rate card from a platform's published list." }
    },
    ({ admin }) =>
      ({ payload }) =>
        Effect.map(admin.rateCards.importList(rateCardFile(payload)), ({ card, skipped }) =>
          reply({ ...ok, rate_card: rateCard(card), skipped })
        ),
    ({ admin }) =>
      ({ payload: { csv, currency } }) =>
        Effect.succeed(admin.rateCards.faults({ csv, currency }))
  ),
  forOperator(
    HttpApiEndpoint.get("rateCards", "/admin/v1/rate-cards").setUrlParams(Paging).addSuccess(RateCards),
    {
      summary: "List rate cards",
      description: "All of them, a page at a time.",
      answer: { ...ok, rate_cards: [example], next_cursor: null },
      command: { name: "rate-cards list", description: "List the rate cards." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        Effect.map(admin.rateCards.list(page(query, after)), ({ items, next }) =>
          reply({ ...ok, rate_cards: items.map(rateCard), next_cursor: cursor(next) })
        )
  )
]
