/** A clock that was ahead makes nothing wait once it is right again, whatever it has written (docs/adr/0021). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, listen, now, owner } from "./Setup.ts"

/** By which the clock was ahead. */
const skews = [5 * Time.minute, Time.hour, Time.day]

const count = (claimed: ReadonlyArray<ClaimedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

/** Settles all that was claimed, each by its own outcome. */
const settle = Effect.fnUntraced(function* (
  claimed: ReadonlyArray<ClaimedJob>,
  at: Time.Instant,
  outcomeOf: (index: number) => Outcome
) {
  const jobs = yield* JobStore
  const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome: outcomeOf(index) }))
  )
  yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
})

const accepted = () => Outcome.Accepted({ providerId: null, status: "accepted" })

export const suite = (layer: Stored): void => {
  it.effect("a clock that is right was not ahead for what is written while the look at it waits", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const store = yield* WebhookStore
      const { accountId } = yield* owner
      const endpoint = yield* listen(accountId)
      const send = (at: Time.Instant) =>
        store.send({ endpointId: endpoint.id, draft: Event.webhookTest(endpoint.id), now: at })
      let clock = now
      const look = { now: () => clock }
      const [ofJobs, ofDeliveries] = [jobs.makeDue(look), store.makeDue(look)]
      yield* send(Time.after(now, 500))
      expect(yield* ofDeliveries).toBe(0)
      clock = Time.after(now, Time.minute)
      yield* send(clock)
      expect(yield* ofJobs).toBe(0)
      expect(yield* ofDeliveries).toBe(0)
    }).pipe(Effect.provide(layer))
  )

  describe.each(skews)("a clock that was %i ms ahead", (skew) => {
    const ahead = Time.after(now, skew)

    it.effect("has put off no job that it accepted", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.accept(Fixtures.send(yield* owner, { phones: 3, now: ahead }))
        expect(yield* claim(10, now)).toEqual([])
        expect(yield* jobs.makeDue({ now: () => now })).toBe(1)
        expect(yield* jobs.nextDue(now)).toBe(now)
        expect(count(yield* claim(10, now))).toBe(3)
        expect(yield* jobs.makeDue({ now: () => now })).toBe(0)
      }).pipe(Effect.provide(layer))
    )

    it.effect("has put off no retry, though the job went on meanwhile", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.accept(Fixtures.send(yield* owner, { phones: 3, now: ahead }))
        const retry = Outcome.Retry({ at: Time.at(ahead + 1000), failure, maybeSent: false })
        yield* settle(yield* claim(2, ahead), ahead, () => retry)
        // The third is due and taken while the clock is set back, and handed in by the right one.
        yield* settle(yield* claim(1, ahead), now, accepted)
        expect(yield* jobs.nextDue(now)).toBe(now)
        expect(count(yield* claim(10, now))).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps nobody from being claimed whose job it has changed and made due too soon", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* jobs.accept(Fixtures.send(who, { phones: 2 }))
        const waits = yield* claim(1, now)
        yield* settle(waits, now, () =>
          Outcome.Retry({ at: Time.after(now, 2 * skew), failure, maybeSent: false })
        )
        // The other is handed in by the clock that is ahead, so the job was written later than now.
        yield* settle(yield* claim(1, now), ahead, accepted)
        yield* jobs.accept(Fixtures.send(who))
        expect(yield* jobs.makeDue({ now: () => now })).toBe(1)
        expect(count(yield* claim(10, now))).toBe(1)
        expect(yield* jobs.nextDue(now)).toBe(now + 2 * skew)
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves alone what waits by a right one", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.accept(Fixtures.send(yield* owner))
        const retry = Outcome.Retry({ at: Time.after(now, skew), failure, maybeSent: false })
        yield* settle(yield* claim(1, now), now, () => retry)
        expect(yield* jobs.makeDue({ now: () => now })).toBe(0)
        expect(yield* jobs.nextDue(now)).toBe(now + skew)
        expect(yield* claim(1, now)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("has put off no webhook delivery, new, replayed or attempted", () =>
      Effect.gen(function* () {
        const store = yield* WebhookStore
        const { accountId } = yield* owner
        const endpoint = yield* listen(accountId)
        const draft = Event.webhookTest(endpoint.id)
        const send = (at: Time.Instant) => store.send({ endpointId: endpoint.id, draft, now: at })
        const take = (at: Time.Instant) =>
          Effect.map(
            store.settleAndClaim({ now: at, settlements: [], claim: Fixtures.deliveryClaim() }),
            ({ claimed }) => claimed
          )
        const fail = Effect.fnUntraced(function* (at: Time.Instant, next: Time.Instant | null) {
          const settlements = (yield* take(at)).map(({ deliveryId, fence }) => ({
            deliveryId,
            fence,
            attempt: { at, status: 500, durationMs: 1, reason: "status" as const, excerpt: "" },
            next,
            disable: null
          }))
          yield* store.settleAndClaim({ now: at, settlements, claim: null })
        })
        const waiting = yield* send(now)
        yield* fail(now, Time.after(now, skew))
        const replayed = yield* send(Time.after(now, 1))
        yield* fail(Time.after(now, 1), null)
        yield* store.replay({ deliveryId: replayed ?? "", now: ahead })
        const attempted = yield* send(Time.after(now, 2))
        yield* fail(Time.after(now, 2), Time.after(now, 3))
        yield* fail(Time.after(now, 4), ahead)
        yield* store.replay({ deliveryId: attempted ?? "", now: Time.after(now, 5) })
        yield* fail(Time.after(now, 6), Time.after(now, 7))
        const fresh = yield* send(ahead)
        const due = yield* take(Time.before(ahead, 1))
        yield* store.settleAndClaim({
          now: Time.before(ahead, 1),
          settlements: due
            .filter(({ deliveryId }) => deliveryId === attempted)
            .map(({ deliveryId, fence }) => ({
              deliveryId,
              fence,
              attempt: { at: ahead, status: 500, durationMs: 1, reason: "status", excerpt: "" },
              next: Time.after(ahead, 5000),
              disable: null
            })),
          claim: null
        })
        expect(yield* store.makeDue({ now: () => Time.after(now, 10) })).toBe(3)
        const taken = (yield* take(Time.after(now, 10))).map(({ deliveryId }) => deliveryId)
        expect([...taken].sort()).toEqual([replayed, attempted, fresh].sort())
        expect(taken).not.toContain(waiting)
      }).pipe(Effect.provide(layer))
    )

    it.effect("holds no session back", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const { sessionId } = yield* owner
        yield* sessions.block({ id: sessionId, until: Time.at(ahead + Time.hour), now: ahead })
        expect(yield* sessions.unblock({ now })).toHaveLength(1)
        yield* sessions.block({ id: sessionId, until: Time.after(now, skew), now })
        expect(yield* sessions.unblock({ now })).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "keeps no pace, no pair of numbers and no API key waiting for longer than a right one would",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const account = Fixtures.account()
          const pacing = { messagesPerSecond: 1, pairIntervalMs: 6000 }
          const session = Fixtures.session(account.id, { pacing })
          const key = Fixtures.apiKey(session.id)
          yield* (yield* AccountStore).create(account)
          yield* (yield* SessionStore).create(session)
          yield* (yield* ApiKeyStore).create(key)
          const who = { accountId: account.id, sessionId: session.id, publicKey: key.publicKey }
          const demand = { units: 1, dailyLimit: null, minimumWaitMs: 1000 }
          const send = (at: Time.Instant, some: Parameters<typeof Fixtures.send>[1] = {}) =>
            Effect.map(jobs.accept(Fixtures.send(who, { demand, now: at, ...some })), ({ _tag }) => _tag)
          expect(yield* send(ahead, { claim: "direct" })).toBe("Accepted")
          expect(yield* send(now)).toBe("Accepted")
          expect(yield* jobs.nextDue(now)).toBe(now)
          const first = yield* claim(10, now)
          expect(count(first)).toBe(1)
          yield* settle(first, now, accepted)
          // Those that the right clock has set hold.
          expect(yield* send(Time.after(now, 999))).toBe("TooSoon")
          expect(yield* send(Time.after(now, 1000))).toBe("Accepted")
          expect(yield* claim(10, now + 1000)).toEqual([])
          expect(yield* jobs.nextDue(Time.after(now, 1000))).toBe(now + 6000)
          expect(count(yield* claim(10, now + 6000))).toBe(1)
        }).pipe(Effect.provide(layer))
    )
  })
}
