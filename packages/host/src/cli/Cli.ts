/** The command line: from arguments to an exit code. Answers go to standard output, all else to standard error. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as ValidationError from "@effect/cli/ValidationError"
import { Fault } from "@sendwright/core"
import { Problems } from "@sendwright/http/contract"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Arguments from "../Arguments.ts"
import type { Options } from "../EngineLayer.ts"
import * as Logs from "../Logs.ts"
import * as StartFailure from "../StartFailure.ts"
import * as Version from "../Version.ts"
import * as Commands from "./Commands.ts"
import type { NotOpened } from "./Operation.ts"
import type { Refused } from "./Refused.ts"

const application = (options: Options) =>
  Command.run(Commands.make(options), {
    name: "Sendwright",
    version: Version.read()
  })

/** Why is on standard error. */
export const failed = 1

/** Every fault on a line of its own, or why there is no answer. */
const linesOf = (error: NotOpened | Refused | Problems.EngineError): ReadonlyArray<string> => {
  if (error._tag === "Refused") return error.lines
  if (error._tag === "NotOpened") return [error.message]
  if (error._tag === "StorageError") return [`The storage does not answer: ${StartFailure.causeOf(error)}`]
  const { detail, faults } = Problems.describe(error)
  return faults === null
    ? [detail]
    : faults.map((fault) => [Fault.pointer(fault), fault.message].filter(Boolean).join(": "))
}

/** Files and platforms have written part of it, and a terminal may be what reads it. */
const messageOf = (error: NotOpened | Refused | Problems.EngineError): string =>
  linesOf(error).map(Logs.printable).join("\n")

/** Runs what a process was started with, its program and script included, and answers how the process should end. */
export const run = (argv: ReadonlyArray<string>, options: Options = {}) =>
  application(options)(argv).pipe(
    Effect.as(0),
    Effect.catchAll((error) =>
      // The parser told its own error.
      ValidationError.isValidationError(error)
        ? Effect.succeed(Arguments.misused)
        : Effect.as(Console.error(messageOf(error)), failed)
    ),
    Effect.tapDefect((cause) =>
      Console.error(["Sendwright broke.", ...Logs.below(Cause.pretty(cause))].join("\n"))
    ),
    Logger.withMinimumLogLevel(LogLevel.Warning),
    Effect.provide(CliConfig.layer({ showBuiltIns: false, showTypes: false, isCaseSensitive: true }))
  )
