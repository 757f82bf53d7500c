import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HealthStore } from "../HealthStore.ts"
import { run } from "../Program.ts"
import { Database } from "../sql/Database.ts"

/** Bytes that are written and deleted again: a row without them would find room on a disk that is full. */
const probeBytes = 16_384

export const layer: Layer.Layer<HealthStore, never, Database> = Layer.effect(
  HealthStore,
  Effect.map(Database, (db) => ({
    probe: db.write("HealthStore.probe", function* () {
      yield* run("INSERT INTO sendwright_probe (content) VALUES (zeroblob(?))", probeBytes)
      yield* run("DELETE FROM sendwright_probe")
    })
  }))
)
