/** Retries of many jobs as workers carry them out: killed between any two steps, canceled, and beside each other. */

import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Wanted } from "../../src/domain/job/RetryPlan.ts"
import * as RetryPlan from "../../src/domain/job/RetryPlan.ts"
import { Signals } from "../../src/runtime/Signals.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import { RetryPlanStore } from "../../src/storage/RetryPlanStore.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as RetryPlans from "../../src/worker/RetryPlans.ts"
import { claim, failure, owner } from "../StorageSuite/Setup.ts"

const now = Time.at(0)
const ids = Ids.make((count) => crypto.getRandomValues(new Uint8Array(count)))
const broken = Outcome.Failed({ failure: { ...failure, permanent: false } })

/** Everything that is due fails. */
const failAll = Effect.gen(function* () {
  const settlements = (yield* claim(10_000, now)).flatMap(({ fence, jobId, recipients }) =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome: broken }))
  )
  yield* (yield* JobStore).settleAndClaim({ now, settlements, claim: null })
})

const jobsOf = Effect.fnUntraced(function* (count: number, phones: number) {
  const who = yield* owner
  const jobs = yield* JobStore
  const commands = Array.from({ length: count }, () => Fixtures.send(who, { phones, now }))
  for (const command of commands) yield* jobs.accept(command)
  yield* failAll
  return { ...who, jobIds: commands.map(({ jobId }) => jobId) }
})

const begin = Effect.fnUntraced(function* (filter: Wanted["filter"], operator: string | null = null) {
  const plan = RetryPlan.begin(
    { filter, selection: {} },
    { expected: { jobs: 0, recipients: 0, isExact: true }, id: ids.uuid(now), now, operator }
  )
  yield* (yield* RetryPlanStore).add({ plan, key: null })
  return plan.id
})

/** How often each recipient of the jobs was retried: an attempt before a retry has a row. */
const retriedOf = Effect.fnUntraced(function* (jobIds: ReadonlyArray<string>, phones: number) {
  const jobs = yield* JobStore
  const places = jobIds.flatMap((jobId) => Array.from({ length: phones }, (_, index) => ({ jobId, index })))
  return yield* Effect.forEach(places, (place) =>
    Effect.map(jobs.earlierAttempts(place), ({ length }) => length)
  )
})

class Killed extends Error {}

/** A process that dies at one of its calls of a store, before its commit or after it. */
const mortal = (at: number, isAfter: boolean) =>
  Effect.gen(function* () {
    let calls = 0
    const gated = <S extends object>(service: S): S =>
      new Proxy(service, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name)
          const die = Effect.die(new Killed())
          const gate = (effect: Effect.Effect<unknown, unknown>) =>
            Effect.suspend(() => {
              calls += 1
              if (calls !== at) return effect
              return isAfter ? Effect.zipRight(effect, die) : die
            })
          if (Effect.isEffect(value)) return gate(value as Effect.Effect<unknown, unknown>)
          if (typeof value !== "function") return value
          return (...parameters: ReadonlyArray<unknown>): unknown =>
            gate(Reflect.apply(value, target, parameters))
        }
      })
    return yield* RetryPlans.make.pipe(
      Effect.provideService(JobStore, gated(yield* JobStore)),
      Effect.provideService(RetryPlanStore, gated(yield* RetryPlanStore))
    )
  })

const wasKilled = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && [...Cause.defects(exit.cause)].some((each) => each instanceof Killed)

const untilDone = Effect.gen(function* () {
  const { round } = yield* RetryPlans.make
  yield* Effect.repeat(Effect.zipLeft(round, failAll), { until: (done) => done === 0 })
})

const stores: ReadonlyArray<readonly [string, Layer.Layer<Stores, unknown>]> = [
  ["memory", Memory.layer],
  ["SQLite", Sqlite.layer({ filename: ":memory:" })]
]

describe.each(stores)("retries of many jobs in %s", (_, store) => {
  const layer = Layer.merge(store, Signals.layer)

  it.effect("retry each recipient once, though their process is killed between any two steps", () =>
    Effect.gen(function* () {
      let isAlive = false
      for (let at = 1; !isAlive; at++)
        for (const isAfter of [false, true]) {
          yield* Effect.gen(function* () {
            const { accountId, jobIds } = yield* jobsOf(4, 3)
            const id = yield* begin({ accountId })
            const { round } = yield* mortal(at, isAfter)
            // Who is retried fails anew at once.
            const all = Effect.repeat(Effect.zipLeft(round, failAll), { until: (done) => done === 0 })
            const exit = yield* Effect.exit(all)
            isAlive = !wasKilled(exit)
            yield* untilDone
            expect(yield* retriedOf(jobIds, 3)).toEqual(jobIds.flatMap(() => [1, 1, 1]))
            expect(yield* (yield* RetryPlanStore).find(id)).toMatchObject({
              status: "completed",
              sums: { jobs: 4, counts: { failed: 12 } }
            })
          }).pipe(Effect.provide(Layer.fresh(layer)))
        }
    })
  )

  it.effect("retry each recipient once, whatever processes do so beside each other", () =>
    Effect.gen(function* () {
      const { accountId, jobIds } = yield* jobsOf(6, 2)
      yield* begin({ accountId })
      yield* Effect.all([untilDone, untilDone, untilDone], { concurrency: 3 })
      expect(yield* retriedOf(jobIds, 2)).toEqual(jobIds.flatMap(() => [1, 1]))
    }).pipe(Effect.provide(layer))
  )

  it.effect("have their turns job by job, so that none waits for another's end", () =>
    Effect.gen(function* () {
      const store = yield* RetryPlanStore
      const [large, small] = [yield* jobsOf(20, 1), yield* jobsOf(2, 1)]
      const plans = [
        yield* begin({ accountId: large.accountId }),
        yield* begin({ accountId: small.accountId })
      ]
      const { round } = yield* RetryPlans.make
      yield* round
      yield* round
      const found = yield* Effect.forEach(plans, (id) => store.find(id))
      expect(found.map((plan) => [plan?.sums.jobs, plan?.status])).toEqual([
        [2, "running"],
        [2, "completed"]
      ])
    }).pipe(Effect.provide(layer))
  )

  it.effect("end where they are canceled, with what they have retried", () =>
    Effect.gen(function* () {
      const store = yield* RetryPlanStore
      const { accountId, jobIds } = yield* jobsOf(3, 2)
      const id = yield* begin({ accountId })
      const { round } = yield* RetryPlans.make
      yield* round
      yield* store.cancel({ id, now })
      expect(yield* round).toBe(0)
      const retried = yield* retriedOf(jobIds, 2)
      expect(retried.reduce((sum, each) => sum + each, 0)).toBe(2)
    }).pipe(Effect.provide(layer))
  )

  it.effect("of two at once say whose each recipient was, and so do the acts on each job", () =>
    Effect.gen(function* () {
      const store = yield* RetryPlanStore
      const audit = yield* AuditStore
      const { accountId, jobIds } = yield* jobsOf(3, 2)
      const plans = [yield* begin({ accountId }, "ana"), yield* begin({ accountId }, "bob")]
      const { round } = yield* RetryPlans.make
      const untilAll = Effect.repeat(round, { until: (done) => done === 0 })
      yield* untilAll
      const [first, second] = yield* Effect.forEach(plans, (id) => store.find(id))
      expect([first?.sums.counts.failed, second?.sums.counts.failed]).toEqual([4, 2])
      expect([first?.sums.changed, second?.sums.changed]).toEqual([2, 4])
      const third = yield* begin({ accountId }, "cleo")
      yield* untilAll
      const last = yield* store.find(third)
      expect(last?.sums).toMatchObject({ jobs: 0, counts: { failed: 0 } })
      const why = (last && RetryPlan.whyNobodyOf(last)) ?? ""
      const at = `at ${Time.format(now)}, and did not fail since.`
      expect(why).toContain(`4 were sent again by ana in the retry ${plans[0]} ${at}`)
      expect(why).toContain(`2 were sent again by bob in the retry ${plans[1]} ${at}`)
      const acts = yield* Effect.forEach(jobIds, (target) =>
        Effect.map(audit.list({ target, page: { limit: 9, after: null } }), ({ items }) => items)
      )
      expect(acts.map(({ length }) => length)).toEqual([1, 1, 1])
      expect(acts.flat()).toEqual(
        expect.arrayContaining([
          expect.objectContaining({
            operator: "ana",
            at: now,
            after: { retry_id: plans[0], retried: { failed: 2, unknown: 0 } }
          })
        ])
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("leave whom somebody retries by hand beside them", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const { accountId, jobIds } = yield* jobsOf(3, 2)
      yield* begin({ accountId })
      const { round } = yield* RetryPlans.make
      yield* round
      for (const jobId of jobIds) yield* jobs.retry({ jobId, now, selection: { phones: ["34600000001"] } })
      yield* failAll
      yield* untilDone
      expect(yield* retriedOf(jobIds, 2)).toEqual(jobIds.flatMap(() => [1, 1]))
    }).pipe(Effect.provide(layer))
  )
})
