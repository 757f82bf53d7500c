/** Rate cards: dated prices (contract.md §8). */
import * as Schema from "effect/Schema"
import { RateCard as Cards, Currency, Instant, Money } from "../index.ts"
import { codec, list, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forOperator, one, pageOf } from "./Operation.ts"
import { Paging, TimeText } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const price = codec(
  Schema.Struct({
    market: Wire.Text,
    prefixes: Schema.optional(Schema.Array(Wire.Text)),
    category: Schema.Literal(...Cards.categories),
    price: Wire.Amount
  }),
  ({ category, market, prefixes, price }: Cards.RateCard["prices"][number]) => ({
    market,
    ...(prefixes === null ? {} : { prefixes }),
    category,
    price
  })
)

const rateCard = struct(
  {
    id: Wire.Id,
    currency: Wire.Text,
    effective_from: Wire.Time,
    created_at: Wire.Time,
    prices: list(price)
  },
  "RateCard"
)

const imported = struct({
  ok: Wire.isOk,
  rate_card: part(rateCard, ({ card }: { readonly card: Cards.RateCard }) => card),
  skipped: Schema.Array(
    Schema.Struct({ line: Wire.Count, market: Wire.Text, reason: Wire.Text })
  ).annotations({ description: "Rows of markets that are not known, which were left out." })
})

const Price = Schema.String.pipe(
  Schema.filter(Money.isAmount, {
    description: 'a plain decimal such as "0.0250"',
    jsonSchema: { pattern: Money.plain.source }
  })
)

/** More than a market has. */
const maximumPrefixes = 1000

const NewRateCard = Schema.Struct({
  currency: Currency.Currency,
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

const RateCardFile = Schema.Struct({
  currency: Currency.Currency,
  effective_from: TimeText,
  csv: Schema.NonEmptyString
})

/** The time was checked with the shape. */
const dated = <Payload extends { readonly effective_from: string }>({
  effective_from,
  ...rest
}: Payload) => ({ ...rest, effectiveFrom: Instant.parse(effective_from) ?? Instant.at(0) })

const example: typeof rateCard.schema.Type = {
  id: Examples.ids.rateCard,
  currency: "EUR",
  effective_from: Examples.at,
  created_at: Examples.at,
  prices: [{ market: "Spain", prefixes: ["34"], category: "utility", price: "0.0250" }]
}

export const admin = [
  forOperator(
    Endpoint.put("addRateCard", "/admin/v1/rate-cards").setPayload(NewRateCard),
    one("rate_card", rateCard, example),
    {
      summary: "Add a rate card",
      description:
        "It prices sends from `effective_from` on, until one with a later time does. A number's market is found by its longest prefix.",
      request: { currency: example.currency, effective_from: example.effective_from, prices: example.prices },
      command: { name: "rate-cards add", description: "Add a rate card." }
    },
    ({ admin }, { payload }) =>
      admin.rateCards.add({
        ...dated(payload),
        prices: payload.prices.map(({ prefixes = null, ...rest }) => ({ ...rest, prefixes }))
      }),
    ({ admin }, { payload: { prices = [] } }) =>
      admin.rateCards.faults({ prices: prices.map((each) => each && { prefixes: null, ...each }) })
  ),
  forOperator(
    Endpoint.post("importRateCard", "/admin/v1/rate-cards/import").setPayload(RateCardFile),
    answer(imported, { ...Wire.ok, rate_card: example, skipped: [] }),
    {
      summary: "Add a platform's rate card from its CSV file",
      description:
        "Faults name the line and the column of the file. A row of a market that is not known is told in `skipped`, and the others are taken.",
      request: {
        currency: "EUR",
        effective_from: Examples.at,
        csv: "Market,Currency,Marketing,Utility,Authentication\nSpain,EUR,0.0509,0.0170,0.0170\n"
      },
      command: { name: "rate-cards import", description: "Add a rate card from a platform's published list." }
    },
    ({ admin }, { payload }) => admin.rateCards.importList(dated(payload)),
    ({ admin }, { payload: { csv, currency } }) => admin.rateCards.faults({ csv, currency })
  ),
  forOperator(
    Endpoint.get("rateCards", "/admin/v1/rate-cards").setUrlParams(Paging),
    pageOf("rate_cards", rateCard, example),
    {
      summary: "List rate cards",
      description: "All of them, a page at a time.",
      command: { name: "rate-cards list", description: "List the rate cards." }
    },
    ({ admin }, { page }) => admin.rateCards.list(page)
  )
]
