/** Deliveries in the hands of a worker, and at an operator's word. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { ClaimedDelivery, DeliveryClaim, DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { listen, now, owner } from "./Setup.ts"

const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const { accountId, sessionId } = yield* owner
  const endpoint = yield* listen(accountId)
  const draft = Event.webhookTest(endpoint.id)
  const send = (at: Time.Instant) => store.send({ endpointId: endpoint.id, draft, now: at })
  const claim = (at: Time.Instant, limit = 100) => {
    const lease = Fixtures.deliveryClaim({ limit })
    return Effect.map(
      store.settleAndClaim({ now: at, settlements: [], claim: lease }),
      ({ claimed }) => claimed
    )
  }
  const nextDue = store.nextDue({ now, full: [] })
  const settle = (
    delivery: ClaimedDelivery | undefined,
    next: DeliverySettlement["next"],
    at: Time.Instant
  ) => {
    const settlement = {
      deliveryId: delivery?.deliveryId ?? "",
      fence: delivery?.fence ?? -1,
      attempt: { at, status: next === "delivered" ? 200 : 500, durationMs: 1, reason: null, excerpt: "" },
      next,
      disable: null
    }
    return Effect.map(
      store.settleAndClaim({ now: at, settlements: [settlement], claim: null }),
      ({ settled }) => settled
    )
  }
  const attempts = (id: string | null) =>
    Effect.map(store.findDelivery(id ?? ""), (delivery) => delivery?.attempts.length)
  return { attempts, claim, endpoint, nextDue, send, sessionId, settle, store }
})

export const suite = (layer: Stored): void => {
  describe("deliveries", () => {
    it.effect("are taken oldest due first, no more than asked for", () =>
      Effect.gen(function* () {
        const { claim, send } = yield* make
        const later = yield* send(Time.after(now, 10))
        const [first, second] = [yield* send(now), yield* send(Time.after(now, 1))]
        const ids = (claimed: ReadonlyArray<ClaimedDelivery>) => claimed.map(({ deliveryId }) => deliveryId)
        expect(ids(yield* claim(Time.after(now, 20), 2))).toEqual([first, second])
        expect(ids(yield* claim(Time.after(now, 20), 2))).toEqual([later])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "that waited for a disabled endpoint start their schedule afresh, in the order of their making",
      () =>
        Effect.gen(function* () {
          const { claim, endpoint, send, settle, store } = yield* make
          const [first, second] = [yield* send(now), yield* send(Time.after(now, 1))]
          const tried = yield* claim(Time.after(now, 1), 1)
          expect(tried.map(({ deliveryId }) => deliveryId)).toEqual([first])
          yield* settle(tried[0], Time.after(now, 86_400_000), Time.after(now, 1))
          const enable = (enabled: boolean, at: Time.Instant) =>
            store.change({ id: endpoint.id, change: { enabled, disabledReason: null }, now: at })
          yield* enable(false, Time.after(now, 2))
          const third = yield* send(Time.after(now, 3))
          const week = Time.after(now, 7 * 86_400_000)
          yield* enable(true, week)
          const resumed = yield* claim(week)
          expect(
            resumed.map(({ attempts, deliveryId, firstAttemptAt }) => [deliveryId, attempts, firstAttemptAt])
          ).toEqual([first, second, third].map((id) => [id, 0, null]))
        }).pipe(Effect.provide(layer))
    )

    it.effect("of many endpoints have their turns, whatever waits for one of them", () =>
      Effect.gen(function* () {
        const { claim, endpoint, send, store } = yield* make
        for (let n = 0; n < 20; n++) yield* send(Time.after(now, n))
        const other = yield* listen(endpoint.accountId)
        const draft = Event.webhookTest(other.id)
        yield* store.send({ endpointId: other.id, draft, now: Time.after(now, 50) })
        const taken = yield* claim(Time.after(now, 60), 4)
        expect(taken.map((each) => each.endpoint.id).sort()).toEqual(
          [endpoint.id, endpoint.id, other.id].sort()
        )
        expect(yield* claim(Time.after(now, 60), 4)).toHaveLength(4)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are taken from no endpoint that is full, and no more than another has room for", () =>
      Effect.gen(function* () {
        const { endpoint, nextDue, send, store } = yield* make
        for (let n = 0; n < 5; n++) yield* send(now)
        const claim = (some: Partial<DeliveryClaim>) =>
          Effect.map(
            store.settleAndClaim({ now, settlements: [], claim: Fixtures.deliveryClaim(some) }),
            ({ claimed }) => claimed.length
          )
        expect(yield* claim({ full: [endpoint.id] })).toBe(0)
        expect(yield* store.nextDue({ now, full: [endpoint.id] })).toBeNull()
        expect(yield* claim({ room: () => 2 })).toBe(2)
        expect(yield* claim({ limit: 0 })).toBe(0)
        expect(yield* nextDue).toBe(now)
        expect(yield* claim({})).toBe(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep to the rate of their endpoint", () =>
      Effect.gen(function* () {
        const { claim, endpoint, send, store } = yield* make
        yield* store.change({ id: endpoint.id, change: { deliveriesPerSecond: 2 }, now })
        for (let n = 0; n < 10; n++) yield* send(now)
        const taken: Array<number> = []
        for (let at = now; at < now + 3000; at = Time.after(at, 100)) {
          for (const _ of yield* claim(at)) taken.push(at - now)
        }
        expect(taken).toEqual([0, 500, 1000, 1500, 2000, 2500])
        expect(yield* store.nextDue({ now: Time.after(now, 2500), full: [] })).toBe(now + 3000)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of all that an endpoint missed are made once, and what it does not subscribe to never", () =>
      Effect.gen(function* () {
        const { claim, endpoint, sessionId, store } = yield* make
        const consents = yield* ConsentStore
        const sessions = yield* SessionStore
        const late = Fixtures.endpoint(endpoint.accountId, { events: ["session.*"] })
        for (const [state, at] of [["disconnected", now - 1] as const, ["connected", now] as const]) {
          yield* sessions.transition({ id: sessionId, state, reason: null, now: Time.at(at) })
          const records = [Fixtures.consent("5511987654321", { recordedAt: Time.at(at) })]
          yield* consents.record({ accountId: endpoint.accountId, records })
        }
        yield* store.create(late)
        const replay = store.replayMissing({ endpointId: late.id, since: now, now: Time.after(now, 1) })
        expect([yield* replay, yield* replay]).toEqual([1, 0])
        const [taken] = (yield* claim(Time.after(now, 1))).filter((each) => each.endpoint.id === late.id)
        expect(JSON.parse(taken?.body ?? "{}")).toMatchObject({ type: "session.connected" })
        expect(yield* store.replayMissing({ endpointId: "nobody", since: now, now })).toBe(0)
        // By the event's time: that another endpoint was given it again later makes it no newer.
        const other = yield* listen(endpoint.accountId)
        expect(
          yield* store.replayMissing({
            endpointId: other.id,
            since: Time.before(now, 1),
            now: Time.after(now, 9)
          })
        ).toBe(4)
        expect(
          yield* store.replayMissing({
            endpointId: endpoint.id,
            since: Time.after(now, 5),
            now: Time.after(now, 10)
          })
        ).toBe(0)
        expect(
          yield* store.replayMissing({
            endpointId: late.id,
            since: Time.before(now, 1),
            now: Time.after(now, 11)
          })
        ).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("count an attempt once, however often it is handed in", () =>
      Effect.gen(function* () {
        const { attempts, claim, send, settle, store } = yield* make
        const id = yield* send(now)
        const [delivery] = yield* claim(now)
        expect(yield* settle(delivery, Time.after(now, 5000), now)).toBe(1)
        expect(yield* settle(delivery, "delivered", Time.after(now, 1))).toBe(0)
        expect(yield* attempts(id)).toBe(1)
        expect(yield* store.findDelivery(id ?? "")).toMatchObject({ status: "pending", nextAt: now + 5000 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("that waited for a disabled endpoint are due at once when it is enabled", () =>
      Effect.gen(function* () {
        const { claim, endpoint, nextDue, send, settle, store } = yield* make
        yield* send(now)
        const [delivery] = yield* claim(now)
        yield* settle(delivery, Time.after(now, 3_600_000), now)
        const enable = (enabled: boolean, at: Time.Instant) =>
          store.change({ id: endpoint.id, change: { enabled, disabledReason: null }, now: at })
        yield* enable(false, Time.after(now, 1))
        expect(yield* nextDue).toBeNull()
        yield* enable(true, Time.after(now, 2))
        expect(yield* nextDue).toBe(now)
        expect((yield* claim(Time.after(now, 2))).map(({ deliveryId }) => deliveryId)).toEqual([
          delivery?.deliveryId
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that are replayed are due at once; one that is under way is left to its worker", () =>
      Effect.gen(function* () {
        const { attempts, claim, nextDue, send, settle, store } = yield* make
        const id = yield* send(now)
        const [held] = yield* claim(now)
        yield* store.replay({ deliveryId: id ?? "", now: Time.after(now, 1) })
        expect(yield* nextDue).toBeNull()
        expect(yield* settle(held, Time.after(now, 3_600_000), Time.after(now, 2))).toBe(1)
        yield* store.replay({ deliveryId: id ?? "", now: Time.after(now, 3) })
        expect(yield* nextDue).toBe(now + 3)
        const [fresh] = yield* claim(Time.after(now, 3))
        expect([fresh?.deliveryId, fresh?.attempts, fresh?.firstAttemptAt]).toEqual([id, 0, null])
        expect(yield* settle(fresh, "delivered", Time.after(now, 4))).toBe(1)
        // Delivered again, at an operator's word, and once however often that is said.
        for (const at of [now + 5, now + 6]) yield* store.replay({ deliveryId: id ?? "", now: Time.at(at) })
        expect(yield* claim(Time.after(now, 6))).toHaveLength(1)
        expect(yield* attempts(id)).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are replayed from the time that is given, inclusive", () =>
      Effect.gen(function* () {
        const { claim, endpoint, nextDue, send, settle, store } = yield* make
        for (const at of [now, now + 1, now + 2]) yield* send(Time.at(at))
        for (const delivery of yield* claim(Time.after(now, 2)))
          yield* settle(delivery, null, Time.after(now, 2))
        expect(yield* nextDue).toBeNull()
        expect(
          yield* store.replayFailed({
            endpointId: endpoint.id,
            since: Time.after(now, 1),
            now: Time.after(now, 9)
          })
        ).toBe(2)
        expect(yield* store.replayFailed({ endpointId: "nobody", since: now, now: Time.after(now, 9) })).toBe(
          0
        )
      }).pipe(Effect.provide(layer))
    )
  })

  describe("reports", () => {
    it.effect("are applied once: what tells nothing new changes nothing", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner)
        yield* jobs.accept(command)
        const messageId = Ids.messageId(command.jobId, 0)
        const report = { messageId, status: "sent", at: now, failure: null, providerId: "p" } as const
        // It came before our own claim was committed.
        expect(yield* jobs.receive({ now, reports: [report, report] })).toMatchObject({
          applied: 1,
          ends: { recipients: [{ status: "sent", code: null, count: 1 }], jobs: [] },
          unmatched: [],
          refused: [],
          ended: expect.any(Array),
          met: []
        })
        expect(yield* jobs.receive({ now: Time.after(now, 1), reports: [report] })).toMatchObject({
          applied: 0,
          unmatched: [],
          refused: [],
          ended: expect.any(Array),
          met: []
        })
        expect((yield* jobs.find(command.jobId))?.updatedAt).toBe(now)
      }).pipe(Effect.provide(layer))
    )
  })
}
