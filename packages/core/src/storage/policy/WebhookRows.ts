/**
 * The operations that a database supplies for the rules of webhooks: plain reads and writes, none with a decision of its
 * own. The rules are `policy/Deliveries`, over these operations (docs/adr/0025).
 */

import type { Happening } from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { DeliveryState, WaitingEndpoint } from "../../domain/webhook/Delivering.ts"
import type { Draft, Type } from "../../domain/webhook/Event.ts"
import type { Attempt, Endpoint } from "../../domain/webhook/Webhook.ts"
import type { Program } from "../Program.ts"

export interface DeliveryRecord extends DeliveryState {
  readonly id: string
  readonly endpointId: string
}

/** An endpoint as its row keeps it. The rules hand it back as they got it. */
export interface StoredEndpoint {
  readonly seq: number
  readonly value: Endpoint
}

/** A delivery as its row keeps it, likewise. */
export interface StoredDelivery extends DeliveryRecord {
  readonly seq: number
}

/** A delivery that is due, with its event. */
export interface DueDelivery {
  readonly delivery: StoredDelivery
  readonly eventId: string
  readonly body: string
  readonly traceparent: string | null
}

/** An endpoint with deliveries that are due. */
export interface DueEndpoint {
  readonly endpoint: StoredEndpoint
  /** The endpoint's place in the circle of endpoints, which is the order of their creation; above 0. */
  readonly position: number
  /** The state of its pace (`Pacing.grant`), read without a lock; null before its first delivery. */
  readonly arrival: number | null
}

/** A delivery after an attempt of it; the attempt's number is the delivery's `attempts`. */
export interface AttemptedDelivery {
  readonly delivery: StoredDelivery
  readonly attempt: Omit<Attempt, "number">
}

export interface WebhookRows {
  /**
   * Enabled endpoints for which a delivery is due and unclaimed: those with positions above `after` and up to
   * `until`, in this order, the first `limit` of them. Takes no lock.
   */
  readonly dueEndpoints: (query: {
    readonly after: number
    readonly until: number
    readonly now: Instant
    readonly limit: number
  }) => Program<ReadonlyArray<DueEndpoint>>
  /** All enabled endpoints for which a delivery waits unclaimed, due or not. Takes no lock. */
  readonly waitingEndpoints: () => Program<ReadonlyArray<WaitingEndpoint>>

  /** The endpoints that there are, by their ids, in that order. Takes no lock. */
  readonly endpoints: (ids: ReadonlyArray<string>) => Program<ReadonlyArray<StoredEndpoint>>
  /** Locks and answers the endpoint; null when there is none. Waits for other commits. */
  readonly lockEndpoint: (id: string) => Program<StoredEndpoint | null>
  readonly saveEndpoint: (endpoint: StoredEndpoint, value: Endpoint) => Program<void>
  /** Removes a locked endpoint with its deliveries, their attempts and its pace. */
  readonly removeEndpoint: (endpoint: StoredEndpoint) => Program<void>

  /**
   * Locks the endpoint's pace until the commit, also one that is not there yet. Answers false when another commit has it
   * locked: two claims that waited for each other's endpoints would never end.
   */
  readonly tryLockPace: (endpointId: string) => Program<boolean>
  /** The state of the endpoint's pace (`Pacing.grant`), which is locked; null before its first delivery. */
  readonly arrival: (endpointId: string) => Program<number | null>
  readonly saveArrival: (endpointId: string, arrival: number) => Program<void>

  /**
   * Locks and answers the endpoint's first due deliveries, by their due time and then by age. Passes over those that
   * another commit has locked.
   */
  readonly lockDue: (query: {
    readonly endpoint: StoredEndpoint
    readonly now: Instant
    readonly limit: number
  }) => Program<ReadonlyArray<DueDelivery>>
  /** Writes deliveries that were locked and are claimed by one worker (`Delivering.claimed`). */
  readonly saveClaims: (deliveries: ReadonlyArray<StoredDelivery>, worker: string) => Program<void>

  /** Locks and answers the deliveries that a worker has claimed, by their ids, in that order. Waits for other commits. */
  readonly lockClaimed: (ids: ReadonlyArray<string>) => Program<ReadonlyArray<StoredDelivery>>
  /** Writes deliveries that were locked and attempted (`Delivering.attempted`), each with its attempt. */
  readonly saveAttempts: (attempted: ReadonlyArray<AttemptedDelivery>) => Program<void>

  /**
   * Lets nobody say until the commit that the worker lives, and changes nothing. Answers false, and locks nothing, when its
   * last count is another one than `beats`; 0 is the count of one that said nothing. Waits for other commits.
   */
  readonly lockWorker: (worker: string, beats: number) => Program<boolean>
  /** Writes `Delivering.released` of all that the worker has claimed, and answers how many. */
  readonly release: (worker: string, now: Instant) => Program<number>
  /** Writes `Delivering.resumed` of all deliveries of a locked endpoint that are `Delivering.waitsAttempted`. */
  readonly resume: (endpoint: StoredEndpoint, now: Instant) => Program<void>
  /** Writes `Delivering.replayed` of the delivery, when it is `Delivering.mayReplay`. */
  readonly replay: (deliveryId: string, now: Instant) => Program<void>
  /**
   * Writes `Delivering.replayed` of the endpoint's deliveries that were made at `since` or later and are
   * `Delivering.hasFailed`: the first `limit` by age, but for those that another commit has locked. Answers how many.
   */
  readonly replayFailed: (query: {
    readonly endpoint: StoredEndpoint
    readonly since: Instant
    readonly now: Instant
    readonly limit: number
  }) => Program<number>

  /** Keeps events until the commit from going with their last delivery. */
  readonly lockEvents: () => Program<void>
  /** Counts these, `limit` at most. Takes no lock. */
  readonly countFailed: (query: Parameters<WebhookRows["replayFailed"]>[0]) => Program<number>

  /**
   * Events of these types that were made at `since` or later, that another endpoint of the account has a delivery of and
   * this one has none: the first `limit` by age. Takes no lock.
   */
  readonly missingEvents: (query: {
    readonly endpoint: StoredEndpoint
    readonly since: Instant
    readonly types: ReadonlyArray<Type>
    readonly limit: number
  }) => Program<ReadonlyArray<number>>
  /** Makes a delivery to the endpoint of each event, due now. */
  readonly deliver: (endpoint: StoredEndpoint, events: ReadonlyArray<number>, now: Instant) => Program<void>
  /** Appends an event for this endpoint alone, and answers the id of its delivery. */
  readonly appendFor: (endpoint: StoredEndpoint, draft: Draft, now: Instant) => Program<string | null>
  /** Appends an event for the account's endpoints that subscribe to it, but not for this one. */
  readonly note: (happenings: ReadonlyArray<Happening>) => Program<void>
  readonly appendForOthers: (endpoint: Endpoint, draft: Draft, now: Instant) => Program<void>
}
