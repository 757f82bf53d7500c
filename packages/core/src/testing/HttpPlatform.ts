/**
 * A platform on a free port of 127.0.0.1, for the tests of a sender that speaks HTTP. Its author says what it answers;
 * that it hangs, resets, babbles or is away is the same for all of them, and done here.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { OutboundMessage } from "../sender/Sender.ts"
import type { Situations } from "./SenderSuite/Platform.ts"

export interface Request {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** What of the situations is the platform's own to answer. */
export type Mood = "accepts" | "holds" | "refuses" | "busy"

export interface HttpPlatform {
  readonly url: string
  /** Where nobody listens. */
  readonly closedUrl: string
  readonly situations: Situations
}

interface Waiting {
  readonly arrived: Deferred.Deferred<void>
  readonly released: Deferred.Deferred<void>
}

type Behaviour = Exclude<keyof Situations, "hangs"> | Waiting

const listening = (server: Server): Effect.Effect<string> =>
  Effect.async((resume) => {
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed(`http://127.0.0.1:${port}`))
    })
  })

const close = (server: Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

const serving = (server: Server): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(listening(server), () => close(server))

const read = async (request: IncomingMessage): Promise<Request> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  return {
    method: request.method ?? "GET",
    path: request.url ?? "/",
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, String(value)])
    ),
    body: Buffer.concat(chunks).toString("utf8")
  }
}

export const make = (options: {
  /** The message, by our id or by its number, that a request is about. */
  readonly about: (request: Request) => string | undefined
  readonly answer: (request: Request, mood: Mood) => Reply | Promise<Reply>
}): Effect.Effect<HttpPlatform, never, Scope.Scope> =>
  Effect.gen(function* () {
    const behaviours = new Map<string, Behaviour>()

    const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
      const request = await read(incoming)
      const html = (status: number) =>
        response.writeHead(status, { "content-type": "text/html" }).end("<html>")
      const behaviour = behaviours.get(options.about(request) ?? "") ?? "accepts"
      switch (behaviour) {
        case "fails":
          html(502)
          return
        case "resets":
          await options.answer(request, "accepts")
          response.socket?.resetAndDestroy()
          return
        case "babbles":
          await options.answer(request, "accepts")
          html(200)
          return
        case "accepts":
        case "holds":
        case "refuses":
        case "busy": {
          const { body, headers, status } = await options.answer(request, behaviour)
          response.writeHead(status, headers).end(body)
          return
        }
        default:
          response.once("close", () => Deferred.unsafeDone(behaviour.released, Effect.void))
          Deferred.unsafeDone(behaviour.arrived, Effect.void)
      }
    }

    const url = yield* serving(
      createServer((request, response) => {
        // A request that was cut off, or an answer that could not be made, is a broken connection.
        respond(request, response).catch(() => response.destroy())
      })
    )
    const closedUrl = yield* Effect.scoped(serving(createServer()))
    const behave = (message: OutboundMessage, behaviour: Behaviour): OutboundMessage => {
      behaviours.set(message.messageId, behaviour).set(message.to, behaviour)
      return message
    }
    return {
      url,
      closedUrl,
      situations: {
        accepts: (message) => behave(message, "accepts"),
        holds: (message) => behave(message, "holds"),
        refuses: (message) => behave(message, "refuses"),
        busy: (message) => behave(message, "busy"),
        fails: (message) => behave(message, "fails"),
        babbles: (message) => behave(message, "babbles"),
        resets: (message) => behave(message, "resets"),
        hangs: (message) => {
          const [arrived, released] = [
            Effect.runSync(Deferred.make<void>()),
            Effect.runSync(Deferred.make<void>())
          ]
          behave(message, { arrived, released })
          return { message, arrived: Deferred.await(arrived), released: Deferred.await(released) }
        }
      }
    }
  })
