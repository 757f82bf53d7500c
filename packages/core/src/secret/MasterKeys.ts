/**
 * Compares the master keys of this process with those that its store remembers (contract.md §10, "Keys and
 * secrets"): a process that lacks one is refused at the start, and the store's newest key seals. The keys of a shared
 * store are read again every few seconds, since another process may have added a newer key.
 */

import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Time from "../domain/Instant.ts"
import type { Remembered } from "../domain/Keyring.ts"
import * as Keyring from "../domain/Keyring.ts"
import { KeyringStore } from "../storage/KeyringStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { SecretBox } from "./SecretBox.ts"

/** The store's secrets are under a master key that this process was not given, or was given only as a retired one. */
export class WrongMasterKey extends Data.TaggedError("WrongMasterKey")<{
  readonly reason: "missing" | "retired"
  /** Ids of keys, which tell nothing of them. */
  readonly keys: ReadonlyArray<string>
}> {
  override get message(): string {
    const keys = this.keys.join(", ")
    return this.reason === "missing"
      ? `This database was begun with another master key (id ${keys}). Give that key; to change it, give the new one first and that one after it.`
      : `The first master key (id ${keys}) was retired from this database. Give the key that replaced it first.`
  }
}

/** How often the keys of a shared store are read again. */
const lookEvery = "5 seconds"

export class MasterKeys extends Context.Tag("@sendwright/core/secret/MasterKeys")<
  MasterKeys,
  {
    /** Says which key is missing; null while this process has all that the store remembers. */
    readonly fault: Effect.Effect<string | null>
    /** Waits until no key is missing: sends whose secrets need a missing key would fail for good. */
    readonly complete: Effect.Effect<void>
  }
>() {}

const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const store = yield* KeyringStore
  const complete = yield* Effect.makeLatch(true)
  let missing: ReadonlyArray<string> = []

  /** Seals with the store's newest key. */
  const follow = (remembered: ReadonlyArray<Remembered>): void => {
    const current = Keyring.current(remembered)
    if (current !== undefined) box.use(current)
  }

  const look = Effect.gen(function* () {
    const remembered = yield* store.remembered
    const before = missing
    missing = Keyring.asked(remembered).filter((key) => !box.keys.includes(key))
    follow(remembered)
    if (missing.length === 0) return yield* complete.open
    yield* complete.close
    if (before.length === 0) {
      yield* Effect.logError(
        `Another process added a master key (id ${missing.join(", ")}) that this one was not given: it dispatches nothing more. Start it again with both keys, the new one first.`
      )
    }
  }).pipe(Effect.catchAll((error) => Effect.logWarning(error.message)))

  const now = yield* Time.now
  const { joining, remembered } = yield* store.join({ given: box.keys, now })
  switch (joining._tag) {
    case "Missing":
      return yield* new WrongMasterKey({ reason: "missing", keys: joining.keys })
    case "Retired":
      return yield* new WrongMasterKey({ reason: "retired", keys: [joining.key] })
    case "Joined":
      follow(remembered)
  }
  if (store.isShared) {
    yield* Effect.forkScoped(Effect.delay(Effect.repeat(look, Schedule.spaced(lookEvery)), lookEvery))
  }

  return MasterKeys.of({
    fault: Effect.sync(() =>
      missing.length === 0
        ? null
        : `The database asks for a master key that was not given: id ${missing.join(", ")}.`
    ),
    complete: complete.await
  })
})

/** Must be built before anything seals, opens or dispatches. */
export const layer: Layer.Layer<MasterKeys, WrongMasterKey | StorageError, KeyringStore | SecretBox> =
  Layer.scoped(MasterKeys, make)
