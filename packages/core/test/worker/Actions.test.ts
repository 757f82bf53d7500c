/** What a refusal asks of the engine is done before its outcome is stored, and only its session waits for that. */
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Sender from "../../src/sender/Sender.ts"
import { ConsentStore } from "../../src/storage/ConsentStore.ts"
import { SessionStore } from "../../src/storage/SessionStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import { owner, results } from "../StorageSuite/Setup.ts"
import { accepted, acceptOf, during, platform, running } from "./Support.ts"

const restricted = Sender.SendResult.Rejected({
  failure: { code: "number_restricted", provider_code: "131048", message: "Restricted", permanent: false }
})

const statuses = (jobId: string) =>
  Effect.map(results(jobId), (found) => found.map(({ status, failure }) => failure?.code ?? status))

/** Blocks of sessions are stored once they may be. */
const blocking = (isOpen: Deferred.Deferred<void>) =>
  Layer.effect(
    SessionStore,
    Effect.map(SessionStore, (sessions) => ({
      ...sessions,
      block: (command: Parameters<typeof sessions.block>[0]) =>
        Effect.zipRight(Deferred.await(isOpen), sessions.block(command))
    }))
  )

describe("a refusal that blocks its session", () => {
  it.effect("keeps the session's outcomes until the block is stored, and no other's", () =>
    Effect.gen(function* () {
      const isOpen = yield* Deferred.make<void>()
      const [refused, other] = [yield* owner, yield* owner]
      const jobs = [yield* acceptOf(refused, 3), yield* acceptOf(other, 3)] as const
      const { sender } = platform({}, ({ messageId }) =>
        Effect.succeed(messageId.slice(0, -3) === jobs[0].slice(0, -3) ? restricted : accepted)
      )
      const found = Effect.all(jobs.map(statuses))
      yield* Effect.gen(function* () {
        yield* TestClock.adjust("5 seconds")
        expect(yield* found).toEqual([
          ["sending", "sending", "sending"],
          ["accepted", "accepted", "accepted"]
        ])
        yield* Deferred.succeed(isOpen, undefined)
        yield* TestClock.adjust("1 second")
        expect((yield* found)[0]).not.toContain("sending")
        expect((yield* (yield* SessionStore).find(refused.sessionId))?.blockedUntil).toBeGreaterThan(0)
      }).pipe(Effect.provide(Layer.provide(running(sender), blocking(isOpen))))
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect("loses none of its outcomes at a stop, though the block cannot be stored in time", () =>
    Effect.gen(function* () {
      const isOpen = yield* Deferred.make<void>()
      const refused = yield* owner
      const jobId = yield* acceptOf(refused, 3)
      const { sender } = platform({}, () => Effect.succeed(restricted))
      yield* Effect.provide(during(sender, TestClock.adjust("1 second")), blocking(isOpen))
      expect(yield* statuses(jobId)).not.toContain("sending")
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a session whose attempts cannot be prepared", () => {
  it.effect("is claimed once a second, and holds up no other", () =>
    Effect.gen(function* () {
      const [odd, other] = [yield* owner, yield* owner]
      let asked = 0
      const failing = Layer.effect(
        ConsentStore,
        Effect.map(ConsentStore, (consents) => ({
          ...consents,
          refusals: (query: Parameters<typeof consents.refusals>[0]) => {
            if (query.accountId !== odd.accountId) return consents.refusals(query)
            asked += 1
            return Effect.fail(new StorageError({ operation: "refusals", cause: "It is away." }))
          }
        }))
      )
      const first = yield* acceptOf(odd, 2)
      const second = yield* acceptOf(other, 2)
      const { sender } = platform({})
      yield* TestClock.adjust("10 seconds").pipe(Effect.provide(Layer.provide(running(sender), failing)))
      expect(yield* statuses(second)).toEqual(["accepted", "accepted"])
      expect(yield* statuses(first)).toEqual(["queued", "queued"])
      expect(asked).toBeGreaterThanOrEqual(5)
      expect(asked).toBeLessThanOrEqual(11)
    }).pipe(Effect.provide(Memory.layer))
  )
})
