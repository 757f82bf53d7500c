import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import type { Report } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, everyLost, failure, find, listen, now, owner, results } from "./Setup.ts"

const sent = Effect.fnUntraced(function* (phones: number) {
  const jobs = yield* JobStore
  const who = yield* owner
  const command = Fixtures.send(who, { phones })
  yield* jobs.accept(command)
  for (const job of yield* claim()) {
    const settlements = job.recipients.map(({ index }) => ({
      jobId: job.jobId,
      fence: job.fence,
      index,
      outcome: { _tag: "Accepted", providerId: `p${index}`, status: "accepted" } as const
    }))
    yield* jobs.settleAndClaim({ now, settlements, claim: null })
  }
  const report = (index: number, status: Recipient.Reported, at = Time.after(now, 10)): Report => ({
    messageId: Ids.messageId(command.jobId, index),
    status,
    at,
    failure: status === "failed" ? failure : null,
    providerId: `p${index}`
  })
  return { ...who, jobId: command.jobId, report }
})

export const suite = (layer: Stored) =>
  describe("receive", () => {
    it.effect("raises statuses and keeps the times that the platform tells", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(3)
        const reports = [
          report(0, "sent", Time.after(now, 1)),
          report(0, "delivered", Time.after(now, 2)),
          report(1, "failed")
        ]
        expect(yield* jobs.receive({ now: Time.after(now, 20), reports })).toMatchObject({
          applied: 3,
          unmatched: [],
          refused: [],
          ended: expect.any(Array),
          met: []
        })
        const [first, second, third] = yield* results(jobId)
        expect(first).toMatchObject({
          status: "delivered",
          sentAt: now + 1,
          deliveredAt: now + 2,
          updatedAt: now + 20
        })
        expect(second).toMatchObject({ status: "failed", failure })
        expect(third?.status).toBe("accepted")
        const job = yield* find(jobId)
        expect(job.status).toBe("completed")
        expect(job.counts).toEqual({ ...Recipient.noCounts, delivered: 1, failed: 1, accepted: 1 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("ends the same for repeated and shuffled reports, one event for each step up", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { accountId, jobId, report } = yield* sent(1)
        yield* listen(accountId)
        const reports = [
          report(0, "delivered"),
          report(0, "sent"),
          report(0, "delivered"),
          report(0, "failed")
        ]
        yield* jobs.receive({ now: Time.after(now, 20), reports })
        yield* jobs.receive({ now: Time.after(now, 21), reports })
        expect((yield* results(jobId))[0]).toMatchObject({ status: "delivered", failure: null })
        const told = yield* events(now + 30)
        expect(told.map(({ type }) => type)).toEqual(["recipient.delivered"])
        yield* jobs.receive({ now: Time.after(now, 40), reports: [report(0, "read")] })
        const more = yield* events(now + 50)
        const sequences = [...told, ...more.slice(-1)].map(({ data }) => Number(data["sequence"]))
        expect(sequences[1]).toBeGreaterThan(sequences[0] ?? 0)
      }).pipe(Effect.provide(layer))
    )

    it.effect("overrides a failure by a later delivery, and an unknown outcome by any report", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(1)
        yield* jobs.receive({ now: Time.after(now, 1), reports: [report(0, "failed")] })
        yield* jobs.receive({ now: Time.after(now, 2), reports: [report(0, "delivered")] })
        expect((yield* results(jobId))[0]).toMatchObject({ status: "delivered", failure: null })
      }).pipe(Effect.provide(layer))
    )

    it.effect("of an attempt before an operator's retry changes nothing but that the message arrived", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(1)
        const statuses = Effect.map(results(jobId), (all) => all.map(({ status }) => status))
        const old = [report(0, "sent", Time.after(now, 1000)), report(0, "failed", Time.after(now, 2000))]
        yield* jobs.receive({ now: Time.after(now, 3000), reports: old })
        yield* jobs.retry({ jobId, now: Time.after(now, 10_000), selection: everyLost })
        const ignored = { applied: 0, unmatched: [], met: [], refused: [], ended: [] }
        expect(yield* jobs.receive({ now: Time.after(now, 10_000), reports: old })).toMatchObject(ignored)
        // A time that is not believed is that of the coming.
        expect(
          yield* jobs.receive({
            now: Time.after(now, 10_001),
            reports: [report(0, "failed", Time.after(now, 10_001))]
          })
        ).toMatchObject(ignored)
        expect(yield* statuses).toEqual(["queued"])
        const [job] = yield* claim(1, now + 11_000)
        expect(yield* jobs.receive({ now: Time.after(now, 11_000), reports: old })).toMatchObject(ignored)
        expect(yield* statuses).toEqual(["sending"])
        const outcome = Outcome.Accepted({ providerId: "second", status: "accepted" })
        const settlement = { jobId, fence: job?.fence ?? -1, index: 0, outcome }
        yield* jobs.settleAndClaim({ now: Time.after(now, 12_000), settlements: [settlement], claim: null })
        const late = [...old, report(0, "failed", Time.after(now, 13_000))]
        expect(yield* jobs.receive({ now: Time.after(now, 13_000), reports: late })).toMatchObject(ignored)
        expect(yield* statuses).toEqual(["accepted"])
        const own = { ...report(0, "failed", Time.after(now, 14_000)), providerId: "second" }
        expect(yield* jobs.receive({ now: Time.after(now, 14_000), reports: [own] })).toMatchObject({
          applied: 1
        })
        expect(yield* statuses).toEqual(["failed"])
        yield* jobs.retry({ jobId, now: Time.after(now, 20_000), selection: everyLost })
        yield* jobs.receive({
          now: Time.after(now, 21_000),
          reports: [report(0, "delivered", Time.after(now, 9000))]
        })
        expect(yield* statuses).toEqual(["delivered"])
        expect(yield* claim(1, now + 22_000)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "of the message that was accepted since an operator's retry counts, though the platform's clock is behind",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const { jobId, report } = yield* sent(1)
          yield* jobs.receive({
            now: Time.after(now, 1000),
            reports: [report(0, "failed", Time.after(now, 1000))]
          })
          yield* jobs.retry({ jobId, now: Time.after(now, 10_000), selection: everyLost })
          const [job] = yield* claim(1, now + 10_100)
          const outcome = Outcome.Accepted({ providerId: "second", status: "accepted" })
          const settlement = { jobId, fence: job?.fence ?? -1, index: 0, outcome }
          yield* jobs.settleAndClaim({ now: Time.after(now, 10_200), settlements: [settlement], claim: null })
          const behind = { ...report(0, "failed", Time.after(now, 8000)), providerId: "second" }
          expect(yield* jobs.receive({ now: Time.after(now, 11_000), reports: [behind] })).toMatchObject({
            applied: 1
          })
          expect((yield* results(jobId))[0]?.status).toBe("failed")
        }).pipe(Effect.provide(layer))
    )

    it.effect("of the attempt since an operator's retry counts where only reports name its message", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(2)
        const first = [0, 1].map((index) => report(index, "failed", Time.after(now, 1000)))
        yield* jobs.receive({ now: Time.after(now, 1000), reports: first })
        yield* jobs.retry({ jobId, now: Time.after(now, 10_000), selection: everyLost })
        const [job] = yield* claim(2, now + 10_100)
        const second = (index: number, status: Recipient.Reported, at: Time.Instant) => ({
          ...report(index, status, at),
          providerId: `second${index}`
        })
        // One overtakes the outcome, the other comes after it.
        yield* jobs.receive({
          now: Time.after(now, 10_150),
          reports: [second(0, "sent", Time.after(now, 10_150))]
        })
        const settlements = [0, 1].map((index) => ({
          jobId,
          fence: job?.fence ?? -1,
          index,
          outcome: Outcome.Accepted({ providerId: null, status: "accepted" })
        }))
        yield* jobs.settleAndClaim({ now: Time.after(now, 10_200), settlements, claim: null })
        const ids = Effect.map(results(jobId), (all) => all.map(({ providerId }) => providerId))
        expect(yield* ids).toEqual(["second0", null])
        expect(yield* jobs.receive({ now: Time.after(now, 10_250), reports: first })).toMatchObject({
          applied: 0
        })
        const failed = [0, 1].map((index) => second(index, "failed", Time.after(now, 10_300)))
        expect(yield* jobs.receive({ now: Time.after(now, 10_300), reports: failed })).toMatchObject({
          applied: 2
        })
        expect(yield* ids).toEqual(["second0", "second1"])
        expect((yield* results(jobId)).map(({ status }) => status)).toEqual(["failed", "failed"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("of long before an operator's retry changes nothing while it is attempted again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(1)
        const minute = 60_000
        yield* jobs.receive({
          now: Time.after(now, 1000),
          reports: [report(0, "failed", Time.after(now, 1000))]
        })
        yield* jobs.retry({ jobId, now: Time.after(now, 10 * minute), selection: everyLost })
        yield* claim(1, now + 11 * minute)
        // It counts from when it came, since it is too old to be believed.
        const late = {
          ...report(0, "failed", Time.after(now, 11 * minute)),
          reportedAt: Time.after(now, 1000)
        }
        yield* jobs.receive({ now: Time.after(now, 11 * minute), reports: [late] })
        expect((yield* results(jobId))[0]?.status).toBe("sending")
      }).pipe(Effect.provide(layer))
    )

    it.effect("of the same second as an operator's retry counts, once it was attempted again", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { jobId, report } = yield* sent(1)
        const at = Time.after(now, 10_000 - (now % 1000))
        yield* jobs.receive({ now: at, reports: [report(0, "failed", at)] })
        yield* jobs.retry({ jobId, now: Time.after(at, 300), selection: everyLost })
        yield* claim(1, at + 400)
        yield* jobs.receive({ now: Time.after(at, 900), reports: [report(0, "sent", at)] })
        expect((yield* results(jobId))[0]?.status).toBe("sent")
      }).pipe(Effect.provide(layer))
    )

    it.effect("answers back what nobody knows", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const { report } = yield* sent(1)
        const foreign = { ...report(0, "sent"), messageId: "wamid.foreign" }
        const beyond = report(7, "sent")
        expect(yield* jobs.receive({ now, reports: [foreign, beyond] })).toMatchObject({
          applied: 0,
          unmatched: [foreign, beyond],
          met: []
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "gives what tells the cost of each delivered one: its price, and as what the platform billed it",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const { jobId, report } = yield* sent(3)
          const pricing = { category: "service", free: true }
          yield* jobs.receive({
            now: Time.after(now, 1),
            reports: [report(0, "delivered"), report(1, "read"), { ...report(2, "sent"), pricing }]
          })
          const [first, second, third] = yield* results(jobId)
          const { price } = first ?? {}
          expect(yield* jobs.delivered(jobId)).toEqual([
            { address: first?.address, price, pricing: null },
            { address: second?.address, price, pricing: null }
          ])
          expect(third?.pricing).toEqual(pricing)
          // What a platform says first of its bill stays, by whichever report it comes.
          const other = { category: "marketing", free: false }
          const late = [
            { ...report(1, "sent"), pricing },
            { ...report(1, "read"), pricing: other }
          ]
          expect(yield* jobs.receive({ now: Time.after(now, 2), reports: late })).toMatchObject({
            applied: 1,
            unmatched: [],
            refused: [],
            ended: expect.any(Array),
            met: []
          })
          expect((yield* jobs.delivered(jobId))[1]).toEqual({ address: second?.address, price, pricing })
        }).pipe(Effect.provide(layer))
    )
  })
