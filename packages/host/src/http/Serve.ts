/** Binds the adapter to platform-node's server, with limits on slow and greedy clients. */
import { createServer, type Server } from "node:http"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import type { Adapter } from "./Adapter.ts"

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

const app = (handle: Adapter, stopping: MutableRef.MutableRef<boolean>) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { body, headers, status } = yield* handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: readBody(request)
    })
    // An open connection would keep a server from closing.
    const last = MutableRef.get(stopping) ? { ...headers, connection: "close" } : headers
    if (status === 204) return HttpServerResponse.empty({ status, headers: last })
    return HttpServerResponse.raw(body, { status, headers: last, contentLength: Buffer.byteLength(body) })
  })

const makeServer = () =>
  createServer({
    requestTimeout: 15_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024
  })

/** How long requests under way may still take when the service stops. */
const graceMs = 10_000

/**
 * Closes the server while its requests are still answered: platform-node stops answering first, and then waits for
 * every connection, however slow its client.
 */
const closing = (server: Server, stopping: MutableRef.MutableRef<boolean>) => {
  const closed = Effect.async<void>((resume) => {
    MutableRef.set(stopping, true)
    server.close(() => resume(Effect.void))
  })
  const impatient = Effect.delay(
    Effect.sync(() => server.closeAllConnections()),
    graceMs
  )
  // A fiber of its own for what may be interrupted: this one has been already, when a signal stops the process.
  return Effect.addFinalizer(() =>
    Effect.flatMap(Effect.fork(Effect.interruptible(impatient)), (grace) =>
      Effect.zipRight(closed, Fiber.interrupt(grace))
    )
  )
}

/**
 * We speak nothing but HTTP/1.1. With a listener for upgrades, Node would hand over a request that merely offers one
 * (`Upgrade: h2c`, as some clients do on each) without its body.
 */
const withoutUpgrades = (server: Server) =>
  Effect.sync(() => {
    server.removeAllListeners("upgrade")
  })

/** Listens until it is released; requests under way then finish. */
export const layer = (options: {
  readonly handle: Adapter
  readonly stopping: MutableRef.MutableRef<boolean>
  readonly address: { readonly port: number; readonly host: string }
}) =>
  Layer.unwrapEffect(
    Effect.sync(() => {
      const { address, handle, stopping } = options
      const server = makeServer()
      return Layer.scopedDiscard(Effect.zipRight(withoutUpgrades(server), closing(server, stopping))).pipe(
        Layer.provideMerge(HttpServer.serve(app(handle, stopping))),
        // The tracer would write request headers, and with them secrets, into spans.
        HttpMiddleware.withTracerDisabledWhen(() => true),
        Layer.provide(NodeHttpServer.layer(() => server, address))
      )
    })
  )
