/** The columns of `sendwright_rate_card`. */
import type { RateCard } from "../../../domain/billing/RateCard.ts"
import { instant, json, table, text } from "../Columns.ts"

export const rateCards = table<RateCard>({
  id: text("id"),
  currency: text("currency"),
  effectiveFrom: instant("effective_from"),
  createdAt: instant("created_at"),
  prices: json("prices")
})
