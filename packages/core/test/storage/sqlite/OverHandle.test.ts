import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { ErasureStore } from "../../../src/storage/ErasureStore.ts"
import * as OverHandle from "../../../src/storage/sqlite/OverHandle.ts"
import * as SqliteFile from "../../../src/storage/sqlite/Sqlite.ts"
import * as StorageSuite from "../../StorageSuite/index.ts"

const over = (secureDelete: "ON" | "OFF") =>
  Layer.unwrapScoped(
    Effect.acquireRelease(
      Effect.sync(() => {
        const database = new Sqlite(":memory:")
        database.pragma(`secure_delete = ${secureDelete}`)
        return database
      }),
      (database) => Effect.sync(() => database.close())
    ).pipe(Effect.map((database) => OverHandle.layer({ database, migrate: true })))
  )

StorageSuite.suite("SQLite over an app's handle", over("ON"))

describe("an erasure over a handle that does not overwrite what it deletes", () => {
  it.effect("says what to set", () =>
    Effect.gen(function* () {
      expect(yield* (yield* ErasureStore).wipe).toContain("`secure_delete` is not ON")
    }).pipe(Effect.provide(over("OFF")))
  )
})

const place = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "sendwright-lock-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

const handleOf = (file: string) =>
  Effect.acquireRelease(
    Effect.sync(() => new Sqlite(file)),
    (database) => Effect.sync(() => database.close())
  )

/** The two ways that an engine comes to a database file. */
const ways = {
  file: (file: string) => Layer.build(SqliteFile.layer({ filename: file })),
  handle: (file: string) =>
    Effect.flatMap(handleOf(file), (database) => Layer.build(OverHandle.layer({ database, migrate: true })))
}
const pairs = Object.entries(ways).flatMap(([first, open]) =>
  Object.entries(ways).map(([second, openNext]) => [second, first, openNext, open] as const)
)

const tablesOf = (file: string) =>
  Effect.scoped(
    Effect.map(handleOf(file), (database) => database.prepare("SELECT name FROM sqlite_schema").all())
  )

describe("one engine uses a SQLite file at a time", () => {
  it.effect.each(pairs)(
    "one with a %s is refused beside one with a %s, until that ends",
    ([_, __, next, open]) =>
      Effect.gen(function* () {
        const file = join(yield* place, "app.db")
        const first = yield* Scope.make()
        yield* Scope.extend(open(file), first)
        expect((yield* Effect.flip(Effect.scoped(next(file)))).message).toContain(
          "is open in another process"
        )
        yield* Scope.close(first, Exit.void)
        yield* Effect.scoped(next(file))
      }).pipe(Effect.scoped)
  )

  it.live("one with a handle is refused while another process has the file, and touches nothing", () =>
    Effect.gen(function* () {
      const file = join(yield* place, "app.db")
      const program = `const lock = new (require("better-sqlite3"))(process.argv[1])
        lock.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE"); console.log("locked"); setInterval(() => {}, 1000)`
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, ["-e", program, `${file}.lock`], {
            cwd: import.meta.dirname,
            stdio: ["ignore", "pipe", "inherit"]
          })
        ),
        (started) => Effect.sync(() => started.kill("SIGKILL"))
      )
      yield* Effect.promise(() => once(child.stdout, "data"))
      const refused = yield* Effect.flip(Effect.scoped(ways.handle(file)))
      expect(refused.message).toContain("is open in another process")
      expect(yield* tablesOf(file)).toEqual([])
      const ended = once(child, "exit")
      child.kill("SIGKILL")
      yield* Effect.promise(() => ended)
      yield* Effect.scoped(ways.handle(file))
      expect(yield* tablesOf(file)).not.toEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("two with one handle in memory are two on one database: the second is refused", () =>
    Effect.gen(function* () {
      const database = yield* handleOf(":memory:")
      const layer = OverHandle.layer({ database, migrate: true })
      yield* Layer.build(layer)
      const refused = yield* Effect.flip(Effect.scoped(Layer.build(Layer.fresh(layer))))
      expect(refused.message).toContain("The database in memory is open in another process, or twice")
    }).pipe(Effect.scoped)
  )
})
