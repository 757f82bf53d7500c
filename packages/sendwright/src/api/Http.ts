/** What mounting the API takes and gives. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2"

export interface HandlerOptions {
  /**
   * The path below which the API is mounted: `/api/messaging`. It is the whole path as clients ask for it, whatever a router
   * has removed of it.
   */
  readonly prefix?: string | undefined
  /**
   * Where clients reach the app: `https://shop.example`. The types of problems and `/openapi.json` begin with it; without it
   * they are paths.
   */
  readonly baseUrl?: string | undefined
  /** Of the admin API: at least 24 characters (`openssl rand -base64 24`). Without it there is no admin API. */
  readonly adminToken?: string | undefined
  /** The proxies before the app, as networks (`10.0.0.0/8`), whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
}

/** Where a request came from: wrong keys are limited by it, and the audit log names it. */
export interface Client {
  readonly address: string | undefined
}

/** Answers a web-standard request. It rejects only when the request's signal was aborted. */
export interface Handler {
  (request: Request, client: Client): Promise<Response>
  (request: Request): Promise<Response>
}

/** For node:http, and whatever gives its requests on. What is not below the prefix goes to `next`, where there is one. */
export type NodeHandler = (
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  next?: () => void
) => void
