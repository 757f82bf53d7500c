/** The columns of `sendwright_endpoint`. */
import type { Endpoint } from "../../../domain/webhook/Webhook.ts"
import {
  exact,
  flag,
  instant,
  instantOrNull,
  integerOrNull,
  json,
  table,
  text,
  textOrNull
} from "../Columns.ts"
import { impersonal } from "../Personal.ts"

export const endpoints = table("sendwright_endpoint", { kept: "registered" })<Endpoint>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  accountId: exact("account", impersonal),
  url: text("url", impersonal),
  events: json("events", impersonal),
  description: textOrNull("description", impersonal),
  enabled: flag("enabled", impersonal),
  disabledReason: textOrNull("disabled_reason", impersonal),
  secrets: json("secrets", impersonal),
  failingSince: instantOrNull("failing_since", impersonal),
  createdAt: instant("created_at", impersonal),
  updatedAt: instant("updated_at", impersonal),
  deliveriesPerSecond: integerOrNull("deliveries_per_second", impersonal, "real"),
  batchRecipients: flag("batch_recipients", impersonal, "INTEGER NOT NULL DEFAULT 0")
})
