/** The REST API in your own server: in node:http, Express, Fastify, Hono, Next and others. Needs `@sendwright/http`. */
import type { ConsoleOptions, Handler, HandlerOptions, NodeHandler } from "./api/Http.ts"
import type { Sendwright } from "./api/Sendwright.ts"
import * as Mounting from "./inside/Mounting.ts"

export type * from "./api/Http.ts"

/**
 * The REST API as a function of web-standard requests. It stops with the Sendwright: what comes then is answered with 503.
 *
 * @example
 * ```ts
 * import { Hono } from "hono"
 * import type { Sendwright } from "sendwright"
 * import { createHandler } from "sendwright/http"
 *
 * export const mount = (app: Hono, sw: Sendwright) => {
 *   const handler = createHandler(sw, { prefix: "/api/messaging" })
 *   app.all("/api/messaging/*", (c) => handler(c.req.raw)) // in Next: export { handler as GET, handler as POST }
 * }
 * ```
 *
 * @throws SendwrightError `invalid_options` for what cannot be
 */
export const createHandler: (sw: Sendwright, options?: HandlerOptions) => Handler = Mounting.createHandler

/**
 * The console below a path of the app, for those whom the app knows as operators. It has its own admin API there, and no other
 * routes; `createHandler` beside it is the API for keys and hooks.
 *
 * @example
 * ```ts
 * import type { Express, Request } from "express"
 * import type { Sendwright } from "sendwright"
 * import { createConsole, toNodeHandler } from "sendwright/http"
 *
 * interface SignedIn extends Request {
 *   readonly user?: { readonly email: string; readonly isStaff: boolean }
 * }
 *
 * export const mount = (app: Express, sw: Sendwright) => {
 *   const authorize = ({ user }: SignedIn) =>
 *     user?.isStaff === true ? { name: user.email, role: "support" as const } : null
 *   app.use("/messages", toNodeHandler(createConsole(sw, { prefix: "/messages", authorize }))) // at /messages/console
 * }
 * ```
 *
 * @throws SendwrightError `invalid_options` for what cannot be
 */
export const createConsole: <Asked = Request>(sw: Sendwright, options: ConsoleOptions<Asked>) => Handler =
  Mounting.createConsole

/**
 * A handler for node:http and what is built on it.
 *
 * @example
 * ```ts
 * import type { Express } from "express"
 * import type { Sendwright } from "sendwright"
 * import { createHandler, toNodeHandler } from "sendwright/http"
 *
 * export const mount = (app: Express, sw: Sendwright) => {
 *   app.use("/api/messaging", toNodeHandler(createHandler(sw, { prefix: "/api/messaging" })))
 * }
 * ```
 *
 * @throws SendwrightError `invalid_options` for a function that `createHandler` did not make
 */
export const toNodeHandler: (handler: Handler) => NodeHandler = Mounting.toNodeHandler
