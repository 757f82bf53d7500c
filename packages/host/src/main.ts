#!/usr/bin/env node
/** Starts the host from the environment; SIGINT and SIGTERM stop it after what is under way. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Host from "./Host.ts"
import * as HostConfig from "./HostConfig.ts"

const program = Effect.gen(function* () {
  const config = yield* HostConfig.load
  const logger = config.logFormat === "json" ? Logger.json : Logger.pretty
  yield* Layer.launch(Host.layer(config)).pipe(
    Logger.withMinimumLogLevel(config.logLevel),
    Effect.provide(logger)
  )
})

/** What stops a start is told in one line. */
const told = program.pipe(
  Effect.tapError((error) => Console.error(`Sendwright did not start. ${error.message}`))
)

NodeRuntime.runMain(told, { disableErrorReporting: true })
