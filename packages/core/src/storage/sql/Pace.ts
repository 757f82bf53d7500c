/** What `Pacing` keeps of a session or a webhook endpoint, one at a time. */
import type { Dialect } from "./Database.ts"
import type { Program } from "./Program.ts"
import { get, run } from "./Program.ts"
import { real } from "./Rows.ts"

const find = "SELECT arrival FROM sendwright_pace WHERE paced = ?"

const set = `INSERT INTO sendwright_pace (paced, arrival) VALUES (?, ?)
  ON CONFLICT (paced) DO UPDATE SET arrival = excluded.arrival`

/** Read to be saved: nobody else paces the same before the commit. Null before its first message. */
export function* arrivalOf({ serialize }: Dialect, paced: string): Program<number | null> {
  yield* serialize(`pace ${paced}`)
  const row = yield* get(find, paced)
  return row === undefined ? null : real(row, "arrival")
}

export function* save(paced: string, arrival: number): Program<void> {
  yield* run(set, paced, arrival)
}
