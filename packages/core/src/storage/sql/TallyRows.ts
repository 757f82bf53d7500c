/** What became of recipients by minute, as all processes have counted it. */
import type { Instant } from "../../domain/Instant.ts"
import * as Tally from "../../domain/job/Tally.ts"
import { instant, integer, table, text, word } from "./Columns.ts"
import { insertRows } from "./Insert.ts"
import type { Program } from "./Program.ts"
import { all, run } from "./Program.ts"
import { limited } from "./RowReader.ts"

const tallies = table<Tally.Tally>({
  minute: instant("minute"),
  sessionId: text("session"),
  outcome: word("outcome", Tally.outcomes),
  code: text("code"),
  count: integer("n")
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
