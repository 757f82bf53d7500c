/** Jobs whose recipients are partly unknown, by the index of those with failures: all others cost nothing. */
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Unknowns } from "../../../domain/overview/StoreReadings.ts"
import type { Program } from "../../Program.ts"
import { get } from "../../Program.ts"
import type { Dialect } from "../Database.ts"
import { instantOrNull, integerOrNull, limited } from "../RowReader.ts"

export const reading = ({ countIn }: Dialect) => {
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
