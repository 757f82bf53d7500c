/** The columns of the outbox: `sendwright_event`, `sendwright_delivery` and `sendwright_attempt`. */

import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { DeliveryState } from "../../../domain/webhook/Delivering.ts"
import * as Delivering from "../../../domain/webhook/Delivering.ts"
import * as Events from "../../../domain/webhook/Event.ts"
import type { Attempt } from "../../../domain/webhook/Webhook.ts"
import * as Webhook from "../../../domain/webhook/Webhook.ts"
import {
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

export const events = table<Events.Event>({
  id: text("id"),
  accountId: text("account"),
  type: word("type", [...Events.types, Events.batchType]),
  body: text("body"),
  createdAt: instant("created_at")
})

interface DeliveryRow extends DeliveryState {
  readonly seq: number
  readonly id: string
  /** The keys of its endpoint and its event. */
  readonly endpoint: number
  readonly event: number | null
  readonly createdAt: Instant
}

export const deliveries = table<DeliveryRow>({
  seq: integer("seq"),
  id: text("id"),
  endpoint: integer("endpoint"),
  event: integerOrNull("event"),
  status: word("status", Webhook.deliveryStatuses),
  attempts: integer("attempts"),
  tries: integer("tries"),
  firstAttemptAt: instantOrNull("first_attempt_at"),
  nextAt: instantOrNull("next_at"),
  dueAt: instantOrNull("due_at"),
  worker: textOrNull("worker"),
  fence: integer("fence"),
  createdAt: instant("created_at")
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

export const attempts = table<AttemptRow>({
  delivery: integer("delivery"),
  number: integer("number"),
  at: instant("at"),
  status: integerOrNull("status"),
  durationMs: integer("duration_ms"),
  reason: nullable(word("reason", Webhook.failures)),
  excerpt: text("excerpt")
})
