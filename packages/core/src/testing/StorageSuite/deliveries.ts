/** Deliveries in the hands of a worker, and at an operator's word. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Event from "../../domain/Event.ts"
import * as Ids from "../../domain/Ids.ts"
import { JobStore } from "../../storage/JobStore.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../../storage/WebhookStore.ts"
import { WebhookStore } from "../../storage/WebhookStore.ts"
import * as Fixtures from "../Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { listen, now, owner } from "./Setup.ts"

const make = Effect.gen(function* () {
  const store = yield* WebhookStore
  const { accountId } = yield* owner
  const endpoint = yield* listen(accountId)
  const draft = Event.webhookTest({ id: accountId }, endpoint.id)
  const send = (at: number) => store.send({ endpointId: endpoint.id, draft, now: at })
  const claim = (at: number, limit = 100) => {
    const lease = { worker: "w", until: at + 30_000, limit }
    return Effect.map(store.exchange({ now: at, settlements: [], claim: lease }), ({ claimed }) => claimed)
  }
  const settle = (delivery: ClaimedDelivery | undefined, next: DeliverySettlement["next"], at: number) => {
    const settlement = {
      deliveryId: delivery?.deliveryId ?? "",
      fence: delivery?.fence ?? -1,
      attempt: { at, status: next === "delivered" ? 200 : 500, durationMs: 1, reason: null, excerpt: "" },
      next,
      disable: null
    }
    return Effect.map(
      store.exchange({ now: at, settlements: [settlement], claim: null }),
      ({ settled }) => settled
    )
  }
  const attempts = (id: string | null) =>
    Effect.map(store.findDelivery(id ?? ""), (delivery) => delivery?.attempts.length)
  return { attempts, claim, endpoint, send, settle, store }
})

export const suite = (layer: Stored): void => {
  describe("deliveries", () => {
    it.effect("are taken oldest due first, no more than asked for", () =>
      Effect.gen(function* () {
        const { claim, send } = yield* make
        const later = yield* send(now + 10)
        const [first, second] = [yield* send(now), yield* send(now + 1)]
        const ids = (claimed: ReadonlyArray<ClaimedDelivery>) => claimed.map(({ deliveryId }) => deliveryId)
        expect(ids(yield* claim(now + 20, 2))).toEqual([first, second])
        expect(ids(yield* claim(now + 20, 2))).toEqual([later])
      }).pipe(Effect.provide(layer))
    )

    it.effect("count an attempt once, however often it is handed in", () =>
      Effect.gen(function* () {
        const { attempts, claim, send, settle, store } = yield* make
        const id = yield* send(now)
        const [delivery] = yield* claim(now)
        expect(yield* settle(delivery, now + 5000, now)).toBe(1)
        expect(yield* settle(delivery, "delivered", now + 1)).toBe(0)
        expect(yield* attempts(id)).toBe(1)
        expect(yield* store.findDelivery(id ?? "")).toMatchObject({ status: "pending", nextAt: now + 5000 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("that waited for a disabled endpoint are due at once when it is enabled", () =>
      Effect.gen(function* () {
        const { claim, endpoint, send, settle, store } = yield* make
        yield* send(now)
        const [delivery] = yield* claim(now)
        yield* settle(delivery, now + 3_600_000, now)
        const enable = (enabled: boolean, at: number) =>
          store.change({ id: endpoint.id, change: { enabled, disabledReason: null }, now: at })
        yield* enable(false, now + 1)
        expect(yield* store.nextDue).toBeNull()
        yield* enable(true, now + 2)
        expect(yield* store.nextDue).toBe(now + 2)
        expect((yield* claim(now + 2)).map(({ deliveryId }) => deliveryId)).toEqual([delivery?.deliveryId])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "that are replayed are due at once, also while an attempt is under way, whose answer is lost",
      () =>
        Effect.gen(function* () {
          const { claim, send, settle, store } = yield* make
          const id = yield* send(now)
          const [lost] = yield* claim(now)
          expect(yield* store.nextDue).toBe(now + 30_000)
          yield* store.replay({ deliveryId: id ?? "", now: now + 1 })
          expect(yield* store.nextDue).toBe(now + 1)
          const [fresh] = yield* claim(now + 1)
          expect([fresh?.deliveryId, fresh?.attempts, fresh?.firstAttemptAt]).toEqual([id, 0, null])
          expect(yield* settle(lost, "delivered", now + 2)).toBe(0)
          expect(yield* settle(fresh, "delivered", now + 3)).toBe(1)
        }).pipe(Effect.provide(layer))
    )

    it.effect("are replayed from the time that is given, inclusive", () =>
      Effect.gen(function* () {
        const { claim, endpoint, send, settle, store } = yield* make
        for (const at of [now, now + 1, now + 2]) yield* send(at)
        for (const delivery of yield* claim(now + 2)) yield* settle(delivery, null, now + 2)
        expect(yield* store.nextDue).toBeNull()
        expect(yield* store.replaySince({ endpointId: endpoint.id, since: now + 1, now: now + 9 })).toBe(2)
        expect(yield* store.replaySince({ endpointId: "nobody", since: now, now: now + 9 })).toBe(0)
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
        expect(yield* jobs.receive({ now, reports: [report, report] })).toEqual({ applied: 1, unmatched: [] })
        expect(yield* jobs.receive({ now: now + 1, reports: [report] })).toEqual({
          applied: 0,
          unmatched: []
        })
        expect((yield* jobs.find(command.jobId))?.updatedAt).toBe(now)
      }).pipe(Effect.provide(layer))
    )
  })
}
