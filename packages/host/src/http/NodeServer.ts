/** Serves an {@link HttpApp} with node:http, with limits on slow and greedy clients, and stops it gracefully. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressPolicy } from "@sendwright/core"
import { EventLoopBudget } from "@sendwright/core/internal"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as MutableRef from "effect/MutableRef"
import * as Option from "effect/Option"
import * as BodyMemory from "./BodyMemory.ts"
import * as ClientAddress from "./ClientAddress.ts"
import * as ClientErrors from "./ClientErrors.ts"
import * as Connections from "./Connections.ts"
import type { HttpApp, PlainResponse, Refuse } from "./HttpApp.ts"
import { NoRoom } from "./HttpApp.ts"
import * as HttpLimits from "./HttpLimits.ts"
import * as InFlight from "./InFlight.ts"
import type { HostCode } from "./Problems.ts"
import * as RequestBatch from "./RequestBatch.ts"
import * as RequestRunner from "./RequestRunner.ts"

/** The address cannot be listened on. */
export class ServeError extends Data.TaggedError("ServeError")<{ readonly cause: Error }> {
  override get message(): string {
    return this.cause.message
  }
}

/** What the server serves. */
export interface Served {
  readonly handle: HttpApp
  readonly refuse: Refuse
}

export interface Options<E, R> {
  readonly address: { readonly port: number; readonly host: string }
  /** Made once the port is known: the one asked for may be 0. */
  readonly served: (port: number) => Effect.Effect<Served, E, R>
  /** Set by the server when it is released; from then on the app refuses requests. */
  readonly stopping: MutableRef.MutableRef<boolean>
  /** How long requests under way may still take when the server is released. */
  readonly graceMs: number
  /** Other work that ends while the server still answers; it observes the grace period itself. */
  readonly besides: { readonly end: Effect.Effect<void>; readonly underWay: () => ReadonlyArray<string> }
  readonly limits?: HttpLimits.Limits
  /** Proxies whose `X-Forwarded-For` names the client; nobody's does unless they are given. */
  readonly trustedProxies?: ReadonlyArray<AddressPolicy.Network>
}

/** A body that was received completely, which needs neither listeners nor a wait. */
const wholeBody = (incoming: IncomingMessage, maximum: number): Uint8Array | undefined => {
  const whole: Uint8Array = incoming.read() ?? new Uint8Array()
  return whole.length > maximum ? undefined : whole
}

/** More chunks are joined, because a chunk of one byte occupies a hundred. */
const mostChunks = 1024

/**
 * A body that is still being received. The rest of one over the maximum is read and dropped, so that the refusal
 * reaches the client; a body for which there is no memory is not read further.
 */
const gathered = (
  incoming: IncomingMessage,
  maximum: number,
  memory: BodyMemory.BodyMemory,
  client: string | undefined
): Effect.Effect<Uint8Array | undefined, NoRoom> =>
  Effect.async<Uint8Array | undefined, NoRoom>((resume) => {
    // A destroyed request emits no further event.
    if (incoming.destroyed) return resume(Effect.interrupt)
    const chunks: Array<Buffer> = []
    let length = 0
    let reserved = 0
    const over = () => length > maximum
    /**
     * Reserves memory for the received bytes. Announced bytes reserve none, because a client may announce and never
     * send them.
     */
    const hasRoom = (): boolean => {
      if (!memory.reserve(client, length - reserved)) return false
      reserved = length
      return true
    }
    const end = (exit: Effect.Effect<Uint8Array | undefined, NoRoom>): void => {
      incoming.off("data", receive)
      chunks.length = 0
      memory.release(client, reserved)
      reserved = 0
      resume(exit)
    }
    const refuse = (): void => {
      HttpLimits.over("bodies")
      incoming.pause()
      end(new NoRoom())
    }
    const receive = (chunk: Buffer): void => {
      length += chunk.length
      if (over()) {
        end(Effect.succeed(undefined))
        incoming.resume()
      } else if (!hasRoom()) {
        refuse()
      } else if (chunks.push(chunk) === mostChunks) {
        chunks.splice(0, mostChunks, Buffer.concat(chunks))
      }
    }
    incoming.on("data", receive)
    incoming.on("end", () => {
      const [first] = chunks
      const whole = first !== undefined && chunks.length === 1 ? first : Buffer.concat(chunks)
      end(Effect.succeed(over() ? undefined : whole))
    })
    // The client is gone, so that no answer can be sent.
    incoming.on("error", () => end(Effect.interrupt))
    incoming.on("close", () => end(Effect.interrupt))
    return Effect.sync(() => end(Effect.interrupt))
  })

/**
 * Reads at most `maximum` bytes.
 *
 * @param mayBegin called once the body is complete: whether its handler may act on it
 */
const readBody =
  (
    incoming: IncomingMessage,
    memory: BodyMemory.BodyMemory,
    address: string | undefined,
    mayBegin: () => boolean
  ) =>
  (maximum: number): Effect.Effect<Uint8Array | undefined, NoRoom> =>
    Effect.suspend(() => {
      if (incoming.complete)
        return mayBegin() ? Effect.succeed(wholeBody(incoming, maximum)) : Effect.interrupt
      const client = address === undefined ? undefined : ClientAddress.clientOf(address)
      return Effect.flatMap(gathered(incoming, maximum, memory, client), (bytes) =>
        mayBegin() ? Effect.succeed(bytes) : Effect.interrupt
      )
    })

interface Requests {
  /** Requests whose handler had everything including the body before the stop, until the handler ends. */
  readonly underWay: InFlight.InFlight
  /** Requests whose answer has not been sent, and connections whose client may still be reading it. */
  readonly unanswered: InFlight.InFlight
}

/** About the memory that an answer's head takes. */
const headBytes = 512

/** Writes head and body in one piece. */
const write = (response: ServerResponse, { body, headers, status }: PlainResponse, last: boolean): void => {
  const lines: Array<string> = []
  for (const name in headers) lines.push(name, headers[name] ?? "")
  // An open connection would keep a server from closing.
  if (last && headers["connection"] === undefined) lines.push("connection", "close")
  if (status === 204) {
    response.writeHead(status, lines).end()
    return
  }
  lines.push("content-length", String(Buffer.byteLength(body)))
  response.writeHead(status, lines).end(body)
}

type Fault = readonly [code: HostCode, detail: string]

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

/** Answers requests by the handler, and refuses those that must not reach it. */
const answersOf = ({ handle, refuse }: Served, connections: Connections.Connections) => {
  const memory = BodyMemory.make(connections.limits)
  const answerTo = (
    incoming: IncomingMessage,
    hasBody: boolean,
    { address: peer, isProxy }: Connections.Connection,
    mayBegin: () => boolean
  ): Effect.Effect<PlainResponse> => {
    const { headers, method = "GET", url = "/" } = incoming
    const address = isProxy && peer !== undefined ? connections.clients.of(peer, headers) : peer
    return handle({
      method,
      url,
      headers,
      address,
      hasBody,
      body: readBody(incoming, memory, address, mayBegin)
    })
  }
  const refuseFault = (fault: Fault): Effect.Effect<PlainResponse> => {
    if (fault[0] === "headers_too_large") HttpLimits.over("headers")
    return Effect.map(refuse(...fault), (refusal) => ({
      ...refusal,
      headers: { ...refusal.headers, connection: "close" }
    }))
  }
  /** The app refuses with the same words during a stop. */
  const dismissed = refuse("unavailable", "The service is stopping.", 1000)
  return { answerTo, refuseFault, dismissed }
}

/** The parts of a server that its requests share. */
interface Serving extends Requests, ReturnType<typeof answersOf> {
  readonly connections: Connections.Connections
  readonly stopping: MutableRef.MutableRef<boolean>
  readonly run: Effect.Effect.Success<ReturnType<typeof RequestRunner.runner<never>>>
  readonly beginInBatch: ReturnType<typeof RequestBatch.make>
  readonly answerInBatch: ReturnType<typeof RequestBatch.make>
}

/** Reads the rest of a request for a while, so that the client gets to read the answer. */
const lingerAfter = (
  { run, stopping, unanswered }: Serving,
  incoming: IncomingMessage,
  connection: Connections.Connection
): void => {
  const { socket } = connection
  connection.isLast = true
  unanswered.begin()
  socket.once("close", unanswered.end)
  // Node calls it once the last answer is written.
  socket.destroySoon = () => {
    socket.end()
    incoming.resume()
    run(ClientErrors.linger(socket, MutableRef.get(stopping) ? stoppingLingerMs : undefined))
  }
}

const serveRequest = (serving: Serving, incoming: IncomingMessage, response: ServerResponse): void => {
  const { answerInBatch, answerTo, beginInBatch, connections, dismissed, refuseFault } = serving
  const { run, stopping, unanswered, underWay } = serving
  const connection = connections.of(incoming.socket)
  // The connection was refused, so that it has its answer, or it is closed.
  if (connection === undefined) return
  const { headers } = incoming
  const hasBody = headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0"
  const isComing = (): boolean => hasBody && !incoming.complete
  unanswered.begin()
  let fiber: Fiber.RuntimeFiber<PlainResponse> | undefined
  let counted = false
  let ended = false
  let gone = false
  let bytes = 0
  const mayBegin = (): boolean => {
    if (ended) return false
    if (!counted && !MutableRef.get(stopping)) {
      counted = true
      underWay.begin()
    }
    return true
  }
  const end = (exit: Exit.Exit<PlainResponse>): void => {
    // The request was dismissed, and its handler was interrupted.
    if (ended) return
    ended = true
    if (counted) underWay.end()
    if (gone) return
    if (Exit.isFailure(exit)) {
      connection.socket.destroy()
      return
    }
    // Requests behind this answer are not begun, since their answers could not be sent.
    if (exit.value.headers["connection"] === "close") connection.isLast = true
    bytes = headBytes + exit.value.body.length
    connection.answered(bytes)
    answerInBatch(() => {
      if (gone) return
      const isUnread = isComing()
      if (isUnread) lingerAfter(serving, incoming, connection)
      write(response, exit.value, isUnread || MutableRef.get(stopping))
    })
  }
  const endWith = (answer: Effect.Effect<PlainResponse>): Fiber.RuntimeFiber<PlainResponse> => {
    const answering = run(answer)
    const exit = answering.unsafePoll()
    if (exit === null) answering.addObserver(end)
    else end(exit)
    return answering
  }
  const exchange = {
    head: Connections.headOf(incoming),
    // A request whose client sends further ones ahead may wait for those of other clients.
    begin: (isPipelined: boolean) =>
      beginInBatch(() => {
        if (ended || connection.isLast || connection.socket.destroyed) return
        const fault = faultOf(incoming, connections.limits.headers)
        if (fault !== undefined) {
          // Node would refuse it by itself without a body, or accept it. The bytes behind it may not be a request.
          connection.isLast = true
          fiber = endWith(refuseFault(fault))
          return
        }
        if (!isComing()) mayBegin()
        fiber = endWith(
          isComing() && MutableRef.get(stopping)
            ? dismissed
            : answerTo(incoming, hasBody, connection, mayBegin)
        )
      }, isPipelined),
    dismiss: () => {
      if (ended || counted || fiber === undefined) return
      fiber.unsafeInterruptAsFork(fiber.id())
      endWith(dismissed)
    },
    lost: () => {
      if (gone) return
      gone = true
      unanswered.end()
      if (ended) return
      // A handler's work may outlast its client: a message in progress is sent.
      if (fiber === undefined) end(Exit.interrupt(FiberId.none))
      else fiber.unsafeInterruptAsFork(fiber.id())
    }
  }
  response.once("close", () => {
    if (gone) return
    exchange.lost()
    connection.left(exchange, bytes)
  })
  connection.came(exchange)
}

/** Answers every request of a server, each by one fiber. */
const answer = (
  server: Server,
  served: Served,
  requests: Requests,
  connections: Connections.Connections,
  stopping: MutableRef.MutableRef<boolean>
) =>
  Effect.map(RequestRunner.runner<never>(), (run) => {
    const serving: Serving = {
      ...requests,
      ...answersOf(served, connections),
      connections,
      stopping,
      run,
      // Runs before work that waits for its share of a turn, if there is any.
      beginInBatch: RequestBatch.make(
        (run) => (EventLoopBudget.isShared() ? run() : setImmediate(run)),
        setImmediate
      ),
      answerInBatch: RequestBatch.make(process.nextTick)
    }
    server.on("request", (incoming: IncomingMessage, response: ServerResponse) =>
      serveRequest(serving, incoming, response)
    )
  })

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

/** Milliseconds between two checks for requests over their time limit: short, so that a crowd of them ends in parts. */
const lookMs = 250

/** How long the server reads from a client that is still sending its body during a stop. */
const stoppingLingerMs = 500

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
  { unanswered, underWay }: Requests,
  connections: Connections.Connections,
  { besides, graceMs, stopping }: Pick<Options<never, never>, "besides" | "graceMs" | "stopping">
) =>
  Effect.gen(function* () {
    const waitedFor = () => [`${underWay.count()} request(s)`, ...besides.underWay()].join(", ")
    MutableRef.set(stopping, true)
    connections.dismiss()
    const started = yield* Clock.currentTimeMillis
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
    const left = Math.max(0, started + graceMs - (yield* Clock.currentTimeMillis))
    // Connections that never sent a request would keep the server open, too.
    const cut = Effect.sync(() => server.closeAllConnections())
    yield* Effect.all([closed, Effect.zipRight(endsWithin(unanswered.none, left), cut)], {
      concurrency: "unbounded"
    })
    const ended = yield* Clock.currentTimeMillis
    yield* Effect.logInfo(`The server is closed, ${ended - started} ms after the signal`)
  })

/** Connections that the kernel keeps until they are accepted; those beyond try again after a second, or three. */
const mostUnaccepted = 4096

/** Listens until it is released, and answers the port: the one asked for may be 0. */
const listen = (server: Server, { host, port }: Options<never, never>["address"]) =>
  Effect.acquireRelease(
    Effect.async<number, ServeError>((resume) => {
      server.once("error", (cause) => resume(Effect.fail(new ServeError({ cause }))))
      server.listen({ port, host, backlog: mostUnaccepted }, () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

/** Listens until it is released, and answers the port. */
export const start = <E, R>(options: Options<E, R>) =>
  Effect.gen(function* () {
    const limits = options.limits ?? HttpLimits.defaults
    const clients = ClientAddress.make(options.trustedProxies ?? [])
    const connections = new Connections.Connections(limits, clients)
    const server = makeServer(limits, connections)
    const port = yield* listen(server, options.address)
    const served = yield* options.served(port)
    const requests: Requests = {
      underWay: InFlight.make(),
      unanswered: InFlight.make()
    }
    yield* ClientErrors.answer(server, served.refuse, connections)
    yield* answer(server, served, requests, connections, options.stopping)
    yield* Effect.forkScoped(connections.watch)
    yield* Effect.addFinalizer(() => stop(server, requests, connections, options))
    return port
  })
