import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { HealthStore } from "../HealthStore.ts"

export const layer: Layer.Layer<HealthStore> = Layer.succeed(HealthStore, { probe: Effect.void })
