import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import type { ClaimedDelivery, DeliverySettlement } from "../../src/storage/WebhookStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { listen, now, owner } from "./Setup.ts"

const day = Time.day
const page = { limit: 100, after: null }

const claim = Effect.fnUntraced(function* (at = now, limit = 100) {
  const store = yield* WebhookStore
  const command = {
    now: at,
    settlements: [],
    claim: Fixtures.deliveryClaim({ limit })
  }
  return (yield* store.settleAndClaim(command)).claimed
})

const settlement = (
  delivery: ClaimedDelivery | undefined,
  some: Partial<DeliverySettlement>,
  at = now
): DeliverySettlement => ({
  deliveryId: delivery?.deliveryId ?? "",
  fence: delivery?.fence ?? -1,
  attempt: { at, status: 200, durationMs: 5, reason: null, excerpt: "answer" },
  next: "delivered",
  disable: null,
  ...some
})

const handIn = Effect.fnUntraced(function* (
  delivery: ClaimedDelivery | undefined,
  some: Partial<DeliverySettlement>
) {
  const store = yield* WebhookStore
  return (yield* store.settleAndClaim({ now, settlements: [settlement(delivery, some)], claim: null }))
    .disabled
})

const settle = Effect.fnUntraced(function* (
  delivery: ClaimedDelivery | undefined,
  some: Partial<DeliverySettlement>,
  at = now
) {
  const store = yield* WebhookStore
  return (yield* store.settleAndClaim({
    now: at,
    settlements: [settlement(delivery, some, at)],
    claim: null
  })).settled
})

/** Records a consent, and with it one event. */
const append = Effect.fnUntraced(function* (accountId: string, at = now) {
  const records = [Fixtures.consent("5511987654321", { recordedAt: at })]
  yield* (yield* ConsentStore).record({ accountId, records })
})

export const suite = (layer: Stored) =>
  describe("webhooks", () => {
    it.effect("deliver an event to each endpoint that subscribes to it, the same bytes", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const all = yield* listen(accountId)
        const jobsOnly = Fixtures.endpoint(accountId, { events: ["job.*"] })
        const second = Fixtures.endpoint(accountId, { events: ["consent.granted"] })
        yield* store.create(jobsOnly)
        yield* store.create(second)
        yield* append(accountId)
        const claimed = yield* claim()
        expect(claimed.map(({ endpoint }) => endpoint.id).sort()).toEqual([all.id, second.id].sort())
        expect(new Set(claimed.map(({ body }) => body)).size).toBe(1)
        expect(Object.keys(JSON.parse(claimed[0]?.body ?? "{}"))).toEqual([
          "id",
          "type",
          "created_at",
          "data"
        ])
        expect(yield* claim()).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep every attempt, and come back at their time with the same event", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        yield* append(accountId)
        const [first] = yield* claim()
        const failed = { at: now, status: 500, durationMs: 7, reason: "status" as const, excerpt: "no" }
        expect(yield* settle(first, { attempt: failed, next: Time.after(now, 5000) })).toBe(1)
        expect(yield* store.nextDue({ now, full: [] })).toBe(now + 5000)
        expect(yield* claim(now + 4999)).toEqual([])
        const [second] = yield* claim(now + 5000)
        expect(second).toMatchObject({
          eventId: first?.eventId,
          body: first?.body,
          attempts: 1,
          firstAttemptAt: now
        })
        yield* settle(second, {}, now + 5000)
        const { items } = yield* store.deliveries({ endpointId: endpoint.id, page })
        expect(items).toHaveLength(1)
        expect(items[0]).toMatchObject({ status: "delivered", nextAt: null, eventType: "consent.granted" })
        expect(items[0]?.attempts.map(({ number, status }) => [number, status])).toEqual([
          [1, 500],
          [2, 200]
        ])
        expect(yield* store.nextDue({ now, full: [] })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("stay in the hands of a worker that lives, whatever the clock says", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        yield* listen(accountId)
        yield* append(accountId)
        const [held] = yield* claim()
        for (const at of [now - day, now + 30_000, now + day, now + 30 * day]) {
          expect(yield* claim(at)).toEqual([])
          expect(yield* store.nextDue({ now: Time.at(at), full: [] })).toBeNull()
        }
        expect(yield* settle(held, {}, now + day)).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of a dead worker are due again at once, and its late answer changes nothing", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        yield* listen(accountId)
        yield* append(accountId)
        const [lost] = yield* claim()
        const jobs = yield* JobStore
        expect(yield* jobs.workers).toEqual([{ worker: "w", beats: 0, isDead: false }])
        expect(yield* store.rescue({ worker: "another", now })).toBe(0)
        // Also by a clock that is behind the one that took it.
        expect(yield* store.rescue({ worker: "w", now: Time.before(now, day) })).toBe(1)
        expect(yield* jobs.workers).toEqual([])
        const [fresh] = yield* claim(now - day)
        expect(fresh).toMatchObject({ deliveryId: lost?.deliveryId, attempts: 0 })
        expect(yield* settle(lost, {}, now + 30_001)).toBe(0)
        expect(yield* settle(fresh, {}, now + 30_002)).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "stay in the hands of a worker that said again that it lives, though it was taken for dead",
      () =>
        Effect.gen(function* () {
          const store = yield* WebhookStore
          const jobs = yield* JobStore
          const rescue = (beats: number) => store.rescue({ worker: "w", beats, now })
          const { accountId } = yield* owner
          yield* listen(accountId)
          yield* append(accountId)
          const [held] = yield* claim()
          // The worker said nothing so far.
          expect(yield* rescue(1)).toBe(0)
          yield* jobs.heartbeat({ workers: ["w"], beats: 3, dispatchesAt: null })
          // The worker was seen before its first heartbeat, and before its last.
          expect(yield* rescue(0)).toBe(0)
          expect(yield* rescue(2)).toBe(0)
          expect(yield* claim()).toEqual([])
          expect(yield* settle(held, {})).toBe(1)
          yield* append(accountId, now + 1)
          const [lost] = yield* claim(now + 1)
          expect(yield* rescue(3)).toBe(1)
          expect(yield* settle(lost, {}, now + 1)).toBe(0)
          expect(yield* claim(now + 1)).toHaveLength(1)
          yield* jobs.rescue({ worker: "w", now, recoverable: [] })
          // The worker was forgotten and has claimed since: this count judged what it had before.
          expect(yield* rescue(3)).toBe(0)
          expect(yield* rescue(0)).toBe(1)
        }).pipe(Effect.provide(layer))
    )

    it.effect("wait while their endpoint is disabled, and resume when it is enabled", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        const other = yield* listen(accountId)
        yield* append(accountId)
        const claimed = yield* claim()
        const mine = claimed.find((each) => each.endpoint.id === endpoint.id)
        const gone = { at: now, status: 410, durationMs: 1, reason: "status" as const, excerpt: "" }
        const disabled = yield* handIn(mine, { attempt: gone, next: Time.after(now, 5000), disable: "gone" })
        expect(disabled.map(({ id }) => id)).toEqual([endpoint.id])
        expect(yield* store.find(endpoint.id)).toMatchObject({ enabled: false, disabledReason: "gone" })
        yield* append(accountId, now + 1)
        const meanwhile = yield* claim(now + 10_000)
        expect(new Set(meanwhile.map((each) => each.endpoint.id))).toEqual(new Set([other.id]))
        const types = meanwhile.map(({ body }): string => JSON.parse(body).type)
        expect(types).toContain("webhook.disabled")
        yield* store.change({ id: endpoint.id, change: { enabled: true }, now: Time.after(now, 11_000) })
        const resumed = yield* claim(now + 11_000)
        expect(resumed.map((each) => each.endpoint.id)).toEqual([endpoint.id, endpoint.id])
        expect(yield* store.find(endpoint.id)).toMatchObject({
          enabled: true,
          disabledReason: null,
          failingSince: null
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("disable what has done nothing but fail for 5 days, by what the endpoint is now", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        const late = Time.after(now, 5 * 86_400_000)
        const failed = {
          attempt: { at: late, status: 500, durationMs: 1, reason: "status" as const, excerpt: "" }
        }
        for (let n = 0; n < 4; n++) yield* append(accountId)
        const [first, second, third, fourth] = yield* claim(now)
        yield* settle(first, { ...failed, next: late })
        // Meanwhile it recovers, and what was begun before fails all the same.
        yield* settle(second, {}, late - 2)
        yield* settle(third, { ...failed, next: Time.at(late + 9) }, late)
        expect(yield* store.find(endpoint.id)).toMatchObject({ enabled: true, failingSince: late })
        yield* settle(fourth, { ...failed, next: null }, late + 5 * 86_400_000)
        expect(yield* store.find(endpoint.id)).toMatchObject({
          enabled: false,
          disabledReason: "Every delivery failed for 5 days."
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("know since when an endpoint has done nothing but fail", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        yield* append(accountId)
        const [first] = yield* claim()
        yield* settle(first, { next: Time.after(now, 1) })
        const [second] = yield* claim(now + 1)
        yield* settle(second, { next: Time.after(now, 2) }, now + 1)
        expect((yield* store.find(endpoint.id))?.failingSince).toBe(now)
        const [third] = yield* claim(now + 2)
        yield* settle(third, {}, now + 2)
        expect((yield* store.find(endpoint.id))?.failingSince).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("are replayed: one, and all since a time that did not arrive", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        yield* append(accountId, now)
        yield* append(accountId, now + 10)
        const [first, second] = yield* claim(now + 10)
        yield* settle(first, {})
        yield* settle(second, { next: null })
        expect(yield* claim(now + 100_000)).toEqual([])
        expect(
          yield* store.replayFailed({ endpointId: endpoint.id, since: now, now: Time.after(now, 20) })
        ).toBe(1)
        expect((yield* claim(now + 20)).map(({ attempts, deliveryId }) => [deliveryId, attempts])).toEqual([
          [second?.deliveryId, 0]
        ])
        const replayed = yield* store.replay({
          deliveryId: first?.deliveryId ?? "",
          now: Time.after(now, 30)
        })
        expect(replayed).toMatchObject({ status: "pending", nextAt: now + 30 })
        expect(replayed?.attempts).toHaveLength(1)
        expect(yield* store.replay({ deliveryId: "nobody", now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "rotate secrets with an overlap, send a test to one endpoint alone, and are removed whole",
      () =>
        Effect.gen(function* () {
          const store = yield* WebhookStore
          const { accountId } = yield* owner
          const endpoint = yield* listen(accountId)
          yield* listen(accountId)
          const secret = { sealed: "fresh", createdAt: now, expiresAt: null }
          const rotated = yield* store.rotate({
            id: endpoint.id,
            secret,
            expireOthersAt: Time.after(now, 5),
            now
          })
          expect(rotated?.secrets.map(({ expiresAt, sealed }) => [sealed, expiresAt])).toEqual([
            ["fresh", null],
            ["sealed", now + 5]
          ])
          const draft = Event.webhookTest(endpoint.id)
          const deliveryId = yield* store.send({ endpointId: endpoint.id, draft, now })
          expect((yield* claim()).map((each) => each.deliveryId)).toEqual([deliveryId])
          expect(yield* store.findDelivery(deliveryId ?? "")).toMatchObject({ endpointId: endpoint.id })
          expect((yield* store.list({ accountId, page })).items).toHaveLength(2)
          expect([yield* store.remove(endpoint.id), yield* store.remove(endpoint.id)]).toEqual([true, false])
          expect(yield* store.findDelivery(deliveryId ?? "")).toBeNull()
          expect(yield* store.send({ endpointId: endpoint.id, draft, now })).toBeNull()
        }).pipe(Effect.provide(layer))
    )
  })
