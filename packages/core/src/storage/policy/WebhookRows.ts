/**
 * The operations that a database supplies for the rules of webhooks: plain reads and writes, none with a decision of its
 * own. The rules are `policy/Deliveries`, over these operations (docs/adr/0025).
 */

import type { Happening } from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { DeliveryState, WaitingEndpoint } from "../../domain/webhook/Delivering.ts"
import type { Draft, Type } from "../../domain/webhook/Event.ts"
import type { Attempt, Endpoint } from "../../domain/webhook/Webhook.ts"
import type { Driver, Tx } from "./JobRows.ts"

/** The types that one kind of database brings. */
export interface WebhookBackend extends Driver {
  /** An endpoint as its row keeps it. The rules hand it back as they got it. */
  readonly endpoint: { readonly value: Endpoint }
  /** A delivery as its row keeps it, likewise. */
  readonly delivery: DeliveryRecord
  /** The key of an event. */
  readonly event: unknown
}

export interface DeliveryRecord extends DeliveryState {
  readonly id: string
  readonly endpointId: string
}

/** A delivery that is due, with its event. */
export interface DueDelivery<B extends WebhookBackend> {
  readonly delivery: B["delivery"]
  readonly eventId: string
  readonly body: string
}

/** An endpoint with deliveries that are due. */
export interface DueEndpoint<B extends WebhookBackend> {
  readonly endpoint: B["endpoint"]
  /** The endpoint's place in the circle of endpoints, which is the order of their creation; above 0. */
  readonly position: number
  /** The state of its pace (`Pacing.grant`), read without a lock; null before its first delivery. */
  readonly arrival: number | null
}

/** A delivery after an attempt of it; the attempt's number is the delivery's `attempts`. */
export interface AttemptedDelivery<B extends WebhookBackend> {
  readonly delivery: B["delivery"]
  readonly attempt: Omit<Attempt, "number">
}

export interface WebhookRows<B extends WebhookBackend> {
  /**
   * Enabled endpoints for which a delivery is due and unclaimed: those with positions above `after` and up to
   * `until`, in this order, the first `limit` of them. Takes no lock.
   */
  readonly dueEndpoints: (query: {
    readonly after: number
    readonly until: number
    readonly now: Instant
    readonly limit: number
  }) => Tx<ReadonlyArray<DueEndpoint<B>>, B>
  /** All enabled endpoints for which a delivery waits unclaimed, due or not. Takes no lock. */
  readonly waitingEndpoints: () => Tx<ReadonlyArray<WaitingEndpoint>, B>

  /** The endpoints that there are, by their ids, in that order. Takes no lock. */
  readonly endpoints: (ids: ReadonlyArray<string>) => Tx<ReadonlyArray<B["endpoint"]>, B>
  /** Locks and answers the endpoint; null when there is none. Waits for other commits. */
  readonly lockEndpoint: (id: string) => Tx<B["endpoint"] | null, B>
  readonly saveEndpoint: (endpoint: B["endpoint"], value: Endpoint) => Tx<void, B>
  /** Removes a locked endpoint with its deliveries, their attempts and its pace. */
  readonly removeEndpoint: (endpoint: B["endpoint"]) => Tx<void, B>

  /**
   * Locks the endpoint's pace until the commit, also one that is not there yet. Answers false when another commit has it
   * locked: two claims that waited for each other's endpoints would never end.
   */
  readonly tryLockPace: (endpointId: string) => Tx<boolean, B>
  /** The state of the endpoint's pace (`Pacing.grant`), which is locked; null before its first delivery. */
  readonly arrival: (endpointId: string) => Tx<number | null, B>
  readonly saveArrival: (endpointId: string, arrival: number) => Tx<void, B>

  /**
   * Locks and answers the endpoint's first due deliveries, by their due time and then by age. Passes over those that
   * another commit has locked.
   */
  readonly lockDue: (query: {
    readonly endpoint: B["endpoint"]
    readonly now: Instant
    readonly limit: number
  }) => Tx<ReadonlyArray<DueDelivery<B>>, B>
  /** Writes deliveries that were locked and are claimed by one worker (`Delivering.claimed`). */
  readonly saveClaims: (deliveries: ReadonlyArray<B["delivery"]>, worker: string) => Tx<void, B>

  /** Locks and answers the deliveries that a worker has claimed, by their ids, in that order. Waits for other commits. */
  readonly lockClaimed: (ids: ReadonlyArray<string>) => Tx<ReadonlyArray<B["delivery"]>, B>
  /** Writes deliveries that were locked and attempted (`Delivering.attempted`), each with its attempt. */
  readonly saveAttempts: (attempted: ReadonlyArray<AttemptedDelivery<B>>) => Tx<void, B>

  /**
   * Lets nobody say until the commit that the worker lives, and changes nothing. Answers false, and locks nothing, when its
   * last count is another one than `beats`; 0 is the count of one that said nothing. Waits for other commits.
   */
  readonly lockWorker: (worker: string, beats: number) => Tx<boolean, B>
  /** Writes `Delivering.released` of all that the worker has claimed, and answers how many. */
  readonly release: (worker: string, now: Instant) => Tx<number, B>
  /** Writes `Delivering.resumed` of all deliveries of a locked endpoint that are `Delivering.waitsAttempted`. */
  readonly resume: (endpoint: B["endpoint"], now: Instant) => Tx<void, B>
  /** Writes `Delivering.replayed` of the delivery, when it is `Delivering.mayReplay`. */
  readonly replay: (deliveryId: string, now: Instant) => Tx<void, B>
  /**
   * Writes `Delivering.replayed` of the endpoint's deliveries that were made at `since` or later and are
   * `Delivering.hasFailed`: the first `limit` by age, but for those that another commit has locked. Answers how many.
   */
  readonly replayFailed: (query: {
    readonly endpoint: B["endpoint"]
    readonly since: Instant
    readonly now: Instant
    readonly limit: number
  }) => Tx<number, B>

  /**
   * Events of these types that were made at `since` or later, that another endpoint of the account has a delivery of and
   * this one has none: the first `limit` by age.
   */
  readonly missingEvents: (query: {
    readonly endpoint: B["endpoint"]
    readonly since: Instant
    readonly types: ReadonlyArray<Type>
    readonly limit: number
  }) => Tx<ReadonlyArray<B["event"]>, B>
  /** Makes a delivery to the endpoint of each event, due now. */
  readonly deliver: (endpoint: B["endpoint"], events: ReadonlyArray<B["event"]>, now: Instant) => Tx<void, B>
  /** Appends an event for this endpoint alone, and answers the id of its delivery. */
  readonly appendFor: (endpoint: B["endpoint"], draft: Draft, now: Instant) => Tx<string | null, B>
  /** Appends an event for the account's endpoints that subscribe to it, but not for this one. */
  readonly note: (happenings: ReadonlyArray<Happening>) => Tx<void, B>
  readonly appendForOthers: (endpoint: Endpoint, draft: Draft, now: Instant) => Tx<void, B>
}
