/** What an operator says of how long rows are kept, and is told of what went. */
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Retention from "../../src/domain/Retention.ts"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { JobStore, Outcome } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as TestEngine from "../../src/testing/TestEngine.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"
import { claim, failure, now, owner } from "../StorageSuite/Setup.ts"

describe("the retention of an account", () => {
  it.effect("is what its operator says, and the defaults in what they do not say", () =>
    Effect.gen(function* () {
      const { accounts } = (yield* Engine.Engine).admin
      const made = yield* accounts.create({ name: "Shop", retention: { contentsDays: 10 } })
      expect(made.retention).toEqual({ ...Retention.defaults, contentsDays: 10 })
      const changed = yield* accounts.change(made.id, { retention: { resultsDays: null } })
      expect(changed.retention).toEqual({ ...Retention.defaults, contentsDays: 10, resultsDays: null })
      expect((yield* accounts.change(made.id, { name: "Other" })).retention).toEqual(changed.retention)
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.effect("is a whole number of days, and of results at least a week", () =>
    Effect.gen(function* () {
      const { accounts } = (yield* Engine.Engine).admin
      const refused = Effect.flip(
        accounts.create({
          name: "Shop",
          retention: { resultsDays: 6, contentsDays: 0.5, deliveriesDays: 40_000 }
        })
      )
      const { faults } = yield* Effect.filterOrDieMessage(
        refused,
        (error) => error._tag === "InvalidRequest",
        "It was refused for something else."
      )
      expect(faults.map(({ path }) => path)).toEqual([
        ["retention", "deliveriesDays"],
        ["retention", "contentsDays"],
        ["retention", "resultsDays"]
      ])
    }).pipe(Effect.provide(TestEngine.layer))
  )
})

describe("a purge", () => {
  it.effect("that an operator asks for is counted first, and leaves nothing that can be sent again", () =>
    Effect.gen(function* () {
      const { jobs, storage } = (yield* Engine.Engine).admin
      const store = yield* JobStore
      const who = yield* owner
      const command = Fixtures.send(who, { phones: 2 })
      yield* store.accept(command)
      const [claimed] = yield* claim()
      const outcome = Outcome.Failed({ failure })
      yield* store.settleAndClaim({
        now,
        claim: null,
        settlements: [0, 1].map((index) => ({
          jobId: command.jobId,
          fence: claimed?.fence ?? 0,
          index,
          outcome
        }))
      })
      yield* TestClock.setTime(now + 90 * Time.day)
      const shares = [{ accountId: who.accountId, kind: "contents", days: 90, rows: 2, bytes: 20 }]
      expect(yield* storage.purge({ dryRun: true })).toEqual({ dryRun: true, isComplete: true, shares })
      expect((yield* jobs.retry(command.jobId, { codes: ["broken"], dryRun: true })).counts.failed).toBe(2)
      expect(yield* storage.purge()).toEqual({ dryRun: false, isComplete: true, shares })
      const refused = yield* Effect.flip(jobs.retry(command.jobId, { codes: ["broken"] }))
      expect(refused).toMatchObject({ _tag: "ContentExpired", at: now + 90 * Time.day })
      expect(refused.message).toContain("Send anew")
      expect((yield* storage.purge()).shares).toEqual([])
    }).pipe(Effect.provide(TestEngine.layer))
  )

  it.scoped("by a clock that was set right again deletes nothing that was written minutes before", () =>
    Effect.gen(function* () {
      const in2000 = Time.at(Date.UTC(2000, 0, 1))
      const stores = yield* Layer.build(Memory.layer)
      const store = Context.get(stores, JobStore)
      const who = yield* Effect.provide(owner, stores)
      const command = Fixtures.send(who, { now: in2000 })
      yield* store.accept(command)
      yield* store.cancel({ jobId: command.jobId, now: in2000 })
      yield* store.accept(Fixtures.send(who, { now: in2000 }))

      yield* TestClock.setTime(now)
      const engine = yield* Layer.build(
        Engine.layer().pipe(
          Layer.provide(Layer.succeedContext(stores)),
          Layer.provide(RecordingTransport.layer),
          Layer.provide(Sender.layer()),
          Layer.provide(SecretBox.layerRandom),
          Layer.provide(AddressPolicy.layer([]))
        )
      )
      const { storage } = Context.get(engine, Engine.Engine).admin
      const held = { isComplete: true, shares: [], heldAt: in2000 }
      expect(yield* storage.purge({ dryRun: true })).toEqual({ ...held, dryRun: true })
      expect(yield* storage.purge()).toEqual({ ...held, dryRun: false })
      expect(yield* store.find(command.jobId)).not.toBe(null)
      // By the store's own time it is old in the end, too.
      yield* TestClock.adjust("400 days")
      expect((yield* storage.purge()).shares).toContainEqual(expect.objectContaining({ kind: "results" }))
    })
  )
})
