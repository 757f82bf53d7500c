/** Webhook endpoints, deliveries (one event to one endpoint) and attempts (one HTTP request of a delivery). */

import type { Type } from "./Event.ts"
import type { Instant } from "./Instant.ts"

export interface EndpointSecret {
  /** The secret encrypted at rest. */
  readonly sealed: string
  readonly createdAt: Instant
  /** null = the current one; otherwise an old one that signs until then. */
  readonly expiresAt: Instant | null
}

export interface Endpoint {
  readonly id: string
  readonly accountId: string
  readonly url: string
  readonly events: ReadonlyArray<string>
  readonly description: string | null
  readonly enabled: boolean
  /** Why it was disabled, by whom; null while it is enabled. */
  readonly disabledReason: string | null
  /** The current secret first. */
  readonly secrets: ReadonlyArray<EndpointSecret>
  /** Since when nothing but failures has come; null after a success. */
  readonly failingSince: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/** `pending` waits for its next attempt, `exhausted` was given up after the schedule. */
export type DeliveryStatus = "pending" | "delivered" | "exhausted"

export interface Attempt {
  /** From 1. */
  readonly number: number
  readonly at: Instant
  /** The answer's HTTP status; null when there was none. */
  readonly status: number | null
  readonly durationMs: number
  /** Why there was no success: `timeout`, `connection`, `status`, `address_refused`; null for a success. */
  readonly reason: string | null
  /** The start of the answer's body, at most 16 KiB. */
  readonly excerpt: string
}

export interface Delivery {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: Type
  readonly status: DeliveryStatus
  readonly attempts: ReadonlyArray<Attempt>
  /** When the next attempt is due; null unless pending. */
  readonly nextAt: Instant | null
  readonly createdAt: Instant
}

/** The endpoint with fields replaced; enabling it forgets why it was disabled. */
export const change = (
  endpoint: Endpoint,
  fields: Partial<Pick<Endpoint, "url" | "events" | "description" | "enabled" | "disabledReason">>,
  now: Instant
): Endpoint => {
  const next = { ...endpoint, ...fields, updatedAt: now }
  return next.enabled && !endpoint.enabled ? { ...next, disabledReason: null, failingSince: null } : next
}

/** The endpoint after an attempt: how long it has been failing, and whether that disabled it. */
export const afterAttempt = (
  endpoint: Endpoint,
  attempt: { readonly delivered: boolean; readonly disable: string | null; readonly now: Instant }
): Endpoint => {
  if (attempt.delivered)
    return endpoint.failingSince === null ? endpoint : { ...endpoint, failingSince: null }
  const failing = { ...endpoint, failingSince: endpoint.failingSince ?? attempt.now }
  return attempt.disable === null || !endpoint.enabled
    ? failing
    : { ...failing, enabled: false, disabledReason: attempt.disable, updatedAt: attempt.now }
}
