/** What a process tells of itself and of what it did, while it lives and when it ends. */

import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as EventLoopBudget from "../../src/runtime/EventLoopBudget.ts"
import { HappeningStore } from "../../src/storage/HappeningStore.ts"
import { JobStore, processOf } from "../../src/storage/JobStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as SqliteHandle from "../../src/storage/sqlite/OverHandle.ts"
import { accept, platform, running } from "./Support.ts"

it.effect("a process writes what it has counted once a minute, and what is left when it ends", () =>
  Effect.gen(function* () {
    const database = Memory.open()
    const counts = Effect.sync(() => {
      const rows = database
        .prepare("SELECT outcome, sum(n) AS n FROM sendwright_tally GROUP BY outcome")
        .all()
      return Object.fromEntries(rows.map((row) => Object.values(Object(row))))
    })
    yield* Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(running(platform({}).sender), scope)
      yield* accept(3)
      yield* TestClock.adjust("59 seconds")
      expect(yield* counts).toEqual({})
      yield* TestClock.adjust("2 seconds")
      yield* EventLoopBudget.nextTurn
      expect(yield* counts).toEqual({ accepted: 3, queued: 3 })
      yield* accept(2)
      yield* TestClock.adjust("5 seconds")
      expect(yield* counts).toEqual({ accepted: 3, queued: 3 })
      yield* Scope.close(scope, Exit.void)
      expect(yield* counts).toEqual({ accepted: 5, queued: 5 })
    }).pipe(Effect.provide(SqliteHandle.layer({ database, migrate: true })))
  })
)

it.effect("a process is told from its start to its end, also while it claims nothing", () =>
  Effect.gen(function* () {
    const { living } = yield* JobStore
    const happenings = yield* HappeningStore
    const noted = Effect.map(
      happenings.between({ from: Time.at(0), to: Time.at(1e15), limit: 10 }),
      (found) => found.map(({ data, subject, type }) => [type, subject, data])
    )
    const scope = yield* Scope.make()
    const process = { role: "api", version: "1.2.3" }
    yield* Layer.buildWithScope(running(platform({}).sender, undefined, { process, concurrency: 7 }), scope)
    yield* TestClock.adjust("6 seconds")
    const [first] = yield* living
    expect(first).toMatchObject({ role: "api", version: "1.2.3", slots: 7, inFlight: 0 })
    const id = processOf(first?.worker ?? "")
    const started = ["process.started", id, process]
    expect(yield* noted).toEqual([started])
    yield* TestClock.adjust("1 minute")
    yield* Scope.close(scope, Exit.void)
    expect(yield* living).toEqual([])
    expect(yield* noted).toEqual([["process.stopped", id, process], started])
  }).pipe(Effect.provide(Memory.layer))
)
