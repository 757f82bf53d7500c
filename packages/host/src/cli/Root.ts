/** The options before every command: they say whom it asks. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Config from "effect/Config"
import type * as EngineLayer from "../EngineLayer.ts"
import type { Screen } from "./Screen.ts"

/** A process brings senders of its own, and the screen where it is read. */
export interface Setting {
  readonly options: EngineLayer.Options
  readonly screen: Screen
}

/** Before the command: which host is asked, if any is. */
const connecting = {
  url: Options.text("url").pipe(
    Options.withFallbackConfig(Config.string("SENDWRIGHT_URL")),
    Options.optional
  ),
  token: Options.redacted("token").pipe(
    Options.withFallbackConfig(Config.redacted("SENDWRIGHT_TOKEN")),
    Options.optional
  )
}

export const connectingFlags = [
  { name: "--url text", text: "asks the host at this address, over HTTP; SENDWRIGHT_URL without it" },
  { name: "--token text", text: "an operator's token, for --url; better given as SENDWRIGHT_TOKEN" },
  { name: "--version", text: "tells the version" },
  { name: "--completions shell", text: "prints completions for bash, zsh or fish" }
]

export const program =
  "The operator's side of Sendwright: at a host of --url, or else on the database of DATABASE_URL."

export const root = Command.make("sendwright", connecting).pipe(Command.withDescription(program))
