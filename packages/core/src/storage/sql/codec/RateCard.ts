/** The columns of `sendwright_rate_card`. */
import type { RateCard } from "../../../domain/billing/RateCard.ts"
import { exact, instant, json, table, text } from "../Columns.ts"
import { impersonal } from "../Personal.ts"

export const rateCards = table("sendwright_rate_card", { kept: "registered" })<RateCard>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  currency: text("currency", impersonal),
  effectiveFrom: instant("effective_from", impersonal),
  createdAt: instant("created_at", impersonal),
  prices: json("prices", impersonal)
})
