/** Whose turn it is among webhook endpoints, and what becomes of deliveries when their endpoint changes. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import type { Endpoint } from "../../src/domain/webhook/Webhook.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { now, owner } from "./Setup.ts"

const page = { limit: 100, after: null }

const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const { accountId } = yield* owner

  /** An endpoint with so many deliveries that are due. */
  const endpoint = Effect.fnUntraced(function* (deliveries: number, some: Partial<Endpoint> = {}) {
    const made = Fixtures.endpoint(accountId, { events: ["session.*"], ...some })
    yield* store.create(made)
    const draft = Event.webhookTest(made.id)
    for (let n = 0; n < deliveries; n++) yield* store.send({ endpointId: made.id, draft, now })
    return made
  })
  const claim = (some: Partial<DeliveryClaim> = {}, at = now) =>
    Effect.map(
      store.settleAndClaim({ now: at, settlements: [], claim: Fixtures.deliveryClaim(some) }),
      ({ claimed }) => claimed
    )
  const settle = (settlements: ReadonlyArray<DeliverySettlement>, at = now) =>
    store.settleAndClaim({ now: at, settlements, claim: null })
  const statuses = ({ id }: Endpoint) =>
    Effect.map(store.deliveries({ endpointId: id, page }), ({ items }) =>
      items.map(({ attempts, status }) => [status, attempts.length])
    )
  return { accountId, store, endpoint, claim, settle, statuses }
})

const endpointsOf = (claimed: ReadonlyArray<ClaimedDelivery>) => claimed.map((each) => each.endpoint.id)

const settlement = (
  delivery: ClaimedDelivery | undefined,
  next: DeliverySettlement["next"],
  disable: string | null = null,
  at = now
): DeliverySettlement => ({
  deliveryId: delivery?.deliveryId ?? "",
  fence: delivery?.fence ?? -1,
  attempt: {
    at,
    status: next === "delivered" ? 200 : 500,
    durationMs: 1,
    reason: next === "delivered" ? null : "status",
    excerpt: ""
  },
  next,
  disable
})

export const suite = (layer: Stored): void => {
  describe("webhook endpoints", () => {
    it.effect("have their turns in the order of their creation, each claim behind the last one", () =>
      Effect.gen(function* () {
        const { claim, endpoint } = yield* make
        const ids: Array<string> = []
        for (let n = 0; n < 5; n++) ids.push((yield* endpoint(3)).id)
        const taken: Array<string> = []
        for (let n = 0; n < 5; n++) taken.push(...endpointsOf(yield* claim({ limit: 2 })))
        expect(taken).toEqual([...ids, ...ids])
        // One that has less than its share leaves the rest to the next claim.
        expect(endpointsOf(yield* claim({ limit: 512 }))).toEqual(ids)
        expect(yield* claim()).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that their rate holds back, or that are full, leave their turn to others", () =>
      Effect.gen(function* () {
        const { claim, endpoint, store } = yield* make
        const paced: Array<string> = []
        for (let n = 0; n < 8; n++) paced.push((yield* endpoint(2, { deliveriesPerSecond: 1 })).id)
        const other = yield* endpoint(1)
        const full = yield* endpoint(1)
        expect(endpointsOf(yield* claim({ limit: 8 }))).toEqual(paced)
        expect(endpointsOf(yield* claim({ limit: 1, full: [full.id] }))).toEqual([other.id])
        // Its turn is over, and those before it in the circle may have nothing now.
        const draft = Event.webhookTest(other.id)
        yield* store.send({ endpointId: other.id, draft, now })
        expect(endpointsOf(yield* claim({ limit: 1, full: [full.id] }))).toEqual([other.id])
        expect(yield* claim({ full: [full.id] })).toEqual([])
        expect(yield* store.nextDue({ now, full: [full.id] })).toBe(now + 1000)
      }).pipe(Effect.provide(layer))
    )

    it.effect("that a claim does not reach are left to one that does", () =>
      Effect.gen(function* () {
        const { claim, endpoint, store } = yield* make
        const away = yield* endpoint(1, { url: "https://away.example/" })
        const here = yield* endpoint(1)
        const reaches = (url: string) => url !== away.url
        expect(endpointsOf(yield* claim({ reaches }))).toEqual([here.id])
        expect(yield* store.nextDue({ now, full: [], reaches })).toBeNull()
        expect(yield* store.nextDue({ now, full: [] })).toBe(now)
        expect(endpointsOf(yield* claim())).toEqual([away.id])
      }).pipe(Effect.provide(layer))
    )

    it.effect("of one that is ready behind hundreds that are not, are found in the next claims", () =>
      Effect.gen(function* () {
        const { claim, endpoint, store } = yield* make
        for (let n = 0; n < 280; n++) yield* endpoint(1, { enabled: false })
        const { id } = yield* endpoint(1)
        const taken: Array<string> = []
        for (let n = 0; n < 3; n++) {
          expect(taken.length > 0 || (yield* store.nextDue({ now, full: [] })) === now).toBe(true)
          taken.push(...endpointsOf(yield* claim({ limit: 1 })))
        }
        expect(taken).toEqual([id])
        expect(yield* store.nextDue({ now, full: [] })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("count the first of several attempts that are handed in for one claim", () =>
      Effect.gen(function* () {
        const { claim, endpoint, settle, statuses } = yield* make
        const made = yield* endpoint(1)
        const [delivery] = yield* claim()
        const both = [settlement(delivery, "delivered"), settlement(delivery, null, "gone")]
        expect(yield* settle(both)).toMatchObject({ settled: 1, disabled: [] })
        expect(yield* statuses(made)).toEqual([["delivered", 1]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("fail since the last success, in the order in which attempts are handed in", () =>
      Effect.gen(function* () {
        const { claim, endpoint, settle, store } = yield* make
        const made = yield* endpoint(20)
        const failingSince = Effect.map(store.find(made.id), (found) => found?.failingSince)
        const claimed = yield* claim()
        const failures = (from: number, to: number) =>
          claimed.slice(from, to).map((each) => settlement(each, null))
        yield* settle([...failures(0, 9), settlement(claimed[9], "delivered")])
        expect(yield* failingSince).toBeNull()
        yield* settle([settlement(claimed[10], "delivered"), ...failures(11, 20)], Time.after(now, 1))
        expect(yield* failingSince).toBe(now + 1)
        const failed = { endpointId: made.id, since: now, now }
        const counted = yield* store.countReplayable({ ...failed, which: "failed" })
        expect([counted, yield* store.replayFailed(failed)]).toEqual([18, 18])
        expect(yield* store.countReplayable({ ...failed, which: "failed" })).toBe(0)
        const again = (yield* claim()).map((each, place) =>
          settlement(each, place === 0 ? "delivered" : null)
        )
        yield* settle(again.toReversed(), Time.after(now, 2))
        expect(yield* failingSince).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("that two attempts of one commit find gone are disabled once, and told of once", () =>
      Effect.gen(function* () {
        const { claim, endpoint, settle } = yield* make
        const listener = yield* endpoint(0, { events: ["webhook.disabled"] })
        const [first, second] = [yield* endpoint(2), yield* endpoint(1)]
        const all = (yield* claim()).map((each) => settlement(each, Time.after(now, 5), "gone"))
        const { disabled } = yield* settle(all)
        expect(disabled.map(({ id }) => id).sort()).toEqual([first.id, second.id].sort())
        const told = yield* claim({}, Time.after(now, 10))
        expect(endpointsOf(told)).toEqual([listener.id, listener.id])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that are disabled get nothing: not what is put off, rescued or replayed meanwhile", () =>
      Effect.gen(function* () {
        const { claim, endpoint, settle, statuses, store } = yield* make
        const made = yield* endpoint(3)
        const enable = (enabled: boolean) =>
          store.change({ id: made.id, change: { enabled, disabledReason: null }, now: Time.after(now, 1) })
        const [first, second] = yield* claim({ limit: 2 })
        const [third] = yield* claim({ worker: "dead" })
        yield* enable(false)
        // What was under way when it was disabled ends like every other attempt.
        expect(
          yield* settle([settlement(first, "delivered"), settlement(second, Time.after(now, 2))])
        ).toMatchObject({
          settled: 2
        })
        expect(yield* store.rescue({ worker: "dead", now })).toBe(1)
        yield* store.replay({ deliveryId: first?.deliveryId ?? "", now })
        const later = Time.after(now, Time.day)
        expect(yield* claim({}, later)).toEqual([])
        expect(yield* store.nextDue({ now: later, full: [] })).toBeNull()
        yield* enable(true)
        const resumed = yield* claim({}, Time.after(now, 1))
        const ids = [first, second, third].map((each) => each?.deliveryId)
        expect(resumed.map(({ deliveryId }) => deliveryId).sort()).toEqual([...ids].sort())
        expect(resumed.map(({ attempts }) => attempts)).toEqual([0, 0, 0])
        expect((yield* statuses(made)).sort()).toEqual([
          ["pending", 0],
          ["pending", 1],
          ["pending", 1]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that are removed take their deliveries along, also those under way, and their rate", () =>
      Effect.gen(function* () {
        const { claim, endpoint, settle, store } = yield* make
        const made = yield* endpoint(3, { deliveriesPerSecond: 1 })
        const [delivery] = yield* claim()
        expect(yield* store.remove(made.id)).toBe(true)
        expect(yield* settle([settlement(delivery, null, "gone")])).toEqual({
          settled: 0,
          claimed: [],
          disabled: []
        })
        expect(yield* store.rescue({ worker: "w", now })).toBe(0)
        expect(yield* store.replay({ deliveryId: delivery?.deliveryId ?? "", now })).toBeNull()
        yield* endpoint(1, { id: made.id, deliveriesPerSecond: 1 })
        expect(yield* claim()).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are given what they missed in the order of the events, whoever got it in which order", () =>
      Effect.gen(function* () {
        const { accountId, claim, endpoint, store } = yield* make
        const consents = yield* ConsentStore
        const grant = (phone: string, at: Time.Instant) =>
          consents.record({ accountId, records: [Fixtures.consent(phone, { recordedAt: at })] })
        const consent = { events: ["consent.*"] }
        const first = yield* endpoint(0, consent)
        yield* grant("34600000001", now)
        const second = yield* endpoint(0, consent)
        yield* grant("34600000002", Time.after(now, 1))
        expect(
          yield* store.replayMissing({ endpointId: second.id, since: now, now: Time.after(now, 2) })
        ).toBe(1)
        yield* store.remove(first.id)
        const third = yield* endpoint(0, consent)
        const missed = { endpointId: third.id, since: now, now: Time.after(now, 3) }
        const counted = yield* store.countReplayable({ ...missed, which: "missing" })
        expect([counted, yield* store.replayMissing(missed)]).toEqual([2, 2])
        expect(yield* store.countReplayable({ ...missed, which: "missing" })).toBe(0)
        const phones = (yield* claim({ full: [second.id] }, Time.after(now, 3))).map(
          ({ body }): string => JSON.parse(body).data.phone
        )
        expect(phones).toEqual(["34600000001", "34600000002"])
      }).pipe(Effect.provide(layer))
    )
  })
}
