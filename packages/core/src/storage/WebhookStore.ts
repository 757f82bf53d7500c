/**
 * Where webhook endpoints and deliveries live. Events are appended by the stores whose changes they tell, in the
 * same commit; each becomes a delivery per subscribed endpoint. A disabled endpoint's deliveries wait.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import type { Standing } from "../domain/overview/StoreReadings.ts"
import type { Counted, Page, Paged } from "../domain/Page.ts"
import type { Draft } from "../domain/webhook/Event.ts"
import type {
  Attempt,
  Change,
  Delivery,
  DeliveryStatus,
  Endpoint,
  EndpointSecret
} from "../domain/webhook/Webhook.ts"
import type { StorageError } from "./StorageError.ts"

export interface ClaimedDelivery {
  readonly deliveryId: string
  readonly fence: number
  readonly endpoint: Endpoint
  readonly eventId: string
  readonly body: string
  /** As of the `Event`. */
  readonly traceparent: string | null
  /** Attempts made before this one. */
  readonly attempts: number
  /** When the first attempt of the running schedule was made; null before it. */
  readonly firstAttemptAt: Instant | null
}

export interface DeliverySettlement {
  readonly deliveryId: string
  readonly fence: number
  readonly attempt: Omit<Attempt, "number">
  /** null = given up. */
  readonly next: "delivered" | Instant | null
  /**
   * Disables the endpoint for this reason, as 5 days of nothing but failures do, with a `webhook.disabled` event to the
   * account's other endpoints.
   */
  readonly disable: string | null
}

/** The room of a claim: so many deliveries in all, and of each endpoint as many as it has room for. */
export interface DeliveryClaim {
  /** In whose hands they are then, until it hands them in or is rescued. */
  readonly worker: string
  readonly limit: number
  /** Endpoints that are passed over, whatever waits for them. */
  readonly full: ReadonlyArray<string>
  /** How many of any other endpoint, at least 1. */
  readonly room: (endpointId: string) => number
  /** False of an address whose endpoints are passed over, too. Every address when absent. */
  readonly reaches?: ((url: string) => boolean) | undefined
}

/** So many endpoints are counted at most, so many deliveries of each, and the attempts of so many of the newest deliveries. */
export const mostCounted = { endpoints: 10_000, deliveries: 1000, newest: 200, tried: 20 } as const

/** Which deliveries are on the page of a list. */
export interface DeliveryFilter {
  readonly endpointId?: string | undefined
  readonly status?: DeliveryStatus | undefined
  readonly type?: string | undefined
  /** Created since, inclusive. */
  readonly since?: Instant | undefined
  /** Created before, exclusive. */
  readonly before?: Instant | undefined
  /** The id of a message, or of a job with its messages, of which they tell. */
  readonly about?: string | undefined
}

/** Replayed at once; whoever wants more asks again. */
export const replayLimit = 1000

export class WebhookStore extends Context.Tag("@sendwright/core/storage/WebhookStore")<
  WebhookStore,
  {
    readonly create: (endpoint: Endpoint) => Effect.Effect<void, StorageError>
    readonly find: (id: string) => Effect.Effect<Endpoint | null, StorageError>
    /** Newest first, of all accounts where it names none. */
    readonly list: (query: {
      readonly accountId?: string | undefined
      /** Only webhooks that are disabled, or whose last attempt failed. */
      readonly isFailing?: true | undefined
      readonly page: Page
    }) => Effect.Effect<Paged<Endpoint>, StorageError>
    /**
     * Replaces the given fields. Enabling makes what waited due at once, oldest first and with a fresh schedule. Null
     * when there is no such endpoint.
     */
    readonly change: (command: {
      readonly id: string
      readonly change: Change
      readonly now: Instant
    }) => Effect.Effect<Endpoint | null, StorageError>
    /** With its deliveries; false when there was none. */
    readonly remove: (id: string) => Effect.Effect<boolean, StorageError>
    /** Adds the secret as the current one; the others expire at `expireOthersAt`, and expired ones are dropped. */
    readonly rotate: (command: {
      readonly id: string
      readonly secret: EndpointSecret
      readonly expireOthersAt: Instant
      readonly now: Instant
    }) => Effect.Effect<Endpoint | null, StorageError>
    /** Appends an event for this endpoint alone; answers the delivery's id, null when there is no such endpoint. */
    readonly send: (command: {
      readonly endpointId: string
      readonly draft: Draft
      readonly now: Instant
    }) => Effect.Effect<string | null, StorageError>

    /**
     * Stores attempts and claims due deliveries of enabled endpoints, in one commit. Endpoints have their turns; of
     * each the oldest due go first, no more than its rate allows.
     */
    readonly settleAndClaim: (command: {
      readonly now: Instant
      readonly settlements: ReadonlyArray<DeliverySettlement>
      readonly claim: DeliveryClaim | null
    }) => Effect.Effect<
      {
        readonly settled: number
        readonly claimed: ReadonlyArray<ClaimedDelivery>
        /** Endpoints that the attempts disabled. */
        readonly disabled: ReadonlyArray<Endpoint>
      },
      StorageError
    >

    /**
     * Makes what a dead worker had claimed due again; its late answers change nothing. Answers how many deliveries. The
     * worker is not forgotten, since `JobStore.rescue` compares the same count: it comes after this.
     *
     * `beats`: the last count by which the worker is taken for dead. One that has another count by now lives, and keeps what
     * it has; a heartbeat that comes meanwhile waits for this commit.
     */
    readonly rescue: (command: {
      readonly worker: string
      readonly beats?: number
      readonly now: Instant
    }) => Effect.Effect<number, StorageError>

    /**
     * Makes due what a clock that was ahead put off: deliveries that are due later than now, and that were never
     * attempted or were attempted last later than now. As `JobStore.makeDue`; answers how many.
     */
    readonly makeDue: (command: { readonly now: () => Instant }) => Effect.Effect<number, StorageError>

    readonly findDelivery: (id: string) => Effect.Effect<Delivery | null, StorageError>
    /** The exact JSON text that a delivery brings; null when there is no such delivery. */
    readonly payload: (deliveryId: string) => Effect.Effect<string | null, StorageError>
    /**
     * Newest first, each with every attempt; of all endpoints where it names none. What tells of a job
     * or a message is looked for among what was made since its id was.
     */
    readonly deliveries: (
      query: DeliveryFilter & { readonly page: Page }
    ) => Effect.Effect<Paged<Delivery>, StorageError>
    /** How many such a list has, as far as one look at some thousands tells. */
    readonly countDeliveries: (query: DeliveryFilter) => Effect.Effect<Counted, StorageError>
    /**
     * Makes a delivery due at once with a fresh schedule, its attempts kept; null when there is none. One that a worker
     * has in its hands stays as it is.
     */
    readonly replay: (command: {
      readonly deliveryId: string
      readonly now: Instant
    }) => Effect.Effect<Delivery | null, StorageError>
    /**
     * The same for those of an endpoint that were created since a time, were attempted and did not arrive: at most
     * {@link replayLimit}, those that still wait for a later attempt and those that were given up. Answers how many;
     * what is due already is not among them.
     */
    readonly replayFailed: (command: {
      readonly endpointId: string
      readonly since: Instant
      readonly now: Instant
    }) => Effect.Effect<number, StorageError>
    /**
     * Delivers to an endpoint what it now subscribes to and never got: events since a time that are kept because
     * another endpoint of the account got them. At most {@link replayLimit}; answers how many.
     */
    readonly replayMissing: (command: {
      readonly endpointId: string
      readonly since: Instant
      readonly now: Instant
    }) => Effect.Effect<number, StorageError>

    /** How many deliveries these two would make due, no further than {@link replayLimit}; changes nothing. */
    readonly countReplayable: (query: {
      readonly endpointId: string
      readonly since: Instant
      readonly now: Instant
      readonly which: "failed" | "missing"
    }) => Effect.Effect<number, StorageError>

    /** How the endpoints of the store do: those that fail or are disabled, the newest `most` of them, and some thousands at most. */
    readonly standing: (query: { readonly most: number }) => Effect.Effect<Standing, StorageError>

    /** How many deliveries to enabled endpoints wait for an attempt; `most` where there are more. */
    readonly countWaiting: (query: { readonly most: number }) => Effect.Effect<number, StorageError>

    /** When the next delivery that is not claimed is due, not looking at some endpoints; null when nothing waits. */
    readonly nextDue: (query: {
      readonly now: Instant
      readonly full: ReadonlyArray<string>
      readonly reaches?: ((url: string) => boolean) | undefined
    }) => Effect.Effect<Instant | null, StorageError>
  }
>() {}
