/** Quota, minimum wait and rate limit, exactly. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Plan from "../../domain/account/Plan.ts"
import * as RateLimit from "../../domain/account/RateLimit.ts"
import * as Time from "../../domain/Instant.ts"
import type { Job } from "../../domain/job/Job.ts"
import type { Paged } from "../../domain/Page.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { ApiKeyStore } from "../../storage/ApiKeyStore.ts"
import { JobStore, limitsLeaseMs } from "../../storage/JobStore.ts"
import { RateLimitStore } from "../../storage/RateLimitStore.ts"
import { SessionStore } from "../../storage/SessionStore.ts"
import * as Fixtures from "../Fixtures.ts"
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

/** Changes the owner's plan, by which limits are taken after a commit: without a minimum wait, if none is said. */
const planned = Effect.fnUntraced(function* ({ accountId }: Fixtures.Owner, some: Partial<Plan.Plan>) {
  const plan = { ...Plan.defaults, minimum_wait_ms: 0, ...some }
  yield* (yield* AccountStore).change({ id: accountId, change: { plan }, now })
})

/** Accepts a send as in the embedder's transaction. */
const acceptLate = Effect.fnUntraced(function* (
  who: Fixtures.Owner,
  some: Parameters<typeof Fixtures.send>[1] = {}
) {
  const sent = { ...Fixtures.send(who, some), isEmbedded: true }
  yield* (yield* JobStore).accept(sent)
  return sent
})

/** The jobs that a claim tells of; it takes none. */
const limitsOf = Effect.fnUntraced(function* (at: number) {
  const jobs = yield* JobStore
  const claim = { worker: "limits", limit: 250 }
  const { claimed, limits } = yield* jobs.settleAndClaim({ now: at, settlements: [], claim })
  expect(claimed).toEqual([])
  return limits
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
        expect(yield* accept({ now: now + 999 })).toBe("TooSoon")
        // It took its time first, and came to the store second.
        expect(yield* accept({ now: now - 1 })).toBe("TooSoon")
        expect(yield* accept({}, other)).toBe("Accepted")
        expect(yield* accept({ now: now + 5000 })).toBe("QuotaExhausted")
        expect(yield* accept({ now: now + 5000 }, other)).toBe("QuotaExhausted")
        const one = { content: direct, phones: 1, demand: { ...demand, units: 1 }, now: now + 5000 }
        expect(yield* accept(one)).toBe("Accepted")
        expect(yield* accept({}, yield* owner)).toBe("Accepted")
        expect(yield* jobs.usage({ accountId: who.accountId, day })).toEqual({ template: 4, direct: 1 })
        expect(yield* accept({ now: Time.endOfUtcDay(now) - 1 })).toBe("QuotaExhausted")
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
          const accept = (at: number, some: Parameters<typeof Fixtures.send>[1] = {}) =>
            Effect.map(jobs.accept(Fixtures.send(who, { phones: 2, now: at, ...some })), ({ _tag }) => _tag)
          for (const at of [midnight - 5, midnight + 1, midnight - 3, midnight - 2, midnight + 2])
            expect(yield* accept(at)).toBe("Accepted")
          const { accountId } = who
          expect(yield* Effect.forEach(days, (day) => jobs.usage({ accountId, day }))).toEqual([
            { template: 6, direct: 0 },
            { template: 4, direct: 0 }
          ])
          const demand = { units: 1, dailyLimit: 6, minimumWaitMs: 0 }
          expect(yield* accept(midnight - 1, { phones: 1, demand })).toBe("QuotaExhausted")
          expect(yield* accept(midnight + 3, { phones: 1, demand, content: direct })).toBe("Accepted")
          const waiting = { ...demand, dailyLimit: null, minimumWaitMs: 10 }
          expect(yield* accept(midnight + 12, { demand: waiting })).toBe("TooSoon")
          expect(yield* accept(midnight + 13, { demand: waiting })).toBe("Accepted")
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
        const sound = Fixtures.send(other, { key: "k", phones: 3, demand, now: now + 1 })
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
            at += pause
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
            at += pause
            const asked = { key: "k", ...rule, now: at + skew }
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

  describe("limits that are taken after an embedder's commit", () => {
    it.effect("are counted once, when they are taken and not before, and then the job is claimed", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* planned(who, { minimum_wait_ms: 1000 })
        const sent = { ...Fixtures.send(who, { key: "k", phones: 2 }), isEmbedded: true }
        expect(yield* jobs.accept(sent)).toMatchObject({ _tag: "Accepted", claimed: null })
        const record = { jobId: sent.jobId, kind: "template", recipients: 2 }
        expect(yield* jobs.accept(sent)).toMatchObject({ _tag: "Replayed", record })
        expect(yield* jobs.accept({ ...sent, isEmbedded: false })).toMatchObject({ _tag: "Replayed" })
        const used = Effect.map(jobs.usage({ accountId: who.accountId, day }), ({ template }) => template)
        expect(yield* used).toBe(0)
        const told = yield* limitsOf(now)
        expect(told).toEqual([{ accountId: who.accountId, jobId: sent.jobId, dueAt: now }])
        expect(yield* jobs.limitWait(sent.jobId)).toBeNull()
        // In time no claim tells of it again, and none takes it.
        expect(yield* limitsOf(now + 1)).toEqual([])
        const command = { accountId: who.accountId, jobIds: [sent.jobId, sent.jobId], now: now + 2 }
        const taken = yield* Effect.all([jobs.applyLimits(command), jobs.applyLimits(command)], {
          concurrency: "unbounded"
        })
        expect(taken.sort()).toEqual([0, 1])
        expect(yield* used).toBe(2)
        const demand = { units: 1, dailyLimit: 2, minimumWaitMs: 1000 }
        const refused = (at: number) => jobs.accept(Fixtures.send(who, { demand, now: at }))
        expect(yield* refused(now + 3)).toMatchObject({ _tag: "QuotaExhausted", used: 2 })
        const unlimited = { ...demand, dailyLimit: null }
        expect(yield* jobs.accept(Fixtures.send(who, { demand: unlimited, now: now + 3 }))).toMatchObject({
          _tag: "TooSoon",
          retryAt: now + 1002
        })
        const claimed = yield* claim(250, now + 3)
        expect(claimed.map(({ jobId, recipients }) => [jobId, recipients.length])).toEqual([[sent.jobId, 2]])
        expect(yield* jobs.limitWait(sent.jobId)).toBeNull()
        expect(yield* used).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("let a job wait until the quota is fresh, and those of its session behind it go", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* planned(who, { daily_template_recipients: 3 })
        const midnight = Time.endOfUtcDay(now)
        const { jobId } = yield* acceptLate(who, { phones: 3 })
        const plain = Fixtures.send(who, { phones: 1, now: now + 1 })
        yield* jobs.accept(plain)
        const first = yield* jobs.settleAndClaim({
          now: now + 1,
          settlements: [],
          claim: { worker: "w", limit: 1 }
        })
        expect(first).toMatchObject({ claimed: [{ jobId: plain.jobId }], limits: [{ jobId }] })
        const { accountId } = who
        expect(yield* jobs.applyLimits({ accountId, jobIds: [jobId], now: now + 2 })).toBe(0)
        const wait = { limiter: "daily_template_recipients", until: midnight }
        expect(yield* jobs.limitWait(jobId)).toEqual(wait)
        expect(yield* jobs.nextDue(now + 2)).toBe(midnight)
        expect(yield* limitsOf(midnight - 1)).toEqual([])
        expect(yield* find(jobId)).toMatchObject({ status: "queued", counts: { queued: 3 } })
        expect(yield* limitsOf(midnight)).toMatchObject([{ jobId, dueAt: midnight }])
        expect(yield* jobs.applyLimits({ accountId, jobIds: [jobId], now: midnight + 1 })).toBe(1)
        expect(yield* jobs.usage({ accountId, day })).toEqual({ template: 1, direct: 0 })
        const tomorrow = Time.utcDay(midnight)
        expect(yield* jobs.usage({ accountId, day: tomorrow })).toEqual({ template: 3, direct: 0 })
        expect((yield* claim(250, midnight + 1)).map(({ jobId }) => jobId)).toEqual([jobId])
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep jobs of one API key their minimum wait apart, each asked again when it may go", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* planned(who, { minimum_wait_ms: 1000 })
        const sent = yield* Effect.forEach([0, 1, 2, 3], (n) => acceptLate(who, { now: now + n }))
        const jobIds = sent.map(({ jobId }) => jobId)
        expect((yield* limitsOf(now + 4)).map(({ jobId }) => jobId)).toEqual(jobIds)
        expect(yield* jobs.applyLimits({ accountId: who.accountId, jobIds, now: now + 5 })).toBe(1)
        const waits = yield* Effect.forEach(jobIds, (jobId) => jobs.limitWait(jobId))
        expect(waits.map((wait) => (wait === null ? null : wait.until))).toEqual([
          null,
          now + 1005,
          now + 2005,
          now + 3005
        ])
        expect(waits[1]?.limiter).toBe("minimum_wait_ms")
        expect(yield* claim(250, now + 5)).toMatchObject([{ jobId: jobIds[0] }])
        expect((yield* limitsOf(now + 1005)).map(({ jobId }) => jobId)).toEqual([jobIds[1]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are told of again when whoever was told is gone, and still counted once", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const { jobId } = yield* acceptLate(who, { phones: 2 })
        expect(yield* limitsOf(now)).toHaveLength(1)
        expect(yield* jobs.nextDue(now)).toBe(now + limitsLeaseMs)
        expect(yield* limitsOf(now + limitsLeaseMs - 1)).toEqual([])
        expect(yield* limitsOf(now + limitsLeaseMs)).toMatchObject([{ jobId }])
        const command = { accountId: who.accountId, jobIds: [jobId], now: now + limitsLeaseMs }
        expect(yield* jobs.applyLimits(command)).toBe(1)
        // The first one lives after all.
        expect(yield* jobs.applyLimits(command)).toBe(0)
        expect((yield* jobs.usage({ accountId: who.accountId, day })).template).toBe(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are never counted of a job that was canceled, nor while its session is disconnected", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const sessions = yield* SessionStore
        const who = yield* owner
        const { accountId, sessionId: id } = who
        const [canceled, paused] = [yield* acceptLate(who), yield* acceptLate(who)]
        const jobIds = [canceled.jobId, paused.jobId]
        yield* sessions.transition({ id, state: "disconnected", reason: null, now })
        expect(yield* limitsOf(now + 1)).toEqual([])
        yield* jobs.cancel({ jobId: canceled.jobId, now: now + 1 })
        expect((yield* jobs.usage({ accountId, day })).template).toBe(0)
        yield* sessions.transition({ id, state: "connected", reason: null, now: now + Time.hour })
        expect(yield* limitsOf(now + Time.hour)).toMatchObject([{ jobId: paused.jobId }])
        expect(yield* jobs.applyLimits({ accountId, jobIds, now: now + Time.hour })).toBe(1)
        expect((yield* jobs.usage({ accountId, day: Time.utcDay(now + Time.hour) })).template).toBe(1)
        expect((yield* find(canceled.jobId)).status).toBe("canceled")
      }).pipe(Effect.provide(layer))
    )

    it.effect("are exact among plain sends at the same time", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* planned(who, { daily_template_recipients: 30 })
        const demand = { units: 1, dailyLimit: 30, minimumWaitMs: 0 }
        const late = yield* Effect.forEach(Array.from({ length: 30 }), () => acceptLate(who))
        const plain = Array.from({ length: 30 }, () => jobs.accept(Fixtures.send(who, { demand })))
        const takes = late.map(({ jobId }) =>
          jobs.applyLimits({ accountId: who.accountId, jobIds: [jobId], now })
        )
        const both = Effect.all(
          [Effect.all(plain, { concurrency: "unbounded" }), Effect.all(takes, { concurrency: "unbounded" })],
          { concurrency: "unbounded" }
        )
        const [accepted, taken] = yield* both
        const first = accepted.filter(({ _tag }) => _tag === "Accepted").length
        expect(first + taken.reduce((sum, count) => sum + count, 0)).toBe(30)
        expect((yield* jobs.usage({ accountId: who.accountId, day })).template).toBe(30)
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
