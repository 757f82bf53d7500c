/** A store that was restored (contract.md §11): nothing of it is sent until an operator has said what becomes of it. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Way } from "../../src/domain/Restore.ts"
import * as Restore from "../../src/domain/Restore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { RestoreStore } from "../../src/storage/RestoreStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, events, everyLost, find, listen, now, owner, results } from "./Setup.ts"

const accept = Effect.fnUntraced(function* (who: Owner, phones: number, at = now) {
  const command = Fixtures.send(who, { phones, now: at })
  yield* (yield* JobStore).accept(command)
  return command.jobId
})

const content = { kind: "direct", text: "Hi", linkPreview: false } as const

const accepted = Outcome.Accepted({ providerId: null, status: "accepted" })

/** Opens until nothing is left, and ends the hold; answers it. */
const openAll = Effect.fnUntraced(function* (way: Way, at = now + 10) {
  const store = yield* RestoreStore
  while (!(yield* store.open({ way, now: at })).isOver) yield* Effect.void
  return yield* store.end
})

const countAll = Effect.fnUntraced(function* (way: Way) {
  const store = yield* RestoreStore
  let { counts, next } = yield* store.count({ way, after: null })
  while (next !== null) {
    const more = yield* store.count({ way, after: next })
    counts = Restore.add(counts, more.counts)
    next = more.next
  }
  return counts
})

const statuses = Effect.fnUntraced(function* (jobId: string) {
  return (yield* results(jobId)).map(({ failure, status }) => [status, failure?.code ?? null])
})

/**
 * A job of five: the first was accepted, the second is in flight, the third may have been sent and is due again, the others
 * wait; and one that nobody has touched.
 */
const amid = Effect.gen(function* () {
  const jobs = yield* JobStore
  const who = yield* owner
  const jobId = yield* accept(who, 5)
  const [first] = yield* claim(3)
  const fence = first?.fence ?? 0
  yield* jobs.settleAndClaim({
    now,
    claim: null,
    settlements: [
      { jobId, fence, index: 0, outcome: accepted },
      { jobId, fence, index: 2, outcome: Outcome.Released({ maybeSent: true }) }
    ]
  })
  const untouched = yield* accept(who, 2)
  return { jobs, who, jobId, fence, untouched }
})

const held = Effect.gen(function* () {
  const found = yield* amid
  const store = yield* RestoreStore
  const quarantine = yield* store.place({ now: Time.after(now, 5) })
  return { ...found, store, quarantine }
})

export const suite = (layer: Stored): void => {
  describe("a store that was restored", () => {
    it.effect("is held once, and says since when and why", () =>
      Effect.gen(function* () {
        const store = yield* RestoreStore
        expect(yield* store.quarantine).toBe(null)
        expect(yield* store.end).toBe(null)
        expect(yield* store.open({ way: "unknown", now })).toEqual({ isOver: true, way: null })
        const quarantine = { reason: "operator", since: now, counts: Restore.noCounts }
        expect(yield* store.place({ now })).toMatchObject(quarantine)
        expect(yield* store.place({ now: Time.after(now, 1000) })).toMatchObject(quarantine)
        expect(yield* store.quarantine).toMatchObject(quarantine)
      }).pipe(Effect.provide(layer))
    )

    it.effect("claims nothing, and looks for nothing that is due, while it accepts", () =>
      Effect.gen(function* () {
        const { jobs, who } = yield* held
        const during = yield* accept(who, 3, now + 6)
        expect(yield* claim(250, now + 3_600_000)).toEqual([])
        expect(yield* jobs.nextDue(Time.after(now, 3_600_000))).toBe(null)
        expect(yield* statuses(during)).toEqual([
          ["queued", null],
          ["queued", null],
          ["queued", null]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("accepts nothing that is sent at once, and leaves its key free", () =>
      Effect.gen(function* () {
        const { jobs, store, who } = yield* held
        const direct = Fixtures.send(who, { claim: "worker-9", content, key: "k-held" })
        expect(yield* jobs.accept(direct)).toMatchObject({ _tag: "Quarantined" })
        expect(yield* jobs.find(direct.jobId)).toBe(null)
        expect(yield* jobs.findByIdempotencyKey({ publicKey: who.publicKey, key: "k-held" })).toBe(null)
        yield* openAll("send")
        expect(yield* store.quarantine).toBe(null)
        expect(yield* jobs.accept(direct)).toMatchObject({ _tag: "Accepted" })
      }).pipe(Effect.provide(layer))
    )

    it.effect("rescues nothing: what a dead process had in flight was open before", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* held
        const rescue = jobs.rescue({
          worker: "worker-1",
          now: Time.after(now, 60_000),
          recoverable: ["sandbox"]
        })
        expect(yield* rescue).toBe(0)
        expect((yield* jobs.workers).map(({ worker }) => worker)).toContain("worker-1")
        expect((yield* results(jobId))[1]).toMatchObject({ status: "sending", nextAt: null, crashCount: 0 })
        yield* openAll("send")
        expect(yield* rescue).toBe(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "ends what was open as unknown, with its events, and sends what was accepted while it was held",
      () =>
        Effect.gen(function* () {
          const { fence, jobId, jobs, untouched, who } = yield* held
          yield* listen(who.accountId)
          const during = yield* accept(who, 2, now + 6)
          const expected = { jobs: 2, unknown: 6, canceled: 0, sent: 0 }
          expect(yield* countAll("unknown")).toEqual(expected)
          expect((yield* find(jobId)).counts).toMatchObject({ queued: 2, sending: 2 })
          expect(yield* openAll("unknown")).toMatchObject({ counts: expected })
          const restored = ["unknown", "restored"]
          expect(yield* statuses(jobId)).toEqual([["accepted", null], restored, restored, restored, restored])
          expect(yield* statuses(untouched)).toEqual([restored, restored])
          expect(yield* find(jobId)).toMatchObject({ status: "completed", completedAt: now + 10 })
          expect(yield* find(untouched)).toMatchObject({ status: "completed" })
          const told = (yield* events(now + 11)).map(({ type }) => type)
          expect(told.filter((type) => type === "recipient.unknown")).toHaveLength(6)
          expect(told.filter((type) => type === "job.completed")).toHaveLength(2)
          // The outcome of an attempt that the backup had in flight is awaited no more.
          const late = { jobId, fence, index: 1, outcome: accepted }
          expect(
            yield* jobs.settleAndClaim({ now: Time.after(now, 12), settlements: [late], claim: null })
          ).toMatchObject({
            settled: 0
          })
          expect((yield* claim(250, now + 12)).map((each) => [each.jobId, each.recipients.length])).toEqual([
            [during, 2]
          ])
        }).pipe(Effect.provide(layer))
    )

    it.effect("cancels what was open, but for what the platform may have", () =>
      Effect.gen(function* () {
        const { jobId, untouched } = yield* held
        const expected = { jobs: 2, unknown: 2, canceled: 4, sent: 0 }
        expect(yield* countAll("cancel")).toEqual(expected)
        expect(yield* openAll("cancel")).toMatchObject({ counts: expected })
        expect(yield* statuses(jobId)).toEqual([
          ["accepted", null],
          ["unknown", "restored"],
          ["unknown", "restored"],
          ["canceled", null],
          ["canceled", null]
        ])
        expect(yield* find(untouched)).toMatchObject({ status: "canceled", counts: { canceled: 2 } })
        expect(yield* claim(250, now + 60_000)).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("sends what was open as it stands", () =>
      Effect.gen(function* () {
        const { jobId, untouched } = yield* held
        const expected = { jobs: 2, unknown: 0, canceled: 0, sent: 6 }
        expect(yield* countAll("send")).toEqual(expected)
        expect(yield* openAll("send")).toMatchObject({ counts: expected })
        expect((yield* find(jobId)).counts).toMatchObject({ queued: 2, sending: 2, accepted: 1 })
        const claimed = yield* claim(250, now + 12)
        // What was in flight is not claimed before its process is known to be dead.
        expect(claimed.map((each) => [each.jobId, each.recipients.map(({ index }) => index)])).toEqual([
          [jobId, [2, 3, 4]],
          [untouched, [0, 1]]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect(
      "opens some jobs with each commit, goes on where it was interrupted, and ends when all are opened",
      () =>
        Effect.gen(function* () {
          const store = yield* RestoreStore
          const who = yield* owner
          const ids: Array<string> = []
          for (let place = 0; place < 120; place += 1) ids.push(yield* accept(who, 1, now + place))
          yield* store.place({ now: Time.after(now, 200) })
          expect(yield* store.open({ way: "unknown", now: Time.after(now, 201) })).toEqual({
            isOver: false,
            way: "unknown"
          })
          const partly = yield* store.quarantine
          expect(partly?.counts.unknown).toBeGreaterThan(0)
          expect(partly?.counts.unknown).toBeLessThan(120)
          expect(yield* store.end).toBe(null)
          expect(yield* claim(250, now + 202)).toEqual([])
          expect(yield* countAll("unknown")).toEqual({ jobs: 120, unknown: 120, canceled: 0, sent: 0 })
          expect(yield* openAll("unknown")).toMatchObject({
            counts: { jobs: 120, unknown: 120, canceled: 0, sent: 0 }
          })
          for (const id of ids) expect((yield* find(id)).status).toBe("completed")
        }).pipe(Effect.provide(layer))
    )

    it.effect("is opened in the way of the first: another changes nothing, unless it is held anew", () =>
      Effect.gen(function* () {
        const store = yield* RestoreStore
        const who = yield* owner
        const ids: Array<string> = []
        for (let place = 0; place < 60; place += 1) ids.push(yield* accept(who, 1, now + place))
        yield* store.place({ now: Time.after(now, 200) })
        yield* store.open({ way: "unknown", now: Time.after(now, 201) })
        const before = yield* store.quarantine
        for (const way of ["send", "cancel"] as const)
          expect(yield* store.open({ way, now: Time.after(now, 202) })).toEqual({
            isOver: false,
            way: "unknown"
          })
        expect(yield* store.quarantine).toEqual(before)
        expect(yield* store.end).toBe(null)
        yield* openAll("unknown")
        for (const id of ids) expect((yield* find(id)).status).toBe("completed")
        yield* store.place({ now: Time.after(now, 300) })
        expect(yield* store.open({ way: "send", now: Time.after(now, 301) })).toEqual({
          isOver: true,
          way: "send"
        })
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves what had ended, and what an operator queued again since, as it is", () =>
      Effect.gen(function* () {
        const { fence, jobId, jobs } = yield* amid
        const failure = { code: "broken", provider_code: null, message: "It broke.", permanent: true }
        const lost = [{ jobId, fence, index: 1, outcome: Outcome.Failed({ failure }) }]
        yield* jobs.settleAndClaim({ now, settlements: lost, claim: null })
        const store = yield* RestoreStore
        yield* store.place({ now: Time.after(now, 5) })
        yield* jobs.retry({ jobId, now: Time.after(now, 6), selection: everyLost })
        yield* openAll("unknown")
        expect((yield* statuses(jobId)).map(([status]) => status)).toEqual([
          "accepted",
          "queued",
          "unknown",
          "unknown",
          "unknown"
        ])
        const claimed = yield* claim(250, now + 12)
        expect(claimed).toMatchObject([{ jobId, recipients: [{ index: 1 }] }])
      }).pipe(Effect.provide(layer))
    )

    it.effect("ends a direct message that was under way as unknown", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const store = yield* RestoreStore
        const direct = Fixtures.send(yield* owner, { claim: "worker-9", content })
        yield* jobs.accept(direct)
        yield* store.place({ now: Time.after(now, 5) })
        expect(yield* openAll("cancel")).toMatchObject({ counts: { jobs: 1, unknown: 1, canceled: 0 } })
        expect(yield* statuses(direct.jobId)).toEqual([["unknown", "restored"]])
      }).pipe(Effect.provide(layer))
    )
  })
}
