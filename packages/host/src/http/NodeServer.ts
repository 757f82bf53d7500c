/**
 * Serves the API by a node:http server that bounds what slow and greedy clients take, and stops it gracefully.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Instant } from "@sendwright/core"
import type { Problems } from "@sendwright/core/contract"
import { ClientAddress, HttpApp, HttpLimits, InFlight, NodeHttp, type Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as ClientErrors from "./ClientErrors.ts"
import * as Connections from "./Connections.ts"

export interface Options<E, R> extends HttpApp.Options {
  readonly address: { readonly port: number; readonly host: string }
  /** Made once the port is known: the one asked for may be 0. */
  readonly served: (port: number) => Effect.Effect<HttpApp.Serving, E, R>
  /** How long requests under way may still take when the server is released. */
  readonly graceMs: number
  /** Other work that ends while the server still answers; it observes the grace period itself. */
  readonly besides: { readonly end: Effect.Effect<void>; readonly underWay: () => ReadonlyArray<string> }
}

type Fault = readonly [code: Problems.HostCode, detail: string]

const malformed = (detail: string): Fault => ["malformed_request", detail]

/**
 * Headers that must come once. A proxy before us may choose another of two values (RFC 9112 §3.2); Node drops one or
 * joins them.
 */
const givenOnce: ReadonlyMap<string, string> = new Map(
  ["Host", "Authorization", "x-public-key", "x-secret-key", "Idempotency-Key"].map((name) => [
    name.toLowerCase(),
    name
  ])
)

const repeated = (rawHeaders: ReadonlyArray<string>): string | undefined => {
  const seen: Array<string> = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = givenOnce.get((rawHeaders[at] ?? "").toLowerCase())
    if (name === undefined) continue
    if (seen.includes(name)) return name
    seen.push(name)
  }
  return undefined
}

const faultOf = ({ headers, httpVersion, rawHeaders }: IncomingMessage, most: number): Fault | undefined => {
  // Node silently drops further headers.
  if (rawHeaders.length > 2 * most) return ["headers_too_large", `A request has at most ${most} headers.`]
  const coding = headers["transfer-encoding"]
  if (httpVersion === "1.0") {
    // A proxy of that version passes it on, and ends the body elsewhere (RFC 9112 §6.1).
    if (coding !== undefined) return malformed("HTTP/1.0 has no Transfer-Encoding.")
  } else if (httpVersion !== "1.1") {
    return malformed("The HTTP version must be 1.0 or 1.1.")
  } else if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    // Node would read the body as if there were no other (RFC 9112 §7).
    return malformed("Transfer-Encoding must be chunked alone, or left out.")
  } else if (headers.host === undefined) {
    return malformed("The Host header is missing.")
  } else if (headers.host === "") {
    return malformed("The Host header is empty.")
  }
  const name = repeated(rawHeaders)
  return name === undefined ? undefined : malformed(`The ${name} header must be given once.`)
}

/** The parts that the requests of a server share. */
interface Shared {
  readonly connections: Connections.Connections
  readonly serving: HttpApp.Serving
  /** Requests whose answer has not been sent, and connections whose client may still be reading it. */
  readonly unanswered: InFlight.InFlight
  readonly linger: (incoming: IncomingMessage) => void
}

/**
 * Answers a request. The connection is closed behind an answer that says so, at a stop, and where the rest of the request's
 * body is not read: an open one would keep a server from closing.
 */
const write = (
  { connections, linger, serving }: Shared,
  incoming: IncomingMessage,
  response: ServerResponse,
  answer: Steps.PlainResponse
): void => {
  // The client is gone.
  if (response.closed) return
  const isUnread = !incoming.complete
  if (isUnread) linger(incoming)
  const isLast = isUnread || serving.isStopping() || answer.headers["connection"] === "close"
  const connection = connections.of(incoming.socket)
  // Requests behind this answer are not begun, since their answers could not be sent.
  if (isLast && connection !== undefined) connection.isLast = true
  const headers = isLast ? { ...answer.headers, connection: "close" } : answer.headers
  NodeHttp.write(response, { ...answer, headers }, incoming.method === "HEAD")
}

/** Hands on the requests of a server as far as they are within its limits. */
const answer = (server: Server, shared: Shared) =>
  Effect.map(HttpApp.forking, (fork) => {
    const { connections, serving, unanswered } = shared
    const begin = (incoming: IncomingMessage, response: ServerResponse): void => {
      const fault = faultOf(incoming, connections.limits.headers)
      if (fault !== undefined) {
        // Node would refuse it by itself without a body, or accept it. The bytes behind it may not be a request.
        const { headers, ...refusal } = serving.refuse(...fault)
        write(shared, incoming, response, { ...refusal, headers: { ...headers, connection: "close" } })
        return
      }
      const fiber = fork(serving.serve(NodeHttp.incoming(incoming)))
      fiber.addObserver((exit) => {
        if (Exit.isSuccess(exit)) write(shared, incoming, response, exit.value)
        // No answer can be given.
        else incoming.socket.destroy()
      })
      response.once("close", () => HttpApp.leave(fiber))
    }
    server.on("request", (incoming: IncomingMessage, response: ServerResponse) => {
      const connection = connections.of(incoming.socket)
      // The connection was refused, so that it has its answer, or it is closed.
      if (connection === undefined) return
      unanswered.begin()
      response.once("close", unanswered.end)
      connection.came(incoming, response, () => begin(incoming, response))
    })
  })

/** Milliseconds between two checks for requests over their time limit: short, so that a crowd of them ends in parts. */
const lookMs = 250

const makeServer = (
  { headers, headersTime, idleTime, requestTime }: HttpLimits.Limits,
  connections: Connections.Connections
) => {
  const server = createServer({
    IncomingMessage: connections.requests(),
    requestTimeout: requestTime,
    headersTimeout: headersTime,
    keepAliveTimeout: idleTime,
    connectionsCheckingInterval: Math.min(lookMs, headersTime / 2),
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false
  })
  // One more than allowed, so that too many can be detected.
  server.maxHeadersCount = headers + 1
  return server
}

/** How long the server reads from a client that is still sending its body during a stop. */
const stoppingLingerMs = 500

/** Reads the rest of a request for a while, so that the client gets to read the answer. */
const lingering = (unanswered: InFlight.InFlight, isStopping: () => boolean) =>
  Effect.map(Effect.runtime(), (runtime) => (incoming: IncomingMessage): void => {
    const { socket } = incoming
    unanswered.begin()
    socket.once("close", unanswered.end)
    // Node calls it once the last answer is written.
    socket.destroySoon = () => {
      socket.end()
      incoming.resume()
      Runtime.runFork(runtime)(ClientErrors.linger(socket, isStopping() ? stoppingLingerMs : undefined))
    }
  })

/** How often a stop logs what it waits for. */
const reportEvery = "5 seconds"

/**
 * True when the effect ends in time. It runs in a fiber of its own, since the waiting fiber may have been interrupted
 * already.
 */
const endsWithin = (effect: Effect.Effect<void>, ms: number): Effect.Effect<boolean> =>
  Effect.map(Effect.timeoutOption(Effect.interruptible(effect), ms), Option.isSome)

/**
 * Stops in this order: new requests and those still being received are refused, with an answer that balancers and
 * clients understand; requests in progress end, or the grace period does; the port is closed; the remaining
 * connections are cut.
 */
const stop = (
  server: Server,
  { serving, unanswered }: Shared,
  { besides, graceMs }: Pick<Options<never, never>, "besides" | "graceMs">
) =>
  Effect.gen(function* () {
    const { underWay } = serving
    const waitedFor = () => [`${underWay.count()} request(s)`, ...besides.underWay()].join(", ")
    yield* serving.stop
    const started = yield* Instant.now
    yield* Effect.logInfo(`Stopping. Waiting at most ${graceMs / 1000} s for ${waitedFor()}`)
    const report = Effect.suspend(() => Effect.logInfo(`Still waiting for ${waitedFor()}`))
    const requests = Effect.unlessEffect(
      Effect.suspend(() =>
        Effect.logWarning(`The grace is over: ${underWay.count()} request(s) are left without an answer`)
      ),
      endsWithin(underWay.none, graceMs)
    )
    yield* Effect.raceFirst(
      Effect.all([requests, besides.end], { concurrency: "unbounded", discard: true }),
      Effect.interruptible(Effect.forever(Effect.delay(report, reportEvery)))
    )
    const closed = Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
    })
    const left = Math.max(0, started + graceMs - (yield* Instant.now))
    // Connections that never sent a request would keep the server open, too.
    const cut = Effect.sync(() => server.closeAllConnections())
    yield* Effect.all([closed, Effect.zipRight(endsWithin(unanswered.none, left), cut)], {
      concurrency: "unbounded"
    })
    const ended = yield* Instant.now
    yield* Effect.logInfo(`The server is closed, ${ended - started} ms after the signal`)
  })

/** Connections that the kernel keeps until they are accepted; those beyond try again after a second, or three. */
const mostUnaccepted = 4096

/** Listens until it is released, and answers the port. */
export const start = <E, R>(options: Options<E, R>) =>
  Effect.gen(function* () {
    const { address, limits = HttpLimits.defaults, served, trustedProxies = [] } = options
    const connections = new Connections.Connections(limits, ClientAddress.make(trustedProxies))
    const server = makeServer(limits, connections)
    const listening = yield* NodeHttpServer.make(() => server, { ...address, backlog: mostUnaccepted })
    yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
    // A socket that cannot be accepted, when the process has no more of them, is no reason to end.
    server.on("error", () => connections.cut("connections"))
    const port = listening.address._tag === "TcpAddress" ? listening.address.port : address.port
    const serving = yield* served(port)
    const unanswered = InFlight.make()
    const linger = yield* lingering(unanswered, serving.isStopping)
    const shared: Shared = { connections, serving, unanswered, linger }
    yield* ClientErrors.answer(server, serving.refuse, connections)
    yield* answer(server, shared)
    yield* Effect.forkScoped(connections.watch)
    yield* Effect.addFinalizer(() => stop(server, shared, options))
    return port
  })
