/** What tells a restored store (docs/adr/0036), and what becomes of its recipients. */
import { describe, expect, it } from "@effect/vitest"
import * as Restore from "../../src/domain/Restore.ts"

const counted = (store: string, commits: number): Restore.Counted => ({ store, commits })

describe("a database and the file beside it", () => {
  it.each<[string, Restore.Counted | null, Restore.Counted | null, Restore.Reason | null]>([
    ["are new", null, null, null],
    ["were begun and never written", counted("a", 0), null, null],
    ["are a first commit apart, after a crash", counted("a", 0), counted("a", 1), null],
    ["are of two stores, and one was never written", counted("a", 0), counted("b", 1), "elsewhere"],
    ["agree", counted("a", 7), counted("a", 7), null],
    ["are a commit apart, after a crash", counted("a", 7), counted("a", 8), null],
    ["are apart, and the database is behind", counted("a", 8), counted("a", 7), "older"],
    ["are apart, and the database has no count yet", counted("a", 8), null, "older"],
    ["are of two stores", counted("a", 7), counted("b", 9), "elsewhere"],
    ["are not together", null, counted("a", 7), "elsewhere"]
  ])("%s", (_, inFile, inDatabase, reason) => {
    expect(Restore.compareCounts(inFile, inDatabase)).toBe(reason)
  })
})

const here: Restore.Whereabouts = { system: "1", database: "2", relation: "3", timeline: 4 }

describe("a database of a server", () => {
  it.each<[string, Restore.Whereabouts, Restore.Reason | "moved" | null, Restore.Reason | "moved" | null]>([
    ["is where it was", here, null, null],
    ["is on another server", { ...here, system: "9" }, "elsewhere", "elsewhere"],
    ["is another database", { ...here, database: "9" }, "elsewhere", "elsewhere"],
    ["was loaded from a dump", { ...here, relation: "9" }, "elsewhere", "elsewhere"],
    ["has another timeline", { ...here, timeline: 5 }, "moved", "failover"],
    ["is elsewhere, with another timeline", { ...here, system: "9", timeline: 5 }, "elsewhere", "elsewhere"],
    ["is kept from its role", { system: null, database: null, relation: null, timeline: null }, null, null]
  ])("%s", (_, now, told, held) => {
    expect(Restore.compareWhereabouts(here, now, "tell")).toBe(told)
    expect(Restore.compareWhereabouts(here, now, "hold")).toBe(held)
    expect(Restore.learn(here, now)).toEqual({
      system: now.system ?? here.system,
      database: now.database ?? here.database,
      relation: now.relation ?? here.relation,
      timeline: now.timeline ?? here.timeline
    })
  })
})
