/**
 * The reads of the admin API as tools for an agent, over HTTP: the Model Context Protocol's streamable HTTP, without sessions and
 * streams. A tool's call is done by its operation's own handler, as the operator who asks.
 */
import { Codec, Endpoint, Examples, Operation, Problems, Route, Texts, Wire } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Protocol from "./mcp/Protocol.ts"
import * as Tools from "./mcp/Tools.ts"

const Version = Schema.Literal("2.0")
const Id = Schema.Union(Schema.String, Schema.Int)

const Message = Schema.Struct({
  jsonrpc: Version,
  id: Schema.optional(
    Id.annotations({ description: "Absent of a notification, which has no Operation.answer." })
  ),
  method: Schema.String.annotations({ description: "`initialize`, `ping`, `tools/list` or `tools/call`." }),
  params: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: "AgentMessage" })

/** The answer of a tool, which the tool's own handler masks. */
const Answered = Schema.Struct({
  jsonrpc: Version,
  id: Texts.plainly(Schema.NullOr(Id)),
  result: Schema.optional(Texts.plainly(Schema.Record({ key: Schema.String, value: Schema.Unknown }))),
  error: Schema.optional(Schema.Struct({ code: Schema.Int, message: Wire.Text }))
}).annotations({ identifier: "AgentAnswer" })

/** A refusal is what the tool answers; without the store nothing is answered, as elsewhere. */
const outcomeOf = (tool: Tools.Tool, asked: Effect.Effect<Route.Reply, Problems.EngineError>) =>
  Effect.matchEffect(asked, {
    onFailure: (error) =>
      Problems.statusOf(Problems.describe(error)) >= 500 ? Effect.fail(error) : Tools.refused(error),
    onSuccess: ({ body }) => Effect.succeed(Tools.done(tool, body))
  })

export const agents = [
  Operation.messageForOperator(
    Endpoint.post("mcp", "/admin/v1/mcp").setPayload(Message),
    Operation.answer(Codec.itself(Answered), {
      jsonrpc: "2.0",
      id: 1,
      result: {
        content: [{ type: "text", text: '{"ok":true,"results":[],"next_cursor":null}' }],
        isError: false
      }
    }),
    {
      summary: "Ask what the admin API reads, as an agent",
      description:
        "The Model Context Protocol's streamable HTTP, one message at a time, without sessions and streams. Its tools are the operations that read, whatever the operator's role; exports are none. An `error` within the answer is the protocol's; what is no message of it is refused as everywhere. A notification is answered with 202.",
      request: {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "search", arguments: { q: Examples.phone } }
      }
    },
    (engine) => {
      let tools: ReadonlyArray<Tools.Tool> | undefined
      return (message, { cursors, prefix, requestId }) => {
        // Of the whole description, which takes a while: not before somebody asks.
        tools ??= Tools.make(false)
        const known = { cursors, prefix, requestId }
        return Protocol.answer(
          {
            version: Wire.apiVersion,
            tools,
            call: (tool, given) =>
              outcomeOf(tool, Route.perform(tool.operation.route(engine), Tools.callOf(tool, given), known))
          },
          message
        )
      }
    }
  )
]
