/** The store's size, and what is due to go of it. */
import * as Effect from "effect/Effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Share } from "../../domain/Retention.ts"
import type { Size } from "../../domain/Size.ts"
import { SizeStore } from "../../storage/SizeStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Housekeeping from "../../worker/Housekeeping.ts"
import * as Purge from "../../worker/Purge.ts"
import * as Recorder from "./Recorder.ts"

/** A purge that an operator asks for may take so much of the time, and so long: who waits for its answer waits no longer. */
const share = 0.25
const maximumMs = 10_000

export interface PurgeAnswer {
  readonly dryRun: boolean
  /** False where something is left, or another process purges. */
  readonly isComplete: boolean
  /** The time by which rows are due, where the clock is ahead of every time that the store has from before this process. */
  readonly heldAt?: Instant
  /** The share of each account in what went, or would, the most bytes first. */
  readonly shares: ReadonlyArray<Share>
}

export interface Storage {
  readonly size: Effect.Effect<Size, StorageError>
  /** Purges for some seconds, in slices as the workers do; or counts only. */
  readonly purge: (command?: {
    readonly dryRun?: boolean | undefined
  }) => Effect.Effect<PurgeAnswer, StorageError>
}

const largestFirst = (shares: ReadonlyArray<Share>): ReadonlyArray<Share> =>
  shares.toSorted((a, b) => b.bytes - a.bytes)

export const make = Effect.gen(function* () {
  const sizes = yield* SizeStore
  const { count, heldAt, run } = yield* Purge.make
  const record = yield* Recorder.make

  const held = Effect.map(heldAt, (at) => (at === undefined ? {} : { heldAt: at }))

  const purge = Effect.gen(function* () {
    const { isComplete, shares } = yield* run({ share, maximumMs })
    const entry = (rows: number) => ({ target: null, after: { rows, is_complete: isComplete } })
    const rows = shares.reduce((sum, share) => sum + share.rows, 0)
    // Rows that went are gone: there is no commit that it could be recorded in.
    yield* record({ operation: "storage.purge", entry }, Effect.succeed(rows))
    return { dryRun: false, isComplete, shares: largestFirst(shares), ...(yield* held) }
  })

  const storage: Storage = {
    size: Effect.provideService(Housekeeping.sizeOf, SizeStore, sizes),
    purge: ({ dryRun = false } = {}) =>
      dryRun
        ? Effect.zipWith(count, held, (shares, held) => ({
            dryRun,
            isComplete: true,
            shares: largestFirst(shares),
            ...held
          }))
        : purge
  }
  return storage
})
