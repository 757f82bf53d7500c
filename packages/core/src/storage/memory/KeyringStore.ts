/** A database in memory begins and ends with its process: there is nothing to remember, and nothing to seal again. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { KeyringStore } from "../KeyringStore.ts"

const none = Effect.succeed({ items: [], next: null })

export const layer: Layer.Layer<KeyringStore> = Layer.succeed(KeyringStore, {
  isShared: false,
  remembered: Effect.succeed([]),
  join: () => Effect.succeed({ joining: { _tag: "Joined", add: [] }, remembered: [] }),
  retire: () => Effect.void,
  sealed: () => none,
  reseal: () => Effect.succeed(0),
  apiKeys: () => none
})
