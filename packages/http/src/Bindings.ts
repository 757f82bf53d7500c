/**
 * The whole API over an engine, for a server of one's own: as an `HttpApp` for those of `@effect/platform`, and as functions
 * of web-standard requests and of Node's for all others. Connections, their limits and time limits are that server's.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import { Engine } from "@sendwright/core"
import { Cursors } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Address from "./http/Address.ts"
import { isBodyless } from "./http/Exchange.ts"
import type * as Gate from "./http/Gate.ts"
import type * as Guesses from "./http/Guesses.ts"
import * as HttpApp from "./http/HttpApp.ts"
import * as NodeHttp from "./http/NodeHttp.ts"
import * as Routes from "./http/Routes.ts"
import type * as Steps from "./http/Steps.ts"

export interface Options extends HttpApp.Options {
  /**
   * Where clients reach the server, without a slash at the end: what problems and the description link to, before the prefix.
   * Without it they link to paths. It may have a path that a proxy removes, and clients put that before `links.status`.
   */
  readonly baseUrl?: string | undefined
  /**
   * The path below which the API is mounted, such as `/api/messaging`: all of its paths begin with it, those in answers, too.
   * Whether a router has removed it from a request does not matter.
   */
  readonly prefix?: string | undefined
  /** Without it there is no admin API. */
  readonly adminToken?: Redacted.Redacted<string> | undefined
  /** Serves the console at `/console` below the prefix, where there is an admin API. */
  readonly console?: boolean | undefined
  /**
   * Serves the console and its admin API and nothing else, for the operators that this knows by the app's own request, in the
   * place of every token and cookie of ours.
   */
  readonly authorize?: Gate.Authorize | undefined
  /** Seals the cursors of lists and the cookies of browsers. Without it a key of this process does, so that other processes cannot read them. */
  readonly secretKey?: Redacted.Redacted<Uint8Array> | undefined
  /** Former ones, which open the cursors that they sealed. */
  readonly olderSecretKeys?: ReadonlyArray<Redacted.Redacted<Uint8Array>> | undefined
  /** How many wrong credentials are answered before the rest is refused for a while. */
  readonly guesses?: Guesses.Limits | undefined
}

const prefixOf = (given: string): Effect.Effect<string> => {
  const prefix = Address.prefix(given)
  return prefix === undefined
    ? Effect.dieMessage(`The prefix must be a path such as /api/messaging, and not ${JSON.stringify(given)}.`)
    : Effect.succeed(prefix)
}

const make = ({
  adminToken,
  baseUrl = "",
  olderSecretKeys = [],
  prefix: given = "",
  secretKey,
  ...options
}: Options) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const prefix = yield* prefixOf(given)
    const address = `${baseUrl}${prefix}`
    const serving = yield* HttpApp.make({
      ...options,
      engine,
      ...(options.authorize === undefined
        ? Routes.ofApi(engine, address, prefix)
        : Routes.ofConsole(engine, Address.pathOf(address))),
      baseUrl: address,
      prefix,
      adminToken,
      cursors: secretKey === undefined ? undefined : Cursors.make(secretKey, ...olderSecretKeys)
    })
    return { prefix, serving }
  })

/**
 * The same routes, refusals and headers as the host's own server. When the scope closes, new requests are refused, and
 * those in progress end.
 *
 * The library's span of a request holds its headers and its query, secrets among them: serve it where
 * `HttpMiddleware.withTracerDisabledWhen` turns that span off.
 *
 * @example
 * ```ts
 * import * as HttpServer from "@effect/platform/HttpServer"
 * import { httpApp } from "@sendwright/http"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const options = { baseUrl: "https://messages.example", prefix: "/api/messaging" }
 * export const api = Layer.unwrapScoped(Effect.map(httpApp(options), (app) => HttpServer.serve(app)))
 * ```
 */
export const httpApp = (options: Options) =>
  Effect.gen(function* () {
    const { serving } = yield* make(options)
    yield* Effect.addFinalizer(() => Effect.zipRight(serving.stop, serving.underWay.none))
    return serving.app
  })

/** Where a request came from. Without it wrong credentials are counted by public key alone. */
export interface Client {
  readonly address: string | undefined
}

/** Answers a request; rejects only when its client no longer waits for the answer. */
export interface WebHandler {
  (request: Request, client: Client): Promise<Response>
  (request: Request): Promise<Response>
}

/** A request whose path is not below the prefix goes on to `next`, where there is one. */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: () => void
) => void

export interface Handlers {
  readonly web: WebHandler
  readonly node: NodeHandler
  /** Refuses new requests, waits for those in progress, and interrupts those that take longer. */
  readonly stop: (graceMs: number) => Effect.Effect<void>
}

/** Answers a request, and returns what is to be called when its client leaves. */
type Begin = (incoming: HttpApp.Incoming, answer: (response: Steps.PlainResponse) => void) => () => void

const ofRequest = (request: Request, address: string | undefined): HttpApp.Incoming => {
  const { body } = request
  return {
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    peer: address,
    hasBody: body !== null,
    isTaken: request.bodyUsed || body?.locked === true,
    source: request,
    stream: () =>
      body === null
        ? Stream.empty
        : Stream.fromReadableStream(
            () => body,
            (cause) => cause
          )
  }
}

/** As fast as it is read. */
const readableOf = (stream: Steps.Streaming): ReadableStream<Uint8Array> => {
  const pieces = stream()[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const next = await pieces.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => {
      await pieces.return?.()
    }
  })
}

const responseOf = ({ body, headers, status, stream }: Steps.PlainResponse, method: string): Response => {
  if (stream !== undefined)
    return new Response(method === "HEAD" ? null : readableOf(stream), { status, headers })
  const isEmpty = isBodyless(status)
  const length = isEmpty ? {} : { "content-length": String(Buffer.byteLength(body)) }
  return new Response(isEmpty || method === "HEAD" ? null : body, {
    status,
    headers: { ...headers, ...length }
  })
}

/** Servers call their handlers with a second argument of their own. */
const addressOf = (client: Client | undefined): string | undefined =>
  typeof client?.address === "string" ? client.address : undefined

/** A request may be of another realm, or of a library of its own. */
const isWebStandard = (request: Request): boolean =>
  typeof request.signal?.aborted === "boolean" && typeof request.headers?.get === "function"

const notWebStandard =
  "This function takes a web-standard Request. In node:http, Express and Fastify use the one of Node's: toNodeHandler(handler)."

const web =
  (begin: Begin): WebHandler =>
  (request: Request, client?: Client) =>
    new Promise<Response>((resolve, reject) => {
      if (!isWebStandard(request)) return reject(new TypeError(notWebStandard))
      const { method, signal } = request
      if (signal.aborted) return reject(signal.reason)
      let leave = (): void => {}
      leave = begin(ofRequest(request, addressOf(client)), (response) => {
        signal.removeEventListener("abort", leave)
        if (signal.aborted) reject(signal.reason)
        else resolve(responseOf(response, method))
      })
      signal.addEventListener("abort", leave, { once: true })
    })

/**
 * The path as the client asked for it, and what a router has removed from it: Connect and its heirs remove from `url` the path
 * that something is mounted at.
 */
const urlOf = (request: Parameters<NodeHandler>[0]): { readonly url: string; readonly removed: string } => {
  const { url = "/" } = request
  const original: unknown = Reflect.get(request, "originalUrl")
  if (typeof original !== "string") return { url, removed: "" }
  return { url: original, removed: original.endsWith(url) ? original.slice(0, -url.length) : "" }
}

/** Whether a router has removed what the prefix does not begin with. Some routers take letters of either case. */
const isElsewhere = (removed: string, prefix: string): boolean =>
  !`${prefix}/`.toLowerCase().startsWith(`${removed}/`.toLowerCase())

const elsewhere =
  "The API is mounted at a path that is not its prefix. Whoever mounts it has to give it that path as its `prefix`."

const node =
  (
    begin: Begin,
    { prefix, refuse }: { readonly prefix: string; readonly refuse: Steps.Refuse }
  ): NodeHandler =>
  (request, response, next) => {
    const { removed, url } = urlOf(request)
    const answer = (given: Steps.PlainResponse) => NodeHttp.write(response, given, request.method === "HEAD")
    if (isElsewhere(removed, prefix)) return answer(refuse("internal", elsewhere))
    if (next !== undefined && Address.below(prefix, url.replace(/\?.*$/s, "")) === undefined) return next()
    response.once("close", begin(NodeHttp.incoming(request, url), answer))
  }

/** The answer to a request that ended without one: the request outlasted the stop, or its body broke off. */
const unanswered = ({ isStopping, refuse }: HttpApp.Serving): Steps.PlainResponse =>
  isStopping()
    ? refuse("unavailable", "The service is stopping.", 1000)
    : refuse("malformed_request", "The body broke off.")

const beginning = (serving: HttpApp.Serving, fork: HttpApp.Fork) => {
  const fibers = new Set<ReturnType<HttpApp.Fork>>()
  const begin: Begin = (incoming, answer) => {
    const fiber = fork(serving.serve(incoming))
    fibers.add(fiber)
    fiber.addObserver((exit) => {
      fibers.delete(fiber)
      answer(Exit.isSuccess(exit) ? exit.value : unanswered(serving))
    })
    return () => HttpApp.leave(fiber)
  }
  return { begin, cut: Effect.sync(() => [...fibers].forEach(HttpApp.leave)) }
}

const longestGraceMs = 25_000

/**
 * The API as functions. They stop when the scope closes.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import { handlers } from "@sendwright/http"
 * import * as Effect from "effect/Effect"
 *
 * export const serve = Effect.map(handlers({ prefix: "/api/messaging" }), ({ node }) => createServer(node).listen(8080))
 * ```
 */
export const handlers = (options: Options) =>
  Effect.gen(function* () {
    const { prefix, serving } = yield* make(options)
    const { begin, cut } = beginning(serving, yield* HttpApp.forking)
    const stop = (graceMs: number) =>
      serving.stop.pipe(
        Effect.zipRight(Effect.timeoutOption(Effect.interruptible(serving.underWay.none), graceMs)),
        Effect.zipRight(cut)
      )
    yield* Effect.addFinalizer(() => stop(longestGraceMs))
    const made: Handlers = { web: web(begin), node: node(begin, { prefix, refuse: serving.refuse }), stop }
    return made
  })
