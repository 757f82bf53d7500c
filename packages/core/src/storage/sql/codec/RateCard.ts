/** The columns of `sendwright_rate_card`. */
import type { RateCard } from "../../../domain/billing/RateCard.ts"
import { integer, json, table, text } from "../Columns.ts"

export const rateCards = table<RateCard>({
  id: text("id"),
  currency: text("currency"),
  effectiveFrom: integer("effective_from"),
  createdAt: integer("created_at"),
  prices: json("prices")
})
