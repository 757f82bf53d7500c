/** `sendwright`, run in this process: what it writes is caught. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { vi } from "vitest"
import * as Cli from "../../src/cli/Cli.ts"
import * as Screen from "../../src/cli/Screen.ts"

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
  /** The answer; undefined where it is no JSON. */
  readonly json: unknown
}

export const outcome = (code: number, out: string, err: string): Outcome => ({
  code,
  out,
  err,
  json: out.startsWith("{") ? JSON.parse(out) : undefined
})

const platform = Layer.mergeAll(NodeFileSystem.layer, NodePath.layer, NodeTerminal.layer)

export const run = async (
  environment: Readonly<Record<string, string>>,
  args: ReadonlyArray<string>,
  screen: Screen.Screen = Screen.none
): Promise<Outcome> => {
  const written = { out: "", err: "" }
  const log = vi.spyOn(console, "log").mockImplementation((line) => {
    written.out += `${line}\n`
  })
  const error = vi.spyOn(console, "error").mockImplementation((line) => {
    written.err += `${line}\n`
  })
  try {
    const code = await Cli.run(["node", "sendwright", ...args], {}, screen).pipe(
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(environment)))),
      Effect.provide(platform),
      Effect.runPromise
    )
    return outcome(code, written.out, written.err)
  } finally {
    log.mockRestore()
    error.mockRestore()
  }
}
