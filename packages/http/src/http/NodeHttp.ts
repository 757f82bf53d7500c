/** Requests of Node's servers as `HttpApp` serves them, and their answers: the host's own server and all others have one way. */

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"
import { pipeline, Readable } from "node:stream"
import * as Stream from "effect/Stream"
import { isBodyless } from "./Exchange.ts"
import * as HttpApp from "./HttpApp.ts"
import type * as Steps from "./Steps.ts"

type NodeRequest = IncomingMessage | Http2ServerRequest
type NodeResponse = ServerResponse | Http2ServerResponse

const bodiless: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"])

const hasBody = (request: NodeRequest): boolean =>
  // HTTP/2 announces no body; that there may be one is enough.
  request.httpVersionMajor > 1
    ? !bodiless.has(request.method ?? "GET")
    : HttpApp.hasBody({ headers: request.headers, source: request })

/** A router may have changed its `url`. */
export const incoming = (request: NodeRequest, url = request.url ?? "/"): HttpApp.Incoming => ({
  method: request.method ?? "GET",
  url,
  headers: request.headers,
  peer: request.socket.remoteAddress,
  hasBody: hasBody(request),
  isTaken: request.readableDidRead,
  source: request,
  stream: () => Stream.fromAsyncIterable<Uint8Array, unknown>(request, (cause) => cause)
})

/** Writes head and body in one piece. */
export const write = (
  response: NodeResponse,
  { body, headers, status, stream }: Steps.PlainResponse,
  isHead: boolean
): void => {
  // The client is gone, or somebody else has answered it.
  if (response.closed || response.headersSent) return
  const isEmpty = isBodyless(status) || stream !== undefined
  // HTTP/2 has no `connection`, and Node leaves it away there.
  response.writeHead(status, isEmpty ? headers : { ...headers, "content-length": Buffer.byteLength(body) })
  // A stream that fails cuts the connection, and one whose client leaves ends.
  if (stream !== undefined && !isHead)
    pipeline(Readable.from(stream(), { objectMode: false }), response, () => {})
  else response.end(isEmpty ? "" : body)
}
