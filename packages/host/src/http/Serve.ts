/** Binds the adapter to platform-node's server, with limits on slow and greedy clients, and ends it gracefully. */
import { createServer, type Server } from "node:http"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import type { Adapter, PlainResponse, Refuse } from "./Adapter.ts"
import * as ClientErrors from "./ClientErrors.ts"
import * as InFlight from "./InFlight.ts"

/** What the server serves. */
export interface Served {
  readonly handle: Adapter
  readonly refuse: Refuse
}

export interface Options<E, R> {
  readonly address: { readonly port: number; readonly host: string }
  /** Made once the port is known: the one asked for may be 0. */
  readonly served: (port: number) => Effect.Effect<Served, E, R>
  /** Set by the server when it is released: from then on the adapter refuses what comes. */
  readonly stopping: MutableRef.MutableRef<boolean>
  /** How long requests under way may still take when the server is released. */
  readonly graceMs: number
  /** What else ends while the server still answers; it keeps to the grace by itself. */
  readonly besides: { readonly end: Effect.Effect<void>; readonly underWay: () => ReadonlyArray<string> }
  readonly patience?: Patience
}

/** How long a client may take, in milliseconds. */
export interface Patience {
  readonly headers: number
  /** Headers and body. */
  readonly request: number
  /** How often it is looked whether they took longer. */
  readonly look: number
}

export const patience: Patience = { headers: 10_000, request: 15_000, look: 2000 }

/** Reads at most so many bytes; what is over them is let go by, so that the refusal reaches the client. */
const readBody =
  (request: HttpServerRequest.HttpServerRequest) =>
  (maximum: number): Effect.Effect<Uint8Array | undefined> =>
    Effect.async<Uint8Array | undefined>((resume) => {
      const incoming = NodeHttpServerRequest.toIncomingMessage(request)
      const chunks: Array<Buffer> = []
      let length = 0
      const over = () => length > maximum
      incoming.on("data", (chunk: Buffer) => {
        length += chunk.length
        if (over()) {
          chunks.length = 0
          resume(Effect.succeed(undefined))
        } else {
          chunks.push(chunk)
        }
      })
      incoming.on("end", () => resume(Effect.sync(() => (over() ? undefined : Buffer.concat(chunks)))))
      // The client is gone: nobody is left to answer.
      incoming.on("error", () => resume(Effect.interrupt))
      incoming.on("close", () => resume(Effect.interrupt))
    })

interface Requests {
  /** Those that came before the stop, for as long as their handlers run. */
  readonly underWay: InFlight.InFlight
  /** All whose answer has not left yet. */
  readonly unanswered: InFlight.InFlight
}

const app = (
  { handle, refuse }: Served,
  { underWay }: Requests,
  stopping: MutableRef.MutableRef<boolean>
) => {
  const answer = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<PlainResponse> => {
    const { headers, httpVersion } = NodeHttpServerRequest.toIncomingMessage(request)
    // RFC 9112 §3.2. Node would refuse it by itself, without a body.
    if (headers.host === undefined && httpVersion === "1.1") {
      return Effect.map(refuse("malformed_request", "The Host header is missing."), (refusal) => ({
        ...refusal,
        headers: { ...refusal.headers, connection: "close" }
      }))
    }
    return handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: readBody(request)
    })
  }
  return Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    // What a handler does may outlast its client: a message that is being sent is sent.
    const { body, headers, status } = yield* MutableRef.get(stopping)
      ? answer(request)
      : underWay.during(answer(request))
    // An open connection would keep a server from closing.
    const last = MutableRef.get(stopping) ? { ...headers, connection: "close" } : headers
    if (status === 204) return HttpServerResponse.empty({ status, headers: last })
    return HttpServerResponse.raw(body, { status, headers: last, contentLength: Buffer.byteLength(body) })
  })
}

const makeServer = ({ headers, look, request }: Patience) =>
  createServer({
    requestTimeout: request,
    headersTimeout: headers,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: look,
    maxHeaderSize: 16 * 1024,
    requireHostHeader: false
  })

/** How often it is told what is still waited for. */
const tellEvery = "5 seconds"

/** Whether it ends in time. Its own fiber is what may be interrupted: the one that waits may have been already. */
const endsWithin = (effect: Effect.Effect<void>, ms: number): Effect.Effect<boolean> =>
  Effect.map(Effect.timeoutOption(Effect.interruptible(effect), ms), Option.isSome)

const watch = (server: Server): Requests => {
  const unanswered = InFlight.make()
  server.on("request", (_, response) => {
    unanswered.enter()
    response.once("close", unanswered.leave)
  })
  return { underWay: InFlight.make(), unanswered }
}

/**
 * Stops in this order: what comes is refused, in a way that balancers and clients understand; what is under way ends,
 * or its grace does; nothing is listened to any more; what is left of connections is cut.
 */
const stop = (
  server: Server,
  { unanswered, underWay }: Requests,
  { besides, graceMs, stopping }: Pick<Options<never, never>, "besides" | "graceMs" | "stopping">
) =>
  Effect.gen(function* () {
    const waitedFor = () => [`${underWay.count()} request(s)`, ...besides.underWay()].join(", ")
    MutableRef.set(stopping, true)
    const started = yield* Clock.currentTimeMillis
    yield* Effect.logInfo(`Stopping. Waiting at most ${graceMs / 1000} s for ${waitedFor()}`)
    const tell = Effect.suspend(() => Effect.logInfo(`Still waiting for ${waitedFor()}`))
    const requests = Effect.unlessEffect(
      Effect.suspend(() =>
        Effect.logWarning(`The grace is over: ${underWay.count()} request(s) are left without an answer`)
      ),
      endsWithin(underWay.none, graceMs)
    )
    yield* Effect.raceFirst(
      Effect.all([requests, besides.end], { concurrency: "unbounded", discard: true }),
      Effect.interruptible(Effect.forever(Effect.delay(tell, tellEvery)))
    )
    const closed = Effect.async<void>((resume) => {
      server.close(() => resume(Effect.void))
    })
    const left = Math.max(0, started + graceMs - (yield* Clock.currentTimeMillis))
    // Connections that never asked for anything would keep it open, too.
    const cut = Effect.sync(() => server.closeAllConnections())
    yield* Effect.all([closed, Effect.zipRight(endsWithin(unanswered.none, left), cut)], {
      concurrency: "unbounded"
    })
    const ended = yield* Clock.currentTimeMillis
    yield* Effect.logInfo(`The server is closed, ${ended - started} ms after the signal`)
  })

/** Listens until it is released, and answers the port. */
export const start = <E, R>(options: Options<E, R>) =>
  Effect.gen(function* () {
    const server = makeServer(options.patience ?? patience)
    const http = yield* NodeHttpServer.make(() => server, options.address)
    const port = http.address._tag === "TcpAddress" ? http.address.port : options.address.port
    const served = yield* options.served(port)
    const requests = watch(server)
    yield* ClientErrors.answer(server, served.refuse)
    // The tracer would write request headers, and with them secrets, into spans.
    yield* HttpMiddleware.withTracerDisabledWhenEffect(
      http.serve(app(served, requests, options.stopping)),
      () => true
    )
    // We speak nothing but HTTP/1.1. With a listener for upgrades, Node would hand over a request that merely offers
    // one (`Upgrade: h2c`, as some clients do on each) without its body.
    server.removeAllListeners("upgrade")
    yield* Effect.addFinalizer(() => stop(server, requests, options))
    return port
  })
