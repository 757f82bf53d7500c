/** The admin API as tools for an agent, over standard input and output: a line for each message. */
import { createInterface } from "node:readline"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import type { Problems } from "@sendwright/core/contract"
import { McpProtocol, McpTools } from "@sendwright/http/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Version from "../Version.ts"
import * as OnHost from "./OnHost.ts"
import { type Refused, told } from "./Refused.ts"
import type { Setting } from "./Root.ts"
import { root } from "./Root.ts"

/** A longer message is refused. */
const longest = 1024 * 1024

/** Why nothing was done: as the engine tells it, or a host. */
const refused = (error: Problems.EngineError | Refused): Effect.Effect<McpTools.Outcome> =>
  error._tag === "Refused"
    ? Effect.succeed({ text: error.lines.join("\n"), note: null, isError: true })
    : McpTools.refused(error)

/** Asks the operation of a tool. */
type Ask = (
  tool: McpTools.Tool,
  call: McpTools.Call
) => Effect.Effect<unknown, Problems.EngineError | Refused>

const serverOf = (writes: boolean, ask: Ask): McpProtocol.Server => ({
  version: Version.read(),
  tools: McpTools.make(writes),
  call: (tool, given) =>
    Effect.matchEffect(ask(tool, McpTools.callOf(tool, given)), {
      onFailure: refused,
      onSuccess: (body) => Effect.succeed(McpTools.done(tool, body))
    })
})

const messageOf = (line: string) =>
  line.length > longest ? Either.left("too long") : Either.try((): unknown => JSON.parse(line))

const put = (message: unknown): Effect.Effect<void, Refused> =>
  Effect.async((resume) => {
    process.stdout.write(`${JSON.stringify(message)}\n`, (error) =>
      resume(error ? Effect.fail(told("The answer cannot be written.")) : Effect.void)
    )
  })

/** Until the input ends. */
const serve = (server: McpProtocol.Server): Effect.Effect<void, Refused> =>
  Stream.fromAsyncIterable(createInterface({ input: process.stdin }), () =>
    told("The input cannot be read.")
  ).pipe(
    Stream.filter((line) => line.trim() !== ""),
    Stream.mapEffect((line) =>
      Either.match(messageOf(line), {
        onLeft: () => Effect.succeed(McpProtocol.unreadable),
        onRight: (message) => McpProtocol.answer(server, message)
      })
    ),
    Stream.runForEach((answer) => (answer === null ? Effect.void : put(answer)))
  )

export const make = ({ options }: Setting) => {
  const description =
    "Serve what the admin API reads as tools for an agent, by the Model Context Protocol over standard input and output. With --write what changes something is among them, too."
  const write = Options.boolean("write").pipe(
    Options.withDescription("tools that change something are there, too")
  )
  const command = Command.make("mcp", { write }, (given) =>
    Effect.gen(function* () {
      const { token, url } = yield* root
      const host = yield* OnHost.connection(Option.getOrUndefined(url), Option.getOrUndefined(token))
      if (host !== null)
        return yield* serve(
          serverOf(given.write, ({ operation }, call) => OnHost.perform(host, operation.endpoint, call))
        )
      const { within } = yield* Effect.promise(() => import("./OnDatabase.ts"))
      return yield* within(options, (perform) =>
        serve(
          serverOf(given.write, ({ operation }, call) =>
            Effect.map(perform(operation, call), ({ body }) => body)
          )
        )
      )
    })
  ).pipe(Command.withDescription(description))
  return {
    word: "mcp",
    isAlone: true,
    command,
    help: { name: "mcp", description, args: HelpDoc.empty, flags: Options.getHelp(write) }
  }
}
