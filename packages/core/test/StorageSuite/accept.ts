import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Time from "../../src/domain/Instant.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { events, find, listen, now, owner, results } from "./Setup.ts"

const count = (tags: ReadonlyArray<{ readonly _tag: string }>, tag: string): number =>
  tags.filter(({ _tag }) => _tag === tag).length

export const suite = (layer: Stored) =>
  describe("accept", () => {
    it.effect("writes the job and its recipients, all times from the argument", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner, { phones: 3, estimatedCost: "0.0300" })
        const accepted = yield* jobs.accept(command)
        expect(accepted._tag).toBe("Accepted")
        const job = yield* find(command.jobId)
        expect(job).toMatchObject({
          status: "queued",
          recipients: 3,
          content: command.content,
          estimatedCost: "0.0300",
          createdAt: now,
          updatedAt: now,
          completedAt: null
        })
        expect(job.counts.queued).toBe(3)
        const found = yield* results(command.jobId)
        expect(found.map(({ address: phone }) => phone)).toEqual(
          command.recipients.map(({ address: phone }) => phone)
        )
        expect(found[1]).toMatchObject({
          index: 1,
          externalId: "r1",
          values: ["Name 1"],
          status: "queued",
          attempts: 0,
          market: "*",
          price: "0.0100",
          nextAt: now,
          updatedAt: now
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("answers the same key and body with the first job", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = Fixtures.send(who, { key: "k", phones: 2 })
        yield* jobs.accept(first)
        const again = yield* jobs.accept(Fixtures.send(who, { key: "k", phones: 2 }))
        expect(again).toMatchObject({ _tag: "Replayed", record: { jobId: first.jobId, recipients: 2 } })
        expect(yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "k" })).toMatchObject({
          jobId: first.jobId
        })
        expect(yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "other" })).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("refuses the same key with another body, and keeps keys of API keys apart", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const other = yield* owner
        const first = Fixtures.send(who, { key: "k" })
        yield* jobs.accept(first)
        const changed = { ...Fixtures.send(who), idempotency: { key: "k", fingerprint: "other" } }
        expect(yield* jobs.accept(changed)).toMatchObject({
          _tag: "KeyConflict",
          record: { jobId: first.jobId }
        })
        expect(yield* jobs.accept(Fixtures.send(other, { key: "k" }))).toMatchObject({ _tag: "Accepted" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("makes one job of 200 parallel sends with one key", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const answers = yield* Effect.all(
          Array.from({ length: 200 }, () => jobs.accept(Fixtures.send(who, { key: "one" }))),
          { concurrency: "unbounded" }
        )
        expect([count(answers, "Accepted"), count(answers, "Replayed")]).toEqual([1, 199])
        const { items } = yield* jobs.list({
          by: { publicKey: who.publicKey },
          kind: "template",
          page: { limit: 100, after: null }
        })
        expect(items).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("accepts exactly the quota of 50 parallel sends", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const demand = { units: 2, dailyLimit: 14, minimumWaitMs: 0 }
        const answers = yield* Effect.all(
          Array.from({ length: 50 }, () => jobs.accept(Fixtures.send(who, { phones: 2, demand }))),
          { concurrency: "unbounded" }
        )
        expect([count(answers, "Accepted"), count(answers, "QuotaExhausted")]).toEqual([7, 43])
        const usage = yield* jobs.usage({ accountId: who.accountId, day: Time.utcDay(now) })
        expect(usage).toEqual({ template: 14, direct: 0 })
        const tomorrow = { demand, phones: 2, now: Time.endOfUtcDay(now) }
        expect(yield* jobs.accept(Fixtures.send(who, tomorrow))).toMatchObject({ _tag: "Accepted" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells the quota before the minimum wait, and both only after the key", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const demand = { units: 1, dailyLimit: 1, minimumWaitMs: 1000 }
        const first = Fixtures.send(who, { key: "k", demand })
        yield* jobs.accept(first)
        expect(yield* jobs.accept(Fixtures.send(who, { demand }))).toMatchObject({
          _tag: "QuotaExhausted",
          used: 1
        })
        expect(yield* jobs.accept(Fixtures.send(who, { key: "k", demand }))).toMatchObject({
          _tag: "Replayed"
        })
        const roomy = { ...demand, dailyLimit: 5 }
        const soon = yield* jobs.accept(Fixtures.send(who, { demand: roomy, now: Time.after(now, 400) }))
        expect(soon).toEqual({ _tag: "TooSoon", retryAt: now + 1000 })
        const later = yield* jobs.accept(Fixtures.send(who, { demand: roomy, now: Time.after(now, 1000) }))
        expect(later._tag).toBe("Accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect("writes nothing when it refuses", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        yield* listen(who.accountId)
        const demand = { units: 1, dailyLimit: 0, minimumWaitMs: 60_000 }
        const refused = Fixtures.send(who, { key: "k", demand })
        expect((yield* jobs.accept(refused))._tag).toBe("QuotaExhausted")
        expect(yield* jobs.find(refused.jobId)).toBeNull()
        expect(yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "k" })).toBeNull()
        expect(yield* jobs.usage({ accountId: who.accountId, day: Time.utcDay(now) })).toEqual({
          template: 0,
          direct: 0
        })
        expect(yield* events()).toEqual([])
        const roomy = { ...demand, dailyLimit: 1 }
        expect((yield* jobs.accept(Fixtures.send(who, { key: "k", demand: roomy })))._tag).toBe("Accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect("writes nothing when a statement fails", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = Fixtures.send(who, { phones: 2 })
        yield* jobs.accept(first)
        // Another send under the same job id cannot be written, after its other decisions have passed.
        const broken = Fixtures.send(who, { key: "broken", jobId: first.jobId, phones: 3 })
        expect(Exit.isFailure(yield* Effect.exit(jobs.accept(broken)))).toBe(true)
        expect(yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "broken" })).toBeNull()
        expect((yield* jobs.usage({ accountId: who.accountId, day: Time.utcDay(now) })).template).toBe(2)
        expect(yield* results(first.jobId)).toHaveLength(2)
        expect((yield* jobs.accept(Fixtures.send(who, { key: "broken" })))._tag).toBe("Accepted")
      }).pipe(Effect.provide(layer))
    )

    it.effect("claims for the one who accepts, when asked to", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner, { claim: "me", key: null })
        const accepted = yield* jobs.accept(command)
        expect(accepted).toMatchObject({
          _tag: "Accepted",
          claimed: { jobId: command.jobId, recipients: [{ index: 0, attempts: 1 }] }
        })
        const { claimed } = yield* jobs.settleAndClaim({
          now,
          settlements: [],
          claim: { worker: "other", limit: 10 }
        })
        expect(claimed).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })
