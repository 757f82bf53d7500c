/** A session's pacing, whoever claims: messages per second, and the interval between two messages to one phone. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Time from "../../src/domain/Instant.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, find, now, results } from "./Setup.ts"

/** An account with a session of this pace. */
const paced = Effect.fnUntraced(function* (
  messagesPerSecond: number | null,
  pairIntervalMs: number | null = null
) {
  const account = Fixtures.account()
  const session = Fixtures.session(account.id, { pacing: { messagesPerSecond, pairIntervalMs } })
  const key = Fixtures.apiKey(session.id)
  yield* (yield* AccountStore).create(account)
  yield* (yield* SessionStore).create(session)
  yield* (yield* ApiKeyStore).create(key)
  return { accountId: account.id, sessionId: session.id, publicKey: key.publicKey }
})

const count = (claimed: ReadonlyArray<ClaimedJob>): number =>
  claimed.reduce((sum, { recipients }) => sum + recipients.length, 0)

/** Takes what may go, and hands it in as sent. */
const send = Effect.fnUntraced(function* (limit: number, at: Time.Instant, worker = "worker-1") {
  const jobs = yield* JobStore
  const claimed = yield* claim(limit, at, worker)
  const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({
      jobId,
      fence,
      index,
      outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
    }))
  )
  yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
  return count(claimed)
})

export const suite = (layer: Stored): void => {
  describe("pace", () => {
    it.effect("is kept by all workers together, and nothing of it is lost", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* jobs.accept(Fixtures.send(yield* paced(100), { phones: 250 }))
        let sent = yield* send(250, now, "worker-1")
        expect(sent).toBe(5)
        expect(yield* send(250, now, "worker-2")).toBe(0)
        expect(yield* jobs.nextDue(now)).toBe(now + 10)
        for (let at = Time.after(now, 10); at <= now + 1000; at = Time.after(at, 10))
          sent += yield* send(250, at, `worker-${at % 3}`)
        expect(sent).toBe(105)
      }).pipe(Effect.provide(layer))
    )

    it.effect.prop(
      "is never over the burst and the rate, at any times",
      {
        rate: FastCheck.constantFrom(1, 3, 20, 80, 1000),
        steps: FastCheck.array(FastCheck.tuple(FastCheck.nat(400), FastCheck.integer({ min: 1, max: 60 })), {
          minLength: 2,
          maxLength: 12
        })
      },
      ({ rate, steps }) =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* paced(rate)
          for (let job = 0; job < 3; job++) yield* jobs.accept(Fixtures.send(who, { phones: 250 }))
          const sent: Array<readonly [at: number, count: number]> = []
          let at = now
          for (const [later, limit] of steps) {
            at = Time.after(at, later)
            sent.push([at, yield* send(limit, at)])
          }
          const burst = Math.max(1, rate / 20)
          for (const [from, [start]] of sent.entries()) {
            let total = 0
            for (const [time, some] of sent.slice(from)) {
              total += some
              expect(total).toBeLessThanOrEqual(burst + (rate * (time - start)) / 1000 + 1e-6)
            }
          }
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 10 }, timeout: 60_000 }
    )

    it.effect("counts what is sent at once, and holds up no other session", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const slow = yield* paced(1)
        yield* jobs.accept(Fixtures.send(slow, { claim: "me" }))
        yield* jobs.accept(Fixtures.send(slow, { phones: 2 }))
        expect(yield* send(10, now)).toBe(0)
        yield* jobs.accept(Fixtures.send(yield* paced(null), { phones: 20 }))
        expect(yield* send(50, now)).toBe(20)
        expect(yield* jobs.nextDue(now)).toBe(now + 1000)
        expect(yield* send(50, Time.after(now, 1000))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps two messages to one phone apart", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* paced(null, 6000)
        const first = Fixtures.send(who, { phones: 3 })
        const second = Fixtures.send(who, { phones: 4 })
        yield* jobs.accept(first)
        yield* jobs.accept(second)
        // Three of the first job, and of the second the one whose phone had none.
        expect(yield* send(50, now)).toBe(4)
        expect((yield* results(second.jobId)).map(({ status }) => status)).toEqual([
          "queued",
          "queued",
          "queued",
          "accepted"
        ])
        expect(yield* jobs.nextDue(now)).toBe(now + 6000)
        expect(yield* send(50, Time.after(now, 5999))).toBe(0)
        expect(yield* send(50, Time.after(now, 6000))).toBe(3)
        expect((yield* find(second.jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "lets two direct messages to one phone go at once, and what waits keeps its distance to the later",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* paced(null, 6000)
          const direct = { kind: "direct", text: "Hello", linkPreview: false } as const
          for (const at of [now, now + 1000]) {
            const command = Fixtures.send(who, { now: Time.at(at), content: direct, claim: "me" })
            const accepted = yield* jobs.accept(command)
            expect(accepted).toMatchObject({ _tag: "Accepted", claimed: { recipients: [{ index: 0 }] } })
          }
          const waiting = Fixtures.send(who, { now: Time.after(now, 2000) })
          yield* jobs.accept(waiting)
          expect(yield* send(10, Time.after(now, 6999))).toBe(0)
          expect(yield* jobs.nextDue(Time.after(now, 6999))).toBe(now + 7000)
          expect(yield* send(10, Time.after(now, 7000))).toBe(1)
          expect((yield* find(waiting.jobId)).status).toBe("completed")
        }).pipe(Effect.provide(layer))
    )

    it.effect("holds nobody up by an interval of nothing", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* paced(null, 0)
        const recipient = { address: "34600000001", externalId: null, values: [], market: null, price: null }
        yield* jobs.accept(Fixtures.send(who, { recipients: [recipient, recipient, recipient] }))
        expect(yield* send(10, now)).toBe(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps apart what one job has for one phone", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* paced(null, 1000)
        const recipient = { address: "34600000001", externalId: null, values: [], market: null, price: null }
        yield* jobs.accept(Fixtures.send(who, { recipients: [recipient, recipient, recipient] }))
        for (let second = 0; second < 3; second++)
          expect(yield* send(10, Time.after(now, second * 1000))).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of a job is kept by all workers together, and nobody else of its session waits for it", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* paced(null)
        const slow = Fixtures.send(who, { phones: 10, perMinute: 60 })
        yield* jobs.accept(slow)
        yield* jobs.accept(Fixtures.send(who, { phones: 20 }))
        yield* jobs.accept(Fixtures.send(who, { phones: 3, perMinute: 6000 }))
        expect(yield* send(250, now)).toBe(1 + 20 + 3)
        expect(yield* send(250, now, "worker-2")).toBe(0)
        expect(yield* jobs.nextDue(now)).toBe(now + 1000)
        let sent = 1
        for (let at = Time.after(now, 100); at <= now + 8000; at = Time.after(at, 100))
          sent += yield* send(250, at, `worker-${at % 3}`)
        expect(sent).toBe(9)
        expect((yield* find(slow.jobId)).counts.accepted).toBe(9)
        expect(yield* send(250, Time.after(now, 9000))).toBe(1)
        expect((yield* find(slow.jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )

    it.effect("of a job holds for what is tried again, and after it was held", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const slow = Fixtures.send(yield* paced(100), { phones: 3, perMinute: 60 })
        yield* jobs.accept(slow)
        const { jobId } = slow
        const [first] = yield* claim(250, now)
        const outcome = Outcome.Retry({
          at: Time.after(now, 10),
          failure: { code: "broken", provider_code: null, message: "It broke.", permanent: false },
          maybeSent: false
        })
        const settlement = { jobId, fence: first?.fence ?? 0, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        expect(yield* send(250, Time.after(now, 500))).toBe(0)
        yield* jobs.hold({ jobId, isHeld: true, now })
        yield* jobs.hold({ jobId, isHeld: false, now })
        expect(yield* send(250, Time.after(now, 500))).toBe(0)
        for (let second = 1; second <= 3; second++)
          expect(yield* send(250, Time.after(now, second * 1000))).toBe(1)
        expect((yield* find(jobId)).status).toBe("completed")
      }).pipe(Effect.provide(layer))
    )
  })
}
