/** Logs a line for each answered request at debug level, in batches, since a write for each would be noticeable. */
import type { Steps } from "@sendwright/http/server"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Logs from "../Logs.ts"

const every = "200 millis"

/**
 * Returns the function that logs an answer; undefined when the log level excludes it. The last batch is written when
 * the scope closes.
 */
export const make = ({
  logFormat,
  logLevel
}: {
  readonly logFormat: "json" | "pretty"
  readonly logLevel: LogLevel.LogLevel
}) =>
  Effect.gen(function* () {
    if (LogLevel.greaterThan(logLevel, LogLevel.Debug)) return undefined
    // One line only, without the indented lines that other events have for people.
    const line = logFormat === "json" ? Logs.line("json") : Logger.map(Logger.logfmtLogger, Logs.inLine)
    const logger = yield* Logger.batched(line, every, (lines) => Console.log(lines.join("\n")))
    return ({ at, ...answered }: Steps.Answered): void =>
      logger.log({
        fiberId: FiberId.none,
        logLevel: LogLevel.Debug,
        message: "Answered",
        cause: Cause.empty,
        context: FiberRefs.empty(),
        spans: List.empty(),
        annotations: HashMap.fromIterable(Object.entries(answered)),
        date: new Date(at)
      })
  })
