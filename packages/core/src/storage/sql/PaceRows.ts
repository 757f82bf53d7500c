/** The state of a pace (`Pacing.grant`), by the session or the webhook endpoint that is paced. */
import type { Program } from "../Program.ts"
import { get, run } from "../Program.ts"
import { real } from "./RowReader.ts"

const find = "SELECT arrival FROM sendwright_pace WHERE paced = ?"

const set = `INSERT INTO sendwright_pace (paced, arrival) VALUES (?, ?)
  ON CONFLICT (paced) DO UPDATE SET arrival = excluded.arrival`

/** The name that serializes those who read a pace to save it: a row that is not there yet cannot be locked. */
export const serialized = (paced: string): string => `pace ${paced}`

/** Null before its first message. */
export function* arrivalOf(paced: string): Program<number | null> {
  const row = yield* get(find, paced)
  return row === undefined ? null : real(row, "arrival")
}

export function* save(paced: string, arrival: number): Program<void> {
  yield* run(set, paced, arrival)
}
