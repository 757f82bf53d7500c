/** Webhook endpoints, their secrets, their deliveries and replays. */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Counted, Page, Paged } from "../../domain/Page.ts"
import * as Event from "../../domain/webhook/Event.ts"
import type { Delivery, Endpoint, EndpointSecret } from "../../domain/webhook/Webhook.ts"
import * as Webhook from "../../domain/webhook/Webhook.ts"
import { Signals } from "../../runtime/Signals.ts"
import type { Readable } from "../../schema/Readable.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { type DeliveryFilter, replayLimit, WebhookStore } from "../../storage/WebhookStore.ts"
import { AddressPolicy } from "../../webhook/AddressPolicy.ts"
import * as Recorder from "./Recorder.ts"
import { refuseIf } from "./RefuseIf.ts"
import * as ValidateName from "./ValidateName.ts"

export interface Registered {
  readonly endpoint: Endpoint
  /** Shown now and never again. */
  readonly secret: string
}

export interface DeliveryQuery extends DeliveryFilter {
  readonly page: Page
}

export interface DeliveryDetail extends Delivery {
  /** The exact JSON text. */
  readonly payload: string
}

export interface EndpointChange {
  readonly url?: string | undefined
  readonly events?: ReadonlyArray<string> | undefined
  readonly description?: string | undefined
  readonly enabled?: boolean | undefined
  /** The most deliveries per second; null = as fast as it answers. */
  readonly deliveriesPerSecond?: number | null | undefined
  /** True when up to a hundred recipients' changes share one event, `recipient.batch`. */
  readonly batchRecipients?: boolean | undefined
}

export interface Webhooks {
  readonly create: (
    accountId: string,
    input: Omit<EndpointChange, "enabled"> & { readonly url: string }
  ) => Effect.Effect<Registered, InvalidRequest | NotFound | StorageError>
  /** The rules that a new or changed endpoint breaks, as far as it can be read. */
  readonly faults: (input: Readable<EndpointChange>) => ReadonlyArray<Fault.Fault>
  readonly find: (id: string) => Effect.Effect<Endpoint, NotFound | StorageError>
  readonly list: (accountId: string, page: Page) => Effect.Effect<Paged<Endpoint>, NotFound | StorageError>
  /** Webhooks of all accounts, newest first; with `isFailing` only those that are disabled, or whose last attempt failed. */
  readonly all: (query: {
    readonly isFailing?: boolean | undefined
    readonly page: Page
  }) => Effect.Effect<Paged<Endpoint>, StorageError>
  readonly change: (
    id: string,
    input: EndpointChange
  ) => Effect.Effect<Endpoint, InvalidRequest | NotFound | StorageError>
  readonly remove: (id: string) => Effect.Effect<void, NotFound | StorageError>
  /**
   * The old secrets sign beside the new one for the overlap; a day unless said otherwise, and a week at most. Refused
   * while {@link oldSecrets} old ones still sign.
   */
  readonly rotate: (
    id: string,
    input: { readonly overlapSeconds?: number | undefined }
  ) => Effect.Effect<Registered, InvalidRequest | NotFound | StorageError>
  /** Sends a `webhook.test` to this endpoint alone; answers the delivery's id. */
  readonly test: (id: string) => Effect.Effect<string, NotFound | StorageError>
  readonly deliveries: (id: string, page: Page) => Effect.Effect<Paged<Delivery>, NotFound | StorageError>
  /** Deliveries to all endpoints, newest first. */
  readonly allDeliveries: (query: DeliveryQuery) => Effect.Effect<Paged<Delivery>, StorageError>
  /** How many of them there are, as far as one look at some thousands tells. */
  readonly countDeliveries: (query: DeliveryFilter) => Effect.Effect<Counted, StorageError>
  /** With what it brings, as it is sent. */
  readonly delivery: (id: string) => Effect.Effect<DeliveryDetail, NotFound | StorageError>
  readonly replay: (deliveryId: string) => Effect.Effect<Delivery, NotFound | StorageError>
  /**
   * Delivers events created since a time again: those that were attempted and did not arrive, or those that this
   * endpoint never had (`missing`). Answers how many. A second call finds none. With `dryRun` it changes nothing, and counts no
   * further than {@link replayLimit}.
   */
  readonly replaySince: (command: {
    readonly id: string
    readonly since: Instant
    readonly which: "failed" | "missing"
    readonly dryRun?: boolean | undefined
  }) => Effect.Effect<number, NotFound | StorageError>
}

const defaultOverlapSeconds = 24 * 60 * 60
const longestOverlapSeconds = 7 * 24 * 60 * 60
const secretBytes = 32

/** Secrets that sign beside the current one, at most. */
export const oldSecrets = 10

const faultsBy =
  (policy: Context.Tag.Service<AddressPolicy>) =>
  ({
    deliveriesPerSecond,
    description,
    events,
    url
  }: Readable<EndpointChange>): ReadonlyArray<Fault.Fault> => {
    const message = url === undefined ? undefined : policy.check(url)
    return [
      ...(message === undefined ? [] : [Fault.make(["url"], "invalid_value", message)]),
      ...(events ?? []).flatMap((pattern, at) =>
        pattern === undefined || Event.isPattern(pattern)
          ? []
          : [
              Fault.make(
                ["events", at],
                "invalid_value",
                `No event matches this. Known are ${Event.types.join(", ")}, a family such as job.*, and *.`
              )
            ]
      ),
      ...(events !== undefined && events.length === 0
        ? [Fault.make(["events"], "out_of_range", "`events` must have at least one pattern.")]
        : []),
      ...(typeof deliveriesPerSecond === "number" &&
      !(deliveriesPerSecond > 0 && deliveriesPerSecond <= Webhook.maximumPace)
        ? [
            Fault.make(
              ["deliveries_per_second"],
              "out_of_range",
              "`deliveries_per_second` must be above 0 and at most 10,000, or null for no limit."
            )
          ]
        : []),
      ...(description === undefined || description === ""
        ? []
        : ValidateName.validateName(description, "description", Webhook.maximumDescription))
    ]
  }

const rotationFaults = (
  secrets: ReadonlyArray<EndpointSecret>,
  overlapSeconds: number | undefined,
  now: Instant
): ReadonlyArray<Fault.Fault> => {
  const fault = (message: string) => [Fault.make(["overlap_seconds"], "out_of_range", message)]
  if (overlapSeconds !== undefined && overlapSeconds > longestOverlapSeconds) {
    return fault(`\`overlap_seconds\` must be at most ${longestOverlapSeconds}, a week.`)
  }
  const living = secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now).length
  return living > oldSecrets && overlapSeconds !== 0
    ? fault(
        `${oldSecrets} old secrets still sign. Wait until one has expired, or give \`overlap_seconds\` 0, which ends them all.`
      )
    : []
}

const secretsBy =
  (box: Context.Tag.Service<SecretBox>, randomBytes: Context.Tag.Service<typeof Ids.RandomBytes>) =>
  (id: string, now: Instant) => {
    const secret = `whsec_${Buffer.from(randomBytes(secretBytes)).toString("base64")}`
    return {
      secret,
      stored: { sealed: box.seal(Webhook.place(id), secret), createdAt: now, expiresAt: null }
    }
  }

const freshEndpoint = ({
  accountId,
  id,
  input,
  now,
  secret
}: {
  readonly id: string
  readonly accountId: string
  readonly input: Parameters<Webhooks["create"]>[1]
  readonly secret: EndpointSecret
  readonly now: Instant
}): Endpoint => ({
  id,
  accountId,
  url: input.url,
  events: input.events ?? Event.defaultSubscription,
  description: input.description ?? null,
  enabled: true,
  disabledReason: null,
  secrets: [secret],
  failingSince: null,
  deliveriesPerSecond: input.deliveriesPerSecond ?? null,
  batchRecipients: input.batchRecipients ?? false,
  createdAt: now,
  updatedAt: now
})

/** Only fields that are given change. */
const changeOf = ({
  batchRecipients,
  deliveriesPerSecond,
  description,
  enabled,
  events,
  url
}: EndpointChange): Webhook.Change => ({
  ...(url === undefined ? {} : { url }),
  ...(events === undefined ? {} : { events }),
  ...(description === undefined ? {} : { description }),
  ...(deliveriesPerSecond === undefined ? {} : { deliveriesPerSecond }),
  ...(batchRecipients === undefined ? {} : { batchRecipients }),
  ...(enabled === undefined ? {} : { enabled, disabledReason: enabled ? null : Webhook.disabledByOperator })
})

/** In parts, so that a long outage's deliveries do not block other requests. */
const replayingBy = (
  store: Context.Tag.Service<typeof WebhookStore>,
  record: Recorder.Recorder,
  find: (id: string) => Effect.Effect<Endpoint, NotFound | StorageError>,
  due: Effect.Effect<void>
): Webhooks["replaySince"] =>
  Effect.fnUntraced(function* ({ dryRun = false, id, since, which }) {
    yield* find(id)
    if (dryRun) return yield* store.countReplayable({ endpointId: id, since, now: yield* Time.now, which })
    const verb = which === "failed" ? store.replayFailed : store.replayMissing
    let replayed = 0
    for (let more = true; more; ) {
      const now = yield* Time.now
      const entry = (replayed: number) => ({
        target: id,
        after: { replayed, which, since: Time.format(since) }
      })
      const part = verb({ endpointId: id, since, now })
      const count = yield* record({ operation: "webhooks.replaySince", entry }, part)
      replayed += count
      more = count === replayLimit
      yield* due
    }
    return replayed
  })

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const box = yield* SecretBox
  const policy = yield* AddressPolicy
  const store = yield* WebhookStore
  const signals = yield* Signals
  const record = yield* Recorder.make
  const randomBytes = yield* Ids.RandomBytes
  const ids = Ids.make(randomBytes)

  const missing = Effect.fail(new NotFound({ what: "webhook" }))
  const due = signals.deliveries.notify
  const faults = faultsBy(policy)

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const find = Effect.fnUntraced(function* (id: string) {
    return (yield* store.find(id)) ?? (yield* missing)
  })

  const freshSecret = secretsBy(box, randomBytes)

  const webhooks: Webhooks = {
    faults,
    create: Effect.fnUntraced(function* (accountId, input) {
      yield* account(accountId)
      yield* refuseIf(faults(input))
      const now = yield* Time.now
      const id = ids.uuid(now)
      const { secret, stored } = freshSecret(id, now)
      const endpoint = freshEndpoint({ id, accountId, input, secret: stored, now })
      yield* store.create(endpoint)
      return { endpoint, secret }
    }),
    list: Effect.fnUntraced(function* (accountId, page) {
      yield* account(accountId)
      return yield* store.list({ accountId, page })
    }),
    find,
    all: ({ isFailing = false, page }) => store.list({ isFailing: isFailing ? true : undefined, page }),
    change: Effect.fnUntraced(function* (id, input) {
      yield* find(id)
      yield* refuseIf(faults(input))
      const now = yield* Time.now
      const endpoint = yield* store.change({ id, change: changeOf(input), now })
      yield* due
      return endpoint ?? (yield* missing)
    }),
    remove: Effect.fnUntraced(function* (id) {
      if (!(yield* store.remove(id))) yield* missing
    }),
    rotate: Effect.fnUntraced(function* (id, { overlapSeconds }) {
      const now = yield* Time.now
      const { secrets } = yield* find(id)
      yield* refuseIf(rotationFaults(secrets, overlapSeconds, now))
      const { secret, stored } = freshSecret(id, now)
      const expireOthersAt = Time.after(now, (overlapSeconds ?? defaultOverlapSeconds) * Time.second)
      const endpoint = (yield* store.rotate({ id, secret: stored, expireOthersAt, now })) ?? (yield* missing)
      return { endpoint, secret }
    }),
    test: Effect.fnUntraced(function* (id) {
      yield* find(id)
      const now = yield* Time.now
      const deliveryId = yield* store.send({ endpointId: id, draft: Event.webhookTest(id), now })
      yield* due
      return deliveryId ?? (yield* missing)
    }),
    deliveries: Effect.fnUntraced(function* (id, page) {
      yield* find(id)
      return yield* store.deliveries({ endpointId: id, page })
    }),
    allDeliveries: store.deliveries,
    countDeliveries: store.countDeliveries,
    delivery: Effect.fnUntraced(function* (id) {
      const found = yield* store.findDelivery(id)
      const payload = found === null ? null : yield* store.payload(id)
      return found === null || payload === null
        ? yield* new NotFound({ what: "delivery" })
        : { ...found, payload }
    }),
    replay: Effect.fnUntraced(function* (deliveryId) {
      const now = yield* Time.now
      const delivery = yield* store.replay({ deliveryId, now })
      yield* due
      return delivery ?? (yield* new NotFound({ what: "delivery" }))
    }),
    replaySince: replayingBy(store, record, find, due)
  }
  return webhooks
})
