/** A store at a glance, as the engine reads it: once in two seconds, whoever asks (contract.md §12). */

import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SizeStore } from "../../src/storage/SizeStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { claim, failure, owner, tell } from "../StorageSuite/Setup.ts"
import { embedded, platform } from "../worker/Support.ts"

const engine = (process?: Engine.Described["process"]) =>
  Effect.map(Layer.build(embedded(platform({}).sender, undefined, { process })), Context.get(Engine.Engine))

/** What was read of the store. */
interface Reads {
  backlog: number
  living: number
  sizes: number
  usage: number
  minutes: Array<readonly [from: number, to: number]>
}

/** The stores in memory, which count, and fail while they are told to. */
const watched = (reads: Reads, isBroken: () => boolean = () => false) => {
  const counted =
    (name: Exclude<keyof Reads, "minutes">) =>
    <A>(effect: Effect.Effect<A, StorageError>) =>
      Effect.suspend((): Effect.Effect<A, StorageError> => {
        reads[name] += 1
        const error = new StorageError({ operation: name, cause: new Error("No.") })
        return isBroken() ? Effect.fail(error) : effect
      })
  const jobs = Layer.effect(
    JobStore,
    Effect.map(JobStore, (store) => ({
      ...store,
      backlog: (query: Parameters<typeof store.backlog>[0]) => counted("backlog")(store.backlog(query)),
      living: counted("living")(store.living),
      usage: (query: Parameters<typeof store.usage>[0]) => counted("usage")(store.usage(query)),
      tallies: (query: Parameters<typeof store.tallies>[0]) =>
        Effect.suspend(() => {
          reads.minutes.push([query.from / 60_000, query.to / 60_000])
          return store.tallies(query)
        })
    }))
  )
  const sizes = Layer.effect(
    SizeStore,
    Effect.map(SizeStore, (store) => ({ ...store, measure: counted("sizes")(store.measure) }))
  )
  return Layer.provideMerge(Layer.merge(jobs, sizes), Memory.layer)
}

const none = (): Reads => ({ backlog: 0, living: 0, sizes: 0, usage: 0, minutes: [] })

const seconds = TestClock.adjust

describe("the overview", () => {
  it.scoped("is read once for fifty who ask at once, and again after two seconds", () => {
    const reads = none()
    return Effect.gen(function* () {
      yield* seconds("1 hour")
      yield* owner
      const { admin } = yield* engine()
      const all = Effect.all(
        Array.from({ length: 50 }, () => admin.overview.now),
        { concurrency: "unbounded" }
      )
      const found = yield* all
      expect(new Set(found).size).toBe(1)
      expect(reads).toMatchObject({ backlog: 1, living: 1 })
      yield* seconds("1900 millis")
      yield* all
      yield* admin.overview.health
      expect(reads).toMatchObject({ backlog: 1, living: 1 })
      yield* seconds("100 millis")
      yield* all
      expect(reads).toMatchObject({ backlog: 2, living: 2 })
    }).pipe(Effect.provide(watched(reads)))
  })

  it.scoped("is there for the others when the one who began it leaves", () =>
    Effect.gen(function* () {
      const { admin } = yield* engine()
      const first = yield* Effect.fork(admin.overview.now)
      const second = yield* Effect.fork(admin.overview.now)
      yield* Fiber.interrupt(first)
      expect((yield* Fiber.join(second)).attention).toEqual([])
    }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("reads seldom what changes slowly, and of the last hour the youngest minutes alone", () => {
    const reads = none()
    return Effect.gen(function* () {
      yield* seconds("3 hours")
      yield* owner
      const { admin } = yield* engine()
      const minutesOfLook = Effect.gen(function* () {
        reads.minutes = []
        yield* admin.overview.now
        return reads.minutes
      })
      const at = 180
      const youngest = [at - 3, at + 1]
      expect(yield* minutesOfLook).toEqual([[at - 59, at - 3], youngest])
      const before = { ...reads }
      for (const piece of [
        [at - 59, at - 53],
        [at - 53, at - 47],
        [at - 47, at - 41]
      ]) {
        yield* seconds("2 seconds")
        expect(yield* minutesOfLook).toEqual([piece, youngest])
      }
      expect(reads).toMatchObject({ sizes: before.sizes, usage: before.usage })
      yield* seconds("1 minute")
      expect(yield* minutesOfLook).toEqual([
        [at - 41, at - 35],
        [at - 2, at + 2]
      ])
      expect(reads).toMatchObject({ sizes: before.sizes + 1, usage: before.usage + 1 })
      // Nobody has looked for a while.
      yield* seconds("10 minutes")
      expect(yield* minutesOfLook).toEqual([
        [at - 48, at + 8],
        [at + 8, at + 12]
      ])
    }).pipe(Effect.provide(watched(reads)))
  })

  it.scoped("tells what waits and what became of it, without a number of anybody", () =>
    Effect.gen(function* () {
      yield* seconds("1 hour")
      const now = Time.at(3_600_000)
      const jobs = yield* JobStore
      const { admin } = yield* engine({ role: "api", version: "1.2.3" })
      yield* seconds("6 seconds")
      const who = yield* owner
      const send = Fixtures.send(who, { phones: 3, now })
      yield* jobs.accept(send)
      yield* jobs.heartbeat({ workers: ["w.1"], beats: 1, dispatchesAt: Time.after(now, 6000) })
      const [first] = yield* claim(1, now)
      const outcome = { _tag: "Failed", failure } as const
      const settlement = { jobId: send.jobId, fence: first?.fence ?? 0, index: 0, outcome }
      yield* jobs.settleAndClaim({ now, settlements: [settlement], claim: null })
      const found = yield* admin.overview.now
      expect(found).toMatchObject({
        at: now + 6000,
        version: "1.2.3",
        waiting: { total: 2, totalIsExact: true, oldestAt: now, by: [{ limiter: "worker", recipients: 2 }] },
        attention: [],
        sessions: [{ session: { id: who.sessionId }, account: { id: who.accountId }, failedLastHour: 1 }],
        processes: [{ role: "api", version: "1.2.3", slots: 8 }]
      })
      expect(found.minutes.at(-1)).toMatchObject({ accepted: 3, done: 0, failed: 1 })
      for (const { address: phone } of send.recipients) expect(JSON.stringify(found)).not.toContain(phone)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("has what needs somebody, and so has the report of health, by the same rows", () =>
    Effect.gen(function* () {
      yield* seconds("1 hour")
      const now = Time.at(3_600_000)
      const jobs = yield* JobStore
      const who = yield* owner
      const { admin } = yield* engine()
      expect((yield* admin.overview.health).verdict).toBe("ok")
      yield* seconds("2 seconds")
      yield* jobs.accept(Fixtures.send(who, { phones: 3, now }))
      yield* tell(who.sessionId, "OutageBegan", now)
      const { attention, sessions } = yield* admin.overview.now
      const { lines, verdict } = yield* admin.overview.health
      expect(attention.map(({ count, kind }) => [kind, count])).toEqual([
        ["no_worker", 3],
        ["session_unavailable", 3]
      ])
      expect(verdict).toBe("failing")
      expect(lines.map(({ cause }) => cause)).toEqual(attention.map(({ cause }) => cause))
      expect(sessions[0]?.session.outage?.since).toBe(now)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("fails where the store does, and the report of health says so", () => {
    let isBroken = false
    return Effect.gen(function* () {
      const { admin } = yield* engine()
      isBroken = true
      expect((yield* Effect.flip(admin.overview.now))._tag).toBe("StorageError")
      const report = yield* admin.overview.health
      expect(report).toMatchObject({ verdict: "failing", lines: [{ lacks: "flowing" }] })
    }).pipe(Effect.provide(watched(none(), () => isBroken)))
  })
})
