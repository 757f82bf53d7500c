/** What a platform that does not answer holds up, and what it does not. */

import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Engine from "../../src/engine/Engine.ts"
import type { OutboundMessage, SendResult } from "../../src/sender/Sender.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { find, owner, results } from "../StorageSuite/Setup.ts"
import { accept, accepted, backlog, during, embedded, platform, running, timedOut } from "./Support.ts"

/** Messages of which `isStuck` get no answer for half a minute, the others one after a moment. */
const stuck = (isStuck: (message: OutboundMessage) => boolean) => {
  let [underWay, most] = [0, 0]
  const send = (message: OutboundMessage) => {
    underWay += 1
    most = Math.max(most, underWay)
    const answer: Effect.Effect<SendResult> = isStuck(message)
      ? Effect.as(Effect.sleep("30 seconds"), timedOut)
      : Effect.as(Effect.sleep("5 millis"), accepted)
    return Effect.ensuring(
      answer,
      Effect.sync(() => {
        underWay -= 1
      })
    )
  }
  return { send, most: () => most }
}

const statusesOf = (jobIds: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(jobIds, (jobId) => find(jobId)),
    (jobs) => jobs.map(({ status }) => status)
  )

describe("a platform that does not answer", { concurrent: true }, () => {
  it.effect("holds up no session of another one, once it is known", () =>
    Effect.gen(function* () {
      // The only session may have all slots.
      yield* owner
      const dead = yield* backlog(100)
      const { most, send } = stuck(({ sessionId }) => sessionId === dead.sessionId)
      const { sender } = platform({}, send)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("35 seconds")
        const other = yield* backlog(20)
        yield* TestClock.adjust("3 seconds")
        expect(new Set(yield* statusesOf(other.jobIds))).toEqual(new Set(["completed"]))
        const also = yield* backlog(20)
        yield* TestClock.adjust("3 seconds")
        expect(new Set(yield* statusesOf(also.jobIds))).toEqual(new Set(["completed"]))
      })
      yield* during(sender, sending)
      expect(most()).toBeLessThanOrEqual(8)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("holds up no session of another one, when nothing of it was answered before", () =>
    Effect.gen(function* () {
      // The only session may have all slots.
      yield* owner
      const dead = yield* backlog(100)
      const { send } = stuck(({ sessionId }) => sessionId === dead.sessionId)
      const { sender } = platform({}, send)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("500 millis")
        const other = yield* backlog(20)
        yield* TestClock.adjust("3 seconds")
        expect(new Set(yield* statusesOf(other.jobIds))).toEqual(new Set(["completed"]))
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is given what it can begin, however large the batches of others are", () =>
    Effect.gen(function* () {
      const slow = yield* backlog(60)
      const { sender } = platform({ deduplicates: true }, ({ sessionId }) =>
        Effect.delay(Effect.succeed(accepted), sessionId === slow.sessionId ? 1500 : 1)
      )
      const jobs = yield* JobStore
      const claimed: Array<number> = []
      const counting = Layer.succeed(JobStore, {
        ...jobs,
        settleAndClaim: (command) =>
          Effect.tap(jobs.settleAndClaim(command), (found) =>
            Effect.sync(() => {
              const ofSlow = found.claimed.filter(({ sessionId }) => sessionId === slow.sessionId)
              claimed.push(ofSlow.reduce((sum, { recipients }) => sum + recipients.length, 0))
            })
          )
      })
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("3 seconds")
        claimed.splice(0)
        for (let more = 0; more < 10; more++) {
          yield* accept(250)
          yield* TestClock.adjust("300 millis")
        }
      })
      yield* Effect.provide(during(sender, sending), counting)
      expect(Math.max(...claimed)).toBeGreaterThan(0)
      expect(Math.max(...claimed)).toBeLessThanOrEqual(6)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("holds up none of the outcomes beside it", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true }, ({ messageId }) =>
        messageId.endsWith("003") ? Effect.as(Effect.sleep("30 seconds"), accepted) : Effect.succeed(accepted)
      )
      const { jobId } = yield* accept(8)
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("2 seconds")
        const statuses = (yield* results(jobId)).map(({ status }) => status)
        expect(statuses.filter((status) => status === "accepted")).toHaveLength(7)
        expect(statuses[2]).toBe("sending")
        yield* TestClock.adjust("30 seconds")
        expect(new Set((yield* results(jobId)).map(({ status }) => status))).toEqual(new Set(["accepted"]))
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("never has more under way than may be", () =>
    Effect.gen(function* () {
      // Of many sessions, of which none is known to be slow.
      yield* Effect.replicateEffect(backlog(1), 60)
      const { most, send } = stuck(({ messageId }) => messageId.endsWith("001"))
      const { sender } = platform({ deduplicates: true }, send)
      yield* during(sender, TestClock.adjust("20 seconds"))
      expect(most()).toBeGreaterThan(4)
      expect(most()).toBeLessThanOrEqual(8)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("never has more under way than may be, when claims take long", () =>
    Effect.gen(function* () {
      const jobIds = [yield* accept(60), yield* accept(60)].map(({ jobId }) => jobId)
      let [underWay, most] = [0, 0]
      const { sender } = platform({ deduplicates: true }, () =>
        Effect.gen(function* () {
          underWay += 1
          most = Math.max(most, underWay)
          yield* Effect.sleep("300 millis")
          underWay -= 1
          return accepted
        })
      )
      const slow = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({
          ...jobs,
          settleAndClaim: (command: Parameters<typeof jobs.settleAndClaim>[0]) =>
            Effect.delay(jobs.settleAndClaim(command), command.now < 20_000 ? "200 millis" : 0)
        }))
      )
      yield* TestClock.adjust("40 seconds").pipe(Effect.provide(Layer.provide(running(sender), slow)))
      expect(most).toBeGreaterThan(4)
      expect(most).toBeLessThanOrEqual(8)
      expect(new Set(yield* statusesOf(jobIds))).toEqual(new Set(["completed"]))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("and one that is slow leaves a turn to whoever survived a death", () =>
    Effect.gen(function* () {
      const survivor = yield* accept(1)
      yield* survivor.jobs.settleAndClaim({
        now: Time.at(0),
        settlements: [],
        claim: { worker: "gone", limit: 1 }
      })
      const busy = yield* backlog(500)
      const { sender } = platform({ deduplicates: true }, ({ sessionId }) =>
        Effect.delay(Effect.succeed(accepted), sessionId === busy.sessionId ? 900 : 1)
      )
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("5 seconds")
        // It is taken back when the other has many in hand.
        yield* survivor.jobs.rescue({ worker: "gone", now: Time.at(5000), recoverable: ["sandbox"] })
        yield* TestClock.adjust("2 seconds")
        expect((yield* results(survivor.jobId)).map(({ status }) => status)).toEqual(["accepted"])
      })
      yield* during(sender, sending, { concurrency: 64 })
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("is waited for by who drains", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({}, () => Effect.as(Effect.sleep("30 seconds"), accepted))
      const { jobId } = yield* accept(5)
      const drained = Effect.gen(function* () {
        const { drain } = yield* Engine.Engine
        const draining = yield* Effect.fork(drain)
        yield* TestClock.adjust("5 minutes")
        yield* draining
      })
      yield* Effect.provide(drained, embedded(sender))
      expect(sent).toHaveLength(5)
      expect((yield* find(jobId)).counts).toMatchObject({ accepted: 5 })
    }).pipe(Effect.provide(Memory.layer))
  )
})
