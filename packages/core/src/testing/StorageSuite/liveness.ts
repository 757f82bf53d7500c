/** Who lives, and what becomes of recipients over which workers die. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { JobStore, Outcome } from "../../storage/JobStore.ts"
import * as Fixtures from "../Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { claim, failure, now, owner, results } from "./Setup.ts"

const recoverable = ["sandbox"] as const

/** A job of so many phones, of which the first died with its worker so often. */
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

const indexes = (limit: number) =>
  Effect.map(claim(limit), (claimed) =>
    claimed.map(({ recipients }) => recipients.map(({ index, suspect }) => [index, suspect]))
  )

export const suite = (layer: Stored): void => {
  describe("a worker", () => {
    it.effect("is known while it has recipients in hand or has said that it lives", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(2, 0)
        expect(yield* jobs.holders).toEqual([])
        yield* claim(1, now, "silent")
        yield* jobs.beat({ workers: ["idle", "loud"], beats: 7, dispatchesAt: null })
        yield* jobs.beat({ workers: ["loud"], beats: 8, dispatchesAt: null })
        expect([...(yield* jobs.holders)].sort((a, b) => a.beats - b.beats)).toEqual([
          { worker: "silent", beats: 0, isDead: false },
          { worker: "idle", beats: 7, isDead: false },
          { worker: "loud", beats: 8, isDead: false }
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("that dispatches is told by the last time at which one said so", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        expect(yield* jobs.dispatchesAt).toBeNull()
        yield* jobs.beat({ workers: ["asked"], beats: 1, dispatchesAt: null })
        expect(yield* jobs.dispatchesAt).toBeNull()
        yield* jobs.beat({ workers: ["a", "b"], beats: 1, dispatchesAt: now })
        yield* jobs.beat({ workers: ["b"], beats: 2, dispatchesAt: now + 5000 })
        expect(yield* jobs.dispatchesAt).toBe(now + 5000)
        yield* jobs.beat({ workers: ["b"], beats: 3, dispatchesAt: null })
        expect(yield* jobs.dispatchesAt).toBe(now)
        yield* jobs.rescue({ worker: "a", now, recoverable })
        expect(yield* jobs.dispatchesAt).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("is forgotten when it was rescued, and may come back", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(1, 0)
        yield* claim(1, now, "w")
        yield* jobs.beat({ workers: ["w"], beats: 1, dispatchesAt: null })
        expect(yield* jobs.rescue({ worker: "w", now, recoverable })).toBe(1)
        expect(yield* jobs.holders).toEqual([])
        expect(yield* jobs.rescue({ worker: "w", now, recoverable })).toBe(0)
        yield* jobs.beat({ workers: ["w"], beats: 2, dispatchesAt: null })
        expect(yield* jobs.holders).toEqual([{ worker: "w", beats: 2, isDead: false }])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a recipient over which workers died", () => {
    it.effect("is told to be uncertain until an attempt has an outcome", () =>
      Effect.gen(function* () {
        const { jobs } = yield* bereaved(1, 1)
        const [job] = yield* claim(1)
        expect(job?.recipients[0]).toMatchObject({ uncertain: true, attempts: 2 })
        const outcome = Outcome.Retry({ at: now, failure, uncertain: false })
        const settlement = { jobId: job?.jobId ?? "", fence: job?.fence ?? -1, index: 0, outcome }
        yield* jobs.exchange({ now, settlements: [settlement], claim: null })
        expect((yield* claim(1))[0]?.recipients[0]).toMatchObject({ uncertain: false, attempts: 3 })
      }).pipe(Effect.provide(layer))
    )

    it.effect("is attempted alone when it may be the cause", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* bereaved(4, 2)
        expect(yield* indexes(10)).toEqual([[[0, true]]])
        yield* jobs.rescue({ worker: "worker-1", now, recoverable })
        expect((yield* results(jobId))[0]).toMatchObject({
          status: "unknown",
          failure: { code: "poisoned", permanent: false }
        })
        expect(yield* indexes(10)).toEqual([
          [
            [1, false],
            [2, false],
            [3, false]
          ]
        ])
      }).pipe(Effect.provide(layer))
    )

    it.effect("is not parked for retries, nor for deaths that had an outcome in between", () =>
      Effect.gen(function* () {
        const { jobs, jobId } = yield* bereaved(1, 0)
        for (let round = 0; round < 4; round++) {
          yield* claim(1)
          yield* jobs.rescue({ worker: "worker-1", now, recoverable })
          const [job] = yield* claim(1)
          const outcome = Outcome.Retry({ at: now, failure, uncertain: true })
          const settlement = { jobId, fence: job?.fence ?? -1, index: 0, outcome }
          yield* jobs.exchange({ now, settlements: [settlement], claim: null })
        }
        expect((yield* results(jobId))[0]).toMatchObject({ status: "sending", attempts: 8, lost: 0 })
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
