/** The verbs of the store that tell later what became of sends (docs/adr/0041). */
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { PastSends } from "../../JobStore.ts"
import { get } from "../../Program.ts"
import type { Counting } from "../../policy/Counting.ts"
import type { Database } from "../Database.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { seq } from "../RowReader.ts"
import * as TallyRows from "../TallyRows.ts"
import * as WorkerRows from "../WorkerRows.ts"
import * as EarlierAttempts from "./EarlierAttempts.ts"
import type { StoredJobs } from "./Jobs.ts"
import * as Search from "./Search.ts"
import * as Segments from "./Segments.ts"
import * as Timeline from "./Timeline.ts"
import * as Unknowns from "./Unknowns.ts"

const seqOfJob = "SELECT seq FROM sendwright_job WHERE id = ?"

export const make = (db: Context.Tag.Service<Database>, rows: StoredJobs, counting: Counting): PastSends => {
  const unknowns = Unknowns.reading(rows.dialect)
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
