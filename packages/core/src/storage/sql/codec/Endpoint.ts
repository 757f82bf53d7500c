/** The columns of `sendwright_endpoint`. */
import type { Endpoint } from "../../../domain/webhook/Webhook.ts"
import { flag, instant, instantOrNull, integerOrNull, json, table, text, textOrNull } from "../Columns.ts"

export const endpoints = table<Endpoint>({
  id: text("id"),
  accountId: text("account"),
  url: text("url"),
  events: json("events"),
  description: textOrNull("description"),
  enabled: flag("enabled"),
  disabledReason: textOrNull("disabled_reason"),
  secrets: json("secrets"),
  failingSince: instantOrNull("failing_since"),
  deliveriesPerSecond: integerOrNull("deliveries_per_second"),
  batchRecipients: flag("batch_recipients"),
  createdAt: instant("created_at"),
  updatedAt: instant("updated_at")
})
