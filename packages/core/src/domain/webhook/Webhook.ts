/** Webhook endpoints, deliveries (one event to one endpoint) and attempts (one HTTP request of a delivery). */

import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Type } from "./Event.ts"
import { batchType, matches } from "./Event.ts"

export interface EndpointSecret {
  /** The secret encrypted at rest. */
  readonly sealed: string
  readonly createdAt: Instant
  /** The end of the overlap, for an old secret; null for the current one. */
  readonly expiresAt: Instant | null
}

/** Why it was disabled, where nobody but an operator did so. */
export const disabledByOperator = "Disabled by the operator."

/** The place that an endpoint's secrets are sealed for. */
export const place = (endpointId: string): string => `webhook|${endpointId}`

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
  /** The time of the first failure after the last success; null when the last attempt succeeded. */
  readonly failingSince: Instant | null
  /** The most deliveries per second, over all nodes; null = as fast as it answers. */
  readonly deliveriesPerSecond: number | null
  /** True when up to a hundred recipients' changes share one event, `recipient.batch`. */
  readonly batchRecipients: boolean
  readonly createdAt: Instant
  readonly updatedAt: Instant
}

/**
 * The maximum length of an endpoint's address and description, in code points, and of its pace, in deliveries per
 * second.
 */
export const maximumUrl = 2048
export const maximumDescription = 500
export const maximumPace = 10_000

/** The fields of an endpoint that an operator may change. */
export type Change = Partial<
  Pick<
    Endpoint,
    | "url"
    | "events"
    | "description"
    | "enabled"
    | "disabledReason"
    | "deliveriesPerSecond"
    | "batchRecipients"
  >
>

/** `pending` waits for its next attempt, `exhausted` was given up after the schedule. */
export const deliveryStatuses = ["pending", "delivered", "exhausted"] as const
export type DeliveryStatus = (typeof deliveryStatuses)[number]

/**
 * Why an attempt failed: a status other than 2xx; no complete answer in time; no connection, or a broken one; an
 * address that the policy refuses; a secret that this server's master key does not open.
 */
export const failures = ["status", "timeout", "connection", "address_refused", "secret_unreadable"] as const
export type Failure = (typeof failures)[number]

export interface Attempt {
  /** From 1. */
  readonly number: number
  readonly at: Instant
  /** The answer's HTTP status; null when there was none. */
  readonly status: number | null
  readonly durationMs: number
  /** Why there was no success; null for a success. */
  readonly reason: Failure | null
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
export const change = (endpoint: Endpoint, fields: Change, now: Instant): Endpoint => {
  const next = { ...endpoint, ...fields, updatedAt: now }
  return next.enabled && !endpoint.enabled ? { ...next, disabledReason: null, failingSince: null } : next
}

/** An endpoint that answers with nothing but failures for this long is told of. */
export const failingMs = Time.minute

/** An endpoint that answers with nothing but failures for this long is disabled. */
export const disableAfterMs = 5 * Time.day

/**
 * The endpoint after an attempt: since when it fails, and whether that disables it; the same object when nothing
 * changes. The current endpoint decides, since it may have recovered after the attempt began.
 */
export const afterAttempt = (
  endpoint: Endpoint,
  attempt: {
    readonly delivered: boolean
    /** A reason to disable the endpoint immediately, however long it has been failing. */
    readonly disable: string | null
    readonly now: Instant
  }
): Endpoint => {
  if (attempt.delivered)
    return endpoint.failingSince === null ? endpoint : { ...endpoint, failingSince: null }
  const { failingSince } = endpoint
  const tooLong = failingSince !== null && attempt.now - failingSince >= disableAfterMs
  const reason = attempt.disable ?? (tooLong ? "Every delivery failed for 5 days." : null)
  const failing = failingSince === null ? { ...endpoint, failingSince: attempt.now } : endpoint
  return reason === null || !endpoint.enabled
    ? failing
    : { ...failing, enabled: false, disabledReason: reason, updatedAt: attempt.now }
}

/**
 * True for a stored event that a replay of missing events delivers to the endpoint. Events about endpoints are not
 * replayed, and an endpoint that gets recipients' changes in batches does not get them singly.
 */
export const misses = (endpoint: Endpoint, type: Type): boolean =>
  type !== batchType &&
  !type.startsWith("webhook.") &&
  !(endpoint.batchRecipients && type.startsWith("recipient.")) &&
  matches(endpoint.events, type)
