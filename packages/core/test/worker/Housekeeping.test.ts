import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/TestClock"
import * as Time from "../../src/domain/Instant.ts"
import * as Size from "../../src/domain/Size.ts"
import { JobStore } from "../../src/storage/JobStore.ts"
import { RetentionStore } from "../../src/storage/RetentionStore.ts"
import { SizeStore } from "../../src/storage/SizeStore.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as Housekeeping from "../../src/worker/Housekeeping.ts"
import * as Purge from "../../src/worker/Purge.ts"
import { now, owner } from "../StorageSuite/Setup.ts"

/** A job that was canceled, and one that is newer. */
const ended = Effect.gen(function* () {
  const jobs = yield* JobStore
  const who = yield* owner
  const command = Fixtures.send(who, { now })
  yield* jobs.accept(command)
  yield* jobs.cancel({ jobId: command.jobId, now })
  yield* jobs.accept(Fixtures.send(who, { now: Time.after(now, 1) }))
  return jobs.find(command.jobId)
})

/** Some process had the store open, so many days ago. */
const openedBefore = (days: number) =>
  Effect.gen(function* () {
    const store = yield* SizeStore
    const at = Time.before(Time.startOfUtcDay(yield* Time.now), days * Time.day)
    yield* store.note({ noted: { at, bytes: 0 }, before: Time.at(0) })
  })

/** A store that answers as it is told. */
const sized = (bytes: () => number) =>
  Layer.effect(
    SizeStore,
    Effect.map(SizeStore, (store) => ({
      ...store,
      measure: Effect.sync(() => ({ kind: "sqlite", bytes: bytes(), freeBytes: 1000 }) as const)
    }))
  ).pipe(Layer.provideMerge(Memory.layer))

/** Time goes on minute by minute, and the store answers in between: its commits are made in turns of the event loop. */
const pass = (minutes: number) =>
  Effect.repeatN(
    Effect.zipRight(
      TestClock.adjust("1 minute"),
      Effect.repeatN(
        Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve))),
        9
      )
    ),
    minutes - 1
  )

let size = 100

const started = Effect.gen(function* () {
  const { step } = yield* Housekeeping.make
  yield* Effect.forkScoped(Effect.forever(step))
  yield* TestClock.adjust(0)
})

describe("a process that sends", () => {
  it.scoped("deletes what is kept no longer a minute after its start, and every hour from then on", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now + 400 * Time.day - 60 * Time.minute)
      const find = yield* ended
      yield* openedBefore(1)
      yield* started
      yield* pass(59)
      expect(yield* find).not.toBe(null)
      yield* pass(4)
      expect(yield* find).toBe(null)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("deletes nothing on the day of a leap of its clock, says so once, and does the day after", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Time.startOfUtcDay(now) + 500 * Time.day)
      const find = yield* ended
      yield* openedBefore(8)
      const lines: Array<string> = []
      const captured = Logger.replace(
        Logger.defaultLogger,
        Logger.make(({ message }) => void lines.push(String(message)))
      )
      yield* Effect.provide(started, captured)
      yield* pass(23 * 60)
      expect(yield* find).not.toBe(null)
      expect(lines).toEqual([expect.stringContaining("Nothing old is deleted before tomorrow")])
      yield* pass(2 * 60)
      expect(yield* find).toBe(null)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.scoped("whose clock is decades ahead deletes nothing that is young by the store's own time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const find = yield* ended
      yield* openedBefore(0)
      // Ten minutes before the day is over, behind which nobody doubts the clock.
      yield* TestClock.setTime(Time.startOfUtcDay(now) + 70 * 365 * Time.day - 10 * Time.minute)
      yield* started
      yield* pass(70)
      expect(yield* find).not.toBe(null)
    }).pipe(Effect.provide(Memory.layer))
  )

  it.effect(
    "notes the size of each day, and tells from it how the store grows and when the disk is full",
    () =>
      Effect.gen(function* () {
        const { measure } = yield* Housekeeping.make
        size = 100
        yield* TestClock.setTime(now)
        yield* measure
        expect(yield* Housekeeping.sizeOf).toMatchObject({ bytes: 100, bytesPerDay: null, fullAt: null })
        size = 350
        const begin = Time.startOfUtcDay(now)
        yield* TestClock.setTime(begin + 5 * Time.day)
        yield* measure
        const later = yield* Housekeeping.sizeOf
        expect(later).toMatchObject({ kind: "sqlite", bytes: 350, bytesPerDay: 50, freeBytes: 1000 })
        expect(later.fullAt).toBe(begin + 25 * Time.day)
      }).pipe(Effect.provide(sized(() => size)))
  )

  it.effect("keeps the sizes of 400 days, one of each", () =>
    Effect.gen(function* () {
      const { measure } = yield* Housekeeping.make
      const begin = Time.startOfUtcDay(now)
      for (let day = 0; day <= 402; day += 1) {
        yield* TestClock.setTime(begin + day * Time.day)
        yield* measure
        yield* measure
      }
      const store = yield* SizeStore
      const first = yield* store.firstSince(Time.at(0))
      expect(first).toMatchObject({ at: begin + 2 * Time.day })
      expect(first?.bytes).toBeGreaterThan(100_000)
    }).pipe(Effect.provide(Memory.layer))
  )
})

describe("a size", () => {
  const measure = { kind: "sqlite", bytes: 100, freeBytes: 1000 } as const
  const oldest = { events: null, results: null }

  it("that shrinks, or is known for less than a day, fills no disk", () => {
    const day = Time.day
    expect(Size.sizeOf(measure, { at: Time.before(now, day), bytes: 200 }, oldest, now)).toMatchObject({
      bytesPerDay: -100,
      fullAt: null
    })
    expect(Size.sizeOf(measure, { at: Time.after(now, 1 - day), bytes: 0 }, oldest, now)).toMatchObject({
      bytesPerDay: null
    })
    expect(
      Size.sizeOf({ ...measure, freeBytes: null }, { at: Time.before(now, day), bytes: 0 }, oldest, now)
    ).toMatchObject({
      bytesPerDay: 100,
      fullAt: null
    })
    expect(
      Size.sizeOf({ ...measure, freeBytes: 1e15 }, { at: Time.before(now, day), bytes: 99 }, oldest, now)
        .fullAt
    ).toBe(null)
  })
})

const nothing = { _tag: "Purged", shares: [], kept: null, ms: 0 } as const

describe("slices", () => {
  it("grow while they are short, and shrink at once when one was long", () => {
    expect(Purge.nextLimit(100, 1)).toBe(200)
    expect(Purge.nextLimit(2000, 1)).toBe(2000)
    expect(Purge.nextLimit(100, 3)).toBe(100)
    expect(Purge.nextLimit(100, 12)).toBe(50)
    expect(Purge.nextLimit(30, 100)).toBe(20)
    expect(Purge.nextLimit(20, 100)).toBe(20)
  })

  it.effect(
    "go on where time was over, so that a purge comes to its end however often it is broken off",
    () =>
      Effect.gen(function* () {
        const last = 25
        const seen: Array<number> = []
        const store: typeof RetentionStore.Service = {
          purge: ({ after, walk }) => {
            const place = Number(after?.[0] ?? 0) + 1
            if (walk !== "grants") return Effect.succeed({ ...nothing, next: null })
            seen.push(place)
            return Effect.as(TestClock.adjust("1 second"), {
              ...nothing,
              next: place < last ? [place] : null
            })
          },
          count: () => Effect.die("not asked")
        }
        const purge = yield* Effect.provideService(Purge.make, RetentionStore, store)
        const runs = yield* Effect.replicateEffect(purge.run({ share: 1, maximumMs: 9500 }), 3)
        expect(runs.map(({ isComplete }) => isComplete)).toEqual([false, false, true])
        expect(seen).toEqual(Array.from({ length: last }, (_, place) => place + 1))
      }).pipe(Effect.provide(Memory.layer))
  )
})
