#!/usr/bin/env node
/** The command line `sendwright`. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Cli from "./Cli.ts"

// A full disk or a reader that is gone: the console says nothing of it.
process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
  process.exitCode = Cli.failed
  process.stderr.write(
    `The answer could not be written to standard output (${cause.code}). What was asked for may be done all the same: look before you repeat it, and rotate a secret that was to be shown.\n`
  )
})

const program = Effect.map(Cli.run(process.argv), (code) => {
  process.exitCode ??= code
})

// Its own logger would tell every failure a second time.
NodeRuntime.runMain(
  Effect.provide(program, Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)),
  { disableErrorReporting: true, disablePrettyLogger: true }
)
