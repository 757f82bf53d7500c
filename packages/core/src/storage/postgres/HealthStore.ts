import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HealthStore } from "../HealthStore.ts"
import { get } from "../Program.ts"
import { Pool } from "./Database.ts"

// One statement is one commit: no process that hangs can hold the row's lock against the probes of others.
const probe = "UPDATE sendwright_probe SET probes = probes + 1 RETURNING probes"

export const layer: Layer.Layer<HealthStore, never, Pool> = Layer.effect(
  HealthStore,
  Effect.map(Pool, ({ alone, hasRoom }) => ({
    probe: Effect.zipRight(
      hasRoom("HealthStore.probe"),
      alone("HealthStore.probe", function* () {
        yield* get(probe)
      })
    )
  }))
)
