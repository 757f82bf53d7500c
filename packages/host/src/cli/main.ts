#!/usr/bin/env node
/** The command line `sendwright`. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Cli from "./Cli.ts"

const program = Effect.map(Cli.run(process.argv), (code) => {
  process.exitCode = code
})

// Its own logger would tell every failure a second time.
NodeRuntime.runMain(
  Effect.provide(program, Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)),
  { disableErrorReporting: true, disablePrettyLogger: true }
)
