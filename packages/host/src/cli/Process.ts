/** The command line as a process of its own, with the senders that its program gives it. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Options } from "../EngineLayer.ts"
import * as Cli from "./Cli.ts"
import * as Screen from "./Screen.ts"

/** A full disk or a reader that is gone: the console says nothing of it. */
const watchOutput = (): void => {
  process.stdout.on("error", (cause: NodeJS.ErrnoException) => {
    process.exitCode = Cli.failed
    process.stderr.write(
      `The answer could not be written to standard output (${cause.code}). What was asked for may be done all the same: look before you repeat it, and rotate a secret that was to be shown.\n`
    )
  })
}

/** Runs the command of the process's arguments by the environment: the whole program of `sendwright`. */
export const run = (options: Options = {}): void => {
  watchOutput()
  const screen = Screen.make(process.stdout, process.stderr, process.env["NO_COLOR"])
  const program = Effect.map(Cli.run(process.argv, options, screen), (code) => {
    process.exitCode ??= code
  })
  // The runtime's own logger would tell every failure a second time.
  NodeRuntime.runMain(
    Effect.provide(program, Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)),
    { disableErrorReporting: true, disablePrettyLogger: true }
  )
}
