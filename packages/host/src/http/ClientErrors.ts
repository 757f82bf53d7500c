/** Answers what Node refuses before there is a request, in the form of every refusal, and ends the connection. */

import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Instant } from "@sendwright/core"
import type { Problems } from "@sendwright/core/contract"
import type { Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import type { Connections } from "./Connections.ts"

/** How long a client that still sends is read from, so that it gets to read the answer. */
const lingerMs = 1000
/** More clients at a time are cut without an answer. */
const mostLingering = 100
const retryMs = 5000

const refusals: ReadonlyMap<string, readonly [Problems.HostCode, string]> = new Map([
  ["HPE_HEADER_OVERFLOW", ["headers_too_large", "The headers must be at most 16 KiB."]],
  ["HPE_CHUNK_EXTENSIONS_OVERFLOW", ["payload_too_large", "The extensions of a chunk are too long."]],
  ["ERR_HTTP_REQUEST_TIMEOUT", ["request_timeout", "The request did not come in time."]]
])

const malformed: readonly [Problems.HostCode, string] = ["malformed_request", "This is no HTTP/1.1 request."]

const codeOf = (error: Error): string => ("code" in error ? String(error.code) : "")

const written = ({ body, headers, status }: Steps.PlainResponse, now: number): string => {
  const all = {
    ...headers,
    date: new Date(now).toUTCString(),
    "content-length": String(Buffer.byteLength(body)),
    connection: "close"
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}`, ...lines, "", body].join("\r\n")
}

const hungUp = (socket: Duplex): Effect.Effect<void> =>
  Effect.async((resume) => {
    const done = (): void => resume(Effect.void)
    socket.once("end", done).once("close", done)
  })

/** Waits before it closes a socket. Closing while the client still sends would lose the answer, too. */
export const linger = (socket: Duplex, ms = lingerMs): Effect.Effect<void> =>
  Effect.ensuring(
    Effect.timeoutOption(hungUp(socket), ms),
    Effect.sync(() => socket.destroy())
  )

const say = (socket: Duplex, response: Steps.PlainResponse): Effect.Effect<void> =>
  Effect.gen(function* () {
    const text = written(response, yield* Instant.now)
    yield* Effect.sync(() => {
      socket.end(text)
      socket.resume()
    })
    yield* linger(socket)
  })

/** The details for a connection over a limit. */
const tooMany: Readonly<Record<"connections" | "connectionsPerAddress", string>> = {
  connections: "The host has as many connections as it may.",
  connectionsPerAddress: "Your address has as many connections as it may."
}

/** A tunnel has no path that could say what is allowed, so that nothing is (RFC 9110 §10.2.1). */
const noTunnel = (refuse: Steps.Refuse): Steps.PlainResponse => {
  const refusal = refuse("method_not_allowed", "This is no proxy.")
  return { ...refusal, headers: { ...refusal.headers, allow: "" } }
}

/** Answers clients' errors, tunnels and connections over a limit, for the lifetime of the server. */
export const answer = (server: Server, refuse: Steps.Refuse, connections: Connections): Effect.Effect<void> =>
  Effect.map(Effect.runtime(), (runtime) => {
    const run = Runtime.runFork(runtime)
    let lingering = 0
    const end = (socket: Duplex, refusal: Steps.PlainResponse): void => {
      if (lingering >= mostLingering) {
        socket.destroy()
        return
      }
      lingering += 1
      run(
        Effect.ensuring(
          say(socket, refusal),
          Effect.sync(() => {
            lingering -= 1
            socket.destroy()
          })
        )
      )
    }
    server.on("connection", (socket: Socket) => {
      const over = connections.admit(socket)
      if (over === undefined) return
      end(socket, refuse("unavailable", tooMany[over], retryMs))
    })
    const answers = new WeakMap<Duplex, ServerResponse>()
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      answers.set(request.socket, response)
    })
    // An unknown expectation is no reason to refuse. Node itself answers `100-continue`, the only one with a meaning.
    server.on("checkExpectation", (request: IncomingMessage, response: ServerResponse) => {
      server.emit("request", request, response)
    })
    // Node closes the connection of a CONNECT that nobody listens to, and the client would not know why.
    server.on("connect", (_: IncomingMessage, socket: Duplex) => end(socket, noTunnel(refuse)))
    server.on("clientError", (error: Error, socket: Duplex) => {
      const code = codeOf(error)
      const last = answers.get(socket)
      const midway = last?.headersSent === true && !last.writableFinished
      if (!socket.writable || midway || code === "ECONNRESET") {
        socket.destroy()
        return
      }
      const [problem, detail] = refusals.get(code) ?? malformed
      end(socket, refuse(problem, detail))
    })
  })
