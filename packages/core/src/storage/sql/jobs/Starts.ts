/** Who starts when: counts of those that are not due yet, by hour and by how their addresses begin. */
import type { Instant } from "../../../domain/Instant.ts"
import * as Time from "../../../domain/Instant.ts"
import type { Part } from "../../../domain/job/Starts.ts"
import { leadingLength } from "../../../domain/job/Starts.ts"
import type { Program } from "../../Program.ts"
import { all } from "../../Program.ts"
import type { Dialect } from "../Database.ts"
import { inSql } from "../RecipientKeys.ts"
import { integer, limited, seq, text } from "../RowReader.ts"

/** The jobs that are read at once. */
const jobsAtOnce = 400

// A job that waits for its time has a row of its own from its acceptance on.
const ahead = `SELECT progress.seq FROM sendwright_progress AS progress
  WHERE progress.status IN ('queued', 'processing') AND progress.seq > ? AND (progress.timing IS NOT NULL OR progress.next_at > ?)
    AND (CAST(? AS text) IS NULL OR EXISTS (
      SELECT 1 FROM sendwright_job AS job WHERE job.seq = progress.seq AND job.reference = ?
    ))
  ORDER BY progress.seq ${limited}`

export const reading = ({ elements, lookUp }: Dialect) => {
  const first = inSql.first(elements.integer)
  const last = inSql.last(elements.integer)
  const starting = `SELECT recipient.next_at / ${Time.hour} AS hour, substr(recipient.phone, 1, ${leadingLength}) AS leading,
      count(*) AS recipients
    FROM ${elements.from} ${lookUp(
      "sendwright_recipient",
      "recipient",
      `recipient.seq BETWEEN ${first} AND ${last} AND recipient.status = 'queued' AND recipient.next_at > ?`
    )}
    GROUP BY recipient.next_at / ${Time.hour}, substr(recipient.phone, 1, ${leadingLength})`

  return function* ({
    after,
    now,
    reference = null
  }: {
    readonly now: Instant
    readonly reference?: string | undefined | null
    readonly after: number
  }): Program<{ readonly parts: ReadonlyArray<Part>; readonly next: number | null }> {
    const found = (yield* all(ahead, after, now, reference, reference, jobsAtOnce)).map(seq)
    const rows = yield* all(starting, JSON.stringify(found), now)
    return {
      parts: rows.map((row) => ({
        hour: Time.at(integer(row, "hour") * Time.hour),
        leading: text(row, "leading"),
        recipients: integer(row, "recipients")
      })),
      next: found.length < jobsAtOnce ? null : (found.at(-1) ?? null)
    }
  }
}
