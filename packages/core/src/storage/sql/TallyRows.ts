/** The outcomes of recipients by minute, as all processes have counted them. */
import type { Instant } from "../../domain/Instant.ts"
import * as Tally from "../../domain/job/Tally.ts"
import type { Program } from "../Program.ts"
import { all, run } from "../Program.ts"
import { exact, instant, integer, table, word } from "./Columns.ts"
import { insertRows } from "./Insert.ts"
import { impersonal } from "./Personal.ts"
import { limited } from "./RowReader.ts"

export const tallies = table("sendwright_tally", {
  kept: "passing",
  key: ["minute", "session", "outcome", "code"]
})<Tally.Tally>({
  minute: instant("minute", impersonal),
  sessionId: exact("session", impersonal),
  outcome: word("outcome", impersonal, Tally.outcomes, "exact NOT NULL"),
  code: exact("code", impersonal),
  count: integer("n", impersonal)
})

const add = insertRows("sendwright_tally", tallies.names, {
  onConflict: "(minute, session, outcome, code) DO UPDATE SET n = sendwright_tally.n + excluded.n"
})

const forget = "DELETE FROM sendwright_tally WHERE minute < ?"

export function* save(counted: ReadonlyArray<Tally.Tally>, now: Instant): Program<void> {
  // In one order, so that no two processes wait for each other.
  const rows = [...counted].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  yield* add(rows.map(tallies.write))
  yield* run(forget, now - Tally.keptMs)
}

const keyOf = ({ code, minute, outcome, sessionId }: Tally.Tally): string =>
  [minute, sessionId, outcome, code].join(" ")

const select = `SELECT ${tallies.list} FROM sendwright_tally WHERE minute >= ? AND minute < ?
  ORDER BY minute DESC, session DESC, outcome DESC, code DESC ${limited}`

export function* between(from: Instant, to: Instant, most: number): Program<ReadonlyArray<Tally.Tally>> {
  return (yield* all(select, from, to, most)).map(tallies.read).reverse()
}
