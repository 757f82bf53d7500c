/**
 * The rules by which the loop of messages collects outcomes, stores them with its next claim, and attempts what it got, as far as no
 * other file has them. Each is tried with a store or a platform that does what the rule is there for.
 */

import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { prepare } from "../../../../examples/support/prepare.ts"
import * as Time from "../../src/domain/Instant.ts"
import type { Failure } from "../../src/domain/job/Recipient.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { find, owner, results } from "../StorageSuite/Setup.ts"
import { accept, accepted, backlog, during, embedded, platform, running, timedOut } from "./Support.ts"

type Jobs = Effect.Effect.Success<typeof JobStore>

/** The loops over the test's stores, with some verbs of the jobs' store changed. */
const over = (sender: Sender.Sender, change: (jobs: Jobs) => Partial<Jobs>) =>
  Layer.provide(
    running(sender),
    Layer.effect(
      JobStore,
      Effect.map(JobStore, (jobs) => ({ ...jobs, ...change(jobs) }))
    )
  )

const down = new StorageError({ operation: "JobStore.settleAndClaim", cause: "The connection broke." })

const statusesOf = (jobId: string) =>
  Effect.map(results(jobId), (recipients) => recipients.map(({ status }) => status))

const taking = (time: `${number} seconds`) => () => Effect.as(Effect.sleep(time), accepted)

/** Starts the loops and stops them after a while; answers how much time that took. */
const stopping = Effect.fnUntraced(function* (
  loops: Layer.Layer<Engine.Engine, unknown, Stores>,
  after: `${number} millis`
) {
  const scope = yield* Scope.make()
  yield* Layer.buildWithScope(loops, scope)
  yield* TestClock.adjust(after)
  const stop = yield* Effect.fork(Scope.close(scope, Exit.void))
  yield* TestClock.adjust("1 minute")
  yield* Fiber.join(stop)
})

describe("what a failure asks of the engine", { concurrent: true }, () => {
  const rejected: Failure = {
    code: "credentials_rejected",
    provider_code: "190",
    message: "The token has expired.",
    permanent: false
  }

  it.effect("is done before its outcome is stored, and once for all recipients whom it meets", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const sessions = yield* SessionStore
      const noting = Layer.succeed(SessionStore, {
        ...sessions,
        transition: (command) => {
          order.push(command.state)
          return sessions.transition(command)
        }
      })
      const { sender } = platform({ deduplicates: true }, () =>
        Effect.succeed(Sender.SendResult.Transient({ failure: rejected, retryAfterMs: null }))
      )
      const { jobId } = yield* accept(6)
      const loops = over(sender, ({ settleAndClaim }) => ({
        settleAndClaim: (command) => {
          if (command.settlements.length > 0) order.push("stored")
          return settleAndClaim(command)
        }
      }))
      yield* Effect.provide(TestClock.adjust("2 seconds"), Layer.provide(loops, noting))
      // Two at a time: of a batch, both say so.
      expect(order).toEqual(["disconnected", "stored"])
      expect(yield* find(jobId)).toMatchObject({ status: "paused", pauseReason: "session_disconnected" })
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("the commit of outcomes and the next claim", { concurrent: true }, () => {
  it.effect("is not interrupted by a stop, and what it brings is released", () =>
    Effect.gen(function* () {
      let [begun, ended] = [0, 0]
      const { sender, sent } = platform({})
      const { jobId } = yield* accept(10)
      const slow = over(sender, ({ settleAndClaim }) => ({
        settleAndClaim: (command) =>
          Effect.gen(function* () {
            begun += 1
            yield* Effect.sleep("1 second")
            const answer = yield* settleAndClaim(command)
            ended += 1
            return answer
          })
      }))
      yield* stopping(slow, "500 millis")
      expect(begun).toBeGreaterThan(0)
      expect(ended).toBe(begun)
      expect(sent).toEqual([])
      const recipients = yield* results(jobId)
      expect(recipients.map(({ attempts }) => attempts)).toEqual(recipients.map(() => 0))
      expect(recipients.every(({ nextAt }) => nextAt !== null)).toBe(true)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect(
    "is made again with the same outcomes until one was answered, and nobody is attempted twice",
    () =>
      Effect.gen(function* () {
        const { sender, sent } = platform({})
        const { jobId } = yield* accept(4)
        let failures = 0
        const failing = over(sender, ({ settleAndClaim }) => ({
          settleAndClaim: (command) => {
            if (command.settlements.length === 0 || failures === 6) return settleAndClaim(command)
            failures += 1
            // Every other one was made all the same; without the claim, which would be lost with its name.
            return failures % 2 === 0
              ? Effect.zipRight(settleAndClaim({ ...command, claim: null }), down)
              : down
          }
        }))
        yield* Effect.provide(TestClock.adjust("40 seconds"), failing)
        expect(failures).toBe(6)
        expect(yield* statusesOf(jobId)).toEqual(["accepted", "accepted", "accepted", "accepted"])
        expect(new Set(sent).size).toBe(4)
        expect(sent).toHaveLength(4)
      }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that was lost leaves a name alive while an attempt runs under it, and silent afterwards", () =>
    Effect.gen(function* () {
      const { sender, sent }: ReturnType<typeof platform> = platform({}, ({ messageId }) =>
        messageId === sent[0] ? Effect.as(Effect.sleep("60 seconds"), accepted) : Effect.succeed(accepted)
      )
      const { jobId } = yield* accept(2)
      let name: string | undefined
      let lost = false
      const beats: Array<readonly [at: number, alive: boolean]> = []
      const losing = over(sender, ({ heartbeat, settleAndClaim }) => ({
        settleAndClaim: (command) =>
          Effect.gen(function* () {
            const answer = yield* settleAndClaim(command)
            const isFirst = name === undefined
            if (answer.claimed.length > 0) name ??= command.claim?.worker
            if (lost || isFirst || answer.claimed.length === 0) return answer
            lost = true
            return yield* down
          }),
        heartbeat: (command) =>
          Effect.flatMap(Time.now, (now) => {
            if (name !== undefined) beats.push([now, command.workers.includes(name)])
            return heartbeat(command)
          })
      }))
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        const other = yield* accept(1)
        yield* TestClock.adjust("79 seconds")
        return yield* statusesOf(other.jobId)
      })
      // Its claim was lost, and it is given back with the name.
      expect(yield* Effect.provide(sending, losing)).toEqual(["accepted"])
      expect(lost).toBe(true)
      // Nobody took it for dead: it cannot be repeated, and would be unknown.
      expect(yield* statusesOf(jobId)).toEqual(["accepted", "accepted"])
      expect(new Set(sent).size).toBe(3)
      expect(sent).toHaveLength(3)
      expect(new Set(beats.filter(([at]) => at < 60_000).map(([, alive]) => alive))).toEqual(new Set([true]))
      expect(new Set(beats.filter(([at]) => at > 66_000).map(([, alive]) => alive))).toEqual(new Set([false]))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that fails is told in the log and made again a second later", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true })
      const { jobId } = yield* accept(2)
      const logged: Array<string> = []
      const times = new Set<number>()
      const failing = over(sender, ({ settleAndClaim }) => ({
        settleAndClaim: (command) =>
          Effect.flatMap(Time.now, (now): ReturnType<Jobs["settleAndClaim"]> => {
            if (now >= 3000) return settleAndClaim(command)
            times.add(now)
            return down
          })
      }))
      const log = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => logged.push(String(message)))
      )
      yield* TestClock.adjust("4 seconds").pipe(Effect.provide(failing), Effect.provide(log))
      expect([...times]).toEqual([0, 1000, 2000])
      expect(logged).toContain("Dispatch failed")
      expect((yield* find(jobId)).status).toBe("completed")
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that fails fails who drains", () =>
    Effect.gen(function* () {
      yield* accept(2)
      const failing = Layer.effect(
        JobStore,
        Effect.map(JobStore, (jobs) => ({ ...jobs, settleAndClaim: () => down }))
      )
      const drain = Effect.flatMap(Engine.Engine, ({ drain }) => Effect.flip(drain))
      const engine = Layer.provide(embedded(platform({}).sender), failing)
      expect(yield* Effect.provide(drain, engine)).toBe(down)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("gives up one name for an outage, however long that is", () =>
    Effect.gen(function* () {
      const names = new Set<string>()
      const failing = over(platform({}).sender, ({ heartbeat }) => ({
        settleAndClaim: () => down,
        heartbeat: (command) => {
          for (const worker of command.workers) names.add(worker)
          return heartbeat(command)
        }
      }))
      yield* Effect.provide(TestClock.adjust("20 seconds"), failing)
      // The loop of messages, the webhooks' loop, and one name for each that was given up.
      expect(names.size).toBeLessThanOrEqual(4)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("that brought what it might is followed by the next one at once", () =>
    Effect.gen(function* () {
      const { sender, sent } = platform({ deduplicates: true }, taking("10 seconds"))
      const scope = yield* Scope.make()
      const engine = Context.get(yield* Layer.buildWithScope(running(sender), scope), Engine.Engine)
      const phone = "34600000055"
      const { caller, templateId } = yield* prepare(engine, [phone])
      yield* TestClock.adjust("3500 millis")
      // Nobody says that these are there.
      yield* backlog(3)
      yield* backlog(3)
      const variables = { "body.1": "Ana", "body.2": "today" }
      const request = { templateId, recipients: [{ phone, variables }] }
      yield* engine.send(caller, { idempotencyKey: "key", request })
      yield* TestClock.adjust("100 millis")
      // What sessions that have not answered yet may have together.
      expect(sent).toHaveLength(6)
      const stop = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(stop)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a batch", { concurrent: true }, () => {
  for (const [how, broken] of [
    [
      "fails",
      Effect.fail(new StorageError({ operation: "ConsentStore.refusals", cause: "The connection broke." }))
    ],
    ["breaks", Effect.die(new TypeError("undefined is not a function"))]
  ] as const) {
    it.effect(`that ${how} before its first attempt is released, at no cost of an attempt`, () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        let left = 2
        const breaking = Layer.succeed(ConsentStore, {
          ...consents,
          refusals: (query) => {
            left -= 1
            return left >= 0 ? broken : consents.refusals(query)
          }
        })
        const { sender, sent } = platform({})
        const { jobId } = yield* accept(4)
        yield* Effect.provide(TestClock.adjust("10 seconds"), Layer.provide(running(sender), breaking))
        expect(left).toBeLessThan(0)
        expect(sent).toHaveLength(4)
        const recipients = yield* results(jobId)
        expect(recipients.map(({ attempts, status }) => [status, attempts])).toEqual(
          recipients.map(() => ["accepted", 1])
        )
      }).pipe(Effect.provide(Memory.layer))
    )
  }

  it.effect(
    "that cannot be prepared for long is tried again once a second, not as often as that can be",
    () =>
      Effect.gen(function* () {
        const consents = yield* ConsentStore
        let looks = 0
        const failing = Layer.succeed(ConsentStore, {
          ...consents,
          refusals: () => {
            looks += 1
            // The test would never end otherwise.
            return looks > 500 ? Effect.never : Effect.die(new TypeError("undefined is not a function"))
          }
        })
        yield* accept(4)
        yield* Effect.provide(
          TestClock.adjust("10 seconds"),
          Layer.provide(running(platform({}).sender), failing)
        )
        // Once a second.
        expect(looks).toBeLessThanOrEqual(11)
      }).pipe(Effect.provide(Memory.layer))
  )

  for (const [sessions, slots] of [
    [1, 8],
    [2, 6]
  ] as const)
    it.effect(`has ${slots} of 8 slots where ${sessions} session(s) are connected`, () =>
      Effect.gen(function* () {
        let [underWay, most] = [0, 0]
        const { sender } = platform({ deduplicates: true }, () =>
          Effect.gen(function* () {
            underWay += 1
            most = Math.max(most, underWay)
            yield* Effect.sleep("700 millis")
            underWay -= 1
            return accepted
          })
        )
        if (sessions > 1) yield* owner
        const { jobId } = yield* accept(50)
        const sending = Effect.gen(function* () {
          yield* TestClock.adjust("20 seconds")
          expect((yield* find(jobId)).status).toBe("completed")
          expect(most).toBe(slots)
        })
        yield* during(sender, sending)
      }).pipe(Effect.provide(Memory.layer))
    )
})

describe("who watches other workers", { concurrent: true }, () => {
  it.effect("begins to watch anew when the store could not be read", () =>
    Effect.gen(function* () {
      const { sender } = platform({ deduplicates: true })
      const { jobId, jobs } = yield* accept(1)
      yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
      const unreadable = over(sender, ({ workers }) => ({
        workers: Effect.flatMap(Time.now, (now) => (now >= 9000 && now < 12_000 ? down : workers))
      }))
      const watching = Effect.gen(function* () {
        // It was first seen at the start, and again at 12 seconds.
        yield* TestClock.adjust("26 seconds")
        expect(yield* statusesOf(jobId)).toEqual(["sending"])
        yield* TestClock.adjust("8 seconds")
        expect(yield* statusesOf(jobId)).toEqual(["accepted"])
      })
      yield* Effect.provide(watching, unreadable)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a recipient that killed two workers", { concurrent: true }, () => {
  it.effect("keeps back no other session, however long its attempt takes", () =>
    Effect.gen(function* () {
      const { jobId, jobs } = yield* accept(1)
      for (let death = 0; death < 2; death++) {
        yield* jobs.settleAndClaim({ now: Time.at(0), settlements: [], claim: { worker: "gone", limit: 1 } })
        yield* jobs.rescue({ worker: "gone", now: Time.at(0), recoverable: ["sandbox"] })
      }
      const { sender } = platform({ deduplicates: true }, ({ messageId }) =>
        messageId.slice(0, -3) === jobId.slice(0, -3)
          ? Effect.as(Effect.sleep("10 minutes"), timedOut)
          : Effect.succeed(accepted)
      )
      const sending = Effect.gen(function* () {
        yield* TestClock.adjust("5 seconds")
        expect(yield* statusesOf(jobId)).toEqual(["sending"])
        const other = yield* accept(20)
        yield* TestClock.adjust("10 seconds")
        expect((yield* find(other.jobId)).status).toBe("completed")
      })
      yield* during(sender, sending)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a platform that is down for three minutes", { concurrent: true }, () => {
  it.effect(
    "fails nobody: what is queued is sent when it is back",
    () =>
      Effect.gen(function* () {
        const { sender } = platform({ deduplicates: true }, () =>
          Effect.map(Time.now, (now) => (now < 180_000 ? timedOut : accepted))
        )
        const { jobId } = yield* accept(3)
        yield* during(sender, TestClock.adjust("5 minutes"))
        expect(yield* statusesOf(jobId)).toEqual(["accepted", "accepted", "accepted"])
      }).pipe(Effect.provide(Memory.layer)),
    60_000
  )
})
