/**
 * Logs a line for each request that was refused, so that it is found by its request id, and at debug level for each that was
 * answered otherwise: in batches, since a write for each would be noticeable.
 */
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

const every = "1 second"

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
    if (LogLevel.greaterThan(logLevel, LogLevel.Info)) return undefined
    const tellsAll = LogLevel.lessThanEqual(logLevel, LogLevel.Debug)
    // One line only, without the indented lines that other events have for people.
    const line = logFormat === "json" ? Logs.line("json") : Logger.map(Logger.logfmtLogger, Logs.inLine)
    const logger = yield* Logger.batched(line, every, (lines) => Console.log(lines.join("\n")))
    return ({ at, ...answered }: Steps.Answered): void => {
      const isRefusal = answered.code !== undefined
      if (!isRefusal && !tellsAll) return
      logger.log({
        fiberId: FiberId.none,
        logLevel: isRefusal ? LogLevel.Info : LogLevel.Debug,
        message: isRefusal ? "Refused" : "Answered",
        cause: Cause.empty,
        context: FiberRefs.empty(),
        spans: List.empty(),
        annotations: HashMap.fromIterable(Object.entries(answered)),
        date: new Date(at)
      })
    }
  })
