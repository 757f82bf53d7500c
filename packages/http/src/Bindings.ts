/**
 * The whole API over an engine, for a server of one's own: as an `HttpApp` for those of `@effect/platform`, and as a
 * function of web-standard requests for Hono, Deno, Bun and others. Connections, their limits and time limits are that
 * server's.
 */
import * as PlatformApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import { Engine } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import * as Cursors from "./http/Cursors.ts"
import type * as Guesses from "./http/Guesses.ts"
import * as HttpApp from "./http/HttpApp.ts"
import * as Routes from "./http/Routes.ts"

export interface Options extends HttpApp.Options {
  /**
   * Where clients reach the API, without a slash at the end: what problems and the description link to. Where it has a path,
   * requests are handed over without it, and clients put it before `links.status`.
   */
  readonly baseUrl: string
  /** Without it there is no admin API. */
  readonly adminToken?: Redacted.Redacted<string> | undefined
  /** Seals the cursors of lists. Without it a key of this process does, so that other processes cannot read them. */
  readonly secretKey?: Redacted.Redacted<Uint8Array> | undefined
  /** How many wrong credentials are answered before the rest is refused for a while. */
  readonly guesses?: Guesses.Limits | undefined
}

/**
 * The same routes, refusals and headers as the host's own server. When the scope closes, new requests are refused, and
 * those in progress end.
 *
 * The library's span of a request holds its headers and its query, secrets among them: serve it where
 * `HttpMiddleware.withTracerDisabledWhen` turns that span off.
 */
export const httpApp = ({ adminToken, baseUrl, secretKey, ...options }: Options) =>
  Effect.gen(function* () {
    const engine = yield* Engine.Engine
    const { app, stop, underWay } = yield* HttpApp.make({
      ...options,
      engine,
      ...Routes.ofApi(engine, baseUrl),
      baseUrl,
      adminToken,
      cursors: secretKey === undefined ? undefined : Cursors.make(secretKey)
    })
    yield* Effect.addFinalizer(() => Effect.zipRight(stop, underWay.none))
    return app
  })

export interface WebOptions extends Options {
  /** The client's address, as the server knows it. Without it wrong credentials are counted by public key alone. */
  readonly address?: ((request: Request) => string | undefined) | undefined
}

/** Answers a request; rejects only when its client no longer waits for the answer. */
export type WebHandler = (request: Request) => Promise<Response>

export const toWebHandler = ({ address: addressOf, ...options }: WebOptions) =>
  Effect.gen(function* () {
    const app = yield* httpApp(options)
    const addressed = Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) => {
      const remoteAddress = request.source instanceof Request ? addressOf?.(request.source) : undefined
      return remoteAddress === undefined ? request : request.modify({ remoteAddress })
    })
    const runtime = HttpApp.untraced(yield* Effect.runtime())
    const answer = PlatformApp.toWebHandlerRuntime(runtime)(addressed)
    const handler: WebHandler = async (request) => {
      const response = await answer(request)
      request.signal.throwIfAborted()
      return response
    }
    return handler
  })
