/** A code acts by what it says, whoever brings it (contract.md §13 "What the platform says"). */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { marks, rows, stoppedBy, table, ways } from "./StoppedBy.ts"

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

describe.each([
  ["memory", () => Memory.layer],
  ["SQLite", () => Sqlite.layer({ filename: ":memory:" })]
] as const)("on %s", (_, stores) => {
  it.effect.each(rows)("%s stops the same, by whichever way it comes", (code) =>
    Effect.gen(function* () {
      const [answer, ...others] = yield* Effect.forEach(ways, (way) => stoppedBy(stores(), code, way))
      expect(answer?.stopped).not.toBe("nothing")
      for (const other of others) expect(other).toEqual(answer)
    }).pipe(quiet)
  )
})

it.effect("docs/failures.md has the table that scripts/stopped-by.ts prints", () =>
  Effect.gen(function* () {
    const docs = readFileSync(new URL("../../../../docs/failures.md", import.meta.url), "utf8")
    const printed = docs.split(marks[0])[1]?.split(marks[1])[0] ?? ""
    const cells = (lines: ReadonlyArray<string>) =>
      lines.map((line) => line.split("|").map((cell) => cell.trim()))
    const found = cells(printed.trim().split("\n")).filter(([, first]) => !first?.startsWith("-"))
    expect(found).toEqual(
      cells(yield* table(() => Memory.layer)).filter(([, first]) => !first?.startsWith("-"))
    )
  }).pipe(quiet)
)
