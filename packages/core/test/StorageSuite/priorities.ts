/** What goes first within a session (contract.md §13 "What goes first"). */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Time from "../../src/domain/Instant.ts"
import type { Priority } from "../../src/domain/job/Priority.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import type { Owner } from "../../src/testing/Fixtures.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { now, owner } from "./Setup.ts"

const accept = (who: Owner, priority: Priority, phones = 1) =>
  Effect.flatMap(JobStore, (jobs) => {
    const command = Fixtures.send(who, { priority, phones })
    return Effect.as(jobs.accept(command), command.jobId)
  })

/** Claims so many, and answers each recipient's job in the order of the claim. */
const claim = (limit: number, at = now) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const { claimed } = yield* jobs.settleAndClaim({
      now: at,
      settlements: [],
      claim: { worker: "worker-1", limit }
    })
    return claimed
  })

const jobsOf = (claimed: Effect.Effect.Success<ReturnType<typeof claim>>): ReadonlyArray<string> =>
  claimed.flatMap(({ jobId, recipients }) => recipients.map(() => jobId))

/** Claims one by one until nothing is due. */
const drain = Effect.gen(function* () {
  const order: Array<string> = []
  for (;;) {
    const some = jobsOf(yield* claim(1))
    if (some.length === 0) return order
    order.push(...some)
  }
})

const count = (all: ReadonlyArray<string>, one: string): number => all.filter((each) => each === one).length

export const suite = (layer: Stored): void => {
  describe("what goes first", () => {
    it.effect("what is higher overtakes what was accepted before it", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const low = yield* accept(who, "low", 3)
        const normal = yield* accept(who, "normal", 2)
        const high = yield* accept(who, "high", 2)
        expect(jobsOf(yield* claim(4))).toEqual([high, high, normal, normal])
        const later = yield* accept(who, "high")
        expect(jobsOf(yield* claim(10))).toEqual([later, low, low, low])
      }).pipe(Effect.provide(layer))
    )

    it.effect("what is lower keeps a tenth, claimed one by one", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const low = yield* accept(who, "low", 40)
        const high = yield* accept(who, "high", 90)
        const order = yield* drain
        expect(order).toHaveLength(130)
        const beside = order.slice(0, order.lastIndexOf(high) + 1)
        expect(count(beside, low)).toBeGreaterThanOrEqual(9)
        expect(count(beside, low)).toBeLessThanOrEqual(10)
        expect(beside.indexOf(low)).toBe(9)
      }).pipe(Effect.provide(layer))
    )

    it.effect("what is lower keeps a tenth of a claim of many, and each lower one does", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const low = yield* accept(who, "low", 100)
        const normal = yield* accept(who, "normal", 100)
        const high = yield* accept(who, "high", 100)
        const first = jobsOf(yield* claim(50))
        expect([high, normal, low].map((job) => count(first, job))).toEqual([40, 5, 5])
      }).pipe(Effect.provide(layer))
    )

    it.effect("what is lower gets all that what is higher leaves", () =>
      Effect.gen(function* () {
        const who = yield* owner
        const low = yield* accept(who, "low", 30)
        const high = yield* accept(who, "high", 5)
        const first = jobsOf(yield* claim(20))
        expect([high, low].map((job) => count(first, job))).toEqual([5, 15])
      }).pipe(Effect.provide(layer))
    )

    it.effect("a retry keeps its priority", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const high = yield* accept(who, "high")
        const [first] = yield* claim(1)
        const at = Time.after(now, 1000)
        yield* jobs.settleAndClaim({
          now,
          claim: null,
          settlements: [
            {
              jobId: high,
              fence: first?.fence ?? 0,
              index: 0,
              outcome: Outcome.Retry({
                at,
                failure: { code: "rate_limited", message: "Later.", provider_code: null, permanent: false },
                maybeSent: false
              })
            }
          ]
        })
        yield* accept(who, "normal", 5)
        expect(jobsOf(yield* claim(1, at))).toEqual([high])
      }).pipe(Effect.provide(layer))
    )

    it.effect("claims of queues whose jobs lie between each other are their own", () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        const who = yield* owner
        const sends: Array<readonly [Priority, string]> = []
        for (const priority of ["normal", "high", "normal", "low", "high", "normal"] as const)
          sends.push([priority, yield* accept(who, priority, 2)])
        const of = (priority: Priority) => sends.flatMap(([each, id]) => (each === priority ? [id, id] : []))
        expect(jobsOf(yield* claim(4))).toEqual(of("high"))
        for (const [priority, id] of sends) {
          const job = yield* jobs.find(id)
          expect([priority, job?.status, job?.priority]).toEqual([
            priority,
            priority === "high" ? "processing" : "queued",
            priority
          ])
        }
        yield* jobs.rescue({ worker: "worker-1", now, recoverable: ["sandbox"] })
        const order = jobsOf(yield* claim(12))
        expect(order).toHaveLength(12)
        expect([...new Set(order)].sort()).toEqual(sends.map(([, id]) => id).sort())
      }).pipe(Effect.provide(layer))
    )
  })
}
