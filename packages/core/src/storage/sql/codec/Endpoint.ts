/** The columns of `sendwright_endpoint`. */
import type { Endpoint } from "../../../domain/webhook/Webhook.ts"
import { flag, integer, integerOrNull, json, table, text, textOrNull } from "../Columns.ts"

export const endpoints = table<Endpoint>({
  id: text("id"),
  accountId: text("account"),
  url: text("url"),
  events: json("events"),
  description: textOrNull("description"),
  enabled: flag("enabled"),
  disabledReason: textOrNull("disabled_reason"),
  secrets: json("secrets"),
  failingSince: integerOrNull("failing_since"),
  deliveriesPerSecond: integerOrNull("deliveries_per_second"),
  batchRecipients: flag("batch_recipients"),
  createdAt: integer("created_at"),
  updatedAt: integer("updated_at")
})
