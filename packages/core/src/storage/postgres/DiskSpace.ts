/**
 * Whether the server's disk has room. A small write may go through on a full one, in a page that is there: so a refusal of any
 * verb is remembered for a while.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { fullDisk, StorageError } from "../StorageError.ts"
import type { Database } from "../sql/Database.ts"

type Service = Context.Tag.Service<Database>

/** For so long after a refusal nobody is told that there is room, in nanoseconds. */
const rememberedNs = 10_000_000_000n

export interface DiskSpace {
  readonly watched: (db: Service) => Service
  /** Fails while there is none, as far as it is known. */
  readonly check: (operation: string) => Effect.Effect<void, StorageError>
}

export const make = (): DiskSpace => {
  let fullAt: bigint | null = null
  const heard = <A, R>(verb: Effect.Effect<A, StorageError, R>): Effect.Effect<A, StorageError, R> =>
    Effect.tapError(verb, ({ reason }) =>
      reason === fullDisk
        ? Effect.map(Clock.currentTimeNanos, (now) => {
            fullAt = now
          })
        : Effect.void
    )
  return {
    watched: (db) => ({
      ...db,
      write: (operation, verb, serialized) => heard(db.write(operation, verb, serialized)),
      writeApart: (operation, verb, serialized) => heard(db.writeApart(operation, verb, serialized)),
      work: (operation, verb) => heard(db.work(operation, verb))
    }),
    check: (operation) =>
      Effect.flatMap(Clock.currentTimeNanos, (now) =>
        fullAt !== null && now - fullAt < rememberedNs
          ? new StorageError({ operation, cause: null, fault: "unavailable", reason: fullDisk })
          : Effect.void
      )
  }
}
