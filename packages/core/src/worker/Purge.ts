/**
 * Deletes what accounts keep no longer, in slices so short that nobody waits for one, with pauses between them so long that the
 * service has nearly all of the time (docs/adr/0039-retention.md). Then the file gives back what is free of it.
 */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Place, Share, Walk } from "../domain/Retention.ts"
import * as Retention from "../domain/Retention.ts"
import * as Moment from "../runtime/Moment.ts"
import { RetentionStore } from "../storage/RetentionStore.ts"
import { SizeStore } from "../storage/SizeStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { StoreTime } from "../storage/StoreTime.ts"

/**
 * How many rows a slice has, how many at least and at most: it grows and shrinks by how long slices take. They take long on a
 * busy machine, too, where smaller ones would not help anybody.
 */
const firstLimit = 100
const leastAtOnce = 20
const mostAtOnce = 2000

/** A slice that takes longer is followed by a smaller one, and one that is shorter by a larger one; in milliseconds. */
const longMs = 4
const shortMs = 2

/** The shortest pause between two slices, in milliseconds: others have their turn. */
const leastPauseMs = 5

/** How many rows the next slice has. */
export const nextLimit = (limit: number, ms: number): number => {
  if (ms > longMs) return Math.max(leastAtOnce, Math.floor(limit / 2))
  return ms < shortMs ? Math.min(mostAtOnce, limit * 2) : limit
}

/** @param share the part of the time that slices have */
const pauseAfter = (ms: number, share: number): Effect.Effect<void> =>
  // By a clock that stands still nobody waits.
  ms === 0 ? Effect.yieldNow() : Effect.sleep(Duration.millis(Math.max(leastPauseMs, ms / share - ms)))

export interface Purged {
  readonly shares: ReadonlyArray<Share>
  /** False when another process purges, when the store is held, and when it took longer than it might. */
  readonly isComplete: boolean
}

export interface Purge {
  /**
   * Purges until nothing is due.
   *
   * @param options.share the part of the time that slices have
   * @param options.maximumMs how long it may take; as long as it takes where it is left out
   */
  readonly run: (options: {
    readonly share: number
    readonly maximumMs?: number
  }) => Effect.Effect<Purged, StorageError>
  /** The time by which rows are due, where the clock is ahead of it by a day: the store's own times say no later one. */
  readonly heldAt: Effect.Effect<Instant | undefined, StorageError>
  /** What a purge would do. */
  readonly count: Effect.Effect<ReadonlyArray<Share>, StorageError>
}

/** How a walk stands, from one purge to the next. */
interface Progress {
  limit: number
  /** Behind it is the first row that stayed: what lies before is done with. */
  start: Place | null
  /** How far a walk came that was broken off, and the first row that stayed in it. */
  brokenOff: { readonly after: Place | null; readonly kept: Place | null } | null
}

export const make: Effect.Effect<Purge, never, RetentionStore | SizeStore> = Effect.gen(function* () {
  const store = yield* RetentionStore
  const sizes = yield* SizeStore
  const walks = new Map<Walk, Progress>(
    Retention.walkNames.map((walk) => [walk, { limit: firstLimit, start: null, brokenOff: null }])
  )
  let pages = firstLimit
  const isOwnTime = (yield* StoreTime) === null
  const begun = { at: yield* Time.now, moment: yield* Moment.now }
  let newest: Instant | null | undefined

  /** The time by which rows are due. */
  const dueBy = Effect.gen(function* () {
    const now = yield* Time.now
    if (!isOwnTime) return now
    const known = newest === undefined ? yield* sizes.newest(Time.startOfUtcDay(begun.at)) : newest
    newest = known
    const elapsedMs = (yield* Moment.now) - begun.moment
    return Retention.dueBy(known, begun.at, { elapsedMs, now })
  })

  /** One walk; null when it was not done. */
  const walkOver = Effect.fnUntraced(function* (
    [walk, progress]: readonly [Walk, Progress],
    share: number,
    until: Instant
  ) {
    const shares: Array<Share> = []
    let { after, kept } = progress.brokenOff ?? { after: progress.start, kept: null }
    do {
      progress.brokenOff = { after, kept }
      const now = yield* Time.now
      if (now > until) return { shares, isComplete: false }
      const slice = yield* store.purge({ walk, after, limit: progress.limit, now: yield* dueBy })
      if (slice._tag === "Busy") return { shares, isComplete: false }
      shares.push(...slice.shares)
      kept ??= slice.kept
      after = slice.next
      // The last slice is small however fast it is.
      if (after !== null || slice.ms > longMs) progress.limit = nextLimit(progress.limit, slice.ms)
      yield* pauseAfter(slice.ms, share)
    } while (after !== null)
    progress.brokenOff = null
    progress.start = kept === null ? null : Retention.before(kept)
    return { shares, isComplete: true }
  })

  const shrink = Effect.fnUntraced(function* (share: number, until: Instant) {
    for (let hasMore = true; hasMore && (yield* Time.now) <= until; ) {
      const shrunk = yield* sizes.shrink({ pages })
      hasMore = shrunk.hasMore
      pages = nextLimit(pages, shrunk.ms)
      yield* pauseAfter(shrunk.ms, share)
    }
  })

  return {
    heldAt: Effect.zipWith(Time.now, dueBy, (now, at) => (now - at < Time.day ? undefined : at)),
    run: Effect.fnUntraced(function* ({ maximumMs, share }) {
      const until = maximumMs === undefined ? Time.at(Infinity) : Time.after(yield* Time.now, maximumMs)
      const shares: Array<Share> = []
      // Walks that were broken off go on before others begin anew, so that each is reached, however short the time is.
      const [brokenOff, others] = Arr.partition(walks, ([, progress]) => progress.brokenOff === null)
      for (const walk of [...brokenOff, ...others]) {
        const walked = yield* walkOver(walk, share, until)
        shares.push(...walked.shares)
        if (!walked.isComplete) return { shares: Retention.merge(shares), isComplete: false }
      }
      yield* shrink(share, until)
      return { shares: Retention.merge(shares), isComplete: true }
    }),
    count: Effect.gen(function* () {
      const shares: Array<Share> = []
      for (const walk of Retention.walkNames) {
        let after: Place | null = null
        do {
          const now = yield* dueBy
          const began = yield* Clock.currentTimeNanos
          const counted: { readonly shares: ReadonlyArray<Share>; readonly next: Place | null } =
            yield* store.count({ walk, after, limit: firstLimit, now })
          shares.push(...counted.shares)
          after = counted.next
          const ms = Number((yield* Clock.currentTimeNanos) - began) / 1e6
          yield* pauseAfter(ms, 0.5)
        } while (after !== null)
      }
      return Retention.merge(shares)
    })
  }
})
