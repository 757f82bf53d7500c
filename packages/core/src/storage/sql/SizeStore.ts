/** The size of a database, a row for each day. */
import { statfs } from "node:fs/promises"
import { dirname } from "node:path"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import type { Program } from "../Program.ts"
import { get, run } from "../Program.ts"
import { momentOf } from "../RetentionStore.ts"
import { SizeStore } from "../SizeStore.ts"
import { Database } from "./Database.ts"
import { instant, instantOrNull, integer } from "./RowReader.ts"

const note = "INSERT INTO sendwright_size (day, bytes) VALUES (?, ?) ON CONFLICT (day) DO NOTHING"
const firstSince = "SELECT day, bytes FROM sendwright_size WHERE day >= ? ORDER BY day LIMIT 1"

const oldest = `SELECT (SELECT created_at FROM sendwright_event ORDER BY seq LIMIT 1) AS events,
  (SELECT created_at FROM sendwright_job ORDER BY seq LIMIT 1) AS results`

// By the order in which rows were written: few of them are of the day that is passed over.
const newest = `SELECT (SELECT max(day) FROM sendwright_size WHERE day < ?) AS day,
  (SELECT created_at FROM sendwright_event WHERE created_at < ? ORDER BY seq DESC LIMIT 1) AS events,
  (SELECT created_at FROM sendwright_job WHERE created_at < ? ORDER BY seq DESC LIMIT 1) AS results`

/** Null of a folder that cannot be asked, or is gone. */
const freeOf = (file: string | null): Effect.Effect<number | null> =>
  file === null
    ? Effect.succeed(null)
    : Effect.promise(() =>
        statfs(dirname(file)).then(
          ({ bavail, bsize }) => bavail * bsize,
          () => null
        )
      )

function* readOldest(): Program<{ readonly events: Instant | null; readonly results: Instant | null }> {
  const row = (yield* get(oldest)) ?? {}
  return { events: instantOrNull(row, "events"), results: instantOrNull(row, "results") }
}

function* readNewest(before: Instant): Program<Instant | null> {
  const row = (yield* get(newest, before, before, before)) ?? {}
  const times = ["day", "events", "results"].flatMap((name) => instantOrNull(row, name) ?? [])
  return times.length === 0 ? null : Time.max(...times)
}

export const layer: Layer.Layer<SizeStore, never, Database> = Layer.effect(
  SizeStore,
  Effect.map(Database, (db) => {
    const { kind, measure, shrink } = db.dialect.size
    return {
      measure: Effect.gen(function* () {
        const { bytes, file } = yield* db.read("SizeStore.measure", measure)
        return { kind, bytes, freeBytes: yield* freeOf(file) }
      }),
      note: ({ before, noted }) =>
        db.work("SizeStore.note", function* () {
          yield* run("DELETE FROM sendwright_size WHERE day < ?", before)
          yield* run(note, noted.at, noted.bytes)
        }),
      firstSince: (at) =>
        db.read("SizeStore.firstSince", function* () {
          const row = yield* get(firstSince, at)
          return row === undefined ? null : { at: instant(row, "day"), bytes: integer(row, "bytes") }
        }),
      newest: (before) => db.read("SizeStore.newest", () => readNewest(before)),
      oldest: db.read("SizeStore.oldest", readOldest),
      shrink: ({ pages }) =>
        Effect.flatMap(Effect.clock, (clock) =>
          db.work("SizeStore.shrink", function* () {
            const moment = momentOf(clock)
            const began = moment()
            const hasMore = yield* shrink(pages)
            return { hasMore, ms: moment() - began }
          })
        )
    }
  })
)
