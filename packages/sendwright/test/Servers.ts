/** The API below `/api/messaging` in each server that an app may have, as its documentation mounts things. */
import { createServer, type Server } from "node:http"
import { connect as connect2, createServer as createServer2 } from "node:http2"
import { serve } from "@hono/node-server"
import { getConnInfo } from "@hono/node-server/conninfo"
import express from "express"
import Fastify from "fastify"
import { Hono } from "hono"
import type { Handler, NodeHandler } from "sendwright/http"
import { toNodeHandler } from "sendwright/http"
import { onTestFinished } from "vitest"

export const prefix = "/api/messaging"

/** Asks for a path of the app. */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>

export const listen = async (server: Server): Promise<string> => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const address = server.address()
  return `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
}

const asking =
  (base: string): Ask =>
  (path, init) =>
    fetch(`${base}${path}`, { redirect: "manual", ...init })

const answer = "from the app"

const withExpress =
  (mount: (app: express.Express, node: NodeHandler) => void) =>
  async (handler: Handler): Promise<Ask> => {
    const app = express()
    mount(app, toNodeHandler(handler))
    app.use(express.json())
    app.use((_request, response) => {
      response.status(404).send(answer)
    })
    return asking(await listen(createServer(app)))
  }

const withFastify = async (handler: Handler): Promise<Ask> => {
  const app = Fastify()
  const node = toNodeHandler(handler)
  app.register(
    async (scope) => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null))
      scope.all("/*", (request, reply) => {
        reply.hijack()
        node(request.raw, reply.raw)
      })
    },
    { prefix }
  )
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(answer))
  onTestFinished(() => app.close())
  return asking(await app.listen({ port: 0, host: "127.0.0.1" }))
}

const withHono = async (handler: Handler): Promise<Ask> => {
  const app = new Hono()
  app.all(`${prefix}/*`, (c) => handler(c.req.raw, { address: getConnInfo(c).remote.address }))
  app.notFound((c) => c.text(answer, 404))
  return new Promise((resolve) => {
    const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) =>
      resolve(asking(`http://127.0.0.1:${port}`))
    )
    onTestFinished(() => {
      server.close()
    })
  })
}

/** `app/api/messaging/[...path]/route.ts`: Next calls what it exports with the request, and the path in a context. */
const withNext = async (handler: Handler): Promise<Ask> => {
  const route = { GET: handler, HEAD: handler, OPTIONS: handler, POST: handler, PUT: handler }
  type Route = (request: Request, context: { params: Promise<{ path: string[] }> }) => Promise<Response>
  const routes: Readonly<Record<string, Route>> = route
  return async (path, init) => {
    const called = routes[init?.method ?? "GET"]
    const { pathname } = new URL(path, "https://shop.example")
    if (!pathname.startsWith(`${prefix}/`)) return new Response(answer, { status: 404 })
    if (called === undefined) return new Response(null, { status: 405 })
    const params = Promise.resolve({ path: pathname.slice(prefix.length + 1).split("/") })
    return called(new Request(`https://shop.example${path}`, init), { params })
  }
}

const withNode = async (handler: Handler): Promise<Ask> => {
  const node = toNodeHandler(handler)
  return asking(
    await listen(
      createServer((request, response) => node(request, response, () => response.writeHead(404).end(answer)))
    )
  )
}

/** A client of HTTP/2 in the place of `fetch`, which has none. */
const withHttp2 = async (handler: Handler): Promise<Ask> => {
  const node = toNodeHandler(handler)
  const server = createServer2((request, response) =>
    node(request, response, () => {
      response.writeHead(404)
      response.end(answer)
    })
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const session = connect2(`http://127.0.0.1:${port}`)
  onTestFinished(() => {
    session.destroy()
    server.close()
  })
  return (path, init = {}) =>
    new Promise((resolve, reject) => {
      const asked = Object.fromEntries(new Headers(init.headers))
      const stream = session.request({ ...asked, ":path": path, ":method": init.method ?? "GET" })
      const chunks: Array<Buffer> = []
      let head: Readonly<Record<string, unknown>> = {}
      stream.on("response", (headers) => {
        head = headers
      })
      stream.on("data", (chunk) => chunks.push(chunk))
      stream.on("error", reject)
      stream.on("end", () => {
        const named = Object.entries(head).filter(([name]) => !name.startsWith(":"))
        const headers = Object.fromEntries(named.map(([name, value]) => [name, String(value)]))
        const body = chunks.length === 0 ? null : Buffer.concat(chunks)
        resolve(new Response(body, { status: Number(head[":status"]), headers }))
      })
      stream.end(init.body ?? undefined)
    })
}

/** By name; whether the server tells where a request came from. */
export const servers: ReadonlyArray<
  readonly [name: string, open: (handler: Handler) => Promise<Ask>, tellsAddress: boolean]
> = [
  ["node:http", withNode, true],
  ["node:http2", withHttp2, true],
  ["Express 5, at a path", withExpress((app, node) => app.use(prefix, node)), true],
  ["Express 5, as a middleware of all paths", withExpress((app, node) => app.use(node)), true],
  [
    "Express 5, in a router of a router",
    withExpress((app, node) => {
      const outer = express.Router()
      outer.use("/messaging", node)
      app.use("/api", outer)
    }),
    true
  ],
  ["Fastify 5", withFastify, true],
  ["Hono", withHono, true],
  ["a route of Next", withNext, false]
]
