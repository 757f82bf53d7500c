/**
 * The lines of the log, pretty for people and JSON for machines: one event is one line, or one line with indented ones
 * below it, whatever its text is. What could begin a line, move a cursor or turn the order of writing is escaped, and
 * phone numbers are cut to their last four digits.
 */
import { inspect } from "node:util"
import { Phone } from "@sendwright/core"
import type { Steps } from "@sendwright/http/server"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as FiberRefs from "effect/FiberRefs"
import * as HashMap from "effect/HashMap"
import * as Inspectable from "effect/Inspectable"
import type * as Layer from "effect/Layer"
import * as List from "effect/List"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as LogSpan from "effect/LogSpan"

export type Format = "pretty" | "json"

/** Control characters, line and paragraph separators, marks and overrides of the direction, and lone surrogates. */
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Cs}]/gu

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** As a part of one line, with all that it says. Of JSON it makes JSON that says the same. */
export const printable = (text: string): string => text.replace(unprintable, escaped)

/** As a part of one line. */
export const inLine = (text: string): string => printable(Phone.shorten(text))

/** Lines below another one: none of them looks like the first of an event. */
export const below = (text: string): ReadonlyArray<string> =>
  text.split("\n").map((line) => `    ${inLine(line.trimEnd())}`)

/** An error's own properties stay out: drivers put rows and parameters there. */
const shown = (value: unknown): unknown =>
  value instanceof Error ? Cause.pretty(Cause.die(value), { renderErrorCause: true }) : value

const json: Logger.Logger<unknown, string> = Logger.make((options) => {
  const message = Arr.ensure(options.message).map(shown)
  const annotations = HashMap.map(options.annotations, shown)
  const text = Logger.jsonLogger.log({ ...options, message, annotations })
  const line: unknown = JSON.parse(text, (_, value: unknown) =>
    typeof value === "string" ? Phone.shorten(value) : value
  )
  return printable(JSON.stringify(line))
})

const colors: Readonly<Record<LogLevel.LogLevel["_tag"], number>> = {
  All: 0,
  Fatal: 31,
  Error: 31,
  Warning: 33,
  Info: 32,
  Debug: 90,
  Trace: 90,
  None: 0
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : inspect(Inspectable.redact(value), { depth: 5, breakLength: 120 })

const pretty = (isColored: boolean): Logger.Logger<unknown, string> =>
  Logger.make(({ annotations, cause, date, fiberId, logLevel, message, spans }) => {
    const [first, ...more] = Arr.ensure(message)
    const head = typeof first === "string" ? first : ""
    const level = isColored ? `\u001b[${colors[logLevel._tag]}m${logLevel.label}\u001b[0m` : logLevel.label
    const rest = [
      ...(head === first ? more : [first, ...more]).map((each) => textOf(shown(each))),
      ...(Cause.isEmpty(cause) ? [] : [Cause.pretty(cause, { renderErrorCause: true })]),
      ...HashMap.toEntries(annotations).map(([name, value]) => `${name}: ${textOf(shown(value))}`),
      ...List.toArray(spans).map((span) => LogSpan.render(date.getTime())(span))
    ]
    return [
      `[${date.toISOString()}] ${level} (${FiberId.threadName(fiberId)}): ${inLine(head)}`,
      ...rest.flatMap(below)
    ].join("\n")
  })

/** @param isColored whether levels are, for a terminal; not in JSON */
export const line = (format: Format, isColored = false): Logger.Logger<unknown, string> =>
  format === "json" ? json : pretty(isColored)

/** In the place of Effect's own logger. */
export const layer = (format: Format, to: "stdout" | "stderr"): Layer.Layer<never> => {
  const logger = line(format, process[to].isTTY)
  return Logger.replace(
    Logger.defaultLogger,
    to === "stdout" ? Logger.withConsoleLog(logger) : Logger.withConsoleError(logger)
  )
}

const accessEvery = "1 second"

/**
 * Returns the function that logs a line for each request that was refused, so that it is found by its request id, and at debug
 * level for each that was answered otherwise; undefined when the log level excludes both. Lines are written in batches, since a
 * write for each would be noticeable, the last one when the scope closes.
 */
export const accessLog = ({
  logFormat,
  logLevel
}: {
  readonly logFormat: Format
  readonly logLevel: LogLevel.LogLevel
}) =>
  Effect.gen(function* () {
    if (LogLevel.greaterThan(logLevel, LogLevel.Info)) return undefined
    const tellsAll = LogLevel.lessThanEqual(logLevel, LogLevel.Debug)
    // One line only, without the indented lines that other events have for people.
    const accessLine = logFormat === "json" ? line("json") : Logger.map(Logger.logfmtLogger, inLine)
    const logger = yield* Logger.batched(accessLine, accessEvery, (lines) => Console.log(lines.join("\n")))
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
