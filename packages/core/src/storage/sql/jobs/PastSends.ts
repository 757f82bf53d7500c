/** The verbs of the store that tell later what became of sends (docs/adr/0041). */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Unknowns } from "../../../domain/overview/StoreReadings.ts"
import type { PastSends } from "../../JobStore.ts"
import type { Program } from "../../Program.ts"
import { get } from "../../Program.ts"
import type { Counting } from "../../policy/Counting.ts"
import type { Database, Dialect } from "../Database.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { instantOrNull, integerOrNull, limited, seq } from "../RowReader.ts"
import * as TallyRows from "../TallyRows.ts"
import * as WorkerRows from "../WorkerRows.ts"
import * as EarlierAttempts from "./EarlierAttempts.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Search from "./Search.ts"
import * as Segments from "./Segments.ts"
import * as Timeline from "./Timeline.ts"

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

/** Jobs whose recipients are partly unknown, by the index of those with failures: all others cost nothing. */
const readingUnknowns = ({ countIn }: Dialect) => {
  const unknown = countIn("failing.counts", "unknown")
  const ofJobs = (condition: string): string => `SELECT sum(of_job.unknown) AS recipients,
      sum(CASE WHEN of_job.unknown > 0 THEN 1 ELSE 0 END) AS jobs,
      min(CASE WHEN of_job.unknown > 0 THEN of_job.updated_at END) AS since
    FROM (
      SELECT ${unknown} AS unknown, failing.updated_at FROM (
        SELECT counts, updated_at FROM sendwright_progress
        WHERE failures > 0 AND ${condition} ORDER BY completed_at DESC, seq DESC ${limited}
      ) AS failing
    ) AS of_job`
  const ended = ofJobs("completed_at >= ?")
  const open = ofJobs("completed_at IS NULL")

  return function* (since: Instant, most: number): Program<Unknowns> {
    const rows = [yield* get(ended, since, most), yield* get(open, most)]
    const sum = (name: string): number =>
      rows.reduce((sum, row) => sum + (integerOrNull(row ?? { [name]: null }, name) ?? 0), 0)
    const times = rows.flatMap((row) => instantOrNull(row ?? { since: null }, "since") ?? [])
    return {
      recipients: sum("recipients"),
      jobs: sum("jobs"),
      since: Time.firstOf(times)
    }
  }
}

export const make = (db: Context.Tag.Service<Database>, rows: StoredJobs, counting: Counting): PastSends => {
  const unknowns = readingUnknowns(rows.dialect)
  const read = Segments.reading(rows.dialect)
  const write = Segments.writing(rows.dialect)
  const timeline = Timeline.make(rows)
  let segments = Segments.initial

  return {
    living: db.read("JobStore.living", WorkerRows.living),

    counted: counting.some,

    saveTallies: ({ now }) =>
      counting.taken((tallies) => db.work("JobStore.saveTallies", () => TallyRows.save(tallies, now))),

    tallies: ({ from, most, to }) =>
      counting.between(
        { from, to },
        db.readPage("JobStore.tallies", () => TallyRows.between(from, to, most))
      ),

    unknowns: ({ most, since }) => db.readPage("JobStore.unknowns", () => unknowns(since, most)),

    earlierAttempts: ({ index, jobId }) =>
      db.read("JobStore.earlierAttempts", function* () {
        const job = yield* get(seqOfJob, jobId)
        return job === undefined
          ? []
          : yield* EarlierAttempts.earlierAttemptsOf(recipientKey(seq(job), index))
      }),

    timeline: (query) => db.readPage("JobStore.timeline", () => timeline(query)),

    writeSegments: Effect.suspend(() => {
      const before = segments
      const step = Segments.isRead(before)
        ? db.work("JobStore.writeSegments", () => write(before))
        : db.read("JobStore.writeSegments", () => read(before))
      return Effect.map(step, ({ goesOn, state }) => {
        segments = state
        return goesOn
      })
    }),

    search: Search.make(db, rows)
  }
}
