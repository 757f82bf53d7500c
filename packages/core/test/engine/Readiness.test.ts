/** contract.md §10, "Keys and secrets": ready means that this process can write, read its secrets and dispatch. */
import { SqlClient } from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Engine from "../../src/engine/Engine.ts"
import * as SecretBox from "../../src/secret/SecretBox.ts"
import * as Sandbox from "../../src/sender/Sandbox.ts"
import * as Sender from "../../src/sender/Sender.ts"
import { HealthStore } from "../../src/storage/HealthStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import type { Stores } from "../../src/storage/Stores.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as RecordingTransport from "../../src/testing/RecordingTransport.ts"
import * as AddressPolicy from "../../src/webhook/AddressPolicy.ts"

const engine: Effect.Effect<Context.Tag.Service<Engine.Engine>, unknown, Stores | Scope.Scope> = Effect.map(
  Layer.build(
    Engine.layer().pipe(
      Layer.provide(Sender.layer(Sandbox.make())),
      Layer.provide(RecordingTransport.layer),
      Layer.provide(SecretBox.layerRandom),
      Layer.provide(AddressPolicy.layer([]))
    )
  ),
  Context.get(Engine.Engine)
)

const well = [
  { name: "storage", fault: null },
  { name: "clock", fault: null },
  { name: "keys", fault: null },
  { name: "dispatch", fault: null },
  { name: "restore", fault: null }
]

/** An earlier finding is too old then. */
const later = TestClock.adjust("3 seconds")

/** Lets time pass until the fiber has ended. */
const passing = <A>(fiber: Fiber.Fiber<A>) =>
  Effect.zipRight(
    Effect.repeat(Effect.zipRight(TestClock.adjust("50 millis"), Fiber.poll(fiber)), {
      until: Option.isSome
    }),
    Fiber.join(fiber)
  )

const logging = (lines: Array<string>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => {
      lines.push(String(message))
    })
  )

describe("a process on SQLite", () => {
  const refused = (reason: string) => [
    { name: "storage", fault: `The storage operation "HealthStore.probe" failed: ${reason}` },
    ...well.slice(1)
  ]

  it.scoped("is not ready while the disk is full, and says so once, and when it is well again", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const { readiness } = yield* Effect.provide(engine, logging(lines))
      const sql = yield* SqlClient
      const look = Effect.provide(readiness, logging(lines))
      expect(yield* look).toEqual(well)
      const [pages] = yield* sql<{ readonly page_count: number }>`PRAGMA page_count`
      yield* sql`VACUUM`
      yield* sql.unsafe(`PRAGMA max_page_count = ${pages?.page_count ?? 0}`)
      yield* sql`CREATE TABLE filler (content BLOB)`.pipe(Effect.ignoreLogged)
      yield* Effect.repeat(sql`INSERT INTO filler (content) VALUES (zeroblob(4000))`, { times: 1000 }).pipe(
        Effect.flip
      )
      yield* later
      expect(yield* look).toEqual(refused("the disk of its database is full. Make room on it."))
      yield* later
      expect(yield* look).toEqual(refused("the disk of its database is full. Make room on it."))
      yield* sql.unsafe("PRAGMA max_page_count = 1073741823")
      yield* later
      expect(yield* look).toEqual(well)
      const told = lines.filter((line) => /^(Not ready|Ready again)/.test(line))
      expect(told).toHaveLength(2)
      expect(told[0]).toContain("storage:")
      expect(told[0]).toContain("full")
    }).pipe(Effect.provide(Sqlite.layer({ filename: ":memory:" })))
  )

  it.scoped("is not ready while the database is read-only", () =>
    Effect.gen(function* () {
      const { readiness } = yield* engine
      const sql = yield* SqlClient
      yield* sql`PRAGMA query_only = 1`
      expect(yield* readiness).toEqual(
        refused("the database's handle takes no writes: it is read only, or `query_only` is on.")
      )
      yield* sql`PRAGMA query_only = 0`
      yield* later
      expect(yield* readiness).toEqual(well)
    }).pipe(Effect.provide([Sqlite.layer({ filename: ":memory:" }), Logger.remove(Logger.defaultLogger)]))
  )
})

describe("readiness", () => {
  const over = (probe: Effect.Effect<void, StorageError>) =>
    Layer.provideMerge(Layer.succeed(HealthStore, { probe }), Memory.layer)

  it.scoped("is one write for all who ask within three seconds, though the first of them hangs up", () => {
    let probes = 0
    const probe = Effect.zipRight(
      Effect.sync(() => {
        probes += 1
      }),
      Effect.sleep("1 second")
    )
    return Effect.gen(function* () {
      const { readiness } = yield* engine
      const first = yield* Effect.fork(readiness)
      const others = yield* Effect.fork(Effect.all([readiness, readiness], { concurrency: "unbounded" }))
      yield* Effect.yieldNow()
      yield* passing(yield* Effect.fork(Fiber.interrupt(first)))
      expect(yield* passing(others)).toEqual([well, well])
      expect(yield* readiness).toEqual(well)
      expect(probes).toBe(1)
      yield* later
      yield* passing(yield* Effect.fork(readiness))
      expect(probes).toBe(2)
    }).pipe(Effect.provide(over(probe)))
  })

  it.scoped("does not hang when the store does, even in a way that cannot be interrupted", () =>
    Effect.gen(function* () {
      const { readiness } = yield* engine
      const asked = yield* Effect.fork(readiness)
      const fault = "A small write did not end within 2 seconds."
      expect(yield* passing(asked)).toEqual([{ name: "storage", fault }, ...well.slice(1)])
    }).pipe(
      Effect.provide([
        over(Effect.uninterruptible(Effect.sleep("1 minute"))),
        Logger.remove(Logger.defaultLogger)
      ])
    )
  )

  it.scoped("does not repeat the driver's message", () => {
    const cause = new Error("connect ECONNREFUSED 10.0.0.7:5432")
    return Effect.gen(function* () {
      const { readiness } = yield* engine
      expect(JSON.stringify(yield* readiness)).not.toContain("10.0.0.7")
    }).pipe(
      Effect.provide([
        over(new StorageError({ operation: "HealthStore.probe", cause })),
        Logger.remove(Logger.defaultLogger)
      ])
    )
  })
})
