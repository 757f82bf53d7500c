/** A session's configuration as a sender declares it: read with every fault by its field, and decoded once. */

import * as Schema from "effect/Schema"
import type { Fault } from "../domain/Fault.ts"
import * as Memo from "../domain/Memo.ts"
import * as Either from "../effect/Either.ts"
import * as RequestDecoder from "../schema/RequestDecoder.ts"

/** The members of an object, by name. */
const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

export const make = <A extends object, I>(schema: Schema.Schema<A, I>) => {
  const decoder = RequestDecoder.decoder(schema, ["config"])
  // A process of another version may have stored it with a field that this one does not know.
  const decodeStored = Schema.decodeUnknownEither(schema)
  const decoded = Memo.ofObject(
    (config: object): A =>
      Either.getOrThrowWith(decodeStored(config), () => new TypeError("A session's configuration is broken"))
  )
  return {
    /**
     * Reads a configuration, with defaults. An unknown field is a fault.
     *
     * @param others faults that the schema cannot find
     */
    read: (
      given: Readonly<Record<string, unknown>>,
      others: ReadonlyArray<Fault> = []
    ): Either.Either<Readonly<Record<string, unknown>>, ReadonlyArray<Fault>> => {
      const read = decoder(given)
      if (Either.isLeft(read)) return Either.left([...others, ...read.left])
      return others.length === 0
        ? Either.right(Object.fromEntries(Object.entries(read.right)))
        : Either.left(others)
    },
    /** Reads a configuration that {@link make} kept; anything else is a bug. */
    decode: (config: unknown): A => {
      if (!isRecord(config)) throw new TypeError("A session has no configuration")
      return decoded(config)
    }
  }
}
