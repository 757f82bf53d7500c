#!/usr/bin/env node
/** Starts the host from the environment; SIGINT and SIGTERM stop it after what is under way, a second one at once. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Host from "./Host.ts"
import * as HostConfig from "./HostConfig.ts"
import * as Logs from "./Logs.ts"
import * as Signals from "./Signals.ts"
import * as StartFailure from "./StartFailure.ts"

const program = Effect.gen(function* () {
  const config = yield* HostConfig.load
  yield* Signals.watch(config.stopGraceMs)
  yield* Layer.launch(Host.layer(config)).pipe(
    Logger.withMinimumLogLevel(config.logLevel),
    Effect.provide(Logs.layer(config.logFormat, "stdout"))
  )
})

const alreadyOpen = " Several processes share a PostgreSQL database (DATABASE_URL=postgres://…)."

/** What stops a start is told in one line; a bug with all that is known of it. */
const told = program.pipe(
  Effect.tapError((error) =>
    Console.error(Logs.inLine(`Sendwright did not start. ${StartFailure.reason(error, alreadyOpen)}`))
  ),
  Effect.tapDefect((cause) =>
    Console.error(["Sendwright broke.", ...Logs.below(Cause.pretty(cause))].join("\n"))
  )
)

// Its own logger would write every line a second time.
NodeRuntime.runMain(told, { disableErrorReporting: true, disablePrettyLogger: true })
