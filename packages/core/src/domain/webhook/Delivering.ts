/**
 * The decisions on deliveries (decisions.md §7), without any storage: whose turn it is, how many an endpoint gets, and
 * what becomes of a delivery that is claimed, attempted, replayed or left by its worker.
 */
import type { Instant } from "../Instant.ts"
import * as Pacing from "../session/Pacing.ts"
import type { DeliveryStatus } from "./Webhook.ts"

/** The part of a delivery that changes. */
export interface DeliveryState {
  readonly status: DeliveryStatus
  /** The number of attempts in all. */
  readonly attempts: number
  /** Attempts of the running schedule: a replay starts it afresh. */
  readonly tries: number
  /** The first of those; null before it. */
  readonly firstAttemptAt: Instant | null
  /** The time of the next attempt, as a caller is told; null unless pending. */
  readonly nextAt: Instant | null
  /** The same, or earlier to keep its place in the queue; null while a worker has it and when it is over. */
  readonly dueAt: Instant | null
  /** The worker that has it in hand; null when none has. */
  readonly worker: string | null
  /** Grows with each claim: an attempt counts for the claim that it was made under. */
  readonly fence: number
}

/** A delivery as it is made: due now. */
export const fresh = (now: Instant): DeliveryState => ({
  status: "pending",
  attempts: 0,
  tries: 0,
  firstAttemptAt: null,
  nextAt: now,
  dueAt: now,
  worker: null,
  fence: 0
})

/** A worker takes the delivery in hand. */
export const claimed = <D extends DeliveryState>(delivery: D, worker: string): D => ({
  ...delivery,
  dueAt: null,
  worker,
  fence: delivery.fence + 1
})

/** True while the attempt of this claim is awaited: not when it was settled already, or its worker was given up. */
export const isAwaited = ({ fence, worker }: DeliveryState, ofClaim: number): boolean =>
  worker !== null && fence === ofClaim

/** @param next the time of the next attempt; null = given up */
export const attempted = <D extends DeliveryState>(
  delivery: D,
  attempt: { readonly at: Instant; readonly next: "delivered" | Instant | null }
): D => {
  const { at, next } = attempt
  const nextAt = next === "delivered" ? null : next
  return {
    ...delivery,
    status: next === "delivered" ? "delivered" : next === null ? "exhausted" : "pending",
    attempts: delivery.attempts + 1,
    tries: delivery.tries + 1,
    firstAttemptAt: delivery.firstAttemptAt ?? at,
    nextAt,
    dueAt: nextAt,
    worker: null
  }
}

/** A dead worker's delivery is due when it was before the claim, and now at the latest. */
export const released = <D extends DeliveryState>(delivery: D, now: Instant): D => ({
  ...delivery,
  dueAt: Math.min(delivery.nextAt ?? now, now),
  worker: null
})

/** Whatever became of it, it is due now and has all attempts of a schedule. What was attempted stays in the log. */
export const replayed = <D extends DeliveryState>(delivery: D, now: Instant): D => ({
  ...delivery,
  status: "pending",
  tries: 0,
  firstAttemptAt: null,
  nextAt: now,
  dueAt: now
})

/** A worker that has the delivery in hand settles it: a replay would be a second delivery beside that. */
export const mayReplay = ({ worker }: DeliveryState): boolean => worker === null

/** True when it was attempted, did not arrive, and is not due already. */
export const hasFailed = ({ dueAt, status, tries, worker }: DeliveryState, now: Instant): boolean =>
  status === "exhausted" || (status === "pending" && worker === null && tries > 0 && (dueAt ?? 0) > now)

/** True when it was attempted and waits: enabling its endpoint starts it afresh. */
export const waitsAttempted = ({ status, tries, worker }: DeliveryState): boolean =>
  status === "pending" && worker === null && tries > 0

/** As a replay, but due since it was made, so that it keeps its order among those that were never attempted. */
export const resumed = <D extends DeliveryState & { readonly createdAt: Instant }>(
  delivery: D,
  now: Instant
): D => ({
  ...replayed(delivery, now),
  dueAt: delivery.createdAt
})

/** An enabled endpoint for which a delivery waits that nobody has in hand, due or not. */
export interface WaitingEndpoint {
  readonly id: string
  readonly deliveriesPerSecond: number | null
  /** The time when its first delivery is due. */
  readonly dueAt: Instant
  /** The state of its pace (`Pacing.grant`); null before its first delivery. */
  readonly arrival: number | null
}

/** The time of its next delivery. */
export const readyAt = (
  { arrival, deliveriesPerSecond: perSecond, dueAt }: WaitingEndpoint,
  now: Instant
): Instant => (perSecond === null ? dueAt : Math.max(dueAt, Pacing.nextAt(arrival, perSecond, now)))

/** True when its pace lets an endpoint have a delivery now. */
export const mayHave = (perSecond: number | null, arrival: number | null, now: Instant): boolean =>
  perSecond === null || Pacing.nextAt(arrival, perSecond, now) <= now

/** At or behind every endpoint's position; these are above 0. */
export const lastPosition = Number.MAX_SAFE_INTEGER

/** The parts of the circle of endpoints, from behind the one whose turn it was last. */
export const circleFrom = (
  position: number
): ReadonlyArray<{ readonly after: number; readonly until: number }> =>
  position === 0
    ? [{ after: 0, until: lastPosition }]
    : [
        { after: position, until: lastPosition },
        { after: 0, until: position }
      ]

/** Every endpoint that has its turn in a claim gets the same share of its limit. */
export const shareOf = (limit: number, endpoints: number): number =>
  Math.floor(limit / Math.max(1, endpoints))
