/** The housekeeping of a process that sends: it measures the store, notes its size once a day, and purges once an hour. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Retention from "../domain/Retention.ts"
import * as Size from "../domain/Size.ts"
import * as Metrics from "../runtime/Metrics.ts"
import type { RetentionStore } from "../storage/RetentionStore.ts"
import { SizeStore } from "../storage/SizeStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Purge from "./Purge.ts"

/** How often the size is measured, and how soon after its start a process purges first. */
const pace = Duration.minutes(1)

/** How often a process looks for what is due to go; sooner where another was at it. */
const purgeEveryMs = Time.hour

/** The part of the time that a purge may take from the service. */
const share = 0.02

/** The size now, with how it grew. */
export const sizeOf: Effect.Effect<Size.Size, StorageError, SizeStore> = Effect.gen(function* () {
  const store = yield* SizeStore
  const now = yield* Time.now
  const noted = yield* store.firstSince(Time.before(now, Size.growthDays * Time.day))
  return Size.sizeOf(yield* store.measure, noted, yield* store.oldest, now)
})

export interface Housekeeping {
  /** Measures the store, and notes the size of a day that is new. */
  readonly measure: Effect.Effect<void, StorageError>
  /** One step, which takes at least the {@link pace}. To be repeated. */
  readonly step: Effect.Effect<void, StorageError>
}

export const make: Effect.Effect<Housekeeping, never, RetentionStore | SizeStore> = Effect.gen(function* () {
  const store = yield* SizeStore
  const purge = yield* Purge.make
  const metrics = Metrics.ofStore()
  let notedDay: Instant | undefined
  let purgeAt: Instant | undefined
  let unsureDay: Instant | undefined

  const measure = Effect.gen(function* () {
    const size = yield* Effect.provideService(sizeOf, SizeStore, store)
    metrics.bytes(size.bytes)
    if (size.freeBytes !== null) metrics.freeBytes(size.freeBytes)
    if (size.bytesPerDay !== null) metrics.growth(size.bytesPerDay)
    const now = yield* Time.now
    const today = Time.startOfUtcDay(now)
    if (notedDay === today) return
    yield* store.note({
      noted: { at: today, bytes: size.bytes },
      before: Time.before(today, Size.notedDays * Time.day)
    })
    notedDay = today
  })

  const tellUnsure = Effect.fnUntraced(function* (now: Instant) {
    const { events, results } = yield* store.oldest
    const today = Time.startOfUtcDay(now)
    // A new store has nothing that could go.
    if (Math.min(events ?? now, results ?? now) >= today || unsureDay === today) return
    unsureDay = today
    yield* Effect.logWarning(
      `Nothing old is deleted before tomorrow, since no process had this store open in the week before ${Time.format(today)}. If that is not today, set the clock.`
    )
  })

  const tidy = Effect.gen(function* () {
    const now = yield* Time.now
    purgeAt ??= Time.after(now, Duration.toMillis(pace))
    if (now < purgeAt) return
    const known = yield* store.firstSince(Retention.knownSince(now))
    if (!Retention.isTimeSure(known?.at ?? null, now)) {
      purgeAt = Time.after(now, purgeEveryMs)
      return yield* tellUnsure(now)
    }
    const { isComplete, shares } = yield* purge.run({ share })
    purgeAt = Time.after(yield* Time.now, isComplete ? purgeEveryMs : Duration.toMillis(pace))
    const rows = shares.reduce((sum, share) => sum + share.rows, 0)
    if (rows > 0) yield* Effect.logDebug(`Deleted ${rows} row(s) that are kept no longer`)
  })

  return { measure, step: Effect.zipRight(Effect.zipRight(measure, tidy), Effect.sleep(pace)) }
})
