/** The loops make do with claims that look at some sessions only, and with those that bring a suspect beside others. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as Deaths from "../../src/worker/Deaths.ts"
import { find, owner } from "../StorageSuite/Setup.ts"
import { accept, accepted, acceptOf, embedded, platform, running } from "./Support.ts"

/** More sessions than one claim looks at, each with a message that waits for its pace; and then one without a pace. */
const behindPaced = Effect.gen(function* () {
  const jobs = yield* JobStore
  const sessions = yield* SessionStore
  const { accountId } = yield* owner
  const idOf = (place: number) => `00000000-0000-7000-8000-${String(place).padStart(12, "0")}`
  for (let place = 0; place < 600; place++) {
    const id = idOf(place)
    const pacing = { messagesPerSecond: place === 599 ? null : 0.01, pairIntervalMs: null }
    yield* sessions.create(Fixtures.session(accountId, { id, pacing }))
    const who = { accountId, sessionId: id, publicKey: `pk ${place}` }
    if (place < 599) yield* jobs.accept(Fixtures.send(who, { now: Time.at(0), claim: "direct" }))
    yield* jobs.accept(Fixtures.send(who, { now: Time.at(0) }))
  }
  const last = Fixtures.send(
    { accountId, sessionId: idOf(599), publicKey: "pk" },
    { now: Time.at(0), phones: 30 }
  )
  const records = last.recipients.map(({ address: phone }) =>
    Fixtures.consent(phone, { occurredAt: Time.at(0) })
  )
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
          settleAndClaim: (command) => jobs.settleAndClaim({ ...command, claim: null })
        }))
      )
      const drain = Effect.flatMap(Engine.Engine, ({ drain }) => drain)
      yield* Effect.provide(drain, Layer.provide(embedded(platform({}).sender), held))
      expect((yield* find(jobId)).status).toBe("queued")
    }).pipe(Effect.provide(Memory.layer))
  )
})

/** Two workers died over each of these jobs' recipients. */
const bereave = Effect.fnUntraced(function* (limit: number) {
  const jobs = yield* JobStore
  for (let death = 0; death < 2; death++) {
    yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit } })
    expect(yield* jobs.rescue({ worker: "gone", now: Time.at(0), recoverable: ["sandbox"] })).toBe(limit)
  }
})

describe("two suspects of two sessions", () => {
  it.effect(
    "are attempted one after the other, and nobody else waits for what a suspect's platform does",
    () =>
      Effect.gen(function* () {
        const suspects = [yield* accept(1), yield* accept(1)]
        yield* bereave(2)
        const others = [yield* accept(3), yield* accept(3)]
        let [underWay, most] = [0, 0]
        const ids = suspects.map(({ jobId }) => Ids.messageId(jobId, 0))
        const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) => {
          if (!ids.includes(messageId)) return Effect.succeed(accepted)
          underWay += 1
          most = Math.max(most, underWay)
          return Effect.as(Effect.sleep("20 seconds"), accepted).pipe(
            Effect.ensuring(
              Effect.sync(() => {
                underWay -= 1
              })
            )
          )
        })
        const sending = Effect.gen(function* () {
          yield* TestClock.adjust("62 seconds")
          const later = yield* accept(3)
          yield* TestClock.adjust("3 seconds")
          for (const each of [...others, later]) expect((yield* find(each.jobId)).status).toBe("completed")
          expect(underWay).toBe(1)
          yield* TestClock.adjust("50 seconds")
          for (const each of suspects) expect((yield* find(each.jobId)).status).toBe("completed")
        })
        yield* Effect.provide(sending, running(sender))
        expect(most).toBe(1)
        expect(new Set(sent).size).toBe(sent.length)
      }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("are attempted by no process that is young", () =>
    Effect.gen(function* () {
      const { jobId } = yield* accept(1)
      yield* bereave(1)
      const { sender, sent } = platform({ deduplicates: true })
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("29 seconds")
        expect(sent).toEqual([])
        yield* TestClock.adjust("3 seconds")
        expect((yield* find(jobId)).status).toBe("completed")
      })
      yield* TestClock.adjust("70 seconds")
      yield* Effect.provide(sending, running(sender, undefined, { youthMs: 30_000 }))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("are drained, also behind an attempt of their session that takes long", () =>
    Effect.gen(function* () {
      const who = yield* owner
      const suspect = yield* acceptOf(who, 1)
      yield* bereave(1)
      yield* TestClock.adjust("59 seconds")
      const slow = yield* acceptOf(who, 1)
      const { sender, sent } = platform({ deduplicates: true }, ({ messageId }) =>
        messageId === Ids.messageId(slow, 0)
          ? Effect.as(Effect.sleep("20 seconds"), accepted)
          : Effect.succeed(accepted)
      )
      yield* Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        const draining = yield* Effect.fork(drain)
        yield* TestClock.adjust("1 minute")
        yield* draining
      }).pipe(Effect.provide(embedded(sender)))
      expect(sent).toEqual([Ids.messageId(slow, 0), Ids.messageId(suspect, 0)])
      for (const jobId of [suspect, slow]) expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )
})

/** Sends 40 by a young process; answers how many each of its claims brought. */
const sendsYoung = Effect.fnUntraced(function* () {
  const claims: Array<number> = []
  const { jobId } = yield* accept(40)
  const counting = Layer.effect(
    JobStore,
    Effect.map(JobStore, (jobs) => ({
      ...jobs,
      settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
        Effect.tap(jobs.settleAndClaim(command), ({ claimed }) =>
          Effect.sync(() => {
            if (claimed.length > 0)
              claims.push(claimed.reduce((sum, { recipients }) => sum + recipients.length, 0))
          })
        )
    }))
  )
  const { sender, sent } = platform({ deduplicates: true }, () => Effect.delay(Effect.succeed(accepted), 10))
  let ahead = 0
  const sending = Effect.gen(function* () {
    while (sent.length < 40) {
      ahead = Math.max(ahead, claims.reduce((sum, count) => sum + count, 0) - sent.length)
      yield* TestClock.adjust(1)
    }
    yield* TestClock.adjust(100)
  })
  yield* Effect.provide(sending, Layer.provide(running(sender, undefined, { youthMs: 30_000 }), counting))
  expect((yield* find(jobId)).status).toBe("completed")
  return { ahead, most: Math.max(...claims) }
})

describe("a young process", () => {
  it.effect(
    "claims behind a death what it can begin at once, so that the next counts for nobody who was not begun",
    () =>
      Effect.gen(function* () {
        const jobs = yield* JobStore
        yield* owner
        yield* jobs.heartbeat({ workers: ["gone.1"], beats: 1, dispatchesAt: null })
        // Three quarters of the slots, beside another session.
        expect(yield* sendsYoung()).toEqual({ ahead: 0, most: 6 })
      }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("does so for as long as a process that was taken for dead is remembered", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      yield* owner
      const process = { version: "1.0.0", role: "all", slots: 8, startedAt: Time.at(0), saidAt: Time.at(0) }
      yield* jobs.heartbeat({ workers: ["gone.1"], beats: 1, dispatchesAt: null, process })
      yield* jobs.rescue({ worker: "gone.1", now: Time.at(0), recoverable: [] })
      yield* TestClock.adjust("59 minutes")
      expect(yield* sendsYoung()).toEqual({ ahead: 0, most: 6 })
      yield* TestClock.adjust("1 minute")
      expect((yield* sendsYoung()).most).toBeGreaterThan(6)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("claims ahead like any other where nobody died", () =>
    Effect.gen(function* () {
      yield* owner
      expect((yield* sendsYoung()).most).toBeGreaterThan(6)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("of others that were found at the start", () => {
  it("those may be dead that said nothing since, also once they were rescued", () => {
    const worker = (name: string, beats: number) => ({ worker: name, beats, isDead: false })
    const found = Deaths.unheard(undefined, [worker("alive", 3), worker("dead", 7)])
    const later = Deaths.unheard(found, [worker("alive", 4), worker("new", 1), worker("dead", 7)])
    expect([...later.keys()]).toEqual(["dead"])
    expect([...Deaths.unheard(later, [worker("new", 1)]).keys()]).toEqual(["dead"])
  })
})
