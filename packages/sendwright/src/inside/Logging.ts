/**
 * What the engine logs: to the app's logger or the console, and each error to the handlers of `error`. An error's own members stay
 * out of the log, because drivers put rows and parameters there.
 */
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as HashMap from "effect/HashMap"
import * as Layer from "effect/Layer"
import * as Effects from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type { Logger, Options } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"

type Entry = Effects.Logger.Options<unknown>
type Write = (entry: Entry) => void

const levels = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
}

/** The words of an entry, and the errors and values beside them. */
const partsOf = ({ cause, message }: Entry) => {
  const [words, ...more] = Arr.ensure(message)
  const failed = Cause.isEmpty(cause) ? more.find((each) => each instanceof Error) : Cause.squash(cause)
  return { words: String(words), failed, more: more.filter((each) => !(each instanceof Error)) }
}

const pretty = (failed: unknown): string => Cause.pretty(Cause.fail(failed), { renderErrorCause: true })

const toLogger =
  (logger: Logger): Write =>
  (entry) => {
    const { failed, more, words } = partsOf(entry)
    const details = {
      ...Object.fromEntries(HashMap.toEntries(entry.annotations)),
      ...(more.length === 0 ? {} : { more }),
      ...(failed === undefined ? {} : { cause: pretty(failed) })
    }
    const { logLevel } = entry
    if (LogLevel.greaterThanEqual(logLevel, LogLevel.Error)) logger.error(words, details)
    else if (LogLevel.greaterThanEqual(logLevel, LogLevel.Warning)) logger.warn(words, details)
    else if (LogLevel.greaterThanEqual(logLevel, LogLevel.Info)) logger.info(words, details)
    else logger.debug(words, details)
  }

const toConsole: Write = (entry) => Effects.defaultLogger.log(entry)

const errorOf = (entry: Entry): SendwrightError => {
  const { failed, words } = partsOf(entry)
  if (SendwrightError.is(failed) && failed.code === "handler_failed") return failed
  const known = Failures.ofCore(failed)
  const code = SendwrightError.is(known) ? known.code : "internal"
  const message = failed instanceof Error ? `${words}: ${failed.message}` : words
  const details = Object.fromEntries(HashMap.toEntries(entry.annotations))
  return new SendwrightError(code, message, { details, cause: failed })
}

/**
 * In the place of Effect's own logger.
 *
 * @param tell calls the handlers of `error`, and answers what each of them comes to
 */
export const layer = (
  { logger, logLevel = "warning" }: Pick<Options, "logger" | "logLevel">,
  tell: (error: SendwrightError) => ReadonlyArray<Promise<void>>
): Layer.Layer<never> => {
  const least = levels[logLevel]
  const to = logger === undefined ? toConsole : toLogger(logger)
  const write: Write = (entry) => {
    if (!LogLevel.greaterThanEqual(entry.logLevel, least)) return
    try {
      to(entry)
    } catch {
      // A logger that throws stops nothing of what it was to tell.
    }
  }
  const both = Effects.make((entry) => {
    write(entry)
    if (!LogLevel.greaterThanEqual(entry.logLevel, LogLevel.Error)) return
    for (const told of tell(errorOf(entry)))
      told.catch((error: unknown) =>
        write({
          ...entry,
          logLevel: LogLevel.Warning,
          message: ['A handler of "error" failed'],
          cause: Cause.fail(error)
        })
      )
  })
  // Errors are heard whatever is written.
  const heard = LogLevel.greaterThan(least, LogLevel.Error) ? LogLevel.Error : least
  return Layer.merge(Effects.replace(Effects.defaultLogger, both), Effects.minimumLogLevel(heard))
}
