/** A code acts by what it says, whoever brings it (contract.md §13 "What the platform says"). */
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { hour } from "../../src/domain/Instant.ts"
import * as Memory from "../../src/storage/sqlite/Memory.ts"
import * as Sqlite from "../../src/storage/sqlite/Sqlite.ts"
import { rows, stoppedBy, ways } from "./StoppedBy.ts"

/** Actions of the catalogue stop more than their recipient (docs/failures.md): of a row, in the words of `stoppedBy`. */
const stops = ({ action, blockMs = 0, code }: (typeof rows)[number]): string | undefined => {
  if (code === "template_disabled") return "the template is disabled, fails the rest of the job"
  const byAction: Readonly<Record<string, string>> = {
    block_session: `blocks the session for ${blockMs / hour} h`,
    check_template: "fetches the template, whose jobs wait for it",
    disconnect_session: "disconnects the session",
    fail_job: "fails the rest of the job",
    pause_template: "the template is paused"
  }
  return byAction[action]
}

const quiet = Logger.withMinimumLogLevel(LogLevel.None)

describe.each([
  ["memory", () => Memory.layer],
  ["SQLite", () => Sqlite.layer({ filename: ":memory:" })]
] as const)("on %s", (_, stores) => {
  it.effect.each(rows)("$code stops what its action says, by whichever way it comes", (row) =>
    Effect.gen(function* () {
      const [answer, ...others] = yield* Effect.forEach(ways, (way) => stoppedBy(stores(), row.code, way))
      expect(answer?.stopped).toBe(stops(row))
      for (const other of others) expect(other).toEqual(answer)
    }).pipe(quiet)
  )
})
