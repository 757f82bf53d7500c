/** The loops make do with claims that look at some sessions only, and with those that bring a suspect beside others. */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Ids from "../../src/domain/Ids.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/memory/Memory.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import { find, owner } from "../../src/testing/StorageSuite/Setup.ts"
import { accept, accepted, embedded, platform, running } from "./Support.ts"

/** More sessions than one claim looks at, each with a message that waits for its pace; and then one without a pace. */
const behindPaced = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const { accountId } = yield* owner
  const idOf = (place: number) => `00000000-0000-7000-8000-${String(place).padStart(12, "0")}`
  for (let place = 0; place < 600; place++) {
    const id = idOf(place)
    const pacing = { messages_per_second: place === 599 ? null : 0.01, pair_interval_ms: null }
    yield* sessions.create(Fixtures.session(accountId, { id, pacing }))
    const who = { accountId, sessionId: id, publicKey: `pk ${place}` }
    if (place < 599) yield* jobs.accept(Fixtures.send(who, { now: 0, claim: "direct" }))
    yield* jobs.accept(Fixtures.send(who, { now: 0 }))
  }
  const last = Fixtures.send({ accountId, sessionId: idOf(599), publicKey: "pk" }, { now: 0, phones: 30 })
  const records = last.recipients.map(({ phone }) => Fixtures.consent(phone, { occurredAt: 0 }))
  yield* (yield* ConsentStore).record({ accountId, records })
  yield* jobs.accept(last)
  return last.jobId
})

describe("a session behind more of them than a claim looks at", () => {
  it.effect("is drained", () =>
    Effect.gen(function* () {
      const jobId = yield* behindPaced
      const drain = Effect.flatMap(Engine.Engine, ({ drain }) => drain)
      yield* Effect.provide(drain, embedded(platform({ deduplicates: true }).sender))
      expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is sent within a second by the loops", () =>
    Effect.gen(function* () {
      const jobId = yield* behindPaced
      const sending = TestClock.adjust("1 second")
      yield* Effect.provide(sending, running(platform({ deduplicates: true }).sender))
      expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a drain", () => {
  it.effect("ends though something is due, when another process has that in hand", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(1)
      const held = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          exchange: (command) => jobs.exchange({ ...command, claim: null })
        }))
      )
      const drain = Effect.flatMap(Engine.Engine, ({ drain }) => drain)
      yield* Effect.provide(drain, Layer.provide(embedded(platform({}).sender), held))
      expect((yield* find(jobId)).status).toBe("queued")
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("two poison suspects of two sessions, and what others have", () => {
  it.effect("are attempted one after the other, each while nothing else is", () =>
    Effect.gen(function* () {
      const suspects = [yield* accept(1), yield* accept(1)]
      const jobs = yield* JobStore
      for (let death = 0; death < 2; death++) {
        yield* jobs.exchange({ now: 0, settlements: [], claim: { worker: "gone", limit: 2 } })
        expect(yield* jobs.rescue({ worker: "gone", now: 0, recoverable: ["sandbox"] })).toBe(2)
      }
      const others = [yield* accept(3), yield* accept(3)]
      const alone = new Set(suspects.map(({ jobId }) => Ids.messageId(jobId, 0)))
      let inFlight = 0
      const beside: Array<number> = []
      const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) =>
        Effect.gen(function* () {
          inFlight += 1
          yield* Effect.sleep("300 millis")
          if (alone.has(messageId)) beside.push(inFlight)
          inFlight -= 1
          return accepted
        })
      )
      yield* Effect.provide(TestClock.adjust("10 seconds"), running(sender))
      expect(beside).toEqual([1, 1])
      expect(new Set(sent).size).toBe(sent.length)
      for (const { jobId } of [...suspects, ...others]) expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )
})
