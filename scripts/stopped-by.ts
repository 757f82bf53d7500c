/** Prints into docs/failures.md what each row of the catalogue stops, by each way: npx tsx --conditions=@sendwright/source scripts/stopped-by.ts */
import { readFileSync, writeFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestContext from "effect/TestContext"
import * as Memory from "../packages/core/src/storage/sqlite/Memory.ts"
import { marks, table } from "../packages/core/test/engine/StoppedBy.ts"

const file = new URL("../docs/failures.md", import.meta.url)
const [begin, end] = marks

const printed = await Effect.runPromise(
  table(() => Memory.layer).pipe(
    Effect.provide(TestContext.TestContext),
    Logger.withMinimumLogLevel(LogLevel.None)
  )
)
const docs = readFileSync(file, "utf8")
const [before = "", rest = ""] = docs.split(begin)
writeFileSync(file, [before, begin, "\n\n", printed.join("\n"), "\n\n", end, rest.split(end)[1]].join(""))
