/**
 * Webhooks: endpoints have their turns, and their deliveries are claimed, settled, replayed and rescued. Written once
 * for all stores: the decisions are `domain/webhook/Delivering` and `domain/webhook/Webhook`, the reads and writes
 * {@link WebhookRows}.
 *
 *     exchange:     settle → claim
 *     settle:       lockClaimed → attempted → the endpoints that this changes
 *     claim:        dueEndpoints → those that are ready get the same share each, within their room and their pace
 */

import * as ApiKey from "../../domain/account/ApiKey.ts"
import { groupBy } from "../../domain/GroupBy.ts"
import * as Happening from "../../domain/Happening.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Pacing from "../../domain/session/Pacing.ts"
import * as Delivering from "../../domain/webhook/Delivering.ts"
import * as Event from "../../domain/webhook/Event.ts"
import type { Change, Endpoint, EndpointSecret } from "../../domain/webhook/Webhook.ts"
import * as Webhook from "../../domain/webhook/Webhook.ts"
import type { Program } from "../Program.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../WebhookStore.ts"
import { replayLimit, type WebhookStore } from "../WebhookStore.ts"
import type {
  AttemptedDelivery,
  DueEndpoint,
  StoredDelivery,
  StoredEndpoint,
  WebhookRows
} from "./WebhookRows.ts"

/** The answer of an exchange, as `WebhookStore.settleAndClaim` says. */
export interface SettledAndClaimed {
  readonly settled: number
  readonly claimed: ReadonlyArray<ClaimedDelivery>
  readonly disabled: ReadonlyArray<Endpoint>
}

export interface Deliveries {
  readonly settleAndClaim: (command: {
    readonly now: Instant
    readonly settlements: ReadonlyArray<DeliverySettlement>
    readonly claim: DeliveryClaim | null
  }) => Program<SettledAndClaimed>
  /** Answers when the next delivery may be claimed, as `WebhookStore.nextDue` says. */
  readonly nextDue: (query: {
    readonly now: Instant
    readonly full: ReadonlyArray<string>
    readonly reaches?: ((url: string) => boolean) | undefined
  }) => Program<Instant | null>
}

const everywhere = (): boolean => true

/** The endpoint after these attempts, in the order in which they were handed in. */
const afterAll = (
  endpoint: Endpoint,
  settlements: ReadonlyArray<DeliverySettlement>,
  now: Instant
): Endpoint =>
  settlements.reduce(
    (before, { disable, next }) =>
      Webhook.afterAttempt(before, { delivered: next === "delivered", disable, now }),
    endpoint
  )

/** Writes what the attempts change of their endpoint, and answers it when they disabled it. */
function* settleEndpoint(
  rows: WebhookRows,
  settlements: ReadonlyArray<DeliverySettlement>,
  known: Endpoint,
  now: Instant
): Program<Endpoint | null> {
  // Most attempts change nothing of their endpoint, and then nobody waits for its row.
  if (afterAll(known, settlements, now) === known) return null
  const locked = yield* rows.lockEndpoint(known.id)
  if (locked === null) return null
  const before = locked.value
  const after = afterAll(before, settlements, now)
  if (after !== before) yield* rows.saveEndpoint(locked, after)
  const recovered = Happening.ofRecovery(before, after, now)
  if (recovered.length > 0) yield* rows.note(recovered)
  if (!before.enabled || after.enabled) return null
  yield* rows.note([Happening.ofEndpoint(after, now)])
  yield* rows.appendForOthers(after, Event.webhookDisabled(after, after.disabledReason ?? ""), now)
  return after
}

/** Settles the attempts that are still awaited. Of several for one claim the first counts. */
function* settle(
  rows: WebhookRows,
  settlements: ReadonlyArray<DeliverySettlement>,
  now: Instant
): Program<Omit<SettledAndClaimed, "claimed">> {
  if (settlements.length === 0) return { settled: 0, disabled: [] }
  const claimed = new Map<string, StoredDelivery>()
  for (const delivery of yield* rows.lockClaimed([
    ...new Set(settlements.map(({ deliveryId }) => deliveryId))
  ]))
    claimed.set(delivery.id, delivery)
  const attempted: Array<AttemptedDelivery & { readonly settlement: DeliverySettlement }> = []
  for (const settlement of settlements) {
    const { attempt, deliveryId, fence, next } = settlement
    const delivery = claimed.get(deliveryId)
    if (delivery === undefined || !Delivering.isAwaited(delivery, fence)) continue
    claimed.delete(deliveryId)
    const after = Delivering.attempted(delivery, { at: attempt.at, next })
    attempted.push({ delivery: after, attempt, settlement })
  }
  if (attempted.length === 0) return { settled: 0, disabled: [] }
  yield* rows.saveAttempts(attempted)
  const byEndpoint = groupBy(attempted, ({ delivery }) => delivery.endpointId)
  const disabled: Array<Endpoint> = []
  // In the order of their ids, in which all commits lock endpoints.
  for (const { value } of yield* rows.endpoints([...byEndpoint.keys()])) {
    const ofEndpoint = (byEndpoint.get(value.id) ?? []).map(({ settlement }) => settlement)
    const endpoint = yield* settleEndpoint(rows, ofEndpoint, value, now)
    if (endpoint !== null) disabled.push(endpoint)
  }
  return { settled: attempted.length, disabled }
}

export const make = (rows: WebhookRows): Deliveries => {
  // A hint of this process. A verb that is run again only moves it on, which no endpoint suffers from.
  /** The position of the endpoint whose turn it was last. */
  let turn = 0

  /** Endpoints with something to deliver now, from the one whose turn it is: no more than the claim can give one each. */
  function* readyEndpoints(
    { full, limit, reaches = everywhere }: DeliveryClaim,
    now: Instant
  ): Program<ReadonlyArray<StoredEndpoint>> {
    const passedOver = new Set(full)
    const ready: Array<StoredEndpoint> = []
    const circle = Delivering.circleFrom(turn)
    // Where nothing is due the next circle begins with the first endpoint.
    turn = 0
    for (const { after, until } of circle) {
      let last: number | null = after
      // Enough for the claim where no pace holds anybody back, and then ever more.
      for (let size = limit + full.length; last !== null; size *= 4) {
        const page: ReadonlyArray<DueEndpoint> = yield* rows.dueEndpoints({
          after: last,
          until,
          now,
          limit: size
        })
        for (const { arrival, endpoint, position } of page) {
          const { deliveriesPerSecond, id, url } = endpoint.value
          last = turn = position
          // Judged without a lock: the pace only grows, so this never passes over one that is ready.
          if (!passedOver.has(id) && reaches(url) && Delivering.mayHave(deliveriesPerSecond, arrival, now))
            ready.push(endpoint)
          if (ready.length === limit) return ready
        }
        if (page.length < size) last = null
      }
    }
    return ready
  }

  /** Gives at most `most` due deliveries of an endpoint, within its pace. */
  function* claimOf(
    endpoint: StoredEndpoint,
    { worker }: DeliveryClaim,
    most: number,
    now: Instant
  ): Program<ReadonlyArray<Claimed>> {
    const { deliveriesPerSecond: perSecond, id } = endpoint.value
    // Another commit that has the pace locked delivers to the endpoint at this moment.
    if (perSecond !== null && !(yield* rows.tryLockPace(id))) return []
    const arrival = perSecond === null ? null : yield* rows.arrival(id)
    const limit = perSecond === null ? most : Pacing.grant(arrival, perSecond, most, now).granted
    const due = limit <= 0 ? [] : yield* rows.lockDue({ endpoint, now, limit })
    if (perSecond !== null && due.length > 0)
      yield* rows.saveArrival(id, Pacing.grant(arrival, perSecond, due.length, now).arrival)
    return due.map(({ body, delivery: before, eventId, traceparent }) => {
      const delivery = Delivering.claimed(before, worker)
      const { fence, firstAttemptAt, id: deliveryId, tries: attempts } = delivery
      const event = { eventId, body, traceparent }
      const given = { deliveryId, fence, endpoint: endpoint.value, ...event, attempts, firstAttemptAt }
      return { delivery, given }
    })
  }

  function* claim(asked: DeliveryClaim, now: Instant): Program<ReadonlyArray<ClaimedDelivery>> {
    if (asked.limit <= 0) return []
    const ready = yield* readyEndpoints(asked, now)
    const share = Delivering.shareOf(asked.limit, ready.length)
    const claimed: Array<Claimed> = []
    for (const endpoint of ready)
      claimed.push(...(yield* claimOf(endpoint, asked, Math.min(share, asked.room(endpoint.value.id)), now)))
    if (claimed.length > 0)
      yield* rows.saveClaims(
        claimed.map(({ delivery }) => delivery),
        asked.worker
      )
    return claimed.map(({ given }) => given)
  }

  return {
    settleAndClaim: function* (command) {
      const { disabled, settled } = yield* settle(rows, command.settlements, command.now)
      const claimed = command.claim === null ? [] : yield* claim(command.claim, command.now)
      return { settled, disabled, claimed }
    },

    nextDue: function* ({ full, now, reaches = everywhere }) {
      const passedOver = new Set(full)
      let next: Instant | null = null
      for (const endpoint of yield* rows.waitingEndpoints()) {
        const isLeft = passedOver.has(endpoint.id) || !reaches(endpoint.url)
        const at = isLeft ? null : Delivering.readyAt(endpoint, now)
        if (at !== null && (next === null || at < next)) next = at
      }
      return next
    }
  }
}

/** A claimed delivery as its row keeps it, and as the worker gets it. */
interface Claimed {
  readonly delivery: StoredDelivery
  readonly given: ClaimedDelivery
}

/** `WebhookStore.rescue`. */
export function* rescue(
  rows: WebhookRows,
  { beats, now, worker }: { readonly worker: string; readonly beats?: number; readonly now: Instant }
): Program<number> {
  if (beats !== undefined && !(yield* rows.lockWorker(worker, beats))) return 0
  return yield* rows.release(worker, now)
}

/** `WebhookStore.change`. */
export function* change(
  rows: WebhookRows,
  command: { readonly id: string; readonly change: Change; readonly now: Instant }
): Program<Endpoint | null> {
  const endpoint = yield* rows.lockEndpoint(command.id)
  if (endpoint === null) return null
  const value = Webhook.change(endpoint.value, command.change, command.now)
  yield* rows.saveEndpoint(endpoint, value)
  if (value.enabled && !endpoint.value.enabled) yield* rows.resume(endpoint, command.now)
  return value
}

/** `WebhookStore.remove`. */
export function* remove(rows: WebhookRows, id: string): Program<boolean> {
  const endpoint = yield* rows.lockEndpoint(id)
  if (endpoint !== null) yield* rows.removeEndpoint(endpoint)
  return endpoint !== null
}

/** `WebhookStore.rotate`. */
export function* rotate(
  rows: WebhookRows,
  command: {
    readonly id: string
    readonly secret: EndpointSecret
    readonly expireOthersAt: Instant
    readonly now: Instant
  }
): Program<Endpoint | null> {
  const { expireOthersAt, id, now, secret } = command
  const endpoint = yield* rows.lockEndpoint(id)
  if (endpoint === null) return null
  const secrets = ApiKey.rotateSecrets(endpoint.value.secrets, secret, expireOthersAt, now)
  const value = { ...endpoint.value, secrets, updatedAt: now }
  yield* rows.saveEndpoint(endpoint, value)
  return value
}

/** `WebhookStore.send`. The endpoint is locked, or its removal could leave the delivery behind. */
export function* send(
  rows: WebhookRows,
  command: { readonly endpointId: string; readonly draft: Event.Draft; readonly now: Instant }
): Program<string | null> {
  const endpoint = yield* rows.lockEndpoint(command.endpointId)
  return endpoint === null ? null : yield* rows.appendFor(endpoint, command.draft, command.now)
}

/** `WebhookStore.replayFailed`. */
export function* replayFailed(
  rows: WebhookRows,
  { endpointId, now, since }: { readonly endpointId: string; readonly since: Instant; readonly now: Instant }
): Program<number> {
  const [endpoint] = yield* rows.endpoints([endpointId])
  return endpoint === undefined ? 0 : yield* rows.replayFailed({ endpoint, since, now, limit: replayLimit })
}

/** The types of events that the endpoint has no delivery of where another has. */
const missed = ({ value }: StoredEndpoint) => Event.types.filter((type) => Webhook.misses(value, type))

/** `WebhookStore.countReplayable`. */
export function* countReplayable(
  rows: WebhookRows,
  { endpointId, now, since, which }: Parameters<WebhookStore["Type"]["countReplayable"]>[0]
): Program<number> {
  const [endpoint] = yield* rows.endpoints([endpointId])
  if (endpoint === undefined) return 0
  const limit = replayLimit
  if (which === "failed") return yield* rows.countFailed({ endpoint, since, now, limit })
  return (yield* rows.missingEvents({ endpoint, since, types: missed(endpoint), limit })).length
}

/** `WebhookStore.replayMissing`. The endpoint is locked, so that two of them deliver nothing twice. */
export function* replayMissing(
  rows: WebhookRows,
  { endpointId, now, since }: { readonly endpointId: string; readonly since: Instant; readonly now: Instant }
): Program<number> {
  const endpoint = yield* rows.lockEndpoint(endpointId)
  if (endpoint === null) return 0
  yield* rows.lockEvents()
  const events = yield* rows.missingEvents({ endpoint, since, types: missed(endpoint), limit: replayLimit })
  yield* rows.deliver(endpoint, events, now)
  return events.length
}
