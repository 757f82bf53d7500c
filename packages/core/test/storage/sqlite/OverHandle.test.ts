import { describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ErasureStore } from "../../../src/storage/ErasureStore.ts"
import * as OverHandle from "../../../src/storage/sqlite/OverHandle.ts"
import * as StorageSuite from "../../../src/testing/StorageSuite/index.ts"

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
