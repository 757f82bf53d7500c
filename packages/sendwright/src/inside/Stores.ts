/** A store as the inside has it: core's layer, and how a transaction of the app is joined. */
import type { Stores } from "@sendwright/core"
import { Memory } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type { Transaction } from "../api/Messages.ts"
import type { Store } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Brand from "./Brand.ts"

/** Runs core's operations inside a transaction of the app. */
export type Within = <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | SendwrightError>

export interface Parts {
  readonly name: Store["name"]
  readonly layer: Layer.Layer<Stores.Stores, unknown>
  /** Throws for a transaction that is not of this store. */
  readonly within: (tx: Transaction) => Within
  /** Brings the tables up to date; null where opening the store does that. */
  readonly migrate: Effect.Effect<void, unknown> | null
}

const stores = Brand.make<Parts>("store")

/** A store that this package made. */
export const made = (parts: Parts): Store => stores.mark({ name: parts.name }, parts)

/** Undefined for what is no store. */
export const find = stores.of

export const known = "memory(), sqlite(…) of sendwright/sqlite, or postgres(…) of sendwright/postgres"

export const partsOf = (store: Store): Parts => {
  const parts = find(store)
  if (parts === undefined) throw new SendwrightError("invalid_options", `\`store\` must be ${known}.`)
  return parts
}

/** The same stores for every engine that is given them, until the scope ends. */
export const once = <A, E>(layer: Layer.Layer<A, E>, scope: Scope.Scope): Layer.Layer<A, E> =>
  Layer.effectContext(Effect.runSync(Effect.cached(Layer.buildWithScope(layer, scope))))

const wordsOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && /^(ERR_)?MODULE_NOT_FOUND$/.test(String(cause.code))

/** Drivers that are loaded where a store is opened. Whoever has not installed them is told so, and a bundle what it lacks. */
export const drivers = <Module>(
  load: () => Promise<Module>,
  need: string,
  packages: string
): Effect.Effect<Module, SendwrightError> =>
  Effect.tryPromise({
    try: load,
    catch: (cause) => {
      const message = isMissing(cause)
        ? `${need}: npm install ${packages}`
        : `${need}, and they could not be loaded: ${wordsOf(cause)}. In a bundle leave them out of it, as "external" ones: ${packages}`
      return new SendwrightError("invalid_options", message, { cause })
    }
  })

export const noTransaction = (message: string): SendwrightError =>
  new SendwrightError("transaction_unsupported", message)

export const memory = (): Store =>
  made({
    name: "memory",
    // Nothing of it has to be closed.
    layer: once(Memory.layer, Effect.runSync(Scope.make())),
    within: () => {
      throw noTransaction(
        "memory() has no transactions of yours. Leave `tx` out, or take `sqlite({ database })` or `postgres(…)`, also as the test kit's `store`."
      )
    },
    migrate: null
  })
