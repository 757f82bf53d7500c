/**
 * The keyed hash that is left of a person's names (docs/adr/0040). Its key is drawn once for a store and sealed in it, so
 * that it outlives a change of the master key; without the master key nobody can try out numbers on the hashes.
 */
import { createHmac } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Erasure from "../domain/Erasure.ts"
import { RandomBytes } from "../domain/Ids.ts"
import type { Key } from "../domain/Person.ts"
import * as Either from "../effect/Either.ts"
import type { Erased } from "../storage/ErasureStore.ts"
import { ErasureStore } from "../storage/ErasureStore.ts"
import { StorageError } from "../storage/StorageError.ts"
import { SecretBox } from "./SecretBox.ts"

/** The place by which the names that an erasure keeps are sealed. */
export const place = (id: string): string => `erasure|${id}`

/** The place of the hashes' key. */
const ofKey = place("key")

const keyBytes = 32

/** Hexadecimal digits of a hash: nobody is taken for somebody else among millions. */
const hashLength = 24

export interface PersonHash {
  /** The hash of a name (`Erasure.hashedOf`). */
  readonly hashing: Effect.Effect<(hashed: string) => string, StorageError>
  /** Which of these keys are of people who were erased, in the account or in all. */
  readonly erased: (
    accountId: string,
    keys: Iterable<Key>
  ) => Effect.Effect<ReadonlyMap<Key, Erased>, StorageError>
}

export const make: Effect.Effect<PersonHash, never, ErasureStore | SecretBox> = Effect.gen(function* () {
  const store = yield* ErasureStore
  const box = yield* SecretBox
  const random = yield* RandomBytes
  let hash: ((hashed: string) => string) | undefined

  const open = Effect.gen(function* () {
    const fresh = Buffer.from(random(keyBytes)).toString("base64url")
    const sealed = yield* store.hashKey(box.seal(ofKey, fresh))
    const opened = box.open(ofKey, sealed)
    if (Either.isLeft(opened))
      return yield* new StorageError({
        operation: "PersonHash",
        cause: opened.left,
        reason: opened.left.message
      })
    const key = Buffer.from(opened.right, "base64url")
    hash = (hashed) => createHmac("sha256", key).update(hashed).digest("hex").slice(0, hashLength)
    return hash
  })

  const hashing = Effect.suspend(() => (hash === undefined ? open : Effect.succeed(hash)))

  const erased: PersonHash["erased"] = Effect.fnUntraced(function* (accountId, keys) {
    const hashOf = yield* hashing
    const hashes = new Map<string, Key>()
    for (const key of keys) hashes.set(hashOf(Erasure.hashedOf(key)), key)
    const found = yield* store.erased({ accountId, names: hashes })
    return new Map(
      [...found].flatMap(([hash, erasure]) => {
        const key = hashes.get(hash)
        return key === undefined ? [] : [[key, erasure] as const]
      })
    )
  })

  return { hashing, erased }
})
