/** What stays of a send, so that it can be told later what became of it. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Attempts from "../../src/domain/job/Attempts.ts"
import * as Transitions from "../../src/domain/job/Transitions.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, everyLost, failure, find, now, owner, results } from "./Setup.ts"

const accepted = Outcome.Accepted({ providerId: "p", status: "accepted" })
const later = (at: Time.Instant) => Outcome.Retry({ at, failure, maybeSent: false })
const minute = 60_000

/** In the order of the rows. */
const tallies = (query: {
  readonly from: Time.Instant
  readonly to?: Time.Instant
  readonly most?: number
}) =>
  Effect.flatMap(JobStore, (jobs) =>
    Effect.map(jobs.tallies({ to: Time.at(Number.MAX_SAFE_INTEGER), most: 1000, ...query }), (found) =>
      found.toSorted((a, b) =>
        [a.minute, a.sessionId, a.outcome].join(" ") < [b.minute, b.sessionId, b.outcome].join(" ") ? -1 : 1
      )
    )
  )

const accept = Effect.fnUntraced(function* (some: Parameters<typeof Fixtures.send>[1] = {}) {
  const command = Fixtures.send(yield* owner, some)
  yield* (yield* JobStore).accept(command)
  return command
})

/** Settles all of a claim. */
const settle = Effect.fnUntraced(function* (
  claimed: ReadonlyArray<ClaimedJob>,
  outcome: Outcome,
  at: Time.Instant,
  ms?: number
) {
  const tried = ms === undefined ? {} : { tried: { ms, process: "process-1" } }
  const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome, ...tried }))
  )
  yield* (yield* JobStore).settleAndClaim({ now: at, settlements, claim: null })
})

export const suite = (layer: Stored): void => {
  describe("what stays of a send", () => {
    it.effect("is the id of its request, and its Idempotency-Key", () =>
      Effect.gen(function* () {
        const { idempotency, jobId } = yield* accept({ requestId: "request-1" })
        const told = { requestId: "request-1", idempotencyKey: idempotency?.key ?? null }
        expect(yield* find(jobId)).toMatchObject(told)
        yield* settle(yield* claim(), accepted, now)
        expect(yield* find(jobId)).toMatchObject(told)
        expect(yield* find((yield* accept()).jobId)).toMatchObject({ requestId: null })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is when the attempt ended that the platform took, whatever is reported later", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        expect((yield* results(jobId)).map(Transitions.attemptedAt)).toEqual([null])
        yield* settle(yield* claim(), accepted, Time.after(now, 5))
        expect((yield* results(jobId)).map(Transitions.attemptedAt)).toEqual([now + 5])
        const messageId = Ids.messageId(jobId, 0)
        const report = {
          messageId,
          status: "read" as const,
          at: Time.after(now, 70),
          failure: null,
          providerId: null
        }
        yield* jobs.receive({ now: Time.after(now, 80), reports: [report] })
        expect((yield* results(jobId))[0]).toMatchObject({ attemptedAt: now + 5, updatedAt: now + 80 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is each attempt but the last, with what it took and who made it", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 2 })
        const first = yield* claim(1)
        yield* settle(first, later(Time.after(now, 10)), Time.after(now, 3), 3)
        yield* settle(yield* claim(1, now, "worker-1"), accepted, Time.after(now, 4), 4)
        const again = yield* claim(1, now + 10)
        yield* settle(again, later(Time.after(now, 20)), Time.after(now, 15), 5)
        yield* settle(yield* claim(1, now + 20), accepted, Time.after(now, 26), 6)
        const { message } = failure
        const earlier = {
          code: "broken",
          providerCode: "1",
          message,
          outcome: "retried",
          process: "process-1"
        }
        expect(yield* jobs.earlierAttempts({ jobId, index: 0 })).toEqual([
          { ...earlier, number: 1, at: now + 3, ms: 3 },
          { ...earlier, number: 2, at: now + 15, ms: 5 }
        ])
        expect(yield* jobs.earlierAttempts({ jobId, index: 1 })).toEqual([])
        const [result] = yield* results(jobId)
        expect(result).toMatchObject({ attempts: 3, updatedAt: now + 26 })
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "is the time and the process of each attempt of a message that has a job for itself, also of its last",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const told = Effect.fnUntraced(function* (outcome: Outcome) {
            const { jobId } = yield* accept()
            yield* settle(yield* claim(), outcome, Time.after(now, 3), 2)
            const rows = yield* jobs.timeline({ jobId, index: 0, now: Time.after(now, 9) })
            return rows === null ? null : Attempts.attemptsOf(rows.recipient, rows.earlier)
          })
          const tried = { number: 1, at: now + 3, ms: 2, process: "process-1" }
          expect(yield* told(accepted)).toMatchObject({
            earlier: [],
            last: { ...tried, outcome: "accepted" }
          })
          expect(yield* told(Outcome.Failed({ failure }))).toMatchObject({
            earlier: [],
            last: { ...tried, outcome: "failed", code: "broken", message: failure.message }
          })
          expect(yield* told(Outcome.Unknown({ failure }))).toMatchObject({
            earlier: [],
            last: { ...tried, outcome: "unknown" }
          })
        }).pipe(Effect.provide(layer))
    )

    it.effect("is an attempt whose process died, and one that an operator has repeated", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        yield* claim(1)
        yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 7), recoverable: ["sandbox"] })
        yield* settle(yield* claim(1, now + 8), Outcome.Failed({ failure }), Time.after(now, 9))
        yield* jobs.retry({ jobId, now: Time.after(now, 50), selection: everyLost })
        yield* settle(yield* claim(1, now + 51), accepted, Time.after(now, 52))
        const found = yield* jobs.earlierAttempts({ jobId, index: 0 })
        expect(found.map(({ at, code, number, outcome }) => [number, at, outcome, code])).toEqual([
          [1, now + 7, "lost", null],
          [2, now + 9, "failed", "broken"]
        ])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("the first outcome of an attempt", () => {
    const report = (jobId: string, status: "delivered" | "failed", at: Time.Instant) =>
      Effect.flatMap(JobStore, (jobs) =>
        jobs.receive({
          now: at,
          reports: [
            {
              messageId: Ids.messageId(jobId, 0),
              status,
              at,
              failure: status === "failed" ? { ...failure, message: "Not there." } : null,
              providerId: null
            }
          ]
        })
      )
    const kept = (jobId: string) =>
      Effect.flatMap(JobStore, (jobs) =>
        Effect.map(jobs.earlierAttempts({ jobId, index: 0 }), (found) =>
          found.map(({ at, code, message, number, outcome }) => [number, at - now, outcome, code, message])
        )
      )

    it.effect("stays where a receipt changes it, or came before it", () =>
      Effect.gen(function* () {
        const before = yield* accept()
        yield* settle(yield* claim(1), Outcome.Unknown({ failure }), Time.after(now, 3))
        yield* report(before.jobId, "delivered", Time.after(now, 5))
        yield* report(before.jobId, "delivered", Time.after(now, 6))
        expect(yield* kept(before.jobId)).toEqual([[1, 3, "unknown", "broken", failure.message]])
        const after = yield* accept()
        const claimed = yield* claim(1, now + 10)
        yield* report(after.jobId, "delivered", Time.after(now, 12))
        yield* settle(claimed, Outcome.Unknown({ failure }), Time.after(now, 14))
        expect(yield* kept(after.jobId)).toEqual([[1, 14, "unknown", "broken", failure.message]])
        const accepts = yield* accept()
        yield* settle(yield* claim(1, Time.after(now, 20)), accepted, Time.after(now, 21))
        yield* report(accepts.jobId, "delivered", Time.after(now, 22))
        expect(yield* kept(accepts.jobId)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "stays of one that costs no attempt, and of one that failed by a receipt and is sent again",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const { jobId } = yield* accept()
          const expired = { ...failure, code: "credentials_rejected", message: "Token expired." }
          yield* settle(
            yield* claim(1),
            Outcome.Released({ maybeSent: false, failure: expired }),
            Time.after(now, 1)
          )
          yield* settle(yield* claim(1, Time.after(now, 2)), accepted, Time.after(now, 3))
          yield* report(jobId, "failed", Time.after(now, 5))
          yield* jobs.retry({ jobId, now: Time.after(now, 9), selection: everyLost })
          yield* settle(yield* claim(1, Time.after(now, 10)), accepted, Time.after(now, 11))
          expect(yield* kept(jobId)).toEqual([
            [1, 1, "released", "credentials_rejected", "Token expired."],
            [1, 3, "accepted", null, null],
            [1, 5, "reported", "broken", "Not there."]
          ])
        }).pipe(Effect.provide(layer))
    )
  })

  describe("the numbers of a minute", () => {
    it.effect("are what became of recipients, by session and code, written or not", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const start = Time.before(now, now % minute)
        const { sessionId } = yield* accept({ phones: 3 })
        yield* settle(yield* claim(1), accepted, now)
        yield* settle(yield* claim(1), later(Time.after(now, minute)), now)
        yield* settle(yield* claim(1), Outcome.Failed({ failure }), now)
        const ofSession = { minute: start, sessionId, code: "" }
        const expected = [
          { ...ofSession, outcome: "accepted", count: 1 },
          { ...ofSession, outcome: "failed", code: "broken", count: 1 },
          { ...ofSession, outcome: "queued", count: 3 },
          { ...ofSession, outcome: "retried", code: "broken", count: 1 }
        ]
        expect(yield* tallies({ from: start })).toEqual(expected)
        yield* jobs.saveTallies({ now })
        expect(yield* tallies({ from: start })).toEqual(expected)
        // Nothing is counted twice.
        yield* jobs.saveTallies({ now })
        expect(yield* tallies({ from: start })).toEqual(expected)
        expect(yield* tallies({ from: Time.after(start, 1) })).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("add up, and are forgotten when they are old", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { sessionId } = yield* accept({ phones: 2 })
        yield* jobs.saveTallies({ now })
        for (let outcome = 0; outcome < 2; outcome++) {
          yield* settle(yield* claim(1), accepted, now)
          yield* jobs.saveTallies({ now })
        }
        const counts = (from: Time.Instant) =>
          Effect.map(tallies({ from }), (found) =>
            found.filter((each) => each.sessionId === sessionId).map(({ count, outcome }) => [outcome, count])
          )
        expect(yield* counts(Time.at(0))).toEqual([
          ["accepted", 2],
          ["queued", 2]
        ])
        const month = 36 * 24 * 60 * minute
        yield* accept({ now: Time.after(now, month) })
        yield* jobs.saveTallies({ now: Time.after(now, month) })
        expect(yield* counts(Time.at(0))).toEqual([])
        expect(yield* tallies({ from: Time.at(0) })).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("are read of the newest minutes first, no more than are asked for", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const start = Time.before(now, now % minute)
        for (const place of [0, 1, 2]) {
          yield* accept({ now: Time.after(now, place * minute) })
          yield* jobs.saveTallies({ now })
        }
        const found = yield* tallies({ from: start, most: 2 })
        expect(found.map((each) => each.minute)).toEqual([start + minute, start + 2 * minute])
        yield* accept({ now })
        const before = yield* tallies({ from: start, to: Time.after(start, 2 * minute) })
        expect(before.map((each) => [each.minute, each.count])).toEqual([
          [start, 1],
          [start, 1],
          [start + minute, 1]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("count each once as accepted whom the platform took, whatever it said and says later", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept({ phones: 2 })
        const sent = Outcome.Accepted({ providerId: "p", status: "sent" })
        yield* settle(yield* claim(1), accepted, now)
        yield* settle(yield* claim(1), sent, now)
        const report = { at: now, failure: null, providerId: null }
        const reports = [0, 1].flatMap((index) =>
          (["sent", "delivered"] as const).map((status) => ({
            messageId: Ids.messageId(jobId, index),
            status,
            ...report
          }))
        )
        yield* jobs.receive({ now, reports })
        const found = yield* tallies({ from: Time.at(0) })
        expect(found.map(({ count, outcome }) => [outcome, count])).toEqual([
          ["accepted", 2],
          ["delivered", 2],
          ["queued", 2],
          ["sent", 2]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("count nothing that changed nothing", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId } = yield* accept()
        const claimed = yield* claim(1)
        yield* settle(claimed, accepted, now)
        yield* settle(claimed, accepted, now)
        yield* jobs.cancel({ jobId, now })
        yield* jobs.saveTallies({ now })
        const found = yield* tallies({ from: Time.at(0) })
        expect(found.map(({ count, outcome }) => [outcome, count])).toEqual([
          ["accepted", 1],
          ["queued", 1]
        ])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a process", () => {
    it.effect("is told as it said of itself, with what it has in flight, until it has ended", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* accept({ phones: 3 })
        const told = {
          version: "1.2.3",
          role: "worker",
          slots: 64,
          startedAt: Time.before(now, 5000),
          saidAt: now
        }
        yield* jobs.heartbeat({ workers: ["silent"], beats: 1, dispatchesAt: null })
        yield* jobs.heartbeat({ workers: ["w"], beats: 1, dispatchesAt: now, process: told })
        yield* claim(2, now, "w")
        expect(yield* jobs.living).toEqual([{ worker: "w", ...told, inFlight: 2 }])
        const process = { ...told, saidAt: Time.after(now, 5000) }
        yield* jobs.heartbeat({ workers: ["w"], beats: 2, dispatchesAt: now, process })
        expect(yield* jobs.living).toEqual([{ worker: "w", ...process, inFlight: 2 }])
        yield* jobs.heartbeat({ workers: [], ended: ["w"], beats: 3, dispatchesAt: null })
        expect(yield* jobs.living).toEqual([])
      }).pipe(Effect.provide(layer))
    )
  })
}
