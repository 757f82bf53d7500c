/** The command line: from arguments to an exit code. Answers go to standard output, all else to standard error. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as ValidationError from "@effect/cli/ValidationError"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Arguments from "../Arguments.ts"
import type { Options } from "../EngineLayer.ts"
import * as Logs from "../Logs.ts"
import * as Version from "../Version.ts"
import * as Commands from "./Commands.ts"
import { Degraded } from "./Degraded.ts"
import { messageOf } from "./Failure.ts"
import type { Setting } from "./Root.ts"
import * as Screen from "./Screen.ts"

/** Nothing is done: the words name no command. */
class Misused extends Data.TaggedError("Misused")<{ readonly message: string }> {}

const ofHost = ["--url", "--token"]

/** The words of the command that is asked for: what stands before its first flag. */
const wordsOf = (given: ReadonlyArray<string>): ReadonlyArray<string> => {
  let at = 0
  while (ofHost.some((flag) => given[at] === flag || given[at]?.startsWith(`${flag}=`)))
    at += given[at]?.includes("=") ? 1 : 2
  const words = given.slice(at)
  const end = words.findIndex((word) => word.startsWith("-"))
  return end === -1 ? words : words.slice(0, end)
}

const isHelp = (word: string): boolean => word === "--help" || word === "-h"

const application = (given: ReadonlyArray<string>, setting: Setting) =>
  Effect.gen(function* () {
    const { command, helpOf, isGroup, meantFlag, unknown } = Commands.make(setting)
    const words = wordsOf(given)
    const wrong = unknown(words)
    if (wrong !== undefined) return yield* new Misused({ message: wrong })
    const [word = "", ...more] = words
    const isAlone = given.length === 0 || (more.length === 0 && given.at(-1) === word && isGroup(word))
    if (isAlone || given.some(isHelp)) return yield* Console.log(helpOf(words))
    const parse = Command.run(command, { name: "Sendwright", version: Version.read() })
    const meant = meantFlag(given, words)
    return yield* Effect.tapError(parse(["node", "sendwright", ...given]), (error) =>
      ValidationError.isValidationError(error) && meant !== undefined ? Console.error(meant) : Effect.void
    )
  })

/** Why is on standard error. */
export const failed = 1

/** Runs what a process was started with, its program and script included, and answers how the process should end. */
export const run = (
  [, , ...given]: ReadonlyArray<string>,
  options: Options = {},
  screen: Screen.Screen = Screen.none
) =>
  application(given, { options, screen }).pipe(
    Effect.as(0),
    Effect.catchAll((error) => {
      if (error instanceof Degraded)
        return Effect.as(error.why === undefined ? Effect.void : Console.error(error.why), error.code)
      // The parser told its own error.
      if (ValidationError.isValidationError(error)) return Effect.succeed(Arguments.misused)
      return error._tag === "Misused"
        ? Effect.as(Console.error(Logs.printable(error.message)), Arguments.misused)
        : Effect.as(Console.error(messageOf(error)), failed)
    }),
    Effect.tapDefect((cause) =>
      Console.error(["Sendwright broke.", ...Logs.below(Cause.pretty(cause))].join("\n"))
    ),
    Screen.within(screen),
    Logger.withMinimumLogLevel(LogLevel.Warning),
    Effect.provide(CliConfig.layer({ showBuiltIns: false, showTypes: false, isCaseSensitive: true }))
  )
