/** Who may hand in what, and when a job is free for the next worker. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Reported } from "../../src/domain/job/Recipient.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, everyLost, failure, find, listen, now, owner, results } from "./Setup.ts"

const taken = Outcome.Accepted({ providerId: "p", status: "accepted" })
const failed = Outcome.Failed({ failure })

/** A job of so many recipients, the first of them claimed. */
const claimed = Effect.fnUntraced(function* (phones: number, limit = 250) {
  const jobs = yield* JobStore
  const who = yield* owner
  const command = Fixtures.send(who, { phones })
  yield* jobs.accept(command)
  const { jobId } = command
  const [job] = yield* claim(limit)
  if (job === undefined) return yield* Effect.dieMessage("Nothing was claimed.")
  const settle = (
    outcomes: ReadonlyArray<readonly [index: number, outcome: Outcome]>,
    { at = now, fence = job.fence } = {}
  ) => {
    const settlements = outcomes.map(([index, outcome]) => ({ jobId, fence, index, outcome }))
    return Effect.map(jobs.settleAndClaim({ now: at, settlements, claim: null }), ({ settled }) => settled)
  }
  const report = (index: number, status: Reported): Report => {
    const messageId = Ids.messageId(jobId, index)
    return { messageId, status, at: now, failure: status === "failed" ? failure : null, providerId: null }
  }
  return { ...who, jobId, jobs, settle, report, fence: job.fence }
})

export const suite = (layer: Stored): void => {
  describe("what a worker has in hand", () => {
    it.effect("count an outcome once in one exchange", () =>
      Effect.gen(function* () {
        const { jobId, settle } = yield* claimed(2)
        const settled = yield* settle([
          [0, taken],
          [0, failed]
        ])
        expect(settled).toBe(1)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["accepted", "sending"])
        expect((yield* find(jobId)).counts).toMatchObject({ sending: 1, accepted: 1, failed: 0 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("are found as those that are being sent, since they were taken", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(5, 3)
        yield* settle([[1, taken]], { at: Time.after(now, 5) })
        const of = (status?: "queued" | "sending" | "accepted") =>
          Effect.map(
            jobs.results({ jobId, page: { limit: 2, after: null }, ...(status && { status }) }),
            ({ items, next }) => ({ found: items.map(({ index, updatedAt }) => [index, updatedAt]), next })
          )
        expect(yield* of("sending")).toEqual({
          found: [
            [0, now],
            [2, now]
          ],
          next: null
        })
        expect(yield* of("queued")).toEqual({
          found: [
            [3, now],
            [4, now]
          ],
          next: null
        })
        expect(yield* of("accepted")).toEqual({ found: [[1, now + 5]], next: null })
        expect((yield* of()).found).toHaveLength(2)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are no others than were taken, when what lies between them waits", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const of = (phone: string) => ({
          address: phone,
          externalId: null,
          values: [],
          market: null,
          price: null
        })
        const pacing = { messagesPerSecond: null, pairIntervalMs: 1000 }
        yield* (yield* SessionStore).change({ id: who.sessionId, change: { pacing }, now })
        const recipients = ["34600000001", "34600000001", "34600000002"].map(of)
        const command = Fixtures.send(who, { recipients })
        yield* jobs.accept(command)
        yield* claim()
        const statuses = Effect.map(results(command.jobId), (all) => all.map(({ status }) => status))
        expect(yield* statuses).toEqual(["sending", "queued", "sending"])
        expect(yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 1), recoverable: [] })).toBe(2)
        expect(yield* statuses).toEqual(["unknown", "queued", "unknown"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are no others that were queued afresh beside them", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(3, 2)
        yield* settle([[0, failed]])
        yield* jobs.retry({ jobId, now, selection: everyLost })
        const of = (status: "queued" | "sending") =>
          Effect.map(jobs.results({ jobId, page: { limit: 10, after: null }, status }), ({ items }) =>
            items.map(({ index }) => index)
          )
        expect(yield* of("queued")).toEqual([0, 2])
        expect(yield* of("sending")).toEqual([1])
        expect(yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 1), recoverable: [] })).toBe(1)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["queued", "unknown", "queued"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("are left to their outcomes when one of them stops the job", () =>
      Effect.gen(function* () {
        const { jobId, settle } = yield* claimed(4, 3)
        yield* settle([[1, Outcome.Failed({ failure, stopsJob: true })]])
        const statuses = Effect.map(results(jobId), (all) => all.map(({ status }) => status))
        expect(yield* statuses).toEqual(["sending", "failed", "sending", "failed"])
        yield* settle([
          [0, taken],
          [2, taken]
        ])
        expect(yield* statuses).toEqual(["accepted", "failed", "accepted", "failed"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("count an outcome once while others of its window are under way", () =>
      Effect.gen(function* () {
        const { accountId, jobId, settle } = yield* claimed(2)
        expect(yield* settle([[0, taken]])).toBe(1)
        const [before] = yield* results(jobId)
        yield* listen(accountId)
        expect(yield* settle([[0, failed]], { at: Time.after(now, 1) })).toBe(0)
        expect((yield* results(jobId))[0]).toEqual(before)
        expect(yield* events(now + 2)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("take outcomes of their own window only, and of no recipient that is not there", () =>
      Effect.gen(function* () {
        const { fence, jobId, settle } = yield* claimed(3, 1)
        yield* settle([[0, taken]])
        const [second] = yield* claim(1)
        const at = { fence: second?.fence ?? fence }
        // 0 was of the window before, 2 waits, 3 and -1 are not there.
        const others = [0, 2, 3, -1].map((index) => [index, failed] as const)
        expect(yield* settle(others, at)).toBe(0)
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["accepted", "sending", "queued"])
        expect(yield* settle([[1, taken]], at)).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "wait as before, and tell nobody of it, when they are released before their first attempt",
      () =>
        Effect.gen(function* () {
          const { accountId, jobId, settle } = yield* claimed(5, 4)
          yield* listen(accountId)
          const released = Outcome.Released({ maybeSent: false })
          yield* settle([
            [0, released],
            [1, Outcome.Released({ maybeSent: true })],
            [2, Outcome.Retry({ at: now, failure, maybeSent: false })]
          ])
          const seen = Effect.map(results(jobId), (all) =>
            all.map(({ attempts, nextAt, status }) => [status, attempts, nextAt])
          )
          expect(yield* seen).toEqual([
            ["queued", 0, now],
            ["sending", 0, now],
            ["sending", 1, now],
            ["sending", 1, null],
            ["queued", 0, now]
          ])
          expect(yield* find(jobId)).toMatchObject({
            status: "processing",
            counts: { queued: 2, sending: 3 }
          })
          yield* settle([[3, released]])
          expect(yield* events(now + 1)).toEqual([])
          const [again] = yield* claim(5, now + 1)
          expect(again?.recipients.map(({ attempts, index }) => [index, attempts])).toEqual([
            [0, 1],
            [1, 1],
            [2, 2],
            [3, 1],
            [4, 1]
          ])
          const fence = again?.fence ?? 0
          const all = again?.recipients.map(({ index }) => [index, released] as const) ?? []
          yield* settle(all, { at: Time.after(now, 2), fence })
          // Whoever was attempted, or may have been, stays as one that is being sent.
          expect((yield* seen).map(([status, attempts]) => [status, attempts])).toEqual([
            ["queued", 0],
            ["sending", 0],
            ["sending", 1],
            ["queued", 0],
            ["queued", 0]
          ])
          expect((yield* find(jobId)).counts).toMatchObject({ queued: 3, sending: 2 })
        }).pipe(Effect.provide(layer))
    )

    it.effect("end with their canceled job, when they are released before their first attempt", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(1)
        yield* jobs.cancel({ jobId, now })
        yield* settle([[0, Outcome.Released({ maybeSent: false })]])
        expect((yield* results(jobId))[0]).toMatchObject({ status: "canceled", attempts: 1 })
        expect((yield* find(jobId)).status).toBe("canceled")
      }).pipe(Effect.provide(layer))
    )

    it.effect("keep nobody waiting who is not: each goes again by its own outcome", () =>
      Effect.gen(function* () {
        const { jobs, settle } = yield* claimed(4, 3)
        yield* settle([
          [0, taken],
          [1, Outcome.Released({ maybeSent: false })]
        ])
        expect(yield* jobs.nextDue(now)).toBe(now)
        const [next] = yield* claim()
        expect(next?.recipients.map(({ index }) => index)).toEqual([1, 3])
        expect(yield* jobs.nextDue(now)).toBeNull()
        yield* settle([[2, Outcome.Retry({ at: Time.after(now, 50), failure, maybeSent: false })]])
        expect(yield* jobs.nextDue(now)).toBe(now + 50)
        expect(yield* claim(250, now + 49)).toEqual([])
        expect((yield* claim(250, now + 50))[0]?.recipients.map(({ index }) => index)).toEqual([2])
      }).pipe(Effect.provide(layer))
    )

    it.effect("wait for the outcome of what a report overtook, and keep its provider's id", () =>
      Effect.gen(function* () {
        const { jobId, jobs, report, settle } = yield* claimed(3, 2)
        yield* jobs.receive({ now, reports: [report(0, "delivered")] })
        yield* settle([[1, taken]])
        const [next] = yield* claim()
        expect(next?.recipients.map(({ index }) => index)).toEqual([2])
        expect(yield* settle([[0, taken]])).toBe(1)
        expect((yield* results(jobId))[0]).toMatchObject({ status: "delivered", providerId: "p" })
        expect(yield* claim()).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("change nothing, write no event and free no job when they are lost", () =>
      Effect.gen(function* () {
        const { accountId, jobId, jobs, settle } = yield* claimed(2)
        const late = Time.after(now, 20_000)
        expect(yield* jobs.rescue({ worker: "worker-1", now: late, recoverable: ["sandbox"] })).toBe(2)
        yield* claim(250, late, "worker-2")
        yield* listen(accountId)
        const before = [yield* find(jobId), yield* results(jobId)]
        for (const outcome of [
          taken,
          failed,
          Outcome.Unknown({ failure }),
          Outcome.Released({ maybeSent: false })
        ]) {
          expect(yield* settle([[0, outcome]], { at: Time.after(late, 1) })).toBe(0)
        }
        expect([yield* find(jobId), yield* results(jobId)]).toEqual(before)
        expect(yield* events(late + 2)).toEqual([])
        expect(yield* claim(250, late + 1, "worker-3")).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("take back nothing but what is under way", () =>
      Effect.gen(function* () {
        const { jobId, jobs, report, settle } = yield* claimed(4)
        yield* settle([
          [0, taken],
          [1, Outcome.Retry({ at: Time.after(now, 60_000), failure, maybeSent: false })]
        ])
        yield* jobs.receive({ now, reports: [report(2, "sent")] })
        expect(
          yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 20_000), recoverable: [] })
        ).toBe(1)
        const statuses = (yield* results(jobId)).map(({ status }) => status)
        expect(statuses).toEqual(["accepted", "sending", "sent", "unknown"])
        expect((yield* results(jobId))[1]).toMatchObject({ nextAt: now + 60_000, attempts: 1 })
        expect(
          yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 20_000), recoverable: [] })
        ).toBe(0)
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a canceling job", () => {
    it.effect("gives no further attempt, and ends", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(3)
        yield* jobs.cancel({ jobId, now })
        yield* settle([
          [0, Outcome.Retry({ at: now, failure, maybeSent: false })],
          [1, Outcome.Released({ maybeSent: false })]
        ])
        expect(yield* claim()).toEqual([])
        yield* settle([[2, taken]])
        const job = yield* find(jobId)
        expect([job.status, job.counts.canceled, job.counts.accepted]).toEqual(["canceled", 2, 1])
      }).pipe(Effect.provide(layer))
    )

    it.effect("ends when its worker died, whatever its provider can do", () =>
      Effect.gen(function* () {
        const { jobId, jobs } = yield* claimed(2, 1)
        yield* jobs.cancel({ jobId, now })
        yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 20_000), recoverable: ["sandbox"] })
        expect(yield* find(jobId)).toMatchObject({ status: "canceled", completedAt: now + 20_000 })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["unknown", "canceled"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells of who may have the message why that is not known", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(3, 2)
        // The attempt of the first is under way when its worker dies; the second is to be attempted again.
        yield* settle([[1, Outcome.Retry({ at: Time.after(now, 9999), failure, maybeSent: true })]])
        yield* jobs.rescue({ worker: "worker-1", now, recoverable: ["sandbox"] })
        yield* jobs.cancel({ jobId, now })
        const reasons = Effect.map(results(jobId), (all) =>
          all.map(({ failure, status }) => [status, failure?.code ?? null])
        )
        expect(yield* reasons).toEqual([
          ["unknown", "outcome_unknown"],
          ["unknown", failure.code],
          ["canceled", null]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("tells it also when its worker stops meanwhile", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(2)
        yield* jobs.cancel({ jobId, now })
        yield* settle([
          [0, Outcome.Released({ maybeSent: true })],
          [1, Outcome.Released({ maybeSent: false })]
        ])
        expect((yield* results(jobId)).map(({ failure, status }) => [status, failure?.code ?? null])).toEqual(
          [
            ["unknown", "outcome_unknown"],
            ["canceled", null]
          ]
        )
        expect((yield* find(jobId)).status).toBe("canceled")
      }).pipe(Effect.provide(layer))
    )

    it.effect("is opened by no retry, before its end and after it", () =>
      Effect.gen(function* () {
        const { jobId, jobs, settle } = yield* claimed(2)
        yield* settle([[0, failed]])
        yield* jobs.cancel({ jobId, now })
        const retry = jobs.retry({ jobId, now: Time.after(now, 1), selection: everyLost })
        expect(yield* retry).toMatchObject({ _tag: "Ended", job: { status: "canceling" } })
        yield* settle([[1, taken]])
        expect(yield* retry).toMatchObject({ _tag: "Ended", job: { status: "canceled" } })
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["failed", "accepted"])
        expect(yield* claim(250, now + 1)).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })
}
