/** Jobs that wait untouched are taken together, and each goes its own way from there (docs/adr/0037). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { ClaimedJob } from "../../src/storage/JobStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, find, now, owner, results } from "./Setup.ts"

/** Accepts so many jobs, a millisecond after each other; answers their ids. */
const backlog = Effect.fnUntraced(function* (who: Owner, count: number, phones = 1) {
  const jobs = yield* JobStore
  const sends = Array.from({ length: count }, (_, place) =>
    Fixtures.send(who, { phones, now: Time.after(now, place - count) })
  )
  for (const send of sends) yield* jobs.accept(send)
  return sends.map(({ jobId }) => jobId)
})

const idsOf = (claimed: ReadonlyArray<ClaimedJob>) => claimed.map(({ jobId }) => jobId)

const accepted = Outcome.Accepted({ providerId: null, status: "accepted" })

const settle = Effect.fnUntraced(function* (claimed: ReadonlyArray<ClaimedJob>, at = now + 1) {
  const settlements = claimed.flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome: accepted }))
  )
  return (yield* (yield* JobStore).settleAndClaim({ now: at, settlements, claim: null })).settled
})

const statuses = Effect.fnUntraced(function* (jobIds: ReadonlyArray<string>) {
  return yield* Effect.forEach(jobIds, (id) => Effect.map(find(id), ({ status }) => status))
})

export const suite = (layer: Stored): void => {
  describe("a backlog", () => {
    it.effect(
      "is taken in the order of acceptance, without the jobs that were canceled before their turn",
      () =>
        Effect.gen(function* () {
          const jobs = yield* JobStore
          const ids = yield* backlog(yield* owner, 7)
          for (const place of [0, 3, 6]) yield* jobs.cancel({ jobId: ids[place] ?? "", now })
          expect(idsOf(yield* claim(2))).toEqual([ids[1], ids[2]])
          yield* jobs.cancel({ jobId: ids[4] ?? "", now })
          expect(idsOf(yield* claim(5))).toEqual([ids[5]])
          expect(yield* claim(5)).toEqual([])
          expect(yield* jobs.nextDue(now)).toBeNull()
          expect(yield* statuses(ids)).toEqual([
            ...["canceled", "processing", "processing", "canceled", "canceled", "processing", "canceled"]
          ])
        }).pipe(Effect.provide(layer))
    )

    it.effect("is taken by several workers, nobody's job twice and none left out", () =>
      Effect.gen(function* () {
        const ids = yield* backlog(yield* owner, 30, 2)
        const parts = yield* Effect.forEach([1, 2, 3, 4, 5], (worker) => claim(7, now, `worker-${worker}`), {
          concurrency: "unbounded"
        })
        const last = yield* claim(250)
        const taken = [...parts.flat(), ...last].flatMap(({ jobId, recipients }) =>
          recipients.map(({ index }) => `${jobId} ${index}`)
        )
        const parted = yield* claim(250)
        expect(parted).toEqual([])
        // A job of which a claim took a part is not given to another worker meanwhile.
        for (const part of parts) yield* settle(part)
        const rest = (yield* claim(250, now + 2)).flatMap(({ jobId, recipients }) =>
          recipients.map(({ index }) => `${jobId} ${index}`)
        )
        expect([...taken, ...rest].sort()).toEqual(ids.flatMap((id) => [`${id} 0`, `${id} 1`]).sort())
      }).pipe(Effect.provide(layer))
    )

    it.effect("is taken whatever is accepted while it is, and again after it was empty for long", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        for (let round = 0; round < 3; round++) {
          const at = Time.after(now, round * Time.minute)
          const send = Fixtures.send(who, { now: at })
          yield* jobs.accept(send)
          expect(yield* jobs.nextDue(at)).toBe(at)
          const taken = yield* claim(10, at)
          expect(idsOf(taken)).toEqual([send.jobId])
          yield* settle(taken, at + 1)
          expect(yield* jobs.nextDue(Time.after(at, 2))).toBeNull()
          yield* jobs.applyEarlyReports({ now: Time.after(at, 30 * Time.second) })
        }
      }).pipe(Effect.provide(layer))
    )

    it.effect("is due in its order where clocks differ by less than a second", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const first = Fixtures.send(who, { now: Time.after(now, 400) })
        const second = Fixtures.send(who)
        for (const send of [first, second]) yield* jobs.accept(send)
        expect(yield* claim(10, now + 399)).toEqual([])
        expect(yield* jobs.nextDue(now)).toBe(now + 400)
        expect(idsOf(yield* claim(10, now + 400))).toEqual([first.jobId, second.jobId])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a batch of jobs", () => {
    it.effect("is settled in parts; what is left of it is taken back when its worker dies", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const ids = yield* backlog(yield* owner, 4)
        const taken = yield* claim(10)
        expect(yield* settle(taken.slice(1, 2))).toBe(1)
        expect(yield* settle(taken.slice(1, 3))).toBe(1)
        expect(
          yield* jobs.rescue({ worker: "worker-1", now: Time.after(now, 2), recoverable: ["sandbox"] })
        ).toBe(2)
        expect(yield* settle(taken, now + 3)).toBe(0)
        expect(yield* statuses(ids)).toEqual(["processing", "completed", "completed", "processing"])
        const again = yield* claim(10, now + 4, "worker-2")
        expect(again.map(({ jobId, recipients }) => [jobId, recipients[0]?.attempts])).toEqual([
          [ids[0], 2],
          [ids[3], 2]
        ])
        expect(yield* settle(again, now + 5)).toBe(2)
        expect((yield* jobs.workers).filter(({ worker }) => worker.startsWith("worker-"))).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is left to its worker where a report or a cancellation concerns one of its jobs", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const ids = yield* backlog(who, 3, 2)
        const taken = yield* claim(10)
        const [first = ""] = ids
        const report = {
          messageId: Ids.messageId(first, 0),
          status: "delivered",
          at: Time.after(now, 1),
          failure: null,
          providerId: null
        } as const
        expect((yield* jobs.receive({ now: Time.after(now, 1), reports: [report] })).applied).toBe(1)
        const result = yield* jobs.cancel({ jobId: ids[1] ?? "", now: Time.after(now, 1) })
        expect(result?._tag).toBe("Canceled")
        expect(yield* statuses(ids)).toEqual(["processing", "canceling", "processing"])
        expect(yield* settle(taken, now + 2)).toBe(6)
        expect(yield* statuses(ids)).toEqual(["completed", "canceled", "completed"])
        expect((yield* results(first)).map(({ status }) => status)).toEqual(["delivered", "accepted"])
      }).pipe(Effect.provide(layer))
    )

    it.effect("pauses and goes on with its session, and is settled all the same", () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const who = yield* owner
        const ids = yield* backlog(who, 3)
        const taken = yield* claim(2)
        const change = { id: who.sessionId, reason: null, now: Time.after(now, 1) }
        yield* sessions.transition({ ...change, state: "disconnected" })
        expect(yield* statuses(ids)).toEqual(["paused", "paused", "queued"])
        expect(yield* claim(10, now + 1)).toEqual([])
        expect(yield* settle(taken.slice(0, 1), now + 2)).toBe(1)
        yield* sessions.transition({ ...change, state: "connected", now: Time.after(now, 3) })
        expect(yield* statuses(ids)).toEqual(["completed", "processing", "queued"])
        expect(yield* settle(taken.slice(1), now + 4)).toBe(1)
        expect(idsOf(yield* claim(10, now + 5))).toEqual([ids[2]])
      }).pipe(Effect.provide(layer))
    )
  })
}
