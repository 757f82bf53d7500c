/** The REST API in your own server: in node:http, Express, Fastify, Hono, Next and others. Needs `@sendwright/http`. */
import type { Handler, HandlerOptions, NodeHandler } from "./api/Http.ts"
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
 * The same for node:http and what is built on it.
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
