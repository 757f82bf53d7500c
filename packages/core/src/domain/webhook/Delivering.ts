/**
 * The decisions on deliveries (contract.md §7), without any storage: which endpoint is next, how many deliveries it
 * gets, and how a delivery changes when it is claimed, attempted, replayed or released by a dead worker.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Pacing from "../session/Pacing.ts"
import type { DeliveryStatus } from "./Webhook.ts"

/** The part of a delivery that changes. */
export interface DeliveryState {
  readonly status: DeliveryStatus
  /** The number of attempts in all. */
  readonly attempts: number
  /** Attempts since the schedule began. A replay begins it again. */
  readonly tries: number
  /** The first attempt since the schedule began; null before it. */
  readonly firstAttemptAt: Instant | null
  /** The time of the next attempt, as the API shows it; null unless pending. */
  readonly nextAt: Instant | null
  /**
   * The time of the next attempt in the queue. It may be before `nextAt`, so that the delivery does not lose its
   * place. Null while a worker has claimed the delivery and once it has ended.
   */
  readonly dueAt: Instant | null
  /** The worker that has claimed the delivery; null when none has. */
  readonly worker: string | null
  /** Grows with each claim. An attempt counts only for the claim under which it was made. */
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

/** The delivery after a worker claimed it. */
export const claimed = <D extends DeliveryState>(delivery: D, worker: string): D => ({
  ...delivery,
  dueAt: null,
  worker,
  fence: delivery.fence + 1
})

/** True while the claim's attempt has no outcome yet: false once it is settled or its worker was declared dead. */
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

/**
 * The delivery after a replay: due now, in whatever status it was, with all attempts of a schedule. Past attempts
 * stay in the log.
 */
export const replayed = <D extends DeliveryState>(delivery: D, now: Instant): D => ({
  ...delivery,
  status: "pending",
  tries: 0,
  firstAttemptAt: null,
  nextAt: now,
  dueAt: now
})

/** True when no worker has claimed the delivery. A replay beside a claim would deliver the event twice. */
export const mayReplay = ({ worker }: DeliveryState): boolean => worker === null

/** True when it was attempted, did not arrive, and is not due already. */
export const hasFailed = ({ dueAt, status, tries, worker }: DeliveryState, now: Instant): boolean =>
  status === "exhausted" || (status === "pending" && worker === null && tries > 0 && (dueAt ?? 0) > now)

/** True when it was attempted and waits: enabling its endpoint starts it afresh. */
export const waitsAttempted = ({ status, tries, worker }: DeliveryState): boolean =>
  status === "pending" && worker === null && tries > 0

/**
 * The delivery of an endpoint that was enabled again. Like a replay, but due since its creation, so that it stays in
 * order with deliveries that were never attempted.
 */
export const resumed = <D extends DeliveryState & { readonly createdAt: Instant }>(
  delivery: D,
  now: Instant
): D => ({
  ...replayed(delivery, now),
  dueAt: delivery.createdAt
})

/** An enabled endpoint with a delivery that no worker has claimed, due or not. */
export interface WaitingEndpoint {
  readonly id: string
  readonly url: string
  readonly deliveriesPerSecond: number | null
  /** The time when its first delivery is due. */
  readonly dueAt: Instant
  /** The state of its pace (`Pacing.grant`); null before its first delivery. */
  readonly arrival: number | null
}

/** The time of the endpoint's next delivery. */
export const readyAt = (
  { arrival, deliveriesPerSecond: perSecond, dueAt }: WaitingEndpoint,
  now: Instant
): Instant => (perSecond === null ? dueAt : Time.max(dueAt, Pacing.nextAt(arrival, perSecond, now)))

/** True when its pace lets an endpoint have a delivery now. */
export const mayHave = (perSecond: number | null, arrival: number | null, now: Instant): boolean =>
  perSecond === null || Pacing.nextAt(arrival, perSecond, now) <= now

/** The position behind every endpoint. Positions are above 0. */
export const lastPosition = Number.MAX_SAFE_INTEGER

/** The circle of endpoints in one or two ranges, beginning after the endpoint that was last served. */
export const circleFrom = (
  position: number
): ReadonlyArray<{ readonly after: number; readonly until: number }> =>
  position === 0
    ? [{ after: 0, until: lastPosition }]
    : [
        { after: position, until: lastPosition },
        { after: 0, until: position }
      ]

/** The deliveries that a claim gives to each of its endpoints. */
export const shareOf = (limit: number, endpoints: number): number =>
  Math.floor(limit / Math.max(1, endpoints))
