/** What no session owes to another, for each store; with what is wrong today where a store does not pass yet. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { freshDatabase } from "../../../../test/support/Postgres.ts"
import * as Memory from "../../src/storage/memory/Memory.ts"
import * as Postgres from "../../src/storage/postgres/Postgres.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import * as fairness from "../../src/testing/StorageSuite/fairness.ts"

/** Of the rules that stand once in each store and are wrong in each. */
const owedByAll: fairness.Owed = {
  "sessions whose recipients a crash would leave unknown share what may be at risk":
    "The claim goes on behind the session that it served last, so the first of them takes all of the room in each claim.",
  "a poison suspect has its turn between sessions that have a little to send in each claim":
    "A suspect is taken only by a claim that has nothing else yet, and the sessions before it have something each time.",
  "a poison suspect is the only one of its session in a claim, and keeps back no other session":
    "A suspect has to be alone in the whole claim, whatever session the others are of."
}

fairness.suite("memory", Memory.layer, {
  ...owedByAll,
  "recipients whose phones had a message lately leave their places in a claim to others":
    "A job's due recipients are cut to the limit before those are left out whose phones have to wait, so a claim is empty while others are due.",
  "what waits for a session that is blocked is due for nobody":
    "The next due time looks at the state of a session, and not at its block."
})

/** Of the statements that both databases share. */
const owedByStatements: fairness.Owed = {
  ...owedByAll,
  "an unpaced session is served within 10 claims behind 20 paced ones that may send nothing":
    "A claim looks at as many sessions as its limit, and the turn moves on only behind one that got something.",
  "an unpaced session is served within 10 claims behind 300 paced ones that may send nothing":
    "A claim looks at as many sessions as its limit, and the turn moves on only behind one that got something.",
  "an unpaced session is served within 10 claims behind 2,000 paced ones that may send nothing":
    "A claim looks at as many sessions as its limit, and the turn moves on only behind one that got something."
}

fairness.suite("SQLite", Sqlite.layer({ filename: ":memory:" }), owedByStatements)
fairness.suite(
  "PostgreSQL",
  Layer.unwrapScoped(Effect.map(freshDatabase, (url) => Postgres.layer({ url: Redacted.make(url) }))),
  owedByStatements
)
