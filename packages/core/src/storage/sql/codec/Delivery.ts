/** The columns of the outbox: `sendwright_event`, `sendwright_delivery` and `sendwright_attempt`. */

import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { DeliveryState } from "../../../domain/webhook/Delivering.ts"
import * as Delivering from "../../../domain/webhook/Delivering.ts"
import * as Events from "../../../domain/webhook/Event.ts"
import type { Attempt } from "../../../domain/webhook/Webhook.ts"
import * as Webhook from "../../../domain/webhook/Webhook.ts"
import {
  exact,
  exactOrNull,
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  nullable,
  table,
  text,
  textOrNull,
  word
} from "../Columns.ts"
import { event, impersonal, within } from "../Personal.ts"

export const events = table("sendwright_event", { kept: { walk: "events" }, part: "events" })<Events.Event>({
  id: exact("id", impersonal),
  accountId: exact("account", impersonal),
  type: word("type", impersonal, [...Events.types, Events.batchType]),
  body: text("body", event),
  traceparent: textOrNull("traceparent", impersonal),
  createdAt: instant("created_at", impersonal)
})

interface DeliveryRow extends DeliveryState {
  readonly seq: number
  readonly id: string
  /** The keys of its endpoint and its event. */
  readonly endpoint: number
  readonly event: number | null
  readonly createdAt: Instant
}

export const deliveries = table("sendwright_delivery", { kept: { walk: "events" } })<DeliveryRow>({
  seq: integer("seq", impersonal, "key"),
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  endpoint: integer("endpoint", impersonal),
  event: integerOrNull("event", impersonal, "long NOT NULL"),
  status: word("status", impersonal, Webhook.deliveryStatuses),
  attempts: integer("attempts", impersonal, "INTEGER NOT NULL"),
  tries: integer("tries", impersonal, "INTEGER NOT NULL"),
  firstAttemptAt: instantOrNull("first_attempt_at", impersonal),
  nextAt: instantOrNull("next_at", impersonal),
  dueAt: instantOrNull("due_at", impersonal),
  worker: exactOrNull("worker", impersonal),
  fence: integer("fence", impersonal),
  createdAt: instant("created_at", impersonal)
})

/** The columns of a new delivery, and those that are the same for all; the others are null. */
export const newDelivery = deliveries.only("id", "endpoint", "event", "nextAt", "dueAt", "createdAt")
export const begun = deliveries
  .only("status", "attempts", "tries", "fence")
  .literals(Delivering.fresh(Time.at(0)))

interface AttemptRow extends Attempt {
  /** The key of its delivery. */
  readonly delivery: number
}

export const attempts = table("sendwright_attempt", {
  kept: { walk: "events" },
  part: "attempts",
  key: ["delivery", "number"]
})<AttemptRow>({
  delivery: integer("delivery", impersonal),
  number: integer("number", impersonal, "INTEGER NOT NULL"),
  at: instant("at", impersonal),
  status: integerOrNull("status", impersonal, "INTEGER"),
  durationMs: integer("duration_ms", impersonal),
  reason: nullable(word("reason", impersonal, Webhook.failures)),
  excerpt: text("excerpt", within)
})
