/** Quota, minimum wait and rate limit, exactly. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as RateLimit from "../../src/domain/account/RateLimit.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Job } from "../../src/domain/job/Job.ts"
import type { Paged } from "../../src/domain/Page.ts"
import { ApiKeyStore } from "../../src/storage/ApiKeyStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { RateLimitStore } from "../../src/storage/RateLimitStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, find, listen, now, owner, results } from "./Setup.ts"

const day = Time.utcDay(now)

/** By which clocks are wrong. */
const skews = [3, Time.second, 5 * Time.minute, Time.hour, Time.day]
const direct = { kind: "direct", text: "Hi", linkPreview: false } as const

/** Another key of the same session. */
const anotherKey = Effect.fnUntraced(function* (sessionId: string) {
  const key = Fixtures.apiKey(sessionId)
  yield* (yield* ApiKeyStore).create(key)
  return key.publicKey
})

export const suite = (layer: Stored): void => {
  describe("limits", () => {
    it.effect("count the quota per account, kind and UTC day, the minimum wait per key", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const other = { ...who, publicKey: yield* anotherKey(who.sessionId) }
        const demand = { units: 2, dailyLimit: 4, minimumWaitMs: 1000 }
        const accept = (some: Parameters<typeof Fixtures.send>[1], by = who) =>
          Effect.map(jobs.accept(Fixtures.send(by, { phones: 2, demand, ...some })), ({ _tag }) => _tag)
        expect(yield* accept({})).toBe("Accepted")
        expect(yield* accept({ now: Time.after(now, 999) })).toBe("TooSoon")
        // It took its time first, and came to the store second.
        expect(yield* accept({ now: Time.before(now, 1) })).toBe("TooSoon")
        expect(yield* accept({}, other)).toBe("Accepted")
        expect(yield* accept({ now: Time.after(now, 5000) })).toBe("QuotaExhausted")
        expect(yield* accept({ now: Time.after(now, 5000) }, other)).toBe("QuotaExhausted")
        const one = {
          content: direct,
          phones: 1,
          demand: { ...demand, units: 1 },
          now: Time.after(now, 5000)
        }
        expect(yield* accept(one)).toBe("Accepted")
        expect(yield* accept({}, yield* owner)).toBe("Accepted")
        expect(yield* jobs.usage({ accountId: who.accountId, day })).toEqual({ template: 4, direct: 1 })
        expect(yield* accept({ now: Time.before(Time.endOfUtcDay(now), 1) })).toBe("QuotaExhausted")
        expect(yield* accept({ now: Time.endOfUtcDay(now) })).toBe("Accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "count each day for itself where clocks differ at midnight, and the last acceptance of either kind",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const who = yield* owner
          const midnight = Time.endOfUtcDay(now)
          const days = [now, midnight].map(Time.utcDay)
          const accept = (at: Time.Instant, some: Parameters<typeof Fixtures.send>[1] = {}) =>
            Effect.map(jobs.accept(Fixtures.send(who, { phones: 2, now: at, ...some })), ({ _tag }) => _tag)
          for (const at of [midnight - 5, midnight + 1, midnight - 3, midnight - 2, midnight + 2])
            expect(yield* accept(Time.at(at))).toBe("Accepted")
          const { accountId } = who
          expect(yield* Effect.forEach(days, (day) => jobs.usage({ accountId, day }))).toEqual([
            { template: 6, direct: 0 },
            { template: 4, direct: 0 }
          ])
          const demand = { units: 1, dailyLimit: 6, minimumWaitMs: 0 }
          expect(yield* accept(Time.before(midnight, 1), { phones: 1, demand })).toBe("QuotaExhausted")
          expect(yield* accept(Time.after(midnight, 3), { phones: 1, demand, content: direct })).toBe(
            "Accepted"
          )
          const waiting = { ...demand, dailyLimit: null, minimumWaitMs: 10 }
          expect(yield* accept(Time.after(midnight, 12), { demand: waiting })).toBe("TooSoon")
          expect(yield* accept(Time.after(midnight, 13), { demand: waiting })).toBe("Accepted")
        }).pipe(Effect.provide(layer))
    )

    it.effect("tell the quota as it is used, and when it is fresh again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const demand = { units: 3, dailyLimit: 4, minimumWaitMs: 0 }
        yield* jobs.accept(Fixtures.send(who, { phones: 3, demand }))
        expect(yield* jobs.accept(Fixtures.send(who, { phones: 3, demand }))).toEqual({
          _tag: "QuotaExhausted",
          limit: 4,
          used: 3,
          resetsAt: Time.endOfUtcDay(now)
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("let through one of parallel sends within the minimum wait", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const demand = { units: 1, dailyLimit: null, minimumWaitMs: 1000 }
        const sends = Array.from({ length: 20 }, () => jobs.accept(Fixtures.send(who, { demand })))
        const answers = yield* Effect.all(sends, { concurrency: "unbounded" })
        expect(answers.filter(({ _tag }) => _tag === "Accepted")).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are untouched by a send that failed, as are its key, its events and the job it hit", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = Fixtures.send(who, { phones: 2 })
        yield* jobs.accept(first)
        const before = [yield* find(first.jobId), yield* results(first.jobId)]
        yield* listen(who.accountId)
        const other = { ...who, publicKey: yield* anotherKey(who.sessionId) }
        const demand = { units: 3, dailyLimit: 5, minimumWaitMs: 60_000 }
        const broken = {
          ...Fixtures.send(other, { key: "k", phones: 3, demand, jobId: first.jobId }),
          claim: "w"
        }
        expect(Exit.isFailure(yield* Effect.exit(jobs.accept(broken)))).toBe(true)
        expect([yield* find(first.jobId), yield* results(first.jobId)]).toEqual(before)
        expect(yield* events()).toEqual([])
        expect((yield* jobs.usage({ accountId: who.accountId, day })).template).toBe(2)
        // Neither the minimum wait nor the key was taken.
        const sound = Fixtures.send(other, { key: "k", phones: 3, demand, now: Time.after(now, 1) })
        expect((yield* jobs.accept(sound))._tag).toBe("Accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect.prop(
      "of rate are decided as the domain decides, request by request",
      {
        limit: FastCheck.integer({ min: 1, max: 7 }),
        requests: FastCheck.array(FastCheck.tuple(FastCheck.constantFrom("a", "b"), FastCheck.nat(900)), {
          maxLength: 60
        })
      },
      ({ limit, requests }) =>
        Effect.gen(function* () {
          const limits = yield* RateLimitStore
          const rule = { limit, periodMs: 1000 }
          const kept = new Map<string, number>()
          const allowed = new Map<string, Array<number>>([
            ["a", []],
            ["b", []]
          ])
          let at = now
          for (const [key, pause] of requests) {
            at = Time.after(at, pause)
            const expected = RateLimit.decide(kept.get(key) ?? null, rule, at)
            kept.set(key, expected.arrival)
            expect(yield* limits.consume({ key, ...rule, now: at })).toEqual(expected.decision)
            if (expected.decision.allowed) allowed.get(key)?.push(at)
          }
          // In any stretch of time no more than the burst plus the rate.
          for (const times of allowed.values()) {
            times.forEach((from, first) => {
              times.slice(first).forEach((to, more) => {
                expect(more + 1).toBeLessThanOrEqual(limit + ((to - from) * limit) / 1000 + 1e-6)
              })
            })
          }
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 30 }, timeout: 60_000 }
    )

    it.effect.prop(
      "of rate are decided as the domain decides while clocks are set and differ, and lock nobody out",
      {
        limit: FastCheck.integer({ min: 1, max: 7 }),
        requests: FastCheck.array(
          FastCheck.tuple(
            FastCheck.nat(900),
            FastCheck.constantFrom(0, 0, 0, ...skews, ...skews.map((ms) => -ms))
          ),
          { maxLength: 60 }
        )
      },
      ({ limit, requests }) =>
        Effect.gen(function* () {
          const limits = yield* RateLimitStore
          const rule = { limit, periodMs: 1000 }
          let kept: number | null = null
          let at = now
          for (const [pause, skew] of requests) {
            at = Time.after(at, pause)
            const asked = { key: "k", ...rule, now: Time.after(at, skew) }
            const expected: ReturnType<typeof RateLimit.decide> = RateLimit.decide(kept, rule, asked.now)
            kept = expected.arrival
            const decision = yield* limits.consume(asked)
            expect(decision).toEqual(expected.decision)
            expect(decision.retryAfterMs).toBeLessThanOrEqual(rule.periodMs / limit + 1e-3)
          }
        }).pipe(Effect.provide(layer)),
      { fastCheck: { numRuns: 30 }, timeout: 60_000 }
    )
  })

  describe("sends inside an embedder's transaction", () => {
    it.effect("are counted, and neither refused by a plan's limits nor the start of a minimum wait", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const demand = { units: 2, dailyLimit: 3, minimumWaitMs: 1000 }
        const send = (at: Time.Instant, isEmbedded: boolean) =>
          jobs.accept({ ...Fixtures.send(who, { phones: 2, demand, now: at }), isEmbedded })
        expect(yield* send(now, false)).toMatchObject({ _tag: "Accepted" })
        expect(yield* send(Time.after(now, 1), true)).toMatchObject({ _tag: "Accepted", claimed: null })
        expect(yield* send(Time.after(now, 2), true)).toMatchObject({ _tag: "Accepted", claimed: null })
        expect(yield* jobs.usage({ accountId: who.accountId, day })).toEqual({ template: 6, direct: 0 })
        expect(yield* send(Time.after(now, 2000), false)).toMatchObject({ _tag: "QuotaExhausted", used: 6 })
        const unlimited = { ...demand, dailyLimit: null }
        const plain = (at: Time.Instant) => jobs.accept(Fixtures.send(who, { demand: unlimited, now: at }))
        expect(yield* plain(Time.after(now, 999))).toMatchObject({ _tag: "TooSoon", retryAt: now + 1000 })
        expect(yield* plain(Time.after(now, 1000))).toMatchObject({ _tag: "Accepted" })
        expect(yield* claim(250, now + 1000)).toHaveLength(4)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are refused over a whole day's quota in one send, and count for their own day", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const midnight = Time.endOfUtcDay(now)
        const send = (units: number, at: Time.Instant) => {
          const demand = { units, dailyLimit: 3, minimumWaitMs: 0 }
          return jobs.accept({ ...Fixtures.send(who, { phones: units, demand, now: at }), isEmbedded: true })
        }
        expect(yield* send(4, now)).toMatchObject({ _tag: "QuotaExhausted", limit: 3 })
        expect(yield* send(3, now)).toMatchObject({ _tag: "Accepted" })
        expect(yield* send(1, Time.before(midnight, 1))).toMatchObject({ _tag: "Accepted" })
        expect(yield* send(2, midnight)).toMatchObject({ _tag: "Accepted" })
        const usedOn = (at: Time.Instant) => jobs.usage({ accountId: who.accountId, day: Time.utcDay(at) })
        expect(yield* usedOn(now)).toEqual({ template: 4, direct: 0 })
        expect(yield* usedOn(midnight)).toEqual({ template: 2, direct: 0 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("replay their Idempotency-Key as others do", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sent = { ...Fixtures.send(yield* owner, { key: "k", phones: 2 }), isEmbedded: true }
        expect(yield* jobs.accept(sent)).toMatchObject({ _tag: "Accepted", claimed: null })
        const record = { jobId: sent.jobId, kind: "template", recipients: 2 }
        expect(yield* jobs.accept(sent)).toMatchObject({ _tag: "Replayed", record })
        expect(yield* jobs.accept({ ...sent, isEmbedded: false })).toMatchObject({ _tag: "Replayed", record })
      }).pipe(Effect.provide(layer))
    )

    it.effect("are listed with the others in the order of acceptance, page by page", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const ids: Array<string> = []
        for (let n = 0; n < 7; n++) {
          const sent = Fixtures.send(who)
          yield* jobs.accept(n % 3 === 0 ? sent : { ...sent, isEmbedded: true })
          ids.unshift(sent.jobId)
        }
        for (const status of [undefined, "queued"] as const) {
          const listed: Array<string> = []
          for (let after: number | null = null; ; ) {
            const { items, next }: Paged<Job> = yield* jobs.list({
              by: { accountId: who.accountId },
              kind: "template",
              status,
              page: { limit: 2, after }
            })
            listed.push(...items.map(({ id }) => id))
            if (next === null) break
            after = next
          }
          expect(listed).toEqual(ids)
        }
      }).pipe(Effect.provide(layer))
    )
  })
}
