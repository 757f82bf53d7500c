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

/** Somebody of the app who may use the console. */
export interface ConsoleOperator {
  /** Who it is, in the audit log as `app:<name>`: 1 to 64 visible characters, such as an email address. */
  readonly name: string
  /** `read` sees, `support` also sends again, replays, pauses and cancels, `admin` does everything. */
  readonly role: "read" | "support" | "admin"
  /** Masks people's numbers in all that one of the role `read` sees. */
  readonly maskPhones?: boolean | undefined
}

export interface ConsoleOptions<Asked> {
  /** The path below which it is mounted, as {@link HandlerOptions} has it: the console is at `<prefix>/console`. */
  readonly prefix?: string | undefined
  /** Where browsers reach the app, where a proxy gives it another `Host` than theirs. */
  readonly baseUrl?: string | undefined
  /** The proxies before the app, as networks (`10.0.0.0/8`), whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: ReadonlyArray<string> | undefined
  /**
   * Says who asks, by the app's own session: null for nobody (401). It is asked with every request, and alone decides: no token and no
   * cookie of Sendwright's does. A role that is too low is refused with 403, and where this throws, nothing is done (500).
   *
   * The request is the server's own: web-standard where the handler is called with one, Node's (Express's, with what middlewares
   * have put on it) where `toNodeHandler` made it one of Node's. A request that changes something needs an `Origin` of the app
   * besides, so that no page of somebody else's acts by the app's cookie.
   */
  readonly authorize: (request: Asked) => ConsoleOperator | null | Promise<ConsoleOperator | null>
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
