/** The host as a process of its own, with the senders that its program gives it. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Arguments from "./Arguments.ts"
import type { Options } from "./EngineLayer.ts"
import * as Host from "./Host.ts"
import * as HostConfig from "./HostConfig.ts"
import * as Logs from "./Logs.ts"
import * as Signals from "./Signals.ts"
import * as StartFailure from "./StartFailure.ts"
import * as Version from "./Version.ts"

const program = (options: Options) =>
  Effect.gen(function* () {
    const unknown = (yield* HostConfig.nearMisses(Object.keys(process.env))).map(([variable, meant]) => ({
      variable,
      reason: `is no setting, and is ignored. Is ${meant} meant?`
    }))
    const config = yield* Effect.mapError(
      HostConfig.load,
      ({ faults }) => new HostConfig.BadSettings({ faults: [...faults, ...unknown] })
    )
    const warned = Effect.forEach(unknown, ({ reason, variable }) =>
      Effect.logWarning(`${variable} ${reason}`)
    )
    yield* warned.pipe(
      Effect.zipRight(
        Effect.zipRight(Signals.watch(config.stopGraceMs), Layer.launch(Host.layer(config, options)))
      ),
      Logger.withMinimumLogLevel(config.logLevel),
      Effect.provide(Logs.layer(config.logFormat, "stdout"))
    )
  })

const alreadyOpen = " Several processes share a PostgreSQL database (DATABASE_URL=postgres://…)."

/** A reason in one line, several below it. */
const notStarted = (reason: string): string => {
  const head = "Sendwright did not start."
  return reason.includes("\n") ? [head, ...Logs.below(reason)].join("\n") : Logs.inLine(`${head} ${reason}`)
}

/** Logs the failure of a start: a failure that an operator can mend in one line, and a bug with all that is known of it. */
const failureLogged = (options: Options) =>
  program(options).pipe(
    Effect.tapError((error) => Console.error(notStarted(StartFailure.reason(error, alreadyOpen)))),
    Effect.tapDefect((cause) =>
      Console.error(["Sendwright broke.", ...Logs.below(Cause.pretty(cause))].join("\n"))
    )
  )

const answered = (asked: Arguments.Asked, options: Options) => {
  switch (asked._tag) {
    case "Start":
      return failureLogged(options)
    case "Help":
      return Console.log(Arguments.help)
    case "Version":
      return Console.log(Version.read())
    case "Unknown":
      return Effect.zipRight(
        Console.error(
          Logs.inLine(`Sendwright did not start. It takes no argument ${asked.argument}; see --help.`)
        ),
        Effect.sync(() => {
          process.exitCode = Arguments.misused
        })
      )
  }
}

/**
 * Runs the host by the environment: the whole program of `sendwright-host`. SIGINT and SIGTERM stop it after what is under
 * way, a second one immediately.
 */
export const run = (options: Options = {}): void =>
  // The runtime's own logger would write every line a second time.
  NodeRuntime.runMain(answered(Arguments.read(process.argv.slice(2)), options), {
    disableErrorReporting: true,
    disablePrettyLogger: true
  })
