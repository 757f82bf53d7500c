/** Who lives, and what becomes of recipients over which workers die. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Care } from "../../src/domain/job/Claiming.ts"
import { careless } from "../../src/domain/job/Claiming.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { WebhookStore } from "../../src/storage/WebhookStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, listen, now, owner, results } from "./Setup.ts"

const recoverable = ["sandbox"] as const

/** A job of so many phones, of which the first died with its worker so often, when it was due first. */
const bereaved = Effect.fnUntraced(function* (phones: number, deaths: number) {
  const jobs = yield* JobStore
  const command = Fixtures.send(yield* owner, { phones })
  yield* jobs.accept(command)
  for (let death = 0; death < deaths; death++) {
    yield* claim(1)
    yield* jobs.rescue({ worker: "worker-1", now, recoverable })
  }
  return { jobs, jobId: command.jobId }
})

/** The places and deaths of what a claim with so much care brings at a time, which is given back. */
const taken = Effect.fnUntraced(function* (at: Time.Instant, care: Partial<Care> = {}) {
  const jobs = yield* JobStore
  const { claimed } = yield* jobs.settleAndClaim({
    now: at,
    settlements: [],
    claim: { worker: "careful", limit: 10, care: { ...careless, ...care } }
  })
  yield* jobs.giveBack({ worker: "careful", now: at })
  return claimed.flatMap(({ recipients }) => recipients.map(({ crashCount, index }) => [index, crashCount]))
})

const young = { survivors: 1, suspects: 0, youngForMs: 20_000, survivorsWait: false, suspectsWait: false }

export const suite = (layer: Stored): void => {
  describe("a worker", () => {
    it.effect("is known while it has recipients in hand or has said that it lives", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(2, 0)
        expect(yield* jobs.workers).toEqual([])
        yield* claim(1, now, "silent")
        yield* jobs.heartbeat({ workers: ["idle", "loud"], beats: 7, dispatchesAt: null })
        yield* jobs.heartbeat({ workers: ["loud"], beats: 8, dispatchesAt: null })
        expect([...(yield* jobs.workers)].sort((a, b) => a.beats - b.beats)).toEqual([
          { worker: "silent", beats: 0, isDead: false },
          { worker: "idle", beats: 7, isDead: false },
          { worker: "loud", beats: 8, isDead: false }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that has ended is forgotten, when it has nothing in hand any more", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(2, 0)
        yield* claim(1, now, "holds")
        yield* jobs.heartbeat({ workers: ["holds", "idle", "lives"], beats: 7, dispatchesAt: now })
        yield* jobs.heartbeat({ workers: ["lives"], ended: ["idle", "holds"], beats: 8, dispatchesAt: null })
        const known = Effect.map(jobs.workers, (workers) => workers.map(({ worker }) => worker).sort())
        expect(yield* known).toEqual(["holds", "lives"])
        expect(yield* jobs.dispatchesAt).toBeNull()
        expect(yield* jobs.giveBack({ worker: "holds", now })).toBe(1)
        expect(yield* known).toEqual(["lives"])
        yield* jobs.heartbeat({ workers: [], ended: ["lives", "never seen"], beats: 9, dispatchesAt: null })
        expect(yield* known).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that dispatches is told by the last time at which one said so", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        expect(yield* jobs.dispatchesAt).toBeNull()
        yield* jobs.heartbeat({ workers: ["asked"], beats: 1, dispatchesAt: null })
        expect(yield* jobs.dispatchesAt).toBeNull()
        yield* jobs.heartbeat({ workers: ["a", "b"], beats: 1, dispatchesAt: now })
        yield* jobs.heartbeat({ workers: ["b"], beats: 2, dispatchesAt: Time.after(now, 5000) })
        expect(yield* jobs.dispatchesAt).toBe(now + 5000)
        yield* jobs.heartbeat({ workers: ["b"], beats: 3, dispatchesAt: null })
        expect(yield* jobs.dispatchesAt).toBe(now)
        yield* jobs.rescue({ worker: "a", now, recoverable })
        expect(yield* jobs.dispatchesAt).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("is forgotten when it was rescued, and may come back", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(1, 0)
        yield* claim(1, now, "w")
        yield* jobs.heartbeat({ workers: ["w"], beats: 1, dispatchesAt: null })
        expect(yield* jobs.rescue({ worker: "w", now, recoverable })).toBe(1)
        expect(yield* jobs.workers).toEqual([])
        expect(yield* jobs.rescue({ worker: "w", now, recoverable })).toBe(0)
        yield* jobs.heartbeat({ workers: ["w"], beats: 2, dispatchesAt: null })
        expect(yield* jobs.workers).toEqual([{ worker: "w", beats: 2, isDead: false }])
      }).pipe(Effect.provide(layer))
    )

    it.effect("keeps what it has when it said again that it lives", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* bereaved(3, 0)
        const rescue = (...beats: ReadonlyArray<readonly [string, number]>) => {
          const [worker, ...beside] = beats.map(([worker]) => worker)
          return jobs.rescue({ worker: worker ?? "", beside, beats: new Map(beats), now, recoverable })
        }
        const held = Effect.map(jobs.workers, (holders) => holders.map(({ worker }) => worker).sort())
        yield* claim(3, now, "w")
        yield* jobs.heartbeat({ workers: ["w"], beats: 3, dispatchesAt: null })
        // It was seen before its first word, and before its last.
        expect(yield* rescue(["w", 0])).toBe(0)
        expect(yield* rescue(["w", 2])).toBe(0)
        expect(yield* held).toEqual(["w"])
        expect((yield* results(jobId)).map(({ crashCount }) => crashCount)).toEqual([0, 0, 0])
        expect(yield* rescue(["w", 3])).toBe(3)
        yield* claim(3, now, "silent")
        yield* jobs.heartbeat({ workers: ["lives"], beats: 4, dispatchesAt: null })
        expect(yield* rescue(["silent", 1])).toBe(0)
        // Each is judged by itself.
        expect(yield* rescue(["lives", 3], ["silent", 0])).toBe(3)
        expect(yield* held).toEqual(["lives"])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a worker with recipients and deliveries", () => {
    /** Both in the hands of "w", whose last count is this one. */
    const holding = Effect.fnUntraced(function* (beats: number) {
      const { jobs } = yield* bereaved(2, 0)
      const store = yield* WebhookStore
      const { accountId } = yield* owner
      yield* listen(accountId)
      yield* (yield* ConsentStore).record({ accountId, records: [Fixtures.consent("5511987654321")] })
      const claimDeliveries = store.settleAndClaim({
        now,
        settlements: [],
        claim: Fixtures.deliveryClaim({ worker: "w" })
      })
      yield* claim(2, now, "w")
      yield* claimDeliveries
      if (beats > 0) yield* jobs.heartbeat({ workers: ["w"], beats, dispatchesAt: null })
      return {
        jobs,
        claimDeliveries,
        rescueRecipients: (beats: number) =>
          jobs.rescue({ worker: "w", beats: new Map([["w", beats]]), now, recoverable }),
        rescueDeliveries: (beats: number) => store.rescue({ worker: "w", beats, now })
      }
    })

    for (const [which, beats] of [
      ["that said nothing", 0],
      ["that has said that it lives", 3]
    ] as const)
      it.effect(`and ${which} loses both by one count, also when the rescue ends between them`, () =>
        Effect.gen(function* () {
          const { jobs, rescueDeliveries, rescueRecipients } = yield* holding(beats)
          expect(yield* rescueDeliveries(beats + 1)).toBe(0)
          expect(yield* rescueDeliveries(beats)).toBe(1)
          expect(yield* jobs.workers).toEqual([{ worker: "w", beats, isDead: false }])
          // The next one to find it dead begins again.
          expect(yield* rescueDeliveries(beats)).toBe(0)
          expect(yield* rescueRecipients(beats)).toBe(2)
          expect(yield* jobs.workers).toEqual([])
        }).pipe(Effect.provide(layer))
      )

    it.effect("keeps what is not taken back yet when it says between the two rescues that it lives", () =>
      Effect.gen(function* () {
        const { claimDeliveries, jobs, rescueDeliveries, rescueRecipients } = yield* holding(3)
        expect(yield* rescueDeliveries(3)).toBe(1)
        yield* jobs.heartbeat({ workers: ["w"], beats: 4, dispatchesAt: null })
        yield* claimDeliveries
        expect(yield* rescueRecipients(3)).toBe(0)
        expect(yield* rescueDeliveries(3)).toBe(0)
        expect(yield* jobs.workers).toEqual([{ worker: "w", beats: 4, isDead: false }])
        expect(yield* rescueDeliveries(4)).toBe(1)
        expect(yield* rescueRecipients(4)).toBe(2)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("what a worker gives back of which nothing was attempted", () => {
    it.effect("is due again, at no cost of an attempt, and no death is counted", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* bereaved(3, 1)
        const before = yield* results(jobId)
        const [job] = yield* claim(2, now, "w")
        yield* jobs.heartbeat({ workers: ["w"], beats: 1, dispatchesAt: null })
        expect(yield* jobs.giveBack({ worker: "another", now })).toBe(0)
        expect(yield* jobs.giveBack({ worker: "w", now: Time.after(now, 1) })).toBe(2)
        expect(yield* jobs.workers).toEqual([])
        const after = yield* results(jobId)
        expect(
          after.map(({ attempts, crashCount, maybeSent }) => ({ attempts, crashCount, maybeSent }))
        ).toEqual(before.map(({ attempts, crashCount, maybeSent }) => ({ attempts, crashCount, maybeSent })))
        // What was claimed then is another claim's.
        const outcome = Outcome.Accepted({ providerId: "p", status: "accepted" })
        const late = { jobId, fence: job?.fence ?? 0, index: 0, outcome }
        const { settled } = yield* jobs.settleAndClaim({
          now: Time.after(now, 1),
          settlements: [late],
          claim: null
        })
        expect(settled).toBe(0)
        const again = yield* claim(3, now + 1, "v")
        expect(again.flatMap(({ recipients }) => recipients.map(({ attempts }) => attempts))).toEqual([
          2, 1, 1
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is canceled with its job, and a whole backlog goes back as one job does", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const jobs = yield* JobStore
        const commands = Array.from({ length: 3 }, () => Fixtures.send(who, { phones: 2 }))
        for (const command of commands) yield* jobs.accept(command)
        yield* claim(6, now, "w")
        const [canceled] = commands
        yield* jobs.cancel({ jobId: canceled?.jobId ?? "", now })
        expect(yield* jobs.giveBack({ worker: "w", now })).toBe(6)
        const statuses = yield* Effect.forEach(commands, ({ jobId }) =>
          Effect.map(jobs.find(jobId), (job) => [job?.status, job?.counts.canceled])
        )
        expect(statuses).toEqual([
          ["canceled", 2],
          ["queued", 0],
          ["queued", 0]
        ])
        expect((yield* claim(6, now, "v")).flatMap(({ recipients }) => recipients)).toHaveLength(4)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a recipient over which workers died", () => {
    it.effect("is told to be uncertain until an attempt has an outcome", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(1, 1)
        const [job] = yield* claim(1)
        expect(job?.recipients[0]).toMatchObject({ maybeSent: true, attempts: 2 })
        const outcome = Outcome.Retry({ at: now, failure, maybeSent: false })
        const settlement = { jobId: job?.jobId ?? "", fence: job?.fence ?? -1, index: 0, outcome }
        yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        expect((yield* claim(1))[0]?.recipients[0]).toMatchObject({ maybeSent: false, attempts: 3 })
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is attempted after a minute, five and fifteen once it may be the cause, alone, and parked then",
      () =>
        Effect.gen(function* () {
          const { jobId, jobs } = yield* bereaved(4, 2)
          const others = [
            [1, 0],
            [2, 0],
            [3, 0]
          ]
          expect(yield* taken(now)).toEqual(others)
          let at = now
          for (const [deaths, minutes] of [1, 5, 15].entries()) {
            expect(yield* jobs.nextDue(at)).toBeLessThanOrEqual(at)
            at = Time.after(at, minutes * 60_000)
            expect(yield* taken(Time.before(at, 1))).toEqual(others)
            expect(yield* taken(at)).toEqual([[0, 2 + deaths]])
            yield* jobs.settleAndClaim({ now: at, settlements: [], claim: { worker: "w", limit: 10 } })
            yield* jobs.rescue({ worker: "w", now: at, recoverable })
          }
          expect((yield* results(jobId))[0]).toMatchObject({
            status: "unknown",
            failure: { code: "poisoned", permanent: false }
          })
          expect(yield* taken(at)).toEqual(others)
        }).pipe(Effect.provide(layer))
    )

    it.effect("waits as long as the rescue is told", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* bereaved(1, 2)
        const rescue = (at: Time.Instant) =>
          jobs.rescue({ worker: "w", now: at, recoverable, suspectWaits: [7, 9] })
        yield* claim(1, now + 60_000, "w")
        yield* rescue(Time.after(now, 60_000))
        expect((yield* results(jobId))[0]?.nextAt).toBe(now + 60_009)
        yield* claim(1, now + 60_009, "w")
        yield* rescue(Time.after(now, 60_009))
        expect((yield* results(jobId))[0]?.failure?.code).toBe("poisoned")
      }).pipe(Effect.provide(layer))
    )

    it.effect("is put off where it is a suspect and none may be taken, and keeps nobody waiting", () =>
      Effect.gen(function* () {
        const { jobId } = yield* bereaved(4, 2)
        const at = Time.after(now, 60_000)
        expect(yield* taken(at, { suspects: 0, suspectsWait: false })).toEqual([
          [1, 0],
          [2, 0],
          [3, 0]
        ])
        expect((yield* results(jobId))[0]).toMatchObject({ crashCount: 2, nextAt: at + 1000 })
        expect(yield* taken(Time.after(at, 1000), young)).toHaveLength(3)
        expect((yield* results(jobId))[0]?.nextAt).toBe(at + 21_000)
        expect(yield* taken(Time.after(at, 21_000))).toEqual([[0, 2]])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is put off by a process whose age has fractions of a millisecond, and others go on", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* bereaved(1, 2)
        const other = Fixtures.send(yield* owner, { phones: 2 })
        yield* jobs.accept(other)
        const at = Time.after(now, 60_000)
        expect(yield* taken(at, { ...young, youngForMs: 19_876.543_21 })).toHaveLength(2)
        expect((yield* results(jobId))[0]).toMatchObject({ crashCount: 2, nextAt: at + 19_877 })
        expect(yield* taken(Time.after(at, 19_877))).toHaveLength(3)
      }).pipe(Effect.provide(layer))
    )

    it.effect("goes one at a time beside the others in a young process, and the next a moment later", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const command = Fixtures.send(yield* owner, { phones: 6 })
        yield* jobs.accept(command)
        yield* claim(4)
        yield* jobs.rescue({ worker: "worker-1", now, recoverable })
        expect(yield* taken(now, young)).toEqual([
          [0, 1],
          [4, 0],
          [5, 0]
        ])
        const times = (yield* results(command.jobId)).slice(1, 4).map(({ nextAt }) => (nextAt ?? 0) - now)
        expect(times).toEqual([100, 200, 300])
        // The end of its youth is late enough for all of them.
        expect(yield* taken(Time.after(now, 1000), { ...young, survivors: 0, youngForMs: 50 })).toEqual([
          [4, 0],
          [5, 0]
        ])
        expect((yield* results(command.jobId)).slice(0, 4).map(({ nextAt }) => nextAt)).toEqual(
          Array(4).fill(now + 1050)
        )
        // An old one takes as many as it may, and those behind them with the next claim.
        expect(yield* taken(Time.after(now, 2000), { survivors: 3 })).toEqual([
          [0, 1],
          [1, 1],
          [2, 1]
        ])
        expect(yield* taken(Time.after(now, 2000))).toHaveLength(6)
      }).pipe(Effect.provide(layer))
    )

    it.effect("is never claimed as a suspect with one that survived a death, of whatever session", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(1, 2)
        const other = Fixtures.send(yield* owner, { phones: 2, now })
        yield* jobs.accept(other)
        yield* claim(2, now + 1)
        yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 1), recoverable })
        const taken: Array<ReadonlyArray<number>> = []
        for (let at = Time.after(now, 60_000); taken.flat().length < 3; at = Time.after(at, 1000)) {
          const care = { ...careless, survivorsWait: false, suspectsWait: false }
          const asked = { worker: "w", limit: 10, care }
          const { claimed } = yield* jobs.settleAndClaim({ now: at, settlements: [], claim: asked })
          taken.push(claimed.flatMap(({ recipients }) => recipients.map(({ crashCount }) => crashCount)))
          const outcome = Outcome.Accepted({ providerId: null, status: "accepted" })
          const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
            recipients.map(({ index }) => ({ jobId, fence, index, outcome }))
          )
          yield* jobs.settleAndClaim({ now: at, settlements, claim: null })
        }
        expect(taken.map((deaths) => deaths.join()).sort()).toEqual(["1,1", "2"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not parked for retries, nor for deaths that had an outcome in between", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* bereaved(1, 0)
        for (let round = 0; round < 4; round++) {
          yield* claim(1)
          yield* jobs.rescue({ worker: "worker-1", now, recoverable })
          const [job] = yield* claim(1)
          const outcome = Outcome.Retry({ at: now, failure, maybeSent: true })
          const settlement = { jobId, fence: job?.fence ?? -1, index: 0, outcome }
          yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
        }
        expect((yield* results(jobId))[0]).toMatchObject({ status: "sending", attempts: 8, crashCount: 0 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is unknown when it is canceled: the platform may have it", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* bereaved(2, 1)
        yield* jobs.cancel({ jobId, now })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["unknown", "canceled"])
      }).pipe(Effect.provide(layer))
    )
  })
}
