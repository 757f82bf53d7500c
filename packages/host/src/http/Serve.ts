/** Binds the adapter to platform-node's server, with limits on slow and greedy clients. */
import { createServer } from "node:http"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
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

const app = (handle: Adapter) =>
  Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    const { body, headers, status } = yield* handle({
      method: request.method,
      url: request.url,
      headers: request.headers,
      body: readBody(request)
    })
    return HttpServerResponse.raw(body, { status, headers, contentLength: Buffer.byteLength(body) })
  })

const server = () =>
  createServer({
    requestTimeout: 15_000,
    headersTimeout: 10_000,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 2_000,
    maxHeaderSize: 16 * 1024
  })

/** Listens; requests under way finish when the layer is released. */
export const layer = (handle: Adapter, address: { readonly port: number; readonly host: string }) =>
  HttpServer.serve(app(handle)).pipe(
    // The tracer would write request headers, and with them secrets, into spans.
    HttpMiddleware.withTracerDisabledWhen(() => true),
    Layer.provide(NodeHttpServer.layer(server, address))
  )
